"""Constituents that can be conjuncts: spans of a tree with a reference label (§3.3)."""

from nltk.tree import Tree

from pipeline.core.types import REFERENCE_LABELS, Span
from pipeline.text.coordinations import is_worded
from pipeline.text.trees import constituents


def is_punctuation(words: tuple[str, ...], span: Span) -> bool:
    """Whether no word of a span has a letter or digit."""
    return not is_worded(words[span.start : span.end])


def capital_of_place(word: str, tag: str) -> bool:
    """Whether the first word of a sentence seems to have its capital from that place alone.

    A name (NNP, NNPS), *I*, and a word with further capitals or digits (*DNA*, *IL-2*) have their own. Names
    in trees without tags (``XX``), and adjectives such as *French* in any, are not known for what they are.
    """
    own = word == "I" or tag.startswith("NNP")
    others = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return word[0].isupper() and not own and not others


def constituent_spans(words: tuple[str, ...], tree: Tree) -> list[tuple[Span, str]]:
    """Distinct spans of constituents with a reference label, without the whole sentence (§3.3).

    In a unary chain the topmost label is taken; spans come in order of their position.
    """
    found: dict[Span, str] = {}
    for node in constituents(tree):
        whole = len(node.span) == len(words)
        if node.label in REFERENCE_LABELS and not whole and not is_punctuation(words, node.span):
            found.setdefault(node.span, node.label)
    return sorted(found.items())
