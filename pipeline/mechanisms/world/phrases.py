"""Noun, adjective, adverb and prepositional phrases, and the seeded draws everything is made of."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Protocol, TypeVar

from pipeline.mechanisms.world.lexicon import Lexicon, Modifier
from pipeline.mechanisms.world.nodes import Node, branch, leaf

__all__ = ["ExhaustedError", "Phrases"]

_TAGS = {"her": "PRP$", "his": "PRP$", "their": "PRP$", "two": "CD", "three": "CD", "many": "JJ"}


class _Lexeme(Protocol):
    @property
    def lemma(self) -> str: ...


_L = TypeVar("_L", bound=_Lexeme)


class ExhaustedError(Exception):
    """No unused word is left for a place: the sentence must be begun anew."""


class Phrases(ABC):
    """Composes the phrases below a verb; no content word is used twice by one instance.

    ``kind`` is always a noun class, ``depth`` how many noun phrases and clauses lie above: deeper
    noun phrases are modified more rarely.

    Args:
        lexicon: the words.
        rng: where every choice comes from.
        density: scales the chance of every optional modifier, and so the length of the sentence.
    """

    def __init__(self, lexicon: Lexicon, rng: Random, density: float = 1.0) -> None:
        self._lexicon, self._rng, self._density = lexicon, rng, density
        self._used: set[str] = set()

    @abstractmethod
    def _relative(self, kind: str, head: Node, depth: int) -> Node:
        """A relative clause on the noun phrase ``head``."""

    def _chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def _option(self, probability: float) -> bool:
        return self._rng.random() < probability * self._density

    def _weighted(self, items: Sequence[str], weights: Sequence[float]) -> str:
        point = self._rng.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            point -= weight
            if point < 0:
                return item
        return items[-1]

    def _pick(self, words: Sequence[_L]) -> _L:
        for _ in range(4):
            word = self._rng.choice(words)
            if word.lemma not in self._used:
                break
        else:
            unused = [w for w in words if w.lemma not in self._used]
            if not unused:
                raise ExhaustedError
            word = self._rng.choice(unused)
        self._used.add(word.lemma)
        return word

    def _noun_phrase(self, kind: str, depth: int) -> Node:
        again = partial(self._noun_phrase, kind, max(depth, 1))
        base = self._base(kind)
        if base.children[-1].label == "NNP":
            base.again = again
            return base
        draw = self._rng.random() * (1 if depth < 2 else 3 if depth == 2 else 8) / self._density
        if draw < 0.24 and kind in self._lexicon.noun_modifiers:
            modifier = self._rng.choice(self._lexicon.noun_modifiers[kind])
            tail = self._pp(modifier, depth + 1)
        elif 0.24 <= draw < 0.36:
            tail = self._relative(kind, base, depth + 1)
        elif 0.36 <= draw < 0.4 and kind in self._lexicon.complements:
            tail = self._complemented(kind, depth + 1)
        else:
            base.again = again
            return base
        return branch("NP", base, tail, again=again)

    def _base(self, kind: str) -> Node:
        """A noun phrase without anything after its head noun."""
        again = partial(self._base, kind)
        if kind in self._lexicon.names and self._chance(0.15):
            name = self._pick(self._lexicon.names[kind]).lemma
            return branch("NP", leaf("NNP", name), again=again)
        node = branch("NP", again=again)
        node.plural = self._chance(0.28)
        number = "plural" if node.plural else "singular"
        determiner = self._rng.choice(self._lexicon.determiners[number])
        if self._option(0.3):
            node.children.append(self._adjectives(kind))
        noun = self._pick(self._lexicon.nouns[kind])
        node.children.append(
            leaf("NNS", noun.plural) if node.plural else leaf("NN", noun.lemma)
        )  # fmt: skip
        if determiner == "a" and _first_word(node)[0] in "aeiou":
            determiner = "an"
        node.children.insert(0, leaf(_TAGS.get(determiner, "DT"), determiner))
        return node

    def _adjectives(self, kind: str) -> Node:
        """Adjectives before a noun; a single one gets no bracket of its own, as in the PTB."""
        adjective = leaf("JJ", self._pick(self._lexicon.adjectives[kind]).lemma)
        node = branch("ADJP", adjective, again=partial(self._adjectives, kind))
        node.hidden = not self._graded(node, 0.15)
        return node

    def _graded(self, node: Node, probability: float) -> bool:
        ungraded = node.children[0].word in self._lexicon.ungraded
        if graded := not ungraded and self._chance(probability):
            degree = self._pick(self._lexicon.adverbs["degree"]).lemma
            node.children.insert(0, leaf("RB", degree))
        return graded

    def _adjective_phrase(self, kind: str, depth: int) -> Node:
        """What follows ``was`` or ``seemed``."""
        if kind in self._lexicon.complements and self._chance(0.45):
            return self._complemented(kind, depth)
        adjective = leaf("JJ", self._pick(self._lexicon.adjectives[kind]).lemma)
        node = branch("ADJP", adjective, again=partial(self._adjective_phrase, kind, depth))
        self._graded(node, 0.35)
        return node

    def _complemented(self, kind: str, depth: int) -> Node:
        entry = self._pick_complement(kind)
        node = branch("ADJP", leaf("JJ", entry[0]), self._pp(entry[1], depth + 1))
        node.again = partial(self._complemented, kind, depth)
        return node

    def _pick_complement(self, kind: str) -> tuple[str, Modifier]:
        entries = self._lexicon.complements[kind]
        word = self._pick([entry.adjective for entry in entries])
        return word.lemma, next(e.modifier for e in entries if e.adjective is word)

    def _adverb_phrase(self, kind: str) -> Node:
        adverb = leaf("RB", self._pick(self._lexicon.adverbs[kind]).lemma)
        node = branch("ADVP", adverb, again=partial(self._adverb_phrase, kind))
        if kind == "manner":
            self._graded(node, 0.2)
        return node

    def _pp_modifier(self, kind: str, depth: int) -> Node:
        return self._pp(self._rng.choice(self._lexicon.verb_modifiers[kind]), depth)

    def _pp(self, modifier: Modifier, depth: int) -> Node:
        kind = self._rng.choice(modifier.take)
        preposition = leaf("IN", self._rng.choice(modifier.words))
        again = partial(self._pp, modifier, depth)
        return branch("PP", preposition, self._noun_phrase(kind, depth), again=again)


def _first_word(node: Node) -> str:
    while not node.word:
        node = node.children[0]
    return node.word
