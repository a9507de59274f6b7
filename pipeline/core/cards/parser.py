"""What says which parser a folder has, and what it learned from."""

from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.cards.parts import FileForm, PartForm
from pipeline.core.documents import Count, Number, PlaceName
from pipeline.core.settings import Precision


class ParserTraining(TypedDict, total=False):
    """How a parser was trained, and how well.

    ``taught``: trees that another parser read; ``patience``: it ended after so many epochs that were no
    better than the best, if not after ``epochs``; ``mixed_precision``: number format in which it reads its
    encoder, unset: float32.
    """

    trees: Count
    taught: Count
    dev_trees: Count
    f1: Number
    epochs: Count
    patience: Count
    best_epoch: Count
    hidden: Count
    tags: str
    seed: Count
    mixed_precision: Precision


class ParserSettingsForm(TypedDict, total=False):
    """Those settings of a parser's training that are read by name."""

    labelled: str
    seed: Count


class ParserFingerprint(TypedDict, total=False):
    """What is read of the fingerprint of a parser that was trained here."""

    settings: ParserSettingsForm


class ParserCard(TypedDict):
    """``parser.json``, which ``preparse`` and ``harvest`` write beside a parser.

    That of a parser trained here is the record of its ``files``. ``lent`` is what tells another's parser, or
    a file, from the one that may lie there later. Earlier versions did not write ``annotation``, ``tagged``
    and ``lent``.
    """

    source: PlaceName
    wrapper: str | None
    training: ParserTraining | None
    annotation: NotRequired[list[PartForm]]
    tagged: NotRequired[bool]
    lent: NotRequired[str]
    files: NotRequired[dict[str, FileForm]]
    about: NotRequired[ParserFingerprint]


class Learned(TypedDict):
    """``learned.json``, which stands beside a parser trained here, but for an earlier version's.

    Ids of the sentences whose trees it learned from, of those that chose its epoch, and of those that another
    parser read for it.
    """

    trees: list[str]
    dev: list[str]
    taught: NotRequired[list[str]]
