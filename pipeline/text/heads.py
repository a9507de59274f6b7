"""The head of a constituent, as far as its part-of-speech tags tell it."""

from collections.abc import Sequence

_NOUNS = ("NN", "PRP", "CD", "EX", "DT")
_VERBS = ("VB", "MD", "TO")


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
    if label == "NP":
        found = ""
        for tag in tags:
            if tag.startswith("NN"):
                found = tag
            elif found:
                break
        return found or _first(tags, _NOUNS)
    if label in ("ADJP", "ADVP"):
        return _first(tags, ("JJ", "VBN", "VBG") if label == "ADJP" else ("RB",))
    return tags[0]


def _first(tags: Sequence[str], kinds: tuple[str, ...]) -> str:
    return next((tag for tag in tags if tag.startswith(kinds)), tags[0])
