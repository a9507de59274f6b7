"""Which of some held-out sentences a sentence repeats, word for word in their order.

It repeats one if their longest common subsequence has more than 75 % of the words of the shorter of both;
of fewer than eight words, which meet by chance in any long sentence, of the longer. Words are compared
without case.

An index spares the comparison with all held-out sentences, and misses none. The word at which a sentence
has another one a second time counts as a word of its own, so two sentences share at least as many words as
their longest common subsequence has. If they share t, then of the rarest n - t + 1 words of either (n: its
number of words) at least one is in the other: else what they share would be among its other t - 1. So
sentences are compared only if they share a word that is rare in one of them.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

SHORT = 8
"""Words below which a sentence is too short for its share of words to mean anything."""

_SURROGATES = 0xD800, 0x800  # code points that are no characters: the first, and how many
_NONE = "\0"  # a word that no held-out sentence has


def needed(one: int, other: int) -> int:
    """How many words two sentences of so many words must have in common, in order, to be near copies."""
    short = min(one, other)
    return _above(short if short >= SHORT else max(one, other))


def _above(words: int) -> int:
    """The least number above 75 % of so many words."""
    return 3 * words // 4 + 1


class Overlap:
    """Held-out sentences, to be asked which of them a sentence nearly repeats.

    Args:
        sentences: their words; those without any are never found.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self._codes: dict[str, str] = {}
        texts = [[word.lower() for word in words] for words in sentences]
        for text in texts:
            for word in text:
                self._codes.setdefault(word, _character(len(self._codes) + 1))
        self._texts = ["".join(map(self._codes.__getitem__, text)) for text in texts]
        numbered = list(map(_numbered, self._texts))
        counts = Counter(token for tokens in numbered for token in tokens)
        rarest = sorted(counts, key=lambda token: (counts[token], token))
        self._rank = {token: rank for rank, token in enumerate(rarest)}
        self._rare: defaultdict[str, list[int]] = defaultdict(list)
        slack: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, tokens in enumerate(numbered):
            size = len(tokens)
            for place, token in enumerate(sorted(tokens, key=self._rank.__getitem__)):
                if place <= size - _above(size):
                    self._rare[token].append(number)
                slack[token].append((place - size, number))
        # Of each word: the sentences that have it, and how many words they can share with one in which it
        # is the rarest that both have, as negative numbers in ascending order.
        self._all: dict[str, tuple[list[int], list[int]]] = {}
        for token, found in slack.items():
            found.sort()
            self._all[token] = [most for most, _ in found], [number for _, number in found]

    def find(self, words: Sequence[str]) -> tuple[int, int] | None:
        """The first held-out sentence that some words nearly repeat; None if there is none.

        Args:
            words: of a sentence; not empty.

        Returns:
            Its number, and how many words they have in common.
        """
        text = "".join([self._codes.get(word.lower(), _NONE) for word in words])
        for number in sorted(self._eligible(text)):
            other = self._texts[number]
            least = needed(len(text), len(other))
            if len(other) < least or len(text) < least:
                continue
            common = LCSseq.similarity(text, other, score_cutoff=least)
            if common >= least:
                return number, int(common)
        return None

    def _eligible(self, text: str) -> set[int]:
        """Held-out sentences that may share more than 75 % of the words of either."""
        tokens = [token for token in _numbered(text) if token in self._rank]
        found: set[int] = set()
        for token in tokens:
            found.update(self._rare.get(token, ()))
        least = _above(len(text))
        # Words that no held-out sentence has are the rarest; none of them is in the index.
        rare = len(text) - least + 1 - (len(text) - len(tokens))
        if rare > 0:
            tokens.sort(key=self._rank.__getitem__)
            for token in tokens[:rare]:
                most, numbers = self._all[token]
                found.update(numbers[: bisect_right(most, -least)])
        return found


def _numbered(text: str) -> list[str]:
    """Each word with how many of the same stand before it."""
    before: dict[str, int] = {}
    found = []
    for word in text:
        count = before.get(word, 0)
        found.append(f"{word}{count}" if count else word)
        before[word] = count + 1
    return found


def _character(code: int) -> str:
    first, count = _SURROGATES
    return chr(code if code < first else code + count)
