"""The head of a constituent, as far as its part-of-speech tags tell it."""

from collections.abc import Sequence

_NOUNS = ("NN", "PRP", "CD", "EX", "DT")
_VERBS = ("VB", "MD", "TO")
_ADJECTIVES = ("JJ", "VBN", "VBG")
_CLAUSES = ("VP", "S", "SBAR", "SINV", "SQ")
FORMS_OF_BE = frozenset(
    {"be", "is", "are", "am", "was", "were", "been", "being", "'s", "'re", "'m"}
)


def head_tag(label: str, tags: Sequence[str]) -> str:
    """The Penn tag of the head of a constituent, found in its tags alone.

    Conjuncts agree in it: nobody coordinates a participle with a finite verb, though both head a VP.
    A verb phrase and a clause go by their first verb (MD, TO and VB* count), a noun phrase by the last
    tag of its first run of nouns, an adjective or adverb phrase by its first adjective or adverb; a
    prepositional phrase and a subordinate clause, and whatever lacks such a tag, by their first tag.

    Args:
        label: its category.
        tags: of its words; not empty.
    """
    if label in ("VP", "S"):
        return _first(tags, _VERBS)
    if label in ("NP", "NML"):
        found = _last_noun(tags)
        return _first(tags, _NOUNS) if found is None else tags[found]
    if label in ("ADJP", "ADVP"):
        return _first(tags, _ADJECTIVES if label == "ADJP" else ("RB",))
    return tags[0]


def content_word(label: str, words: Sequence[str], tags: Sequence[str]) -> str:
    """The word that a constituent is about, in lower case: its head, unless that has little to say.

    A verb phrase and a clause go by the last verb of their first run of verbs, adverbs between them not
    counted (*has not been sold*: sold), and after a form of *be* by what follows it; an adjective phrase by
    its first adjective, an adverb phrase by its last adverb, a prepositional phrase by what follows the
    preposition. All else, and what lacks such a tag, goes by the last of its first run of nouns, or else
    by its first adjective or pronoun, or number, or its last word; those of a relative clause do not count.

    Args:
        label: its category.
        words: its words; not empty.
        tags: theirs, of the same number.
    """
    return words[_content(label, words, tags)].lower()


def _content(label: str, words: Sequence[str], tags: Sequence[str]) -> int:
    if label in _CLAUSES:
        verb = _main_verb(tags)
        if verb is not None and (words[verb].lower() not in FORMS_OF_BE or verb + 1 == len(words)):
            return verb
        return _thing(tags, 0 if verb is None else verb + 1)
    if label == "PP" and len(tags) > 1:
        return _thing(tags, 1)
    kinds = {"ADJP": _ADJECTIVES, "ADVP": ("RB",)}.get(label, ())
    found = [place for place, tag in enumerate(tags) if kinds and tag.startswith(kinds)]
    if found:
        return found[0 if label == "ADJP" else -1]
    return _thing(tags, 0)


def _main_verb(tags: Sequence[str]) -> int | None:
    found = None
    for place, tag in enumerate(tags):
        if tag.startswith(_VERBS):
            found = place
        elif found is not None and not tag.startswith("RB"):
            break
    return found


def _thing(tags: Sequence[str], begin: int) -> int:
    """The place of the noun, or what stands for one, that words from ``begin`` on are about.

    A relative clause has no part in it, and a phrase with a preposition only where nothing but determiners
    and numbers stands before it (*important in cells*: important; *five of the cells*: cells).
    """
    rest = tags[begin:]
    rest = rest[: _first_place(rest, ("W",), 1)]
    for part, others in ((rest[: _first_place(rest, ("IN", "TO"), 1)], ()), (rest, ("CD",))):
        found = _last_noun(part)
        if found is None:
            found = _first_place(part, ("JJ", "PRP", "VB", *others))
        if found is not None:
            return begin + found
    return begin + len(rest) - 1


def _first_place(tags: Sequence[str], kinds: tuple[str, ...], begin: int = 0) -> int | None:
    places = range(begin, len(tags))
    return next((place for place in places if tags[place].startswith(kinds)), None)


def _last_noun(tags: Sequence[str]) -> int | None:
    """The place of the last tag of the first run of nouns."""
    found = None
    for place, tag in enumerate(tags):
        if tag.startswith("NN"):
            found = place
        elif found is not None:
            break
    return found


def _first(tags: Sequence[str], kinds: tuple[str, ...]) -> str:
    return next((tag for tag in tags if tag.startswith(kinds)), tags[0])
