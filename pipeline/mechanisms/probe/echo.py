"""Is a fill only A said again? Near-copies of the shown conjunct are right in all that the probe judges.

In category, length and sense A is much like B: on GENIA "A A" and "the A" would be recovered every
second time. An echo says nothing that was not there, as twins that copy what they see do.
"""

from collections.abc import Sequence

__all__ = ["is_echo"]

_FUNCTION = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "such", "other", "another", "each",
    "both", "all", "its", "their", "his", "her", "our", "your", "my", "of", "in", "to", "for", "by",
    "with", "from", "on", "at", "as", "into", "via", "and", "or", "but", "nor", "not", "no", "than", "is",
    "are", "was", "were", "be", "been", "being", "has", "have", "had", "do", "does", "did", "it", "they",
    "we", "which", "who",
})  # fmt: skip
"""Words that tell no two phrases apart. If they counted, "its C-terminal domain" would be an echo of
"its N-terminal domain", and "other cells" none of "T cells"."""


def is_echo(fill: Sequence[str], first: Sequence[str]) -> bool:
    """Whether a fill says no more than A: case-folded, and by content words.

    It is an echo if more than half of its words are words of A, each however often, or if all words
    of A are among them. Where there are function words alone they are the words; punctuation never is.

    Args:
        fill: words of the fill.
        first: words of A, the conjunct that was shown.
    """
    said, shown = _content(fill), _content(first)
    known = {word.casefold() for word in first}
    again = sum(word in known for word in said)
    return 2 * again > len(said) or (bool(shown) and set(shown) <= set(said))


def _content(words: Sequence[str]) -> list[str]:
    spoken = [word.casefold() for word in words if any(c.isalnum() for c in word)]
    return [word for word in spoken if word not in _FUNCTION] or spoken
