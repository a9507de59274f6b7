"""The grammar that the oracle recognises with: the counterpart of ``grammar.py``.

Signs are an agreement set for noun phrases and for what goes with a noun (adjectives, participles),
and a modifiers set for prepositional phrases; those of verb phrases and relative clauses are the
agreement set that they require of their subject or head; clauses have the single sign 1. What English
coordinates and the generator does not (by-phrases, pronouns, the clause of a relative pronoun, unlike
predicates after "was") is coordinated here too.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import ClassVar

from pipeline.world.oracle_chart import Chart, Ends, Pin, Symbol, join, union
from pipeline.world.oracle_tables import Tables

SUBJECT = Symbol("noun phrase or pronoun, before a verb", "NP")
NP = Symbol("noun phrase", "NP")
BASE = Symbol("noun phrase up to its head noun", "NP")
MODIFYING = Symbol("adjectives before a noun", "ADJP")
ADJP = Symbol("adjective phrase after a verb", "ADJP")
COMPLEMENTED = Symbol("adjective with a prepositional phrase", "ADJP")
ADVP = Symbol("adverb phrase", "ADVP")
PP = Symbol("prepositional phrase", "PP")
AGENT = Symbol("by-phrase of a passive", "PP")
RELATIVE = Symbol("relative clause", "SBAR")
CLAUSE = Symbol("clause", "S")
ADVERBIAL = Symbol("subordinate clause", "SBAR")
THAT = Symbol("that-clause", "SBAR")
FINITE = Symbol("finite verb phrase", "VP")
BARE = Symbol("verb phrase in base form", "VP")
TO = Symbol("infinitive with to", "VP")
PASSIVE = Symbol("participle with its by-phrase", "VP")
PREDICATE = Symbol("what follows was", "VP")
FINITE_CORE = Symbol("finite verb with its complements", "VP")
BARE_CORE = Symbol("base form with its complements", "VP")
GAP_VERB = Symbol("verb of an object relative", "VP")
GAP_CLAUSE = Symbol("clause of an object relative", "S")


class Recogniser(Chart):
    """Recognition of one sentence of the miniature world.

    Args:
        tables: the words.
        words: the sentence.
        pin: the coordinator with given conjuncts, if any.
    """

    def __init__(self, tables: Tables, words: Sequence[str], pin: Pin | None) -> None:
        super().__init__(words, tables.coordinators, pin)
        self.tables = tables

    def accepts(self) -> bool:
        """Whether the words are a clause and a period."""
        last = len(self.words) - 3  # two empty words stand behind
        return last > 0 and self.words[last] == "." and last in self.ends(CLAUSE, 0)

    def subject(self, i: int) -> Ends:
        """SUBJECT → pronoun | NP; signs are its agreement set."""
        found = dict(self.ends(NP, i))
        join(found, i + 1, self.tables.pronouns.get(self.words[i], 0))
        return found

    def noun_phrase(self, i: int) -> Ends:
        """NP → BASE (PP | RELATIVE | COMPLEMENTED)?."""
        found: Ends = {}
        for end, head in self.ends(BASE, i).items():
            join(found, end, head)
            if end - i == 1:  # nothing follows a bare name
                continue
            for further, modifiers in self.ends(PP, end).items():
                join(found, further, head & self.modified(self.tables.noun_modifiers, modifiers))
            for symbol in (RELATIVE, COMPLEMENTED):
                for further, wanted in self.ends(symbol, end).items():
                    join(found, further, head & wanted)
        return found

    def base(self, i: int) -> Ends:
        """BASE → name | determiner MODIFYING? noun, agreeing in number, with "an" before a vowel."""
        tables, words = self.tables, self.words
        found: Ends = {}
        join(found, i + 1, tables.names.get(words[i], 0))
        number = tables.determiners.get(words[i], 0)
        follower = words[i + 1][:1]
        if not number or (words[i] in {"a", "an"} and (follower in "aeiou") != (words[i] == "an")):
            return found
        join(found, i + 2, number & tables.nouns.get(words[i + 1], 0))
        for end, wanted in self.ends(MODIFYING, i + 1).items():
            join(found, end + 1, number & wanted & tables.nouns.get(words[end], 0))
        return found

    def modifying(self, i: int) -> Ends:
        """MODIFYING → degree? adjective."""
        tables, words = self.tables, self.words
        found: Ends = {}
        join(found, i + 1, tables.adjectives.get(words[i], 0))
        if words[i] in tables.degrees and words[i + 1] in tables.gradable:
            join(found, i + 2, tables.adjectives[words[i + 1]])
        return found

    def adjective_phrase(self, i: int) -> Ends:
        """ADJP → degree? adjective | COMPLEMENTED."""
        return union([*self.modifying(i).items(), *self.complemented(i).items()])

    def complemented(self, i: int) -> Ends:
        """COMPLEMENTED → adjective PP, with the preposition this adjective takes."""
        return union(
            (end, wanted)
            for wanted, own in self.tables.complements.get(self.words[i], ())
            for end, modifiers in self.ends(PP, i + 1).items()
            if own & modifiers
        )

    def adverb_phrase(self, i: int) -> Ends:
        """ADVP → degree? manner | place; signs are the set of kinds of adverb."""
        tables, words = self.tables, self.words
        found: Ends = {}
        join(found, i + 1, tables.adverbs.get(words[i], 0))
        if words[i] in tables.degrees:
            join(found, i + 2, tables.adverbs.get(words[i + 1], 0) & tables.manner)
        return found

    def prepositional_phrase(self, i: int) -> Ends:
        """PP → preposition NP; signs are the modifiers it can be."""
        entries = self.tables.prepositions.get(self.words[i])
        found: Ends = {}
        if entries:
            for end, inner in self.ends(NP, i + 1).items():
                kinds = self.tables.kinds_of(inner)
                join(found, end, sum(bit for bit, take in entries if take & kinds))
        return found

    def agent(self, i: int) -> Ends:
        """AGENT → "by" NP."""
        if self.words[i] != "by":
            return {}
        kinds_of = self.tables.kinds_of
        return {end: kinds_of(inner) for end, inner in self.ends(NP, i + 1).items()}

    def modified(self, table: Mapping[int, int], modifiers: int) -> int:
        """Agreement set of what one of these modifiers may stand with."""
        return reduce(or_, (wanted for bit, wanted in table.items() if bit & modifiers), 0)

    def join_nominal(self, word: str, left: int, right: int) -> int:
        """A coordination by "and" is plural; else the last conjunct gives the number."""
        tables = self.tables
        ours, theirs = tables.kinds_of(left), tables.kinds_of(right)
        kinds = ours | theirs if tables.mixed else ours & theirs
        if word == "and":
            return kinds << tables.kinds
        singular, plural = right & tables.singular, right & tables.plural
        if tables.mixed:
            singular, plural = kinds if singular else 0, tables.plural if plural else 0
        return (singular | plural) & tables.both(kinds)

    def join_kinds(self, word: str, left: int, right: int) -> int:
        """Conjuncts share a kind, unless the tables are mixed."""
        del word
        return left | right if self.tables.mixed else left & right

    def clause(self, i: int) -> Ends:
        """CLAUSE → ((ADVERBIAL | PP) ",")? SUBJECT FINITE, agreeing; a PP suits the subject."""
        found: Ends = {}
        everything = self.tables.both(self.tables.singular)
        self._predication(i, everything, found)
        for end in self.ends(ADVERBIAL, i):
            if self.words[end] == ",":
                self._predication(end + 1, everything, found)
        for end, modifiers in self.ends(PP, i).items():
            if self.words[end] == ",":
                suits = self.modified(self.tables.verb_modifiers, modifiers)
                self._predication(end + 1, suits, found)
        return found

    def _predication(self, i: int, suits: int, found: Ends) -> None:
        for end, subject in self.ends(SUBJECT, i).items():
            if subject & suits:
                for further, wanted in self.ends(FINITE, end).items():
                    join(found, further, int(bool(subject & suits & wanted)))

    def adverbial(self, i: int) -> Ends:
        """ADVERBIAL → subordinator CLAUSE; signs are the kinds of subordinator."""
        kinds = self.tables.subordinators.get(self.words[i])
        return dict.fromkeys(self.ends(CLAUSE, i + 1), kinds) if kinds else {}

    def that_clause(self, i: int) -> Ends:
        """THAT → "that" CLAUSE."""
        return dict(self.ends(CLAUSE, i + 1)) if self.words[i] == "that" else {}

    def relative(self, i: int) -> Ends:
        """RELATIVE → who FINITE | who GAP_CLAUSE, and so which and that, of what is no person."""
        tables, word = self.tables, self.words[i]
        if word not in {"who", "which", "that"}:
            return {}
        persons = tables.persons
        heads = tables.both(persons if word == "who" else tables.singular & ~persons)
        return union(
            (end, wanted & heads)
            for symbol in (FINITE, GAP_CLAUSE)
            for end, wanted in self.ends(symbol, i + 1).items()
        )

    def gap_clause(self, i: int) -> Ends:
        """GAP_CLAUSE → SUBJECT GAP_VERB; signs are the agreement set of what the verb acts on."""
        tables = self.tables
        return union(
            (further, tables.both(signs >> tables.kinds))
            for end, subject in self.ends(SUBJECT, i).items()
            for further, signs in self.ends(GAP_VERB, end).items()
            if tables.kinds_of(subject) & signs
        )

    def gap_verb(self, i: int) -> Ends:
        """GAP_VERB → transitive verb; signs are kinds of its subjects and, above, its objects."""
        return union(
            (i + 1, verb.subjects | verb.objects << self.tables.kinds)
            for verb in self.tables.verbs["past"].get(self.words[i], ())
            if verb.objects
        )

    def finite(self, i: int) -> Ends:
        """FINITE → modal BARE | was PREDICATE | were PREDICATE | what any verb phrase is."""
        tables, word = self.tables, self.words[i]
        if word in tables.modals:
            return dict(self.ends(BARE, i + 1))
        if word in {"was", "were"}:
            number = tables.singular if word == "was" else tables.plural
            return union((end, w & number) for end, w in self.ends(PREDICATE, i + 1).items())
        return self._verb_phrase(i, "past", FINITE_CORE)

    def bare(self, i: int) -> Ends:
        """BARE → a verb phrase in base form."""
        return self._verb_phrase(i, "lemma", BARE_CORE)

    def predicate(self, i: int) -> Ends:
        """PREDICATE → ADJP | PASSIVE."""
        return union([*self.ends(ADJP, i).items(), *self.ends(PASSIVE, i).items()])

    def passive(self, i: int) -> Ends:
        """PASSIVE → participle AGENT?."""
        tables = self.tables
        found: Ends = {}
        for verb in tables.verbs["participle"].get(self.words[i], ()):
            join(found, i + 1, tables.both(verb.objects))
            for end, kinds in self.ends(AGENT, i + 1).items():
                if kinds & verb.subjects:
                    join(found, end, tables.both(verb.objects))
        return found

    def to_phrase(self, i: int) -> Ends:
        """TO → "to" BARE."""
        return dict(self.ends(BARE, i + 1)) if self.words[i] == "to" else {}

    def _verb_phrase(self, i: int, form: str, core: Symbol) -> Ends:
        """With a clause, infinitive or adjective; or ADVP? CORE ADVP? PP? ADVERBIAL?, one ADVP."""
        tables = self.tables
        found: Ends = {}
        frames = {"infinitive": TO, "that": THAT, "adjective": ADJP}
        for verb in tables.verbs[form].get(self.words[i], ()):
            symbol, subjects = frames.get(verb.frame), tables.both(verb.subjects)
            for end, wanted in self.ends(symbol, i + 1).items() if symbol else ():
                join(found, end, subjects & (subjects if symbol is THAT else wanted))
        cores = dict(self.ends(core, i))
        for end, signs in self.ends(core, i).items():
            for further in self.ends(ADVP, end):
                join(cores, further, signs)
        for end, kinds in self.ends(ADVP, i).items():
            for further, signs in self.ends(core, end).items() if kinds & tables.manner else ():
                join(cores, further, signs)
        for end, wanted in self._adjuncts(cores).items():
            join(found, end, wanted)
        return found

    def _adjuncts(self, cores: Ends) -> Ends:
        """PP? ADVERBIAL? after a core: the PP is its instrument or suits the subject."""
        tables = self.tables
        everything = tables.both(tables.singular)
        found: Ends = {}
        for end, signs in cores.items():
            subjects, instrument = signs & everything, signs >> 2 * tables.kinds
            join(found, end, subjects)
            for further, modifiers in self.ends(PP, end).items():
                suits = self.modified(tables.verb_modifiers, modifiers)
                join(found, further, subjects & (everything if instrument & modifiers else suits))
        for end, subjects in list(found.items()):
            for further in self.ends(ADVERBIAL, end):
                join(found, further, subjects)
        return found

    def finite_core(self, i: int) -> Ends:
        """FINITE_CORE → past-tense verb with NP? PP?."""
        return self._core(i, "past")

    def bare_core(self, i: int) -> Ends:
        """BARE_CORE → base form with NP? PP?."""
        return self._core(i, "lemma")

    def _core(self, i: int, form: str) -> Ends:
        """Signs: the agreement set of subjects and, above it, the set of instruments."""
        tables = self.tables
        found: Ends = {}
        for verb in tables.verbs[form].get(self.words[i], ()):
            if verb.frame not in {"transitive", "intransitive"}:
                continue
            signs = tables.both(verb.subjects) | verb.instrument << 2 * tables.kinds
            ends = [i + 1]
            if verb.objects:
                objects = tables.both(verb.objects)
                ends = [e for e, kinds in self.ends(NP, i + 1).items() if kinds & objects]
            for end in ends:
                join(found, end, signs)
                for further, modifiers in self.ends(PP, end).items() if verb.complement else ():
                    join(found, further, signs if modifiers & verb.complement else 0)
        return found

    def join_cores(self, word: str, left: int, right: int) -> int:
        """Conjuncts share the subject; an instrument after them need suit one verb only."""
        del word
        shift = 2 * self.tables.kinds
        subjects = left & right & ((1 << shift) - 1)
        return subjects | (left | right) >> shift << shift if subjects else 0

    def join_gaps(self, word: str, left: int, right: int) -> int:
        """Conjuncts share the subject and what they act on."""
        del word
        both, kinds = left & right, self.tables.kinds
        return both if both & self.tables.singular and both >> kinds else 0

    rules: ClassVar[Mapping[Symbol, Callable[..., Ends]]] = {
        SUBJECT: subject, NP: noun_phrase, BASE: base, MODIFYING: modifying, ADJP: adjective_phrase,
        COMPLEMENTED: complemented, ADVP: adverb_phrase, PP: prepositional_phrase, AGENT: agent,
        CLAUSE: clause, ADVERBIAL: adverbial, THAT: that_clause, RELATIVE: relative,
        GAP_CLAUSE: gap_clause, GAP_VERB: gap_verb, FINITE: finite, BARE: bare, TO: to_phrase,
        PREDICATE: predicate, PASSIVE: passive, FINITE_CORE: finite_core, BARE_CORE: bare_core,
    }  # fmt: skip

    joins: ClassVar[Mapping[Symbol, Callable[..., int]]] = {
        SUBJECT: join_nominal, NP: join_nominal, BASE: join_nominal, ADVP: join_kinds,
        AGENT: join_kinds, FINITE_CORE: join_cores, BARE_CORE: join_cores, GAP_VERB: join_gaps,
    }  # fmt: skip
