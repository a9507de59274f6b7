"""How long cells take: what ``repro`` measured of them, or of similar cells.

A measurement counts for a cell only while the stage's sections of params.yaml are what they were.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.cards.times import Times
from pipeline.core.documents import read_json
from pipeline.core.files import digest_of, write_json
from pipeline.experiments.cells import Cell

TIMES = Path("data/times.json")
"""What every cell took when it last ran:
``{cell: {stage, command, seconds, cpu_seconds, settings, named, runs}}``, where ``settings`` is a digest of
its sections of params.yaml, ``named`` one of its options by name, and ``runs`` the number of runs there were
for those that read them all."""

MEASURED, ALIKE = "measured", "measured (others alike)"

_KINDS = (
    ("system", "systems", ("mode",)),
    ("named", "generations", ("lm",)),
    ("named", "syntheses", ("writer", "model")),
)
"""The option that has a name, the table of params.yaml that has it, and what in it sets commands apart."""

_UNKNOWN = 60.0  # seconds, where only the order and a rough share of the whole matter


@dataclass(frozen=True, slots=True)
class Duration:
    """Wall seconds of a cell, and where the figure is from."""

    seconds: float
    source: str


class Durations:
    """What is known of how long cells take.

    Args:
        document: params.yaml as the cells see it.
        path: where ``record`` keeps it.
    """

    def __init__(self, document: Mapping[str, Any], path: Path = TIMES) -> None:
        self._document, self._path = document, path
        self._known: Times = read_json(path, Times, remedy="remove it") if path.is_file() else {}

    def known(self, cell: Cell, runs: int | None = None) -> Duration | None:
        """What the cell took, or else what the cells most like it took on average.

        Alike are cells of the same stage, corpus, settings, mode and language model; of these the
        mean is over those whose commands have most words in common with this one's. What reads all
        runs of a corpus takes longer after more of them: ``runs``, if it is known.
        """
        like = [t for t in self._known.values() if self._counts_for(t, cell)]
        if same := [t for t in like if self._is_of(t, cell)]:
            return Duration(_scaled(same[0], runs), MEASURED)
        if not like:
            return None
        words = set(cell.command.split())
        shared = [len(words & set(t["command"].split())) for t in like]
        near = [t for t, n in zip(like, shared, strict=True) if n == max(shared)]
        return Duration(sum(_scaled(t, runs) for t in near) / len(near), ALIKE)

    def _counts_for(self, entry: Mapping[str, Any], cell: Cell) -> bool:
        return (
            entry["stage"] == cell.stage
            and entry.get("settings") == self._settings(cell)
            and self._kind(entry["command"]) == self._kind(cell.command)
        )

    def _is_of(self, entry: Mapping[str, Any], cell: Cell) -> bool:
        """Whether it was this cell, with the same options under its name."""
        return entry["command"] == cell.command and entry.get("named") == self._named(cell)

    def expected(self, cells: Iterable[Cell]) -> float:
        """Seconds of all cells together, with something for those of which nothing is known."""
        found = map(self.known, cells)
        return sum(each.seconds if each else _UNKNOWN for each in found)

    def record(self, took: Iterable[tuple[Cell, float, float]], cells: Sequence[Cell]) -> None:
        """Keep what cells took: (cell, wall seconds, CPU seconds).

        Other grids' cells are kept too, unless a cell of ``cells`` now has their name.
        """
        commands = {cell.name: cell.command for cell in cells}
        self._known = {
            name: t
            for name, t in self._known.items()
            if commands.get(name, t["command"]) == t["command"]
        }
        for cell, seconds, cpu in took:
            self._known[cell.name] = {
                "stage": cell.stage,
                "command": cell.command,
                "seconds": round(seconds, 1),
                "cpu_seconds": round(cpu, 1),
                "settings": self._settings(cell),
                "named": self._named(cell),
                "runs": runs_of(cell.command),
            }
        write_json(self._path, self._known)

    def _settings(self, cell: Cell) -> str:
        return self._digest(cell, own=True)

    def _named(self, cell: Cell) -> str:
        return self._digest(cell, own=False)

    def _digest(self, cell: Cell, *, own: bool) -> str:
        """Of the sections of the cell's stage, or of the options by name that it has beside them."""
        keys = [k for k in cell.params if "." in k and k.startswith(f"{cell.stage}.") == own]
        return digest_of({key: _at(self._document, key) for key in keys})

    def _kind(self, command: str) -> tuple[str, ...]:
        """What sets commands of one stage apart in time: the mode of training, who writes."""
        if said := re.findall(r"--(?:mode|lm|writer|model) (\S+)", command):
            return tuple(said)
        for option, table, keys in _KINDS:
            name = re.search(rf"--{option} (\S+)", command)
            entry = _at(self._document, f"{table}.{name[1]}") if name else None
            if isinstance(entry, Mapping):
                return tuple(str(entry[key]) for key in keys if key in entry)
        return ()


def runs_of(command: str) -> int:
    """How many finished runs there are for a command that reads them all; 0 for another."""
    found = re.match(r"conjoin (?:evaluate|audit|report) (\S+)", command)
    return len(list(Path(found[1]).glob("runs/*/*/seed-*/run.json"))) if found else 0


def _scaled(entry: Mapping[str, Any], runs: int | None) -> float:
    before = entry.get("runs", 0)
    return float(entry["seconds"]) * (runs / before if runs and before else 1)


def _at(document: Any, key: str) -> Any:
    for name in key.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document
