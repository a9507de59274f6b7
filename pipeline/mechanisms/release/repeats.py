"""Whether generated text repeats its source: the reference, a run of words, or a whole sentence.

Compared by letters and digits, since a language model writes natural text and a treebank has its own
words, and some models write neither capitals nor accents.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from unicodedata import category, normalize

__all__ = ["RUN", "Repeats"]

RUN = 4
"""Words in a row that count as the source's own, and words that a sentence has to count as one."""

_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\s+")
_UNSEEN = frozenset({"Mn", "Me", "Cf"})  # accents of their own, soft hyphens, joiners
_HEAD = 8  # characters that a text is looked up by


class Repeats:
    """Finds the source's text in generated text.

    Args:
        sentences: the words of every sentence of the source. Kept of each: eight characters and two
            numbers, or less.
    """

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self._long = _Table(_HEAD)  # letters and digits alone
        self._short: set[str] = set()  # the same of fewer; found only where words begin and end
        self._exact = _Table(RUN)  # all but spaces, where there is one word: it may coincide
        for words in sentences:
            if len(words) < RUN:
                continue
            text = _plain(" ".join(words))
            parts = _WORD.findall(text)
            letters = "".join(parts)
            if len(parts) < 2:
                self._exact.add(_GAP.sub("", text))
            elif len(letters) < _HEAD:
                self._short.add(letters)
            else:
                self._long.add(letters)

    def found(
        self,
        word: str | None,
        fill: str,
        words: Sequence[str],
        source: Sequence[str],
        reference: Sequence[str],
    ) -> bool:
        """Whether a fill repeats the source, alone or after its coordinator.

        Args:
            word: the coordinator before it; None if there is none.
            fill: as the language model wrote it.
            words: the words it became.
            source: the words of its own source sentence.
            reference: those of the reference span.
        """
        own = _plain(" ".join(reference))
        natural, joined = _plain(fill), _plain(" ".join(words))
        letters = _letters(natural)
        if _GAP.sub("", joined) == _GAP.sub("", own) or (letters and letters == _letters(own)):
            return True
        before = "" if word is None else f"{_plain(word)} "
        texts = {before + natural, before + joined}
        parts = {tuple(_WORD.findall(text)) for text in texts}
        plain = {"".join(each) for each in parts}
        return bool(
            any(map(self._long.within, plain))
            or any(map(self._exact.within, {_GAP.sub("", text) for text in texts}))
            or (self._short and any(not self._short.isdisjoint(_short(each)) for each in parts))
            or _share_run((before + joined).split(), plain, _plain(" ".join(source)))
        )


def _plain(text: str) -> str:
    """Without case, accents and what is not seen; the same however its characters are composed."""
    if text.isascii():
        return text.lower()
    seen = "".join(c for c in normalize("NFKD", text) if category(c) not in _UNSEEN)
    return seen.casefold()


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text))


def _short(parts: Sequence[str]) -> Iterator[str]:
    """The texts of fewer than ``_HEAD`` characters that whole words in a row make."""
    for begin in range(len(parts)):
        for text in accumulate(parts[begin:]):
            if len(text) >= _HEAD:
                break
            yield text


def _share_run(tokens: Sequence[str], texts: Iterable[str], source: str) -> bool:
    """Whether a run of the source's words stands in a fill, however that is cut into words.

    Args:
        tokens: the fill's words, punctuation too.
        texts: its letters and digits.
        source: the plain text of the sentence.
    """
    spaced = f" {source} "
    if any(f" {' '.join(run)} " in spaced for run in _runs(tokens)):
        return True
    runs = ["".join(run) for run in _runs(_WORD.findall(source))]
    return any(run in text for text in texts for run in runs)


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    return (words[i : i + RUN] for i in range(len(words) - RUN + 1))


class _Table:
    """A set of texts, kept as how they begin and hashes, and whether one of them stands in another text."""

    def __init__(self, head: int) -> None:
        self._head = head
        self._heads: set[str] = set()
        self._whole: set[int] = set()
        self._lengths: set[int] = set()

    def add(self, text: str) -> None:
        self._heads.add(text[: self._head])
        self._whole.add(hash(text))
        self._lengths.add(len(text))

    def within(self, text: str) -> bool:
        head, heads = self._head, self._heads
        begins = [i for i in range(len(text) - head + 1) if text[i : i + head] in heads]
        return any(
            hash(text[begin : begin + length]) in self._whole
            for begin in begins
            for length in self._lengths
            if length <= len(text) - begin
        )
