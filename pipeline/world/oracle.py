"""The exact oracle: whether the coordination of a generated sentence is where its annotation says.

A sentence of the world, however it was made, is recognised with the world's own grammar, closed
under coordination. So the oracle decides, as otherwise a linguist would have to, whether a generated
candidate is grammatical with these conjuncts, grammatical with others, or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pipeline.core.types import Span
from pipeline.world.lexicon import load_lexicon
from pipeline.world.oracle_chart import Pin
from pipeline.world.oracle_rules import Recogniser
from pipeline.world.oracle_tables import Tables, build_tables, content_lemmas, relaxed

LEXICON = "lexicon.yaml"
"""The file that makes a folder the source of a world."""


class Judgement(StrEnum):
    """What the grammar says of an annotated coordination."""

    RIGHT = "right"
    """There is a reading in which the coordinator links exactly these conjuncts."""
    OTHER = "other"
    """The sentence has readings, but in all of them the coordinator links other conjuncts."""
    UNGRAMMATICAL = "ungrammatical"
    """The sentence has no reading."""


@dataclass(frozen=True, slots=True)
class OracleVerdict:
    """``sensible``: the reading also respects noun classes, as all sentences of the world do."""

    kind: Judgement
    sensible: bool


class Oracle:
    """Judges sentences with the grammar of one lexicon.

    There are two grammars. The *strict* one keeps selectional preference, and its conjuncts share a
    class as the generator's do; the *relaxed* one ignores noun classes and keeps what is syntax:
    categories, number, who and which, frames of verbs, the prepositions. The relaxed grammar judges
    only sentences for which the strict one has no reading at all.
    """

    def __init__(self, strict: Tables, loose: Tables, lemmas: Mapping[str, str]) -> None:
        self._grammars = ((strict, True), (loose, False))
        self._lemmas = lemmas

    @classmethod
    def load(cls, source: Path) -> "Oracle":
        """The oracle of the world in folder ``source``.

        Raises:
            InputError: its lexicon.yaml is missing or malformed.
        """
        lexicon = load_lexicon(source / LEXICON)
        return cls(
            build_tables(lexicon, mixed=False),
            build_tables(relaxed(lexicon), mixed=True),
            content_lemmas(lexicon),
        )

    def judge(
        self, words: Sequence[str], coordinator: int, conjuncts: Sequence[Span]
    ) -> OracleVerdict:
        """What the grammar says of a coordination.

        The case of the sentence's first word is ignored, and of the conjuncts' first words in a
        coordination that begins the sentence, since each conjunct could have come first.

        Args:
            words: the sentence.
            coordinator: index of the coordinator.
            conjuncts: all conjuncts in sentence order, at least two.
        """
        spans = tuple(conjuncts)
        first = [span.start for span in spans] if spans and not spans[0].start else []
        known = self._normal(words, {0, *first})
        pin = Pin(coordinator, spans)
        if known is None or not _fits(pin, len(known)):
            return OracleVerdict(Judgement.UNGRAMMATICAL, sensible=False)
        for tables, sensible in self._grammars:
            if Recogniser(tables, known, pin).accepts():
                return OracleVerdict(Judgement.RIGHT, sensible)
            if Recogniser(tables, known, None).accepts():
                return OracleVerdict(Judgement.OTHER, sensible)
        return OracleVerdict(Judgement.UNGRAMMATICAL, sensible=False)

    def reads(self, words: Sequence[str]) -> OracleVerdict:
        """Whether a sentence has a reading at all: RIGHT or UNGRAMMATICAL."""
        known = self._normal(words, {0})
        for tables, sensible in self._grammars:
            if known is not None and Recogniser(tables, known, None).accepts():
                return OracleVerdict(Judgement.RIGHT, sensible)
        return OracleVerdict(Judgement.UNGRAMMATICAL, sensible=False)

    def content(self, words: Sequence[str]) -> frozenset[str]:
        """Lemmas of the nouns, verbs, adjectives, manner adverbs and names among the words."""
        lemmas = self._lemmas
        found = (lemmas.get(word) or lemmas.get(word[:1].lower() + word[1:]) for word in words)
        return frozenset(lemma for lemma in found if lemma)

    def _normal(self, words: Sequence[str], first: set[int]) -> tuple[str, ...] | None:
        """The words as the tables spell them; None if there is an unknown one."""
        vocabulary = self._grammars[0][0].vocabulary
        known = []
        for index, word in enumerate(words):
            spelt = word
            if index in first and word not in vocabulary:
                spelt = word[:1].lower() + word[1:]
            if spelt not in vocabulary:
                return None
            known.append(spelt)
        return tuple(known)


def _fits(pin: Pin, length: int) -> bool:
    """Whether the annotation is one at all: a coordinator before the last of two or more spans."""
    ends = [place for span in pin.conjuncts for place in (span.start, span.end)]
    return (
        len(pin.conjuncts) > 1
        and ends == sorted(ends)
        and ends[-3] <= pin.coordinator < ends[-2]
        and ends[0] >= 0
        and ends[-1] <= length
    )
