"""What the probe asks: natural coordinations of the dev split without their second conjunct.

``is_echo`` finds fills that only repeat A, the conjunct that is shown. A is much like B in category,
length and sense, which is all that the probe judges: on GENIA "A A" and "the A" would count as
recovered every second time, though they say nothing new.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.fill_probe.categories import NO_PHRASE, Phrase, category_of
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Reference, Sentence

COORDINATORS = ("and", "or")
SHORTEST = 6
"""Words that a sentence must have without the coordinator and the second conjunct."""

APART = "a conjunct does not touch the coordinator"
MANY = "not two conjuncts"
NO_CATEGORY = "label without a category of Table 2"
OTHER_WORD = "coordinator other than and, or"
SHORT = f"fewer than {SHORTEST} words without the second conjunct"

_EXAMPLES = 10_000
"""Conjuncts that the judge learns from at most: fitting 23,000 took twice as long."""

_NO_PHRASES = 3
"""Conjuncts for each word sequence that is no phrase."""

_FREQUENT = 20
"""Occurrences from which a word that is never alone is one that cannot be."""


@dataclass(frozen=True, slots=True)
class Held:
    """A coordination A cc B: the sentence with A in place of it all, and what was taken out.

    ``reference`` is A in that sentence, ``conjunct`` the words of B, ``category`` its category.
    """

    reference: Reference
    coordinator: str
    conjunct: tuple[str, ...]
    category: str

    @property
    def first(self) -> tuple[str, ...]:
        """The words of A."""
        span = self.reference.span
        return self.reference.words[span.start : span.end]


def held_out(sentences: Iterable[Sentence]) -> tuple[list[Held], Tally]:
    """The coordinations of some sentences that the probe can ask for; the tally counts the others."""
    found, tally = [], Tally()
    for sentence in sentences:
        for each in sentence.coordinations:
            outcome = _held(sentence, each)
            if isinstance(outcome, str):
                tally.refuse(outcome)
            else:
                tally.keep()
                found.append(outcome)
    return found, tally


def _held(sentence: Sentence, each: Coordination) -> Held | str:
    word = each.word.lower()
    if word not in COORDINATORS:
        return OTHER_WORD
    if len(each.conjuncts) != 2:
        return MANY
    first, second = each.conjuncts
    if first.end != each.coordinator or second.start != each.coordinator + 1:
        return APART
    category = category_of(each.label, sentence.tags, second)
    if category is None:
        return NO_CATEGORY
    words = (*sentence.words[: first.end], *sentence.words[second.end :])
    if len(words) < SHORTEST:
        return SHORT
    reference = Reference(sentence.sentence_id, words, first, each.label, sentence.license)
    return Held(reference, word, sentence.words[second.start : second.end], category)


def phrases(sentences: Sequence[Sentence], seed: int) -> list[Phrase]:
    """What the judge learns from: conjuncts, and word sequences that are no phrase.

    For every three conjuncts there is about one such sequence of a conjunct's length: words in a row
    from anywhere in a sentence, or words of a sentence in any order. A single word is one that is
    frequent and never a conjunct by itself, because most single words could be.
    """
    found: list[Phrase] = []
    for sentence in sentences:
        for each in sentence.coordinations:
            for span in each.conjuncts:
                category = category_of(each.label, sentence.tags, span)
                if category is not None:
                    found.append((sentence.words[span.start : span.end], category))
    rng = random.Random(seed)
    if len(found) > _EXAMPLES:
        found = rng.sample(found, _EXAMPLES)
    if not found:
        return []
    sources = [sentence.words for sentence in sentences if len(sentence.words) > 2]
    known = {in_lower_case(words) for words, _ in found}
    alone = _never_alone(sources, known)
    lengths = [len(words) for words, _ in found]
    wanted = len(found) // _NO_PHRASES
    for number in range(wanted if sources else 0):
        words, length = rng.choice(sources), rng.choice(lengths)
        if length == 1 and alone:
            found.append(((rng.choice(alone),), NO_PHRASE))
            continue
        length = max(2, min(length, len(words) - 1))
        start = rng.randrange(len(words) - length + 1)
        row = words[start : start + length] if number % 2 else tuple(rng.sample(words, length))
        if in_lower_case(row) not in known:
            found.append((row, NO_PHRASE))
    return found


def _never_alone(sources: Sequence[tuple[str, ...]], phrases: set[tuple[str, ...]]) -> list[str]:
    """Frequent words that no conjunct consists of, as often as they occur."""
    counts = Counter(word.lower() for words in sources for word in words)
    return [
        word
        for word, count in sorted(counts.items())
        if count >= _FREQUENT and (word,) not in phrases
        for _ in range(count)
    ]


def in_lower_case(words: Sequence[str]) -> tuple[str, ...]:
    """The words in lower case."""
    return tuple(word.lower() for word in words)


def ordered(held: Sequence[Held], seed: int) -> list[Held]:
    """All in the order of the draw: a pure function of the seed and each coordination."""
    return sorted(held, key=lambda each: (_key(each, seed), each.reference.span, each.conjunct))


def rng_of(held: Held, seed: int) -> random.Random:
    """Random numbers that depend on the seed and this coordination only."""
    return random.Random(int.from_bytes(_key(held, seed)[:8], "big"))


def _key(held: Held, seed: int) -> bytes:
    span = held.reference.span
    place = f"{held.reference.sentence_id}\0{span.start}\0{span.end}\0{held.coordinator}"
    return hashlib.sha256(f"probe/{seed}/{place}".encode()).digest()


_FUNCTION = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "such", "other", "another", "each",
    "both", "all", "its", "their", "his", "her", "our", "your", "my", "of", "in", "to", "for", "by",
    "with", "from", "on", "at", "as", "into", "via", "and", "or", "but", "nor", "not", "no", "than", "is",
    "are", "was", "were", "be", "been", "being", "has", "have", "had", "do", "does", "did", "it", "they",
    "we", "which", "who",
})  # fmt: skip
"""Words that do not distinguish phrases. If they counted, "its C-terminal domain" would be an echo of
"its N-terminal domain", and "other cells" none of "T cells"."""


def is_echo(fill: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a fill only repeats A: case-folded, and by content words.

    It is an echo if more than half of its words are words of A, each however often, or if all words
    of A are among them. Where there are function words alone they are the words; punctuation never is.

    Args:
        fill: words of the fill.
        first: words of A, the conjunct that was shown.
    """
    said, shown = _content(fill), _content(first)
    known = {word.casefold() for word in first}
    again = sum(word in known for word in said)
    return 2 * again > len(said) or (bool(shown) and set(shown) <= set(said))


def _content(words: Sequence[str]) -> list[str]:
    spoken = [word.casefold() for word in words if any(c.isalnum() for c in word)]
    return [word for word in spoken if word not in _FUNCTION] or spoken
