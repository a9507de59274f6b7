"""The grammar: composes the sentences of the miniature world by seeded random choice.

Every phrase that may be coordinated carries ``again``, a call that composes another phrase of the
same role, noun class and verb form. A coordination is therefore made as §3.1 of the paper describes
it: a phrase of a finished sentence gets a replaceable one beside it. Attachment is truly ambiguous,
because the same words may follow a phrase inside its bracket or outside.

``generate_sentences`` makes each sentence of a corpus with a ``Composer`` of its own.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from pipeline.core.types import Sentence
from pipeline.world.lexicon import Lexicon, Modifier, Verb, load_lexicon
from pipeline.world.nodes import Again, Node, ReadOff, branch, leaf

_TEST, _DEV = (3, 13, 17), 9
"""Which of 18 sentences in a row are held out: 14 train, 1 dev, 3 test (7,000, 500, 1,500 of 9,000)."""

_COORDINATED = 0.5  # share of sentences with coordination
_SECOND = 0.3  # share of those with one coordination more
_LONGEST = 28  # words; longer drafts are thrown away and drawn again
_THREE = 0.18  # share of coordinations with three conjuncts, where "but" is not drawn
_COMMA = {"S": 0.5, "SBAR": 0.15}  # share of "A , and B"
_TAGS = {"her": "PRP$", "his": "PRP$", "their": "PRP$", "two": "CD", "three": "CD", "many": "JJ"}


class _Lexeme(Protocol):
    @property
    def lemma(self) -> str: ...


_L = TypeVar("_L", bound=_Lexeme)


class ExhaustedError(Exception):
    """No unused word is left for a place: the sentence must be begun anew."""


class Composer:
    """Composes one sentence, and coordinates phrases of it; no content word is used twice.

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
        entries = self._lexicon.complements[kind]
        word = self._pick([entry.adjective for entry in entries])
        modifier = next(entry.modifier for entry in entries if entry.adjective is word)
        node = branch("ADJP", leaf("JJ", word.lemma), self._pp(modifier, depth + 1))
        node.again = partial(self._complemented, kind, depth)
        return node

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

    def sentence(self) -> Node:
        """A sentence without coordination: ``(S1 (S (S …) (. .)))``."""
        clause = self._clause(0)
        return branch("S1", branch("S", clause, leaf(".", ".")))

    def coordinate(self, root: Node) -> bool:
        """Coordinate one phrase of the sentence; False when there is none left to coordinate."""
        groups: dict[str, list[tuple[Node, Again]]] = {}
        for phrase, again in root.phrases():
            groups.setdefault(phrase.label, []).append((phrase, again))
        weights = self._lexicon.label_weights
        labels = [label for label in weights if label in groups]
        if not labels:
            return False
        label = self._weighted(labels, [weights[label] for label in labels])
        node, again = self._rng.choice(groups[label])
        word = self._rng.choice(self._lexicon.coordinators[label])
        count = 2 if word != "but" and self._chance(_THREE) else 1
        others = [again() for _ in range(count)]
        node.coordinate(word, others, count == 1 and self._chance(_COMMA.get(label, 0)))
        return True

    def _clause(self, depth: int) -> Node:
        kind = self._rng.choice(self._lexicon.subjects)
        subject = self._subject(kind, depth)
        parts = [subject, self._verb_phrase(kind, "VBD", subject, depth)]
        if depth == 0 and self._option(0.1):
            front = self._adverbial(1) if self._chance(0.4) else self._pp_modifier(kind, 1)
            parts[:0] = [front, leaf(",", ",")]
        return branch("S", *parts, again=partial(self._clause, max(depth, 1)))

    def _subject(self, kind: str, depth: int) -> Node:
        if kind in self._lexicon.persons and self._chance(0.12):
            number = self._weighted(["singular", "plural"], [0.7, 0.3])
            word = self._rng.choice(self._lexicon.pronouns[number])
            node = branch("NP", leaf("PRP", word))
            node.plural = number == "plural"
            return node
        return self._noun_phrase(kind, depth)

    def _adverbial(self, depth: int) -> Node:
        kind = self._rng.choice(list(self._lexicon.subordinators))
        return self._subordinate(kind, depth)

    def _subordinate(self, kind: str, depth: int) -> Node:
        word = self._rng.choice(self._lexicon.subordinators[kind])
        head = leaf("IN", word) if word != "when" else branch("WHADVP", leaf("WRB", word))
        again = partial(self._subordinate, kind, depth)
        return branch("SBAR", head, self._clause(depth + 1), again=again)

    def _that_clause(self, depth: int) -> Node:
        again = partial(self._that_clause, depth)
        return branch("SBAR", leaf("IN", "that"), self._clause(depth + 1), again=again)

    def _relative(self, kind: str, head: Node, depth: int) -> Node:
        """A relative clause on the noun phrase ``head``."""
        person = kind in self._lexicon.persons
        word = leaf("WP", "who") if person else leaf("WDT", self._rng.choice(("that", "which")))
        again = partial(self._relative, kind, head, depth)
        if self._chance(0.35):
            verb = self._pick(self._lexicon.acting_on[kind])
            subject = self._subject(self._rng.choice(verb.subjects), depth + 2)
            clause = branch("S", subject, branch("VP", leaf("VBD", verb.past)))
        else:
            clause = branch("S", self._verb_phrase(kind, "VBD", head, depth + 1))
        return branch("SBAR", branch("WHNP", word), clause, again=again)

    def _verb_phrase(self, kind: str, form: str, subject: Node, depth: int) -> Node:
        """A verb phrase for a subject of class ``kind``; ``form`` is VBD or VB."""
        again = partial(self._verb_phrase, kind, form, subject, max(depth, 1))
        frames = self._lexicon.verbs
        shares = {
            "modal": 0.08 * (form == "VBD" and kind in self._lexicon.persons),
            "be": 0.14 * (form == "VBD"),
            "passive": 0.25 * (form == "VBD" and kind not in self._lexicon.persons),
            "infinitive": 0.07 * (form == "VBD" and (kind, "infinitive") in frames),
            "that": 0.14 * (depth < 2 and (kind, "that") in frames),
            "adjective": 0.06 * ((kind, "adjective") in frames),
            "transitive": 0.55 * ((kind, "transitive") in frames),
            "intransitive": 0.15 * ((kind, "intransitive") in frames),
        }
        frame = self._weighted(list(shares), list(shares.values()))
        if frame == "modal":
            head = leaf("MD", self._rng.choice(self._lexicon.modals))
            rest = self._verb_phrase(kind, "VB", subject, depth)
        elif frame == "be":
            head, rest = self._be(subject), self._adjective_phrase(kind, depth)
        elif frame == "passive":
            head, rest = self._be(subject), self._passive(kind, depth)
        else:
            verb = self._pick(frames[kind, frame])
            head = leaf(form, verb.past if form == "VBD" else verb.lemma)
            if frame == "infinitive":
                rest = branch("S", self._to_phrase(kind, subject, depth))
            elif frame == "that":
                rest = self._that_clause(depth)
            elif frame == "adjective":
                rest = self._adjective_phrase(kind, depth)
            else:
                core = self._core(verb, head, depth)
                core.again = partial(self._new_core, kind, frame, form, depth)
                return self._with_adjuncts(core, verb, kind, depth, again)
        return branch("VP", head, rest, again=again)

    def _be(self, subject: Node) -> Node:
        node = leaf("VBD", "was")
        node.subject = subject
        return node

    def _to_phrase(self, kind: str, subject: Node, depth: int) -> Node:
        again = partial(self._to_phrase, kind, subject, depth)
        return branch("VP", leaf("TO", "to"), self._verb_phrase(kind, "VB", subject, depth + 1),
                      again=again)  # fmt: skip

    def _passive(self, kind: str, depth: int) -> Node:
        verb = self._pick(self._lexicon.acting_on[kind])
        node = branch("VP", leaf("VBN", verb.participle), again=partial(self._passive, kind, depth))
        if self._chance(0.6):
            agent = self._noun_phrase(self._rng.choice(verb.subjects), depth + 1)
            node.children.append(branch("PP", leaf("IN", "by"), agent))
        return node

    def _new_core(self, kind: str, frame: str, form: str, depth: int) -> Node:
        verb = self._pick(self._lexicon.verbs[kind, frame])
        return self._core(verb, leaf(form, verb.past if form == "VBD" else verb.lemma), depth)

    def _core(self, verb: Verb, head: Node, depth: int) -> Node:
        """The verb with its complements, bracketed only where it is coordinated by itself."""
        core = branch("VP", head)
        if verb.objects:
            kind = self._rng.choice(verb.objects)
            core.children.append(self._noun_phrase(kind, depth + 1))
        if verb.complement is not None and self._chance(0.6):
            core.children.append(self._pp(verb.complement, depth + 1))
        core.hidden = True
        return core

    def _with_adjuncts(
        self, core: Node, verb: Verb, kind: str, depth: int, again: partial[Node]
    ) -> Node:
        node = branch("VP", core, again=again)
        if self._option(0.35):
            role = self._weighted(["manner", "place"], [0.75, 0.25])
            before = role == "manner" and self._chance(0.3)
            node.children.insert(0 if before else 1, self._adverb_phrase(role))
        if verb.instrument is not None and self._option(0.35):
            node.children.append(self._pp(verb.instrument, depth + 1))
        elif depth < 2 and self._option(0.4):
            node.children.append(self._pp_modifier(kind, depth + 1))
        if depth == 0 and self._option(0.15):
            node.children.append(self._adverbial(depth + 1))
        if len(node.children) == 1:
            core.again = None
        return node


def _first_word(node: Node) -> str:
    while not node.word:
        node = node.children[0]
    return node.word


def _split(index: int) -> str:
    place = index % 18
    return "test" if place in _TEST else "dev" if place == _DEV else "train"


def _draft(lexicon: Lexicon, rng: Random) -> ReadOff | None:
    coordinated = rng.random() < _COORDINATED
    # A coordination adds five words on average: sparser sentences leave room for it.
    composer = Composer(lexicon, rng, density=0.45 if coordinated else 1.0)
    try:
        root = composer.sentence()
        if coordinated:
            composer.coordinate(root)
            if rng.random() < _SECOND:
                composer.coordinate(root)
    except ExhaustedError:
        return None
    draft = ReadOff(root)
    return draft if len(draft.words) <= _LONGEST else None


def generate_sentences(source: Path, count: int, seed: int, first: int = 0) -> Iterator[Sentence]:
    """Yield sentences ``first`` up to ``first + count`` with tags, tree and coordinations.

    Sentence ``i`` depends on the lexicon, ``seed`` and ``i`` alone, so a larger corpus begins with
    the smaller one, on any Python version.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many sentences.
        seed: seed of the grammar.
        first: index of the first sentence.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(first, first + count):
        rng = Random(f"world/{seed}/{index}")
        draft = _draft(lexicon, rng)
        while draft is None:
            draft = _draft(lexicon, rng)
        yield Sentence(
            sentence_id=f"world/{index:06d}",
            doc_id="world",
            split=_split(index),
            words=tuple(draft.words),
            tags=tuple(draft.tags),
            tree=draft.tree,
            coordinations=tuple(draft.coordinations),
            license=lexicon.license,
        )
