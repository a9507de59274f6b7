"""The grammar: composes one sentence at a time by seeded random choice.

Every phrase that may be coordinated carries ``again``, a call that composes another phrase of the
same role, noun class and verb form. A coordination is therefore made the way §3.1 of the paper
thinks of it: take a phrase of a finished sentence and set a replaceable one beside it. Attachment
is truly ambiguous, because the same words may follow a phrase inside its bracket or outside.
"""

from functools import partial

from pipeline.mechanisms.world.lexicon import Verb
from pipeline.mechanisms.world.nodes import Again, Node, branch, leaf
from pipeline.mechanisms.world.phrases import Phrases

__all__ = ["Composer"]

_THREE = 0.18  # share of coordinations with three conjuncts, where "but" is not drawn
_COMMA = {"S": 0.5, "SBAR": 0.15}  # share of "A , and B"


class Composer(Phrases):
    """Composes one sentence, and coordinates phrases of it."""

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
