"""Where a verb may be left out: the last of coordinated verbs, by what hangs on it and on the one before.

*Gapping*: "Mary won gold and Peter (won) bronze": both verbs have a subject of their own.
*Reduction*: "Mary won gold in 1990 and (won) silver in 1992": the second has none, and two
dependents that stay. In both the first remaining dependent by UD's scale of obliqueness is
*promoted* to the verb's place, and the others are its *orphans*
(https://universaldependencies.org/u/overview/specific-syntax.html#ellipsis).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from pipeline.core.types import NEGATIONS
from pipeline.text.dependencies import ABSENT, DependencyTree, TreebankWord

SCALE = ("nsubj", "obj", "iobj", "obl", "advmod", "csubj", "xcomp", "ccomp", "advcl")
"""UD's scale of obliqueness: the first of these that is there is promoted."""

COORDINATORS = frozenset({"and", "&", "but", "or"})
_STAYING = frozenset({"obj", "iobj", "obl", "advmod", "xcomp"})
_GOING = frozenset({"aux", "mark"})
_PARTICLE = "compound:prt"
_PROMOTED_WITH = frozenset({"cc", "punct"})
_CLAUSES = frozenset({"csubj", "ccomp", "advcl", "acl", "parataxis", "conj"})
_SUBJECTS = ("nsubj", "nsubj:pass")


@dataclass(frozen=True, slots=True)
class GappedVerb:
    """A verb that may be left out.

    Attributes:
        kind: of ellipsis.
        first: number of the verb of the conjunct before, which the reader understands instead.
        verb: of the one left out.
        gone: numbers of all words that go with it, itself included.
        promoted: of the word that takes its place.
        orphans: of those that hang on the promoted one then.
        tier: 1: both verbs have the same lemma, so the sentence says what it said, up to tense and
            modality; 2: they have not, so its structure is right and its meaning another.
        parallel: whether each dependent that stays has one of the same relation on the first verb.
        contrast: whether what stays can be stressed, as English wants it: no object is a personal pronoun
            (*and Peter it*).
    """

    kind: str
    first: int
    verb: int
    gone: frozenset[int]
    promoted: int
    orphans: tuple[int, ...]
    tier: int
    parallel: bool
    contrast: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A coordinated verb that stays, and why."""

    first: int
    verb: int
    reason: str


def find_gaps(tree: DependencyTree, kinds: Collection[str]) -> Iterator[GappedVerb | Refused]:
    """Tell of each verb that is a conjunct of another whether it may be left out."""
    for verb in tree.words:
        if verb.deprel != "conj" or verb.upos != "VERB":
            continue
        if tree.word(verb.head).upos == "VERB":
            yield _Pair(tree, _understood(tree, verb), verb).outcome(kinds)


def _understood(tree: DependencyTree, verb: TreebankWord) -> TreebankWord:
    """The conjunct before a verb, which the reader understands where it is left out."""
    earlier = [
        word for word in tree.children(verb.head)
        if word.deprel == "conj" and word.number < verb.number
    ]  # fmt: skip
    return earlier[-1] if earlier else tree.word(verb.head)


class _Pair:
    """Two coordinated verbs."""

    def __init__(self, tree: DependencyTree, first: TreebankWord, verb: TreebankWord) -> None:
        self.tree, self.first, self.verb = tree, first, verb
        self.above, self.below = tree.children(first.number), tree.children(verb.number)
        self.subjects = [word for word in self.below if word.deprel in _SUBJECTS]
        self.kind: str = "gapping" if self.subjects else "reduction"
        self.staying = [word for word in self.below if word.relation in _STAYING]

    def outcome(self, kinds: Collection[str]) -> GappedVerb | Refused:
        """What becomes of the second verb."""
        reason = next((why for why, holds in _REASONS if holds(self)), "")
        if not reason and self.kind not in kinds:
            reason = f"{self.kind} is not asked for"
        if reason:
            return Refused(self.first.number, self.verb.number, reason)
        remaining = sorted(
            self.subjects + self.staying, key=lambda word: SCALE.index(word.relation)
        )
        going = [word for word in self.below if _goes(word)]
        gone = {n for word in going for n in self.tree.subtree(word.number)} | {self.verb.number}
        relations = {word.relation for word in self.above}
        return GappedVerb(
            self.kind, self.first.number, self.verb.number, frozenset(gone), remaining[0].number,
            tuple(sorted(word.number for word in remaining[1:])),
            1 if _name(self.first, self.above) == _name(self.verb, self.below) else 2,
            all(word.relation in relations for word in self.staying),
            self._contrasts(),
        )  # fmt: skip

    def _contrasts(self) -> bool:
        return not any(
            word.relation in ("obj", "iobj") and word.upos == "PRON"
            and "PronType=Prs" in word.feats and "Reflex=Yes" not in word.feats
            for word in self.staying
        )  # fmt: skip

    def no_coordinator(self) -> bool:
        """It is joined by another coordinator, or by none and no semicolon."""
        joined = [_lemma(word) for word in self.below if word.deprel == "cc"]
        semicolon = any(word.form == ";" and word.number < self.verb.number for word in self.below)
        return not (COORDINATORS.issuperset(joined) if joined else semicolon)

    def before_its_head(self) -> bool:
        """It is annotated as a conjunct of a verb that follows it, which UD does not have."""
        return self.verb.number < self.verb.head

    def no_verb_before(self) -> bool:
        """The conjunct before it is no verb."""
        return self.first.upos != "VERB"

    def not_last(self) -> bool:
        """Another conjunct follows, whose verb would be understood with it."""
        among = self.tree.children(self.verb.head)
        return any(word.deprel == "conj" and word.number > self.verb.number for word in among)

    def other_subject(self) -> bool:
        """A clause or *there* is its subject, or it has two, or the first verb has none where it has one."""
        odd = [w for w in self.below if w.relation in ("csubj", "expl", "nsubj")]
        if not self.subjects:
            return bool(odd)
        alone = len(odd) == len(self.subjects) == 1
        return not (alone and any(word.deprel in _SUBJECTS for word in self.above))

    def too_little(self) -> bool:
        """What stays is one dependent: there would be no orphan."""
        return len(self.subjects) + len(self.staying) < 2

    def negated(self) -> bool:
        """One of the two is negated: by *not*, *never*, *neither*, *nobody*, or a *no* of its objects."""
        return any(map(self._negates, [*self.above, *self.below]))

    def _negates(self, word: TreebankWord) -> bool:
        if word.relation in ("advmod", "aux", "cc"):
            return "Polarity=Neg" in word.feats or _denies(word)
        if word.relation in ("nsubj", "obj", "iobj", "obl"):
            # *With no hesitation* denies no more than its noun.
            own = () if word.relation == "obl" else self.tree.children(word.number)
            words = [word, *own]
            return any(
                "PronType=Neg" in each.feats or _denies(each)
                for each in words if each.upos in _SHORT
            )  # fmt: skip
        return False

    def clause_below(self) -> bool:
        """A clause hangs on it, or a conjunct of its own."""
        return any(word.relation in _CLAUSES for word in self.below)

    def other_voice(self) -> bool:
        """One is passive and the other is not."""
        return _passive(self.first, self.above) != _passive(self.verb, self.below)

    def something_else(self) -> bool:
        """It has a dependent that the rule does not know: an address, a list, a compound."""
        known = _STAYING | _GOING | _PROMOTED_WITH | {"nsubj"}
        return any(w.relation not in known and w.deprel != _PARTICLE for w in self.below)

    def late_subject(self) -> bool:
        """Its subject follows it."""
        return any(word.number > self.verb.number for word in self.subjects)

    def same_subject(self) -> bool:
        """Its subject is the first verb's again, where English has none: *and I to the park*."""
        own = {_lemma(word) for word in self.above if word.deprel in _SUBJECTS}
        return any(_lemma(word) in own for word in self.subjects)

    def question_word(self) -> bool:
        """What stays asks or relates: *and why it*."""
        staying = [*self.subjects, *self.staying]
        words = [each for word in staying for each in (word, *self.tree.children(word.number))]
        return any(
            kind in word.feats for word in words for kind in ("PronType=Int", "PronType=Rel")
            if word.relation in _ASKING
        )  # fmt: skip


_SHORT = ("PRON", "DET")
_ASKING = _STAYING | {"nsubj", "det", "nmod"}  # relations that the word itself may have

_REASONS: tuple[tuple[str, Callable[[_Pair], bool]], ...] = (
    ("no coordinator of and, but, or, ;", _Pair.no_coordinator),
    ("a conjunct before its head", _Pair.before_its_head),
    ("no verb in the conjunct before", _Pair.no_verb_before),
    ("another conjunct after it", _Pair.not_last),
    ("subject of another kind, or none at the first verb", _Pair.other_subject),
    ("negated", _Pair.negated),
    ("too few dependents that would stay", _Pair.too_little),
    ("a clause below it", _Pair.clause_below),
    ("another voice", _Pair.other_voice),
    ("a dependent that the rule does not know", _Pair.something_else),
    ("subject after the verb", _Pair.late_subject),
    ("the same subject again", _Pair.same_subject),
    ("question or relative word would stay", _Pair.question_word),
)
"""Reasons why a verb is not left out, in the order in which they are asked; the first that holds is given."""


def _goes(word: TreebankWord) -> bool:
    """Whether a dependent of the verb is left out with it."""
    return word.relation in _GOING or word.deprel == _PARTICLE


def _name(verb: TreebankWord, below: Sequence[TreebankWord]) -> tuple[str, ...]:
    """What a verb is called: its lemma and those of its particles."""
    return (_lemma(verb), *(_lemma(word) for word in below if word.deprel == _PARTICLE))


def _denies(word: TreebankWord) -> bool:
    """Whether a word is a negation by what it is, for treebanks whose FEATS do not tell."""
    return not NEGATIONS.isdisjoint((word.form.lower(), word.lemma.lower()))


def _lemma(word: TreebankWord) -> str:
    """A word's lemma in lower case; its form where the treebank has none."""
    return (word.form if word.lemma == ABSENT else word.lemma).lower()


def _passive(verb: TreebankWord, below: Sequence[TreebankWord]) -> bool:
    return "Voice=Pass" in verb.feats or any(word.deprel.endswith(":pass") for word in below)
