"""Trees: a limit on their depth, and walks that give what nltk's own give."""

import pytest
from nltk.tree import Tree

from pipeline.core.errors import InputError
from pipeline.core.types import Span
from pipeline.text.trees import (
    DEEPEST,
    constituents,
    one_line,
    parse_tree,
    read_off,
    trees_of,
    without_empty,
)

SENTENCE = (
    "( (S (NP-SBJ-1 (DT the) (NN man)) (VP (VBD saw) (NP (-NONE- *T*-1)) (NP (NNS dogs)) "
    "(PRN (-LRB- -LRB-) (NN lamp\\/oil) (-RRB- -RRB-))) (S (NP (-NONE- *)) (VP (-NONE- *))) (. .)))"
)


def deep(levels: int) -> str:
    return "(NP " * (levels - 1) + "(NN x)" + ")" * (levels - 1)


def test_a_tree_on_one_line_is_as_nltk_writes_it() -> None:
    """Labels, words and nodes without children; nested ones too."""
    for text in (SENTENCE, "(A )", "(A (B ) c (D e f))", "(NN x)"):
        tree = Tree.fromstring(text)
        assert one_line(tree) == tree.pformat(margin=10**9)


def test_what_is_empty_goes_and_what_is_left_keeps_its_order() -> None:
    """Constituents of empty elements alone go with them; labels stay until they are read off."""
    kept = without_empty(parse_tree(SENTENCE), "f", 1)
    assert kept is not None
    assert one_line(kept) == (
        "(S (NP-SBJ-1 (DT the) (NN man)) (VP (VBD saw) (NP (NNS dogs)) "
        "(PRN (-LRB- -LRB-) (NN lamp\\/oil) (-RRB- -RRB-))) (. .))"
    )
    words, tags, text = read_off(kept)
    assert words == ("the", "man", "saw", "dogs", "(", "lamp/oil", ")", ".")
    assert tags == ("DT", "NN", "VBD", "NNS", "-LRB-", "NN", "-RRB-", ".")
    assert text == (
        "(S1 (S (NP (DT the) (NN man)) (VP (VBD saw) (NP (NNS dogs)) "
        "(PRN (-LRB- -LRB-) (NN lamp/oil) (-RRB- -RRB-))) (. .)))"
    )
    found = [(each.label, each.span) for each in constituents(kept)]
    assert found == [
        ("S", Span(0, 8)), ("NP", Span(0, 2)), ("VP", Span(2, 7)), ("NP", Span(3, 4)),
        ("PRN", Span(4, 7)),
    ]  # fmt: skip
    assert without_empty(Tree.fromstring("(S (NP (-NONE- *)) (VP ))"), "f", 1) is None


def test_trees_have_a_greatest_depth() -> None:
    """At the limit everything works; beyond it one line names it, however deep."""
    tree = parse_tree(deep(DEEPEST))
    assert len(constituents(tree)) == DEEPEST - 1
    kept = without_empty(tree, "f", 1)
    assert kept is not None
    assert read_off(kept)[0] == ("x",)
    for levels in (DEEPEST + 1, 50_000):
        with pytest.raises(InputError, match=rf"f:3: a tree of more than {DEEPEST} levels; mend"):
            parse_tree(deep(levels), path="f", line=3)
    flat = f"(NP {'(NN x) ' * 2_000})"  # many brackets are not many levels
    assert len(parse_tree(flat).leaves()) == 2_000


def test_trees_have_a_greatest_length() -> None:
    """Also one that balances, on one line; the error names the line where the tree begins."""
    long = "(NN " + "x" * 2**20 + ")"
    with pytest.raises(InputError, match=r"f:2: a tree of more than 1,048,576 characters"):
        list(trees_of([(1, "(NN x)"), (2, long)], "f"))
