"""What ``ingest`` writes of a corpus: its counts, and the draws of L."""

from typing_extensions import TypedDict

from pipeline.core.cards.parts import CountOf, TallyForm
from pipeline.core.documents import Count, PlaceName


class DrawnSizes(TypedDict):
    """How many sentences a draw has."""

    labelled: Count
    validation: Count


class IngestCard(TypedDict, total=False):
    """``ingest.json``, which ``ingest`` writes beside the record of its files (``core/fingerprint.py``).

    ``task`` is of a corpus of another task than coordination, ``senses`` of
    one of relations, ``coordinators`` of one of another language than English, the most frequent first (what
    is read of them stands in the file of sentences), ``unlabelled`` of one with ``--unlabelled``,
    ``examined`` of one with sentences whose coordinators join nothing because somebody said so;
    ``held_out_in_training`` counts sentences outside the training split that stand in it, too. A corpus that
    another program wrote may lack everything.
    """

    reader: str
    name: PlaceName
    task: str
    senses: list[str]
    coordinators: list[str]
    splits: dict[str, CountOf]
    labels: dict[str, CountOf]
    unlabelled_seeds: CountOf | None
    refused: CountOf | None
    unlabelled: TallyForm
    examined: CountOf
    draws: dict[str, DrawnSizes]
    raw_text: Count
    held_out_in_training: Count


class DrawFile(TypedDict):
    """``draws/seed-S/N.json``, which ``ingest`` writes: ids of sentences."""

    labelled: list[str]
    validation: list[str]
