"""Bands: how like the answer and the context a distractor and its own context may be."""

import re
from dataclasses import dataclass
from math import inf

_NUMBER = r"-?\d{0,4}\.?\d{1,6}"
_BAND = re.compile(rf"({_NUMBER})?-({_NUMBER})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Band:
    """An open interval; a bound that is infinite is none."""

    above: float
    below: float

    @classmethod
    def read(cls, text: str) -> "Band":
        """An interval as it is written: ``0.4-0.6``, or without one of the bounds ``0.4-`` or ``-0.6``.

        Raises:
            ValueError: it is written otherwise, or is empty.
        """
        found = _BAND.fullmatch(text)
        if found is None:
            raise ValueError("must be two bounds such as 0.4-0.6, or one such as 0.4- or -0.6")
        above, below = found.groups()
        band = cls(float(above or -inf), float(below or inf))
        if band.above >= band.below:
            raise ValueError("nothing lies between these bounds")
        return band

    def __str__(self) -> str:
        return f"between {self.above:.3f} and {self.below:.3f}"

    @property
    def bounds(self) -> list[float]:
        """Those there are."""
        return [each for each in (self.above, self.below) if abs(each) < inf]
