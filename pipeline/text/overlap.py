"""Which of some held-out sentences a sentence repeats, word for word in their order.

It repeats one if their longest common subsequence has more than 75 % of the held-out sentence's words,
whatever else it says. Of fewer than eight words ("Pathogenesis .", "Of course ."), which any long sentence
holds by chance, it must have more than 75 % of the words of both. Words are compared without case.

An index spares the comparison with all held-out sentences, and misses none. The word at which a sentence
has another one a second time counts as a word of its own, so two sentences share at least as many words as
their longest common subsequence has. If they share t of a held-out sentence's n words, at least one of its
rarest n - t + 1 is among them: else what they share would be among its other t - 1. So sentences are compared
only if they share a word that is rare in the held-out one.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

SHORT = 8
"""Words below which a held-out sentence is too short for a share of its words to mean anything."""

_SURROGATES = 0xD800, 0x800  # code points that are no characters: the first, and how many
_NONE = "\0"  # a word that no held-out sentence has


def needed(words: int, held_out: int) -> int:
    """How many words a sentence of so many repeats a held-out one of so many with.

    Args:
        words: of the sentence.
        held_out: of the held-out one.
    """
    return _above(held_out if held_out >= SHORT else max(words, held_out))


def _above(words: int) -> int:
    """The least number above 75 % of so many words."""
    return 3 * words // 4 + 1


class NearRepeats:
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
        self._rare: defaultdict[str, list[int]] = defaultdict(list)
        for number, tokens in enumerate(numbered):
            rarest = sorted(tokens, key=lambda token: (counts[token], token))
            for token in rarest[: len(tokens) - _above(len(tokens)) + 1]:
                self._rare[token].append(number)

    def find(self, words: Sequence[str]) -> tuple[int, int] | None:
        """The first held-out sentence that some words nearly repeat; None if there is none.

        Args:
            words: of a sentence; not empty.

        Returns:
            Its number, and how many words they have in common.
        """
        text = "".join([self._codes.get(word.lower(), _NONE) for word in words])
        eligible = {number for token in _numbered(text) for number in self._rare.get(token, ())}
        for number in sorted(eligible):
            other = self._texts[number]
            least = needed(len(text), len(other))
            if len(text) < least:
                continue
            common = LCSseq.similarity(text, other, score_cutoff=least)
            if common >= least:
                return number, int(common)
        return None


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
