"""What a reader asked to see: filters, order and page, as the page's link and the server have it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["BINS", "View", "bin_of"]

BINS = 200
"""Steps of the δ slider; a value's bin is the highest step that it reaches, 0 to ``BINS``."""

_Count = Annotated[int, Field(ge=0, le=10**9)]
_Choices = Annotated[list[str], Field(max_length=200)]


class View(BaseModel):
    """One question to a corpus. The rules stand twice: here for SQL, and in ``rules.js``.

    Attributes:
        state: which rows: usable candidates, rejects, or both.
        label: constituent labels; none: any.
        coordinator: coordinators in lower case; "" is a row without one; none: any.
        reason: reasons of rejects; none: any. Usable candidates have none and are not asked.
        fill_min, fill_max: bounds of the words of the fill, both included.
        words_min, words_max: the same of the sentence.
        q: text that the sentence must contain, in any case; nothing in it has a special meaning.
        sort: ``order``: as in the corpus; by ``score`` or ``value`` (what δ is held against), with
            ``-`` the highest first; rows without one come last, equal ones in the corpus's order.
        keep: all rows, or of those that δ judges the ones that reach it (``above``) or not.
        cut: δ in steps of the slider.
        offset, limit: which of the rows found are wanted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: Literal["usable", "rejected", "all"] = "usable"
    label: _Choices = []
    coordinator: _Choices = []
    reason: _Choices = []
    fill_min: _Count | None = None
    fill_max: _Count | None = None
    words_min: _Count | None = None
    words_max: _Count | None = None
    q: Annotated[str, Field(max_length=1000)] = ""
    sort: Literal["order", "score", "-score", "value", "-value"] = "order"
    keep: Literal["all", "above", "below"] = "all"
    cut: Annotated[int, Field(ge=0, le=BINS)] = 0
    offset: _Count = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 20


def bin_of(value: float | None, top: float) -> int | None:
    """The highest of ``BINS`` steps between 0 and ``top`` that a value reaches; None of None."""
    return None if value is None else min(BINS, int(value * BINS / top))
