"""The files of a finished run, and how the same run is known again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, read_json, sha256_of, write_json, write_text
from pipeline.core.parquet import write_table
from pipeline.train.learner import Learner

_FILES = ("predictor", "history.jsonl", "scored.parquet", "run.json")
_FINISHED = "finished.json"
"""What a run depended on and what it wrote; no part of the result, so DVC does not look at it."""


def write_run(
    out: Path, learner: Learner, record: Mapping[str, Any], about: Mapping[str, Any], seconds: float
) -> None:
    """Write a run folder.

    Args:
        out: the folder.
        learner: M with its best weights, history and log.
        record: what ``run.json`` tells beyond them.
        about: everything the run depends on.
        seconds: how long it took.

    Raises:
        InputError: the folder cannot be written to, or the disk is full.
    """
    # run.json is written last and marks a complete run, so an older one must not vouch for this.
    for name in ("run.json", _FINISHED):
        (out / name).unlink(missing_ok=True)
    learner.restore_best().save(out / "predictor")
    lines = [json.dumps(entry, ensure_ascii=False) for entry in learner.history]
    write_text(out / "history.jsonl", "".join(f"{line}\n" for line in lines))
    write_table(out / "scored.parquet", learner.log.table())
    write_json(out / "timing.json", {"seconds": seconds})
    log = learner.log
    facts = {
        "best_step": learner.best_step,
        "best_validation_accuracy": learner.best_accuracy,
        "steps": learner.step,
        "seen": log.seen,
        "accepted": log.accepted,
        "distinct": log.distinct,
        "temperature": learner.ensemble.temperature if learner.ensemble else None,
    }
    write_json(out / "run.json", {**record, **facts})
    write_json(out / _FINISHED, {"of": digest_of(about), "files": _digests(out)})


def is_finished(out: Path, about: Mapping[str, Any]) -> bool:
    """Whether all files of the run that depends on ``about`` stand as they were written."""
    try:
        return bool(read_json(out / _FINISHED) == {"of": digest_of(about), "files": _digests(out)})
    except InputError:
        return False


def _digests(out: Path) -> dict[str, str]:
    return {name: sha256_of(out / name) for name in _FILES}
