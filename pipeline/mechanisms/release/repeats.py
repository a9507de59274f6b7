"""Whether generated text repeats its source: the reference, a run of words, or a whole sentence.

Compared without regard to case, spacing and how words were cut off one another, since a language model
writes natural text and a treebank has its own words.
"""

import re
from collections.abc import Iterable, Sequence

from pipeline.mechanisms.naturaltext import join_words

__all__ = ["RUN", "Repeats"]

RUN = 4
"""Words in a row that count as the source's own, and words that a sentence has to count as one."""

_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\s+")
_NOT_WORD = re.compile(r"[\W_]+")


class Repeats:
    """Finds the source's text in generated text.

    Args:
        sentences: the words of every sentence of the source. Kept of each: two numbers.
    """

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self._plain = _Table(8)  # letters and digits alone, of sentences that have four such words
        self._exact = _Table(RUN)  # all but spaces, of the others: formulas, tables
        for words in sentences:
            if len(words) < RUN:
                continue
            text = " ".join(words).casefold()
            letters = _NOT_WORD.sub("", text)
            if len(_WORD.findall(text)) >= RUN and len(letters) >= self._plain.head:
                self._plain.add(letters)
            else:
                self._exact.add(_GAP.sub("", text))

    def found(
        self, fill: str, words: Sequence[str], source: Sequence[str], reference: Sequence[str]
    ) -> bool:
        """Whether a fill repeats the source.

        Args:
            fill: as the language model wrote it.
            words: the words it became.
            source: the words of its own source sentence.
            reference: those of the reference span.
        """
        cased = fill.casefold()
        joined = " ".join(words).casefold()
        letters = _NOT_WORD.sub("", cased)
        own = " ".join(reference).casefold()
        if _GAP.sub("", joined) == _GAP.sub("", own) or (
            letters and letters == _NOT_WORD.sub("", own)
        ):
            return True
        texts = {cased, joined}
        plain = {_NOT_WORD.sub("", text) for text in texts}
        exact = {_GAP.sub("", text) for text in texts}
        return (
            any(map(self._plain.within, plain))
            or any(map(self._exact.within, exact))
            or _share_run(cased, joined, words, source)
        )


def _share_run(cased: str, joined: str, words: Sequence[str], source: Sequence[str]) -> bool:
    """Whether a run of words is the source's too, however either is cut into words."""
    if len(words) < RUN and len(cased.split()) < RUN and len(_WORD.findall(cased)) < RUN:
        return False
    text = " ".join(source).casefold()
    natural = join_words(source).text.casefold()
    ours = _runs(cased.split()) | _runs(joined.split())
    theirs = _runs(text.split()) | _runs(natural.split())
    # Once more by letters and digits alone: "the dog, the cat" is "the dog , the cat".
    ours |= _runs(_WORD.findall(cased)) | _runs(_WORD.findall(joined))
    theirs |= _runs(_WORD.findall(text))
    return not ours.isdisjoint(theirs)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


class _Table:
    """A set of texts, of which only hashes are kept, and whether one of them stands in another text."""

    def __init__(self, head: int) -> None:
        self.head = head
        self._heads: set[int] = set()
        self._whole: set[int] = set()
        self._lengths: set[int] = set()

    def add(self, text: str) -> None:
        self._heads.add(hash(text[: self.head]))
        self._whole.add(hash(text))
        self._lengths.add(len(text))

    def within(self, text: str) -> bool:
        for begin in range(len(text) - self.head + 1):
            if hash(text[begin : begin + self.head]) in self._heads:
                left = len(text) - begin
                for length in self._lengths:
                    if length <= left and hash(text[begin : begin + length]) in self._whole:
                        return True
        return False
