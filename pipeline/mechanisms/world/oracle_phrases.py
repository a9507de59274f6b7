"""What the oracle recognises below a verb: the counterpart of ``phrases.py``.

Signs: an agreement set for noun phrases and for what goes with a noun (adjectives, relative
clauses, participles), a modifiers set for prepositional phrases.
"""

from collections.abc import Mapping, Sequence

from pipeline.mechanisms.world.oracle_chart import Chart, Ends, Pin, Symbol, join
from pipeline.mechanisms.world.oracle_tables import Tables

__all__ = [
    "ADJP", "ADVP", "AGENT", "BASE", "COMPLEMENTED", "MODIFYING", "NP", "PP", "RELATIVE", "SUBJECT",
    "PhraseRules",
]  # fmt: skip

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


class PhraseRules(Chart):
    """Rules of noun, adjective, adverb and prepositional phrases.

    Args:
        tables: the words.
        words: the sentence.
        pin: the coordinator with given conjuncts, if any.
    """

    def __init__(self, tables: Tables, words: Sequence[str], pin: Pin | None) -> None:
        super().__init__(words, tables.coordinators, pin)
        self.tables = tables

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
        found = self.modifying(i)
        for end, wanted in self.complemented(i).items():
            join(found, end, wanted)
        return found

    def complemented(self, i: int) -> Ends:
        """COMPLEMENTED → adjective PP, with the preposition this adjective takes."""
        found: Ends = {}
        for wanted, own in self.tables.complements.get(self.words[i], ()):
            for end, modifiers in self.ends(PP, i + 1).items():
                if own & modifiers:
                    join(found, end, wanted)
        return found

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
        found = 0
        for bit, wanted in table.items():
            if bit & modifiers:
                found |= wanted
        return found

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
