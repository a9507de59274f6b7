"""A coordination put into a tree, and what a candidate's tree must be."""

import pytest

from pipeline.core.types import Coordination, Span
from pipeline.text import splicing
from pipeline.text.splicing import NoTree, flat_conjunct, require_sound, spliced
from pipeline.text.trees import one_line, parse_tree, place_of

SOURCE = parse_tree(
    "(S1 (S (NP (NP (DT the) (NN man)) (PP (IN near) (NP (-LRB- -LRB-) (NN b) (-RRB- -RRB-)))) "
    "(VP (VBD saw) (NP (NN me)))))"
)
DOG, CAT = (parse_tree(f"(NP (DT a) (NN {word}))") for word in ("dog", "cat"))


def coordination(words: str, k: int, *spans: tuple[int, int]) -> tuple[list[str], Coordination]:
    every = words.split()
    conjuncts = tuple(Span(*span) for span in spans)
    return every, Coordination(k, every[k], "NP", conjuncts)


def test_two_conjuncts_take_the_place_of_the_reference() -> None:
    """The topmost NP over the words is kept whole as the first conjunct; brackets stay escaped."""
    words, found = coordination("the man near ( b ) and a dog saw me", 6, (0, 6), (7, 9))
    tree = spliced(SOURCE, Span(0, 6), [DOG], words, found)
    assert one_line(tree) == (
        "(S1 (S (NP (NP (NP (DT the) (NN man)) (PP (IN near) (NP (-LRB- -LRB-) (NN b) (-RRB- -RRB-)))) "
        "(CC and) (NP (DT a) (NN dog))) (VP (VBD saw) (NP (NN me)))))"
    )
    require_sound(tree, words, found)
    assert "dog" not in one_line(SOURCE)


def test_commas_and_openers_are_tagged_as_the_treebank_does() -> None:
    """Either X, Y, or Z: the opener and the coordinator are CC, commas have their own tag."""
    words, found = coordination(
        "the man near ( b ) saw either me , a dog , or a cat", 13, (8, 9), (10, 12), (14, 16)
    )
    tree = spliced(SOURCE, Span(7, 8), [DOG, CAT], words, found)
    assert one_line(tree).endswith(
        "(VP (VBD saw) (NP (CC either) (NP (NN me)) (, ,) (NP (DT a) (NN dog)) (, ,) (CC or) "
        "(NP (DT a) (NN cat))))))"
    )
    require_sound(tree, words, found)


def test_a_tree_without_root_gets_one() -> None:
    """One root, S1, whatever a parser's package calls its own."""
    bare = parse_tree("(S (NP (NN me)) (VP (VBD ran)))")
    words, found = coordination("me and a dog ran", 1, (0, 1), (2, 4))
    made = one_line(spliced(bare, Span(0, 1), [DOG], words, found))
    assert made == "(S1 (S (NP (NP (NN me)) (CC and) (NP (DT a) (NN dog))) (VP (VBD ran))))"


def test_what_cannot_be_spliced_says_why() -> None:
    """No constituent under the reference; words between the conjuncts that nobody puts there."""
    words, found = coordination("the man near ( b ) and a dog saw me", 6, (0, 6), (7, 9))
    with pytest.raises(NoTree, match=splicing.NO_REFERENCE):
        spliced(SOURCE, Span(1, 6), [DOG], words, found)
    words, found = coordination("the man near ( b ) ; and a dog saw me", 7, (0, 6), (8, 10))
    with pytest.raises(NoTree, match=splicing.STRANGE_WORDS):
        spliced(SOURCE, Span(0, 6), [DOG], words, found)
    words, found = coordination("the man near ( b ) and a cat saw me", 6, (0, 6), (7, 9))
    with pytest.raises(NoTree, match=splicing.OTHER_WORDS):
        require_sound(spliced(SOURCE, Span(0, 6), [DOG], words, found), words, found)


def test_each_fault_of_a_tree_has_its_message() -> None:
    """A conjunct that no bracket is around, and a tree in which others are joined."""
    words, found = coordination("a b and c d", 2, (0, 2), (3, 4))
    with pytest.raises(NoTree, match=splicing.NO_CONJUNCT):
        require_sound(parse_tree("(S1 (NP (NN a) (NN b) (CC and) (NN c) (NN d)))"), words, found)
    other = "(S1 (NP (NP (NN a) (NN b)) (CC and) (NP (NP (NN c)) (NN d))))"
    with pytest.raises(NoTree, match=splicing.OTHER_CONJUNCTS):
        require_sound(parse_tree(other), words, found)


def test_the_topmost_constituent_of_a_label_is_found() -> None:
    """In a unary chain the upper of two NPs; function tags make no difference; else there is none."""
    tree = parse_tree("(S1 (S (NP-SBJ (NP (NN me))) (VP (VBD ran))))")
    assert place_of(tree, Span(0, 1), "NP") == (0, 0)
    assert place_of(tree, Span(1, 2), "VP") == (0, 1)
    assert place_of(tree, Span(1, 2), "NP") is None
    assert place_of(tree, Span(0, 2), "S1") == ()
    assert place_of(SOURCE, Span(1, 3), "NP") is None


def test_a_flat_conjunct_becomes_a_constituent() -> None:
    """Whole children beside the coordinator, of the label asked for; nothing else is guessed."""
    tree = parse_tree("(S1 (NP (DT the) (NN dog) (CC and) (JJ red) (NN cat)))")
    found = flat_conjunct(tree, Span(3, 5), "NP", 2)
    assert found is not None
    assert one_line(found) == "(NP (JJ red) (NN cat))"
    assert flat_conjunct(tree, Span(3, 5), "VP", 2) is None
    nested = parse_tree("(S1 (NP (NN a) (CC and) (NP (NN b) (NN c)) (NN d)))")
    assert flat_conjunct(nested, Span(3, 5), "NP", 1) is None
