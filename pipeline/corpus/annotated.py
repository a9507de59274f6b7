"""What people had annotated for candidates that lie somewhere, and for a predictor that is asked."""

from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.annotation import Annotation, Part, place_name, recorded
from pipeline.core.documents import read_json
from pipeline.corpus.layout import Shards


class _Run(TypedDict):
    """What is read of the ``run.json`` beside a predictor."""

    annotation: NotRequired[list[Part]]


def annotation_of(shards: Shards) -> Annotation:
    """The record of candidates; not known where their manifest has none."""
    return recorded(shards.manifest or {}, place_name(shards.place))


def annotation_of_predictor(folder: Path) -> Annotation:
    """The record of a predictor, from its run's folder around it; not known without one.

    Args:
        folder: ``RUN/predictor``.

    Raises:
        InputError: the run's document is damaged.
    """
    path = folder.resolve().parent / "run.json"
    run: _Run = read_json(path, _Run) if path.is_file() else {}
    return recorded(run, place_name(path.parent))
