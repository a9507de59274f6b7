"""Predicates of the miniature world with their arguments: who does what in sentences of two clauses.

"The farmer watered the rose and sold the goat to the miller": of two verbs that are coordinated the second
has its subject only through the first, so that no dependency ties the two; it is a zero by construction.
In a sentence of two clauses each verb has a subject of its own. English has no bunsetsu: a verb stands for
itself alone, and what depends on it are phrases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pipeline.core.predicates import DEP, ZAR, Argument, Predicate
from pipeline.core.types import Sentence, Span
from pipeline.world.lexicon import Lexicon, load_lexicon

_ACTS = {
    "container": ("dropped", "filled"), "plant": ("watered", "cut"), "food": ("burnt", "cooked"),
    "tool": ("sharpened", "hid"), "vehicle": ("repaired", "painted"), "clothing": ("washed", "mended"),
    "instrument": ("tuned", "cleaned"), "furniture": ("painted", "moved"), "animal": ("trained", "fed"),
}  # fmt: skip
"""Verbs with an object, by its class of nouns."""

_GIVING = ("gave", "sold", "lent", "showed")
"""Verbs with somebody whom the object goes to, too."""

_SHARED = 0.6  # share of sentences whose verbs have one subject
_SWAPPED = 0.3  # of those, with a phrase of place in front
_TEST, _DEV = (3, 8), (5,)  # which of 10 in a row are held out
_TOGETHER = 20  # sentences of a split in a document, or so


@dataclass
class _Draft:
    """Words with their tags, as far as a sentence is written."""

    words: list[str]
    tags: list[str]

    def phrase(self, *words: tuple[str, str]) -> Span:
        """Add words with their tags; where they stand."""
        start = len(self.words)
        self.words += [word for word, _ in words]
        self.tags += [tag for _, tag in words]
        return Span(start, len(self.words))


class _Composer:
    """Writes sentences.

    Args:
        lexicon: the words.
        rng: where every choice comes from.
    """

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        self._lexicon, self._rng = lexicon, rng

    def sentence(self) -> tuple[_Draft, list[tuple[int, Span, list[Span], bool]]]:
        """Words; and of each verb its place, its subject, its other phrases and whether it shares that."""
        draft, rng = _Draft([], []), self._rng
        shared = rng.random() < _SHARED
        if rng.random() < _SWAPPED:
            place = self._noun(rng.choice(("building", "room")))
            draft.phrase(("in", "IN"), ("the", "DT"), (place, "NN"), (",", ","))
        subject = self._somebody(draft)
        verbs = [(*self._predicate(draft), subject, False)]
        draft.phrase(("and", "CC"))
        own = subject if shared else self._somebody(draft)
        verbs.append((*self._predicate(draft), own, shared))
        draft.phrase((".", "."))
        return draft, [(verb, who, others, zero) for verb, others, who, zero in verbs]

    def _predicate(self, draft: _Draft) -> tuple[int, list[Span]]:
        """A verb with an object, and maybe with somebody: its place, and their phrases."""
        rng = self._rng
        thing = rng.choice(sorted(_ACTS))
        giving = rng.random() < 0.4
        verb = draft.phrase((rng.choice(_GIVING if giving else _ACTS[thing]), "VBD"))
        others = [draft.phrase(("the", "DT"), (self._noun(thing), "NN"))]
        if giving:
            person = self._noun(rng.choice(sorted(self._lexicon.persons)))
            others.append(draft.phrase(("to", "TO"), ("the", "DT"), (person, "NN")))
        return verb.start, others

    def _somebody(self, draft: _Draft) -> Span:
        kind = self._rng.choice(sorted(self._lexicon.persons))
        words = [("the", "DT"), (self._noun(kind), "NN")]
        if self._rng.random() < 0.5:
            words.insert(1, (self._rng.choice(self._lexicon.adjectives[kind]).lemma, "JJ"))
        return draft.phrase(*words)

    def _noun(self, kind: str) -> str:
        return self._rng.choice(self._lexicon.nouns[kind]).lemma


def generate_clauses(
    source: Path, count: int, seed: int, first: int = 0
) -> Iterator[tuple[Sentence, tuple[Predicate, ...]]]:
    """Yield sentences ``first`` up to ``first + count`` with the predicates of each.

    Sentence ``i`` depends on the lexicon, ``seed`` and ``i`` alone. A phrase is filled by its last word.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many sentences.
        seed: of the choices.
        first: index of the first sentence.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(first, first + count):
        rng = Random(f"world-arguments/{seed}/{index}")
        draft, verbs = _Composer(lexicon, rng).sentence()
        place = index % 10
        split = "test" if place in _TEST else "dev" if place in _DEV else "train"
        sentence_id = f"world-arguments/{index:06d}"
        sentence = Sentence(
            sentence_id, f"{split}-{index // (3 * _TOGETHER):04d}", split, tuple(draft.words),
            tuple(draft.tags), None, (), lexicon.license,
        )  # fmt: skip
        yield (
            sentence,
            tuple(_predicate_of(sentence_id, verbs, number) for number in range(len(verbs))),
        )


def _predicate_of(
    sentence_id: str, verbs: Sequence[tuple[int, Span, list[Span], bool]], number: int
) -> Predicate:
    """A verb of a sentence, with what fills its roles."""
    verb, subject, others, zero = verbs[number]
    arguments = [Argument("NOM", ZAR if zero else DEP, (subject.end - 1,))]
    for role, phrase in zip(("ACC", "DAT"), others, strict=False):
        arguments.append(Argument(role, DEP, (phrase.end - 1,)))
    coordinated = verbs[1 - number][0]
    tied = [*others, Span(coordinated, coordinated + 1), *([] if zero else [subject])]
    return Predicate(
        sentence_id, verb, Span(verb, verb + 1), verbal=True, arguments=tuple(arguments),
        tied=tuple(sorted(tied, key=lambda span: span.start)),
    )  # fmt: skip
