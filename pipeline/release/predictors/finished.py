"""The run whose predictor is released: finished, whole, and of a task that this version knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.annotation import Annotation, from_json, unknown
from pipeline.core.cards.runs import RunCard
from pipeline.core.corpus_folder import corpus_around, corpus_name, is_corpus, task_name
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.models.checkpoint_files import check_digests
from pipeline.tasks.known import TASKS
from pipeline.tasks.model_folder import CARD
from pipeline.tasks.named_predictor import TASK_OF_FORM, SavedCard, read_saved_card
from pipeline.tasks.protocol import Task

_RUN, _PREDICTOR, _RECORD = "run.json", "predictor", "finished.json"
_AGAIN = "train it again, or copy the run's folder again"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run.

    Attributes:
        folder: of the run.
        card: ``run.json``.
        saved: ``predictor.json``, as far as all have it.
        corpus: the folder of the corpus that it was trained on; None: it is not at hand.
    """

    folder: Path
    card: Mapping[str, Any]
    saved: SavedCard
    corpus: Path | None

    @property
    def predictor(self) -> Path:
        """The predictor's folder."""
        return self.folder / _PREDICTOR

    @property
    def task(self) -> Task[Any]:
        """What it predicts."""
        return TASKS[TASK_OF_FORM[self.saved["format"]]]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of its training."""
        found: Mapping[str, Any] = self.card.get("settings", {})
        return found

    @property
    def draw(self) -> str:
        """The draw of L."""
        return str(self.card.get("draw", self.card["labelled"]))

    @property
    def annotation(self) -> Annotation:
        """What people had annotated for it."""
        if self.corpus is not None:
            return annotation_of_run_card(self.card, self.corpus)
        return _recorded(self.card)


def _recorded(card: Mapping[str, Any]) -> Annotation:
    return from_json(card["annotation"]) if "annotation" in card else unknown(str(card["system"]))


def read_run(folder: Path, corpus: Path | None) -> FinishedRun:
    """A run whose predictor can be released.

    Args:
        folder: of the run.
        corpus: the corpus folder that was named; None: the nearest one above the run.

    Raises:
        InputError: it is not finished, its files are not those that were written, or the corpus is another.
        ModelError: its predictor is missing, damaged or of another format.
    """
    if not (folder / _RUN).is_file():
        raise InputError(
            f"no {_RUN} here, so no training has finished", path=folder,
            remedy="run `conjoin train` to its end, or name the folder of a finished run",
        )  # fmt: skip
    card: dict[str, Any] = read_json(folder / _RUN, RunCard, remedy=_AGAIN)
    if not (folder / _PREDICTOR / CARD).is_file():
        raise InputError(f"no {_PREDICTOR}/{CARD} here", path=folder, remedy=_AGAIN)
    _require_as_written(folder)
    saved = read_saved_card(folder / _PREDICTOR)
    check_digests(folder / _PREDICTOR, saved["files"], "predictor", remedy=_AGAIN)
    run = FinishedRun(folder, card, saved, _corpus(folder, corpus, card, saved))
    run.task.load(run.predictor)  # which says what else could be wrong with it
    return run


def _require_as_written(folder: Path) -> None:
    """Refuse a run whose record has other files; one that DVC fetched has no record."""
    record = Output(folder, folder / _RECORD, Fingerprint()).read()
    for name, facts in (record.files if record else {}).items():
        own = name == _RUN or name.startswith(f"{_PREDICTOR}/")
        if own and (fault := facts.fault(folder / name)):
            raise InputError(
                f"not the file that training wrote: {fault}", path=folder / name, remedy=_AGAIN
            )


def _corpus(
    folder: Path, named: Path | None, card: Mapping[str, Any], saved: SavedCard
) -> Path | None:
    if named is not None and not is_corpus(named):
        raise InputError("no corpus folder", path=named, remedy="name one that `ingest` wrote")
    corpus = named or corpus_around(folder.resolve().parent)
    if corpus is None:
        return None
    own = task_name(corpus) == TASK_OF_FORM[saved["format"]]
    if "annotation" in card:
        own = own and corpus_name(corpus) in {part.corpus for part in _recorded(card)}
    if own:
        return corpus
    if named is None:
        return None
    raise InputError(
        f"the run was not trained on this corpus, {corpus_name(corpus)}", path=named,
        remedy="name the one it was trained on with --corpus",
    )  # fmt: skip
