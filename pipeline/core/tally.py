"""Counts of what was kept and what was refused, with reasons: nothing is dropped silently."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.core.cards.parts import TallyForm

MOST_PLACES = 3
"""Places that are kept of a reason: enough to look at, and few enough to print."""


@dataclass
class Tally:
    """How many items a step kept, and how many it refused for which reason."""

    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict, compare=False)
    """Where the first few of a reason were, as far as that was said."""

    def keep(self, count: int = 1) -> None:
        """Count items kept."""
        self.kept += count

    def refuse(self, reason: str, count: int = 1, *, place: str = "") -> None:
        """Count items refused for ``reason``, and keep the first places."""
        if count:
            self.refused[reason] += count
        if place and len(known := self.places.setdefault(reason, [])) < MOST_PLACES:
            known.append(place)

    @property
    def seen(self) -> int:
        """Items kept and refused together."""
        return self.kept + sum(self.refused.values())

    def rows(self) -> list[tuple[str, int]]:
        """``("kept", n)`` and then the reasons, most frequent first, ties in alphabetical order."""
        reasons = sorted(self.refused.items(), key=lambda item: (-item[1], item[0]))
        return [("kept", self.kept), *reasons]

    def to_dict(self) -> TallyForm:
        """A JSON-ready form: ``{"seen": …, "kept": …, "refused": {reason: count}}``."""
        return {"seen": self.seen, "kept": self.kept, "refused": dict(self.rows()[1:])}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> "Tally":
        """The tally that ``to_dict`` wrote."""
        return Tally(value["kept"], Counter(value["refused"]))

    @staticmethod
    def merged(tallies: Iterable["Tally"]) -> "Tally":
        """The sum of several tallies."""
        total = Tally()
        for tally in tallies:
            total.kept += tally.kept
            total.refused.update(tally.refused)
        return total
