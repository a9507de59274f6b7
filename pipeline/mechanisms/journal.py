"""What Algorithm 1 examined and accepted, for the files of a run and for whoever watches it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.ground.schema import SCORED
from pipeline.ground.tally import Tally
from pipeline.mechanisms.algorithm1 import Trial

__all__ = ["Journal"]

_BATCH = 4096  # rows that are kept as dictionaries before they become columns, a tenth of the size
_LONG = 10  # fills of so many words and more are counted together


class Journal:
    """The record of every candidate examined.

    Attributes:
        tally: candidates scored, and those that could not be, with the reason.
        seen: candidates examined so far.
        accepted: those of them that were accepted.
        barren: steps since one was accepted, or since the first was examined.
        highest: the highest probability in those ``barren`` steps; 0 if there is none.
    """

    def __init__(self) -> None:
        self.tally = Tally()
        self.seen = self.accepted = self.barren = 0
        self.highest = 0.0
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[dict[str, Any]] = []
        self._distinct: set[str] = set()
        self._recent: dict[str, Counter[str]] = {}

    @property
    def distinct(self) -> int:
        """How many different candidates were examined."""
        return len(self._distinct)

    def record(self, step: int, trials: Sequence[Trial]) -> None:
        """Note the trials of update number ``step`` (from 1)."""
        for trial in trials:
            self._note(step, trial)
        if any(trial.accepted for trial in trials):
            self.barren, self.highest = 0, 0.0
        elif trials:
            self.barren += 1
            self.highest = max(self.highest, *(trial.verdict.score for trial in trials))
        if len(self._rows) >= _BATCH:
            self._pack()

    def _note(self, step: int, trial: Trial) -> None:
        drawn, verdict = trial.drawn, trial.verdict
        if verdict.reason is None:
            self.tally.keep()
        else:
            self.tally.refuse(verdict.reason)
        self.seen += 1
        self.accepted += trial.accepted
        self._distinct.add(drawn.candidate_id)
        length = str(drawn.fill_length) if drawn.fill_length < _LONG else f"{_LONG}+"
        for kind, value in (("label", drawn.label), ("length", length)):
            self._recent.setdefault(f"{kind} seen", Counter())[value] += 1
            self._recent.setdefault(f"{kind} accepted", Counter())[value] += trial.accepted
        extent = verdict.example.extents[0]
        self._rows.append(
            {
                "step": step,
                "candidate_id": drawn.candidate_id,
                "label": drawn.label,
                "start": extent.start,
                "end": extent.end,
                "probability": max(verdict.score, 0.0),
                "accepted": trial.accepted,
            }
        )

    def acceptance(self) -> dict[str, dict[str, list[int]]]:
        """Acceptance since the last call: by label, and by the number of words of the fill.

        Returns:
            ``acceptance`` and ``acceptance_by_length``, each ``{value: [accepted, seen]}``.
        """
        recent, self._recent = self._recent, {}
        return {
            name: {
                value: [recent[f"{kind} accepted"][value], count]
                for value, count in sorted(recent.get(f"{kind} seen", Counter()).items(), key=_rank)
            }
            for name, kind in (("acceptance", "label"), ("acceptance_by_length", "length"))
        }

    def _pack(self) -> None:
        if self._rows:
            self._batches.append(pa.RecordBatch.from_pylist(self._rows, schema=SCORED))
            self._rows = []

    def table(self) -> pa.Table:
        """All trials as a table of ``schema.SCORED``, in the order of examination.

        A candidate that cannot be scored has probability 0; in self-training the boundary is the
        predictor's.
        """
        self._pack()
        return pa.Table.from_batches(self._batches, schema=SCORED)

    @property
    def state(self) -> dict[str, Any]:
        """What ``restore`` needs beside ``table()``; JSON can hold it."""
        return {
            "tally": self.tally.to_dict(),
            "seen": self.seen,
            "accepted": self.accepted,
            "barren": self.barren,
            "highest": self.highest,
            "recent": {name: dict(counts) for name, counts in self._recent.items()},
        }

    def restore(self, state: Mapping[str, Any], table: pa.Table) -> None:
        """Go on from a ``state`` and its ``table``."""
        self.tally = Tally.from_dict(state["tally"])
        self.seen, self.accepted = state["seen"], state["accepted"]
        self.barren, self.highest = state["barren"], state["highest"]
        self._recent = {name: Counter(counts) for name, counts in state["recent"].items()}
        self._batches, self._rows = table.to_batches(), []
        self._distinct = set(table["candidate_id"].to_pylist())


def _rank(item: tuple[str, int]) -> tuple[int, str]:
    """Lengths by number, labels by name."""
    number = item[0].rstrip("+")
    return (int(number) if number.isdigit() else 0, item[0])
