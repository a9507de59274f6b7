"""What people had annotated for candidates that lie somewhere, and for a predictor that is asked."""

from pathlib import Path

from pipeline.core.annotation import Annotation, place_name, recorded, unknown
from pipeline.core.cards.runs import RunCard
from pipeline.core.corpus_folder import corpus_around
from pipeline.core.documents import read_json
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.corpus.layout import Shards


def annotation_of(shards: Shards) -> Annotation:
    """The record of candidates; not known where their manifest has none."""
    return recorded(shards.manifest or {}, place_name(shards.place))


def annotation_of_predictor(folder: Path) -> Annotation:
    """The record of a predictor, from its run's folder around it; not known without one.

    An earlier version's run has that of ``annotation_of_run_card``, where the corpus is around it.

    Args:
        folder: ``RUN/predictor``.

    Raises:
        InputError: the run's document is damaged.
    """
    path = folder.resolve().parent / "run.json"
    run: RunCard | None = read_json(path, RunCard) if path.is_file() else None
    corpus = corpus_around(path.parent)
    if run and ("annotation" in run or corpus):
        return annotation_of_run_card(run, corpus or path.parent)
    return unknown(place_name(path.parent))
