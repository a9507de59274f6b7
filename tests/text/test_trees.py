"""Trees: a limit on their depth, and walks that give what nltk's own give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree

from pipeline.core.errors import InputError
from pipeline.core.types import Span
from pipeline.text.bracketings import bracketings
from pipeline.text.trees import (
    DEEPEST,
    constituents,
    escape,
    fitting_tree,
    leaves,
    one_line,
    parse_tree,
    read_off,
    trees_of,
    unescape,
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
    assert without_empty(Tree.fromstring("(S (NP (-NONE- *)) (VP (-NONE- 0)))"), "f", 1) is None


PAIRS = [
    ("(", "-LRB-"), (")", "-RRB-"), ("IL(2)", "IL-LRB-2-RRB-"), ("-(a)-", "--LRB-a-RRB--"),
    ("-LRB-", "-HYPHEN-LRB-HYPHEN-"), ("-LRB(", "-HYPHEN-LRB-LRB-"), ("-HYPHEN-", "-HYPHEN-HYPHEN-HYPHEN-"),
    ("a\\/b", "a-BACKSLASH-/b"), ("C:\\", "C:-BACKSLASH-"), ("\\", "-BACKSLASH-"),
    ("\\)", "\\-RRB-"), ("C:\\a", "C:\\a"), ("well-known", "well-known"), ("[1/2]*", "[1/2]*"),
]  # fmt: skip
"""Words, and the leaves they are written as."""


@pytest.mark.parametrize(("word", "leaf"), PAIRS)
def test_a_word_has_a_leaf_that_is_read_as_this_word(word: str, leaf: str) -> None:
    """Here, and as to where the leaf ends also by nltk's own reader."""
    assert escape(word) == leaf
    assert unescape(leaf) == word
    assert Tree.fromstring(f"(S (NN {leaf}) (NN x))").leaves() == [leaf, "x"]


_PIECES = st.sampled_from([text for pair in PAIRS for text in pair] + list("-\\()/*LRB"))
_WORDS = st.lists(_PIECES, min_size=1, max_size=6).map("".join) | st.text(
    st.characters(exclude_categories=("Z", "C")), min_size=1
)


@given(st.lists(_WORDS, min_size=1, max_size=5))
def test_any_words_are_the_leaves_of_their_tree(words: list[str]) -> None:
    """Whatever stands in them: written, read, and read off again."""
    text = f"(S {' '.join(f'(NN {escape(word)})' for word in words)})"
    tree = parse_tree(text)
    assert leaves(tree) == words
    assert one_line(tree) == text
    read, _, written = read_off(tree)
    assert read == tuple(words)
    assert leaves(parse_tree(written)) == words


def test_leaves_of_treebanks_and_earlier_versions_are_read_as_they_were() -> None:
    """A backslash before the bracket that ends a leaf is a word's last character, as in nltk before 3.10."""
    text = r"(S (SYM \) (NN C:\) (NN C:\x) (CD 1\/2) (SYM \*) (NN a-RRB-) (-LCB- -LCB-) (NN \\srv))"
    words = ["\\", "C:\\", "C:\\x", "1/2", "*", "a)", "{", r"\\srv"]
    assert leaves(parse_tree(text)) == words
    assert read_off(parse_tree(text))[0] == tuple(words)


def test_a_node_that_has_lost_its_word_is_said() -> None:
    """It is no empty element, which has a tag and a trace."""
    with pytest.raises(InputError, match=r"f:3: a node without words: \(HYPH \)"):
        without_empty(parse_tree("(S (NN gas) (HYPH ) (VBN powered))"), "f", 3)


def test_a_tree_is_held_against_its_words() -> None:
    """What fits is the tree; what is no tree or has other words is none."""
    assert fitting_tree("(S (NN -LRB-))", ["("]) == Tree("S", [Tree("NN", ["-LRB-"])])
    for bracketing in (None, "(S (NN -LRB-))", "(S (NN", "(S )", deep(DEEPEST + 1)):
        assert fitting_tree(bracketing, ["-LRB-"]) is None


def test_trees_have_a_greatest_depth() -> None:
    """At the limit everything works; beyond it one line names it, however deep."""
    tree = parse_tree(deep(DEEPEST))
    assert len(constituents(tree)) == DEEPEST - 1
    kept = without_empty(tree, "f", 1)
    assert kept is not None
    words, _, written = read_off(kept)
    assert words == ("x",)
    assert leaves(parse_tree(written)) == ["x"]
    for levels in (DEEPEST + 1, 50_000):
        with pytest.raises(InputError, match=rf"f:3: a tree of more than {DEEPEST} levels; mend"):
            parse_tree(deep(levels), path="f", line=3)
    flat = f"(NP {'(NN x) ' * 2_000})"  # many brackets are not many levels
    assert len(parse_tree(flat).leaves()) == 2_000


def test_trees_are_read_as_ingest_reads_a_treebank() -> None:
    """Several on a line, and brackets as they are, which predict and the Penn Treebank's reader refused."""
    text = "(S (NN a)\n (NN b)) (S (NN c))\n(NP (-LRB- () (NN d) (-RRB- \\)))"
    found = [(line, leaves(tree)) for line, tree in trees_of(enumerate(text.split("\n"), 1), "f")]
    assert found == [(1, ["a", "b"]), (2, ["c"]), (3, ["(", "d", ")"])]
    assert [leaves(parse_tree(each.text)) for each in bracketings(text)] == [w for _, w in found]
    for wrong in ("(NN a) x (NN b)", "(NN a) x", "(NN a)) ((NN b)"):
        with pytest.raises(InputError, match="f:1: malformed brackets"):
            list(trees_of([(1, wrong)], "f"))


def test_trees_have_a_greatest_length() -> None:
    """Also one that balances, on one line; the error names the line where the tree begins."""
    long = "(NN " + "x" * 2**20 + ")"
    with pytest.raises(InputError, match=r"f:2: a tree of more than 1,048,576 characters"):
        list(trees_of([(1, "(NN x)"), (2, long)], "f"))
