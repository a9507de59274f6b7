"""The files of a finished run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from pipeline.core.cards.runs import RunCard, RunTiming
from pipeline.core.claims import Claim, Listed, mark_of
from pipeline.core.documents import RelativeName, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, sweep, write_json, write_text
from pipeline.core.fingerprint import Fingerprint, Output, OutputRecord
from pipeline.core.parquet import write_table
from pipeline.tasks.protocol import Model
from pipeline.train.learner import Learner


def run_output(out: Path, fingerprint: Fingerprint) -> Output:
    """A run folder as something that is finished or not.

    The record, ``finished.json``, is no part of the result, so DVC does not look at it.
    """
    return Output(out, out / "finished.json", fingerprint)


NAMES = ("history.jsonl", "scored.parquet", "timing.json", "run.json", "finished.json")
PARTS = ("predictor/**/*", *NAMES)
"""The files of a run: names, and patterns of all."""


def earlier_run(out: Path) -> Listed:
    """The files of a run that stands in a folder, finished or not; None where there is none."""
    record = _read(run_output(out, Fingerprint()))
    if record is not None and "run.json" not in record.files:  # a model's has the same name
        record = None
    if not (
        record
        or mark_of(out, "train")
        or _has_form(out / "run.json", RunCard)
        or any(_has_form(path, _NamesOfFiles) for path in out.glob("checkpoints/step-*/card.json"))
    ):
        return None
    listed = {*NAMES, "predictor/predictor.json"}
    if record:
        return listed | set(record.files)
    predictor = out / "predictor"
    try:
        names = list(read_json(predictor / "predictor.json", _NamesOfFiles)["files"])
    except InputError:  # of another task, or of an earlier version: nothing says which they are
        of_a_run = _has_form(out / "run.json", RunCard) or (out / "checkpoints").is_dir()
        found = predictor.rglob("*") if of_a_run else ()
        names = [path.relative_to(predictor).as_posix() for path in found]
    return listed | {f"predictor/{name}" for name in names}


class _NamesOfFiles(TypedDict):
    """A document that names the files beside it."""

    files: dict[RelativeName, Any]


def _read(output: Output) -> OutputRecord | None:
    try:
        return output.read()
    except InputError:
        return None


def _has_form(path: Path, form: Any) -> bool:
    try:
        read_json(path, form)
    except InputError:
        return False
    return True


def write_run(
    output: Output, claim: Claim, learner: Learner, record: RunCard, seconds: float
) -> None:
    """Write a run folder.

    Args:
        output: the folder.
        claim: on it.
        learner: M that has finished, with its history and log.
        record: what ``run.json`` tells beyond them.
        seconds: how long it took.

    Raises:
        InputError: as ``Claim.check``; the folder cannot be written to, or the disk is full.
    """
    out = output.folder
    claim.check()  # hours have gone by
    sweep(*(out / name for name in NAMES))
    output.begin()
    # run.json is written after the other files, so an older one must not vouch for these.
    (out / "run.json").unlink(missing_ok=True)
    learner.predictor.save(out / "predictor")
    lines = [json.dumps(entry, ensure_ascii=False) for entry in learner.history]
    write_text(out / "history.jsonl", "".join(f"{line}\n" for line in lines))
    write_table(out / "scored.parquet", learner.log.table())
    timing: RunTiming = {"seconds": seconds}
    write_json(out / "timing.json", timing)
    log, chosen = learner.log, learner.selection
    card: RunCard = {
        **record,
        "best_step": chosen.step,
        "best_validation_accuracy": chosen.found.accuracy,
        "best_validation_loss": chosen.found.loss,
        "steps": learner.step,
        "seen": log.seen,
        "accepted": log.accepted,
        "distinct": log.distinct,
    }
    write_json(out / "run.json", card)
    _finish(output)


def update_run(output: Output, facts: Mapping[str, Any]) -> None:
    """Write facts that are no result, such as what tables call a finished run, into its ``run.json``.

    Nothing is written where it has them already.

    A kill in between costs training the run again, for then nothing says that it is finished.
    """
    path = output.folder / "run.json"
    card = read_json(path)
    if any(card.get(key) != value for key, value in facts.items()):
        output.begin()
        write_json(path, {**card, **facts})
        _finish(output)


def replace_predictor(output: Output, predictor: Model[Any]) -> None:
    """Write the predictor of a finished run anew, because it has learned something beside its boundaries.

    A kill in between costs training the run again, as in ``update_run``.
    """
    output.begin()
    predictor.save(output.folder / "predictor")
    _finish(output)


def _finish(output: Output) -> None:
    out = output.folder
    files = [path for path in (out / "predictor").rglob("*") if path.is_file()]
    files += [out / name for name in ("history.jsonl", "scored.parquet", "run.json")]
    output.finish({p.relative_to(out).as_posix(): FileFacts.of(p) for p in sorted(files)}, {})
