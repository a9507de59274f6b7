"""Part-of-speech tags of words in sentences that nobody tagged: of each word its most frequent tag."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

_ENDINGS = (("ing", "VBG"), ("ed", "VBN"), ("ly", "RB"))
_UNKNOWN = "NN"


class UsualTags:
    """The most frequent tag of each word of some tagged sentences.

    A word that they lack goes by its lower-case form, then by its ending; else it is a noun. The same word
    has the same tag wherever it stands, so that equal words are tagged alike in two sentences.
    """

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._known: dict[str, str] = {}

    def add(self, words: Iterable[str], tags: Iterable[str]) -> None:
        """Take in a tagged sentence."""
        for word, tag in zip(words, tags, strict=True):
            self._counts[word][tag] += 1
        self._known.clear()

    def of(self, words: Sequence[str]) -> list[str]:
        """A tag for each word."""
        return [self._known.get(word) or self._tag(word) for word in words]

    def _tag(self, word: str) -> str:
        counts = self._counts.get(word) or self._counts.get(word.lower())
        if counts:
            tag = min(counts, key=lambda each: (-counts[each], each))
        elif word[:1].isdigit():
            tag = "CD"
        elif not any(map(str.isalnum, word)):
            tag = word
        else:
            tag = next((tag for end, tag in _ENDINGS if word.endswith(end)), _UNKNOWN)
        if word in self._counts:  # others may be without number
            self._known[word] = tag
        return tag
