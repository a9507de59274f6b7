"""The contamination filter: which raw sentences hold a sentence that models are judged on."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

__all__ = [
    "CONTAINS",
    "EQUAL",
    "LONGEST",
    "REASONS",
    "SHARES",
    "SHORTEST",
    "Overlap",
    "normal_form",
]

SHORTEST, LONGEST = 4, 12
"""Tokens of the held-out sentences that are looked for whole inside raw ones."""

_ROW = LONGEST + 1

EQUAL = "equals a held-out sentence"
CONTAINS = "contains a held-out sentence"
SHARES = f"shares {_ROW} words in a row with a held-out sentence"
REASONS = (EQUAL, CONTAINS, SHARES)

_BRACKETS = re.compile(r"-[lr][rsc]b-")
_CLITICS = re.compile(r"\s+(?=(?:n't|'(?:s|re|ve|ll|d|m))(?!\w))")
_CANNOT = re.compile(r"\bcannot\b")
_TOKEN = re.compile(r"[^\W_]+")
_PLAIN = {0x2019: "'", 0x2018: "'", **dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))}


def normal_form(text: str) -> list[str]:
    """Runs of letters and digits in lower case; treebank tokens and raw text give the same ones.

    So ``-LRB-`` and quotes are nothing, a hyphen is a space, and ``do n't`` is ``don't``.
    """
    lowered = text.lower()
    if not lowered.isascii():
        lowered = unicodedata.normalize("NFKC", lowered.translate(_PLAIN)).lower()
    if "'" in lowered:
        lowered = _CLITICS.sub("", lowered)
    if "b-" in lowered:
        lowered = _BRACKETS.sub(" ", lowered)
    if "cannot" in lowered:
        lowered = _CANNOT.sub("can not", lowered)
    return _TOKEN.findall(lowered)


class Overlap:
    """Finds raw sentences that hold one of the held-out sentences, or a good part of one.

    Built once, then asked for every line of raw text: almost all lines cost a comparison of sets
    and a look-up per word.

    Args:
        held: treebank words of each held-out sentence (dev and test).
    """

    def __init__(self, held: Iterable[Sequence[str]]) -> None:
        forms = {" ".join(normal_form(" ".join(words))) for words in held} - {""}
        self._whole = forms
        self._rows: set[tuple[str, ...]] = set()
        # A short sentence is looked for where its rarest word is; of equals the longest word.
        self._anchored: defaultdict[str, list[str]] = defaultdict(list)
        times: defaultdict[str, int] = defaultdict(int)
        tokens = [form.split() for form in sorted(forms)]
        for form in tokens:
            for token in form:
                times[token] += 1
        for form in tokens:
            if SHORTEST <= len(form) <= LONGEST:
                anchor = min(form, key=lambda token: (times[token], -len(token), token))
                self._anchored[anchor].append(f" {' '.join(form)} ")
            self._rows.update(_rows(form))
        self._anchors = frozenset(self._anchored)

    def __len__(self) -> int:
        """How many different normal forms are held out."""
        return len(self._whole)

    def reason(self, text: str) -> str | None:
        """The first of ``REASONS`` that holds of a raw sentence; None of a clean one."""
        tokens = normal_form(text)
        joined = " ".join(tokens)
        if joined in self._whole:
            return EQUAL
        if not self._anchors.isdisjoint(tokens):
            padded = f" {joined} "
            for anchor in self._anchors.intersection(tokens):
                if any(form in padded for form in self._anchored[anchor]):
                    return CONTAINS
        return SHARES if any(row in self._rows for row in _rows(tokens)) else None


def _rows(tokens: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(tokens[i:] for i in range(_ROW)), strict=False)
