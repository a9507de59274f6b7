"""Run times: what ``conjoin repro`` recorded of the cells that made this corpus."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.mechanisms.reporting.tables import Row, Table

__all__ = ["times_path", "times_table"]

_ORDER = ("ingest", "pretrain", "preparse", "generate", "train", "evaluate", "audit", "report")


def times_path(corpus: Path) -> Path:
    """Where ``repro`` keeps the times: beside the corpus folders."""
    return corpus.resolve().parent / "times.json"


def times_table(corpus: Path) -> Table | None:
    """Cells, seconds and CPU seconds by stage; None where nothing was recorded for this corpus.

    Raises:
        InputError: the file is not what ``repro`` writes.
    """
    path = times_path(corpus)
    if not path.is_file():
        return None
    document = read_json(path)
    try:
        rows = _rows([cell for cell in document.values() if _is_of(corpus, cell["command"])])
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"not what `conjoin repro` writes: {error!r}", path=path, remedy="remove it"
        ) from error
    if not rows:
        return None
    return Table(
        "Run times",
        ("Stage", "cells", "seconds", "CPU seconds"),
        rows,
        note="Each cell as it last ran. Cells run side by side, so the wall time is less than the sum "
        "of their seconds; a stage that runs after this page was written is not in it.",
    )


def _rows(cells: list[Mapping[str, Any]]) -> tuple[Row, ...]:
    by_stage: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for cell in cells:
        by_stage[cell["stage"]].append(cell)
    known = [stage for stage in _ORDER if stage in by_stage]
    stages = [*known, *sorted(by_stage.keys() - set(known))]
    rows = [_row(stage, by_stage[stage]) for stage in stages]
    return (*rows, _row("all", cells, begins=True)) if rows else ()


def _row(name: str, cells: list[Mapping[str, Any]], *, begins: bool = False) -> Row:
    seconds, cpu = (sum(cell[key] for cell in cells) for key in ("seconds", "cpu_seconds"))
    return Row((name, f"{len(cells):,}", f"{seconds:,.0f}", f"{cpu:,.0f}"), begins=begins)


def _is_of(corpus: Path, command: str) -> bool:
    """Whether a command names the corpus folder, as ``data/world`` or as ``--out data/world``."""
    name = corpus.resolve().name
    return any(
        word == f"data/{name}" or word.startswith(f"data/{name}/") for word in command.split()
    )
