"""What Algorithm 1 examined and accepted, for the files of a run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipeline.ground.tally import Tally
from pipeline.mechanisms.algorithm1 import Trial

__all__ = ["Journal"]


class Journal:
    """The record of every candidate examined.

    Attributes:
        rows: rows of ``schema.SCORED``, in the order of examination. A candidate that cannot be
            scored has probability 0; in self-training the boundary is the predictor's.
        tally: candidates scored, and those that could not be, with the reason.
        seen: candidates examined so far.
        accepted: those of them that were accepted.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.tally = Tally()
        self.seen = self.accepted = 0
        self._distinct: set[str] = set()
        self._recent: dict[str, Counter[bool]] = {}

    @property
    def distinct(self) -> int:
        """How many different candidates were examined."""
        return len(self._distinct)

    def record(self, step: int, trials: Sequence[Trial]) -> None:
        """Note the trials of update number ``step`` (from 1)."""
        for trial in trials:
            drawn, verdict = trial.drawn, trial.verdict
            if verdict.reason is None:
                self.tally.keep()
            else:
                self.tally.refuse(verdict.reason)
            self.seen += 1
            self.accepted += trial.accepted
            self._distinct.add(drawn.candidate_id)
            self._recent.setdefault(drawn.label, Counter())[trial.accepted] += 1
            extent = verdict.example.extents[0]
            self.rows.append(
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

    def acceptance(self) -> dict[str, list[int]]:
        """``{label: [accepted, seen]}`` since the last call."""
        recent, self._recent = self._recent, {}
        return {label: [count[True], count.total()] for label, count in sorted(recent.items())}
