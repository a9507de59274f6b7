"""Where the trees of a file are: each character is looked at a few times, however the file is laid out."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.text import bracketings as module

TREE = "(S (NN a) (CC and) (NN b))"


class _Watched(str):
    """A text that counts the characters that its own methods look at."""

    __slots__ = ()
    looked = 0

    def _between(self, start: int = 0, end: int | None = None) -> int:
        return max(0, (len(self) if end is None else end) - start)

    def find(self, part: str, *place: Any) -> int:
        found = super().find(part, *place)
        _Watched.looked += self._between(place[0], found) if found >= 0 else self._between(*place)
        return found

    def rfind(self, part: str, *place: Any) -> int:
        found = super().rfind(part, *place)
        _Watched.looked += self._between(max(found, place[0]), *place[1:])
        return found

    def count(self, part: str, *place: Any) -> int:
        _Watched.looked += self._between(*place)
        return super().count(part, *place)

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        _Watched.looked += len(part)
        return part


class _Pattern:
    """A regular expression that counts the characters between its begin and what it finds."""

    def __init__(self, real: re.Pattern[str]) -> None:
        self._real = real

    def search(self, text: str, begin: int = 0, end: int | None = None) -> re.Match[str] | None:
        return next(self.finditer(text, begin, end), None)

    def match(self, text: str, begin: int = 0) -> re.Match[str] | None:
        found = self._real.match(text, begin)
        _Watched.looked += len(found[0]) if found else 1
        return found

    def finditer(self, text: str, begin: int, end: int | None = None) -> Iterator[re.Match[str]]:
        end = len(text) if end is None else end
        while found := self._real.search(text, begin, end):
            _Watched.looked += found.end() - begin
            yield found
            begin = found.end()
        _Watched.looked += end - begin


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        TREE * 1_500,
        f"{TREE} " * 1_500,
        f"{TREE}\n" * 1_500,
        f"{TREE} x " * 1_500,
        "x ) " * 1_500,
        "\n(" * 5_000,
        # So many are never closed that only the beginnings of lines count.
        "(x\n" * 30 + f"({TREE}) " * 1_500,
    ],
    ids=["no blank", "blanks", "lines", "text between", "no tree", "never closed", "the last line"],
)
def test_the_work_is_that_of_reading_a_few_times(
    text: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is searched anew for each tree; what is found is what is found in a tree alone."""
    wanted = list(module.bracketings(text, apart=apart))
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            monkeypatch.setattr(module, name, _Pattern(value))
    monkeypatch.setattr(module, "_RAW", ())  # what they give is no longer watched
    _Watched.looked = 0
    assert list(module.bracketings(_Watched(text), apart=apart)) == wanted
    assert _Watched.looked < 40 * len(text)


def test_comments_and_text_outside_are_distinguished() -> None:
    """A comment begins its line, after blanks at most, and goes to its end; other text to a bracket."""
    text = "# a (NN x)\n (NN y) # b (NN z)\n\t# c\nd (NN u) ) * e\n* f"
    assert [(each.line, each.text, each.fault) for each in module.bracketings(text)] == [
        (1, "# a (NN x)", module.COMMENT),
        (2, "(NN y)", ""),
        (2, "# b", module.OUTSIDE),
        (2, "(NN z)", ""),
        (3, "# c", module.COMMENT),
        (4, "d", module.OUTSIDE),
        (4, "(NN u) )", module.TOO_MANY),
        (4, "* e", module.OUTSIDE),
        (5, "* f", module.COMMENT),
    ]
