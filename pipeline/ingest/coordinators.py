"""The coordinators of a treebank: those that an option names, or the words that join its conjuncts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.console import say
from pipeline.core.errors import InputError
from pipeline.core.types import COORDINATORS, USUAL_COORDINATORS, Sentence
from pipeline.core.words import MOST_COORDINATORS, coordinator

_LEAST = 0.001
"""Share of the structures that a coordinator joins at least. In the training split of Afrikaans (AfriBooms)
*en*, *of*, *asook*, *maar* and the stressed *óf* do; what is rarer there joins once."""
_TIMES = 2
"""And so many structures at least."""
_OWN = 0.1
"""Share of the times that a word stands in the treebank at which it joins: *as*, Afrikaans for "than", joins
6 % of the times, *maar* 19 %; English *for* 0.2 %, *yet* 20 %. It would keep all else out of U."""
_ENGLISH = 0.5
"""Share of the structures that the usual coordinators join in an English treebank at least: of EWT 95 %."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class FoundCoordinators:
    """The coordinators of a corpus.

    Attributes:
        words: in lower case, the most frequent first.
        joined: how many structures each word of the treebank joins, theirs and others.
    """

    words: tuple[str, ...]
    joined: Counter[str]

    def show(self) -> None:
        """Print them, and what joins the structures that are not evaluated."""
        usual = self.words == USUAL_COORDINATORS
        own = sum(self.joined[word] for word in self.words)
        listed = ", ".join(
            word if usual else f"{word} {self.joined[word]:,}" for word in self.words
        )
        others = [each for each in self.joined.most_common() if each[0] not in self.words]
        rest = ", ".join(f"{word[:20]} {count:,}" for word, count in others[:_SHOWN])
        if not self.joined:
            say(f"coordinators: {', '.join(self.words)}")
            return
        more = f"; others, not evaluated: {rest}{', …' * (len(others) > _SHOWN)}" if others else ""
        whose = ", as usual of English" if usual else ""
        total = self.joined.total()
        say(f"coordinators{whose}: {listed}; they join {own:,} of {total:,} structures{more}")


def find_coordinators(sentences: Sequence[Sentence], source: Path) -> FoundCoordinators:
    """The coordinators of a treebank, by its training split; by all of it where that has no structure.

    Where most structures are joined by one of the usual coordinators, it is English, and has these, which
    the literature evaluates. Else they are all words that join often enough: see the shares above.

    Raises:
        InputError: it has no structure, or no word joins often enough.
    """
    joined = _joined(sentences, source)
    among = [each for each in sentences if each.split == "train"]
    counts = _counted(among)
    if not counts:
        among, counts = list(sentences), joined
    total = counts.total()
    if sum(counts[word] for word in COORDINATORS) >= _ENGLISH * total:
        return FoundCoordinators(USUAL_COORDINATORS, joined)
    stand = Counter(word.lower() for sentence in among for word in sentence.words)
    words = [
        word
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= max(_TIMES, _LEAST * total) and count >= _OWN * stand[word] and _may_be(word)
    ][:MOST_COORDINATORS]
    if not words:
        shown = ", ".join(f"{word[:20]} ({count:,})" for word, count in counts.most_common(3))
        raise InputError(
            f"no word joins conjuncts often enough to be a coordinator: {shown}",
            path=source, remedy="name them: --coordinators WORD,WORD",
        )  # fmt: skip
    return FoundCoordinators(tuple(words), joined)


def named_coordinators(
    named: Sequence[str], sentences: Sequence[Sentence], source: Path
) -> FoundCoordinators:
    """The coordinators that are named, the most frequent first.

    Raises:
        InputError: the treebank has no structure, or one of them joins none.
    """
    joined = _joined(sentences, source)
    if unknown := [word for word in named if not joined[word]]:
        known = ", ".join(f"{word[:20]} ({count:,})" for word, count in joined.most_common(_SHOWN))
        raise InputError(
            f"--coordinators: nothing is joined by {', '.join(unknown)[:80]} here; conjuncts are by: {known}",
            path=source, remedy="name such words",
        )  # fmt: skip
    return FoundCoordinators(tuple(sorted(named, key=lambda word: -joined[word])), joined)


def _joined(sentences: Sequence[Sentence], source: Path) -> Counter[str]:
    joined = _counted(sentences)
    if not joined:
        raise InputError(
            "no coordination in any sentence: no word joins conjuncts (`cc` in CoNLL-U)",
            path=source, remedy="read a treebank that has some, or the text alone with reader text",
        )  # fmt: skip
    return joined


def _may_be(word: str) -> bool:
    try:
        return bool(coordinator(word))
    except ValueError:
        return False


def _counted(sentences: Sequence[Sentence]) -> Counter[str]:
    return Counter(c.word.lower() for each in sentences for c in each.coordinations)
