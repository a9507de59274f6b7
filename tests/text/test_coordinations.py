"""What conjuncts have in common whoever finds them."""

import pytest

from pipeline.text.coordinations import (
    ONE_SIDED,
    UNLIKE,
    as_read,
    is_balanced,
    ptb_coordinations,
    uncoordinated,
)
from pipeline.text.splicing import require_sound
from pipeline.text.trees import leaves, one_line, parse_tree


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the dog", True),
        ("the dog ( Fig. [ 2 ] )", True),
        ("the dog ( Fig. 2 ]", False),  # as many closed as opened, and not of one kind
        ("the ( dog [ Fig. ) 2 ]", False),
        ("the dog ) of ( Fig. 2", False),
        ("the dog ( Fig. 2", False),
        ("dog(s)", True),  # within a word
        ("IL-2(+", False),
        ("the `` dog ''", True),
        ("the \u201cdog\u201d", True),
        ('the " dog', False),
        ("the dogs ' food", True),
    ],
)
def test_brackets_close_what_was_opened_and_quotes_are_even(words: str, expected: bool) -> None:
    """In their order, whatever word they are part of; an apostrophe is no quote."""
    assert is_balanced(words.split()) is expected


@pytest.mark.parametrize(
    ("tree", "reasons"),
    [
        ("(S (CC And) (NP (PRP he)) (VP (VBD left)))", {ONE_SIDED: 1}),
        ("(NP (NNS dogs) (, ,) (CC but) (. .))", {ONE_SIDED: 1}),
        ("(S (NP (PRP it)) (VP (VP (VBZ is)) (CC and) (ADVP (RB always))))", {UNLIKE: 1}),
        ("(NP (NN tea) (CC and) (NN milk))", {}),
        ("(NP (CC both) (NN tea))", {}),
        ("(NP (NNS cats) (CC and) (PP (IN by) (NN sea)) (CC or) (ADJP (JJ old)))", {UNLIKE: 2}),
        ("(S (CC And) (NP (NN tea) (CC and) (NN milk)) (VP (VBZ is)))", {ONE_SIDED: 1}),
        (
            "(S (CC But) (S (NP (NN milk)) (VP (VBZ is))) (CC and) (S (NP (PRP it)) (VP (VBZ is))))",
            {ONE_SIDED: 1},
        ),
        ("(NP (NP (NN tea) (CC and) (NN milk)) (CC or) (VP (VBG drinking)))", {UNLIKE: 1}),
    ],
)
def test_coordinators_in_no_structure_are_counted(tree: str, reasons: dict[str, int]) -> None:
    """Each that the rule leaves out, and none that it reads."""
    parsed = parse_tree(f"(ROOT {tree})")
    assert dict(uncoordinated(parsed)) == reasons
    assert len(ptb_coordinations(parsed)) == tree.count("(NN milk)")


@pytest.mark.parametrize(
    ("tree", "conjuncts"),
    [
        ("(NP (NP (XX both) (XX cats)) (XX and) (NP (XX dogs)))", [(1, 2), (3, 4)]),
        (
            "(VP (VP (NP (ADVP (XX Either)) (NP (XX a))) (XX b)) (CC or) (VP (XX c)))",
            [(1, 3), (4, 5)],
        ),
        ("(NP (NP (XX both)) (XX and) (NP (XX dogs)))", [(0, 1), (2, 3)]),  # nothing else is in it
        (
            "(NP (NP (XX either) (XX cats)) (XX and) (NP (XX dogs)))",
            [(0, 2), (3, 4)],
        ),  # not its own
        ("(NP (NP (DT both) (XX cats)) (XX and) (NP (XX dogs)))", [(0, 2), (3, 4)]),  # a determiner
        # nor of a subject: *both* joins no clauses, but infinitives
        (
            "(S (S (NP (XX Both) (XX cats)) (VP (XX ate))) (XX and) (S (NP (XX I)) (VP (XX left))))",
            [(0, 3), (4, 6)],
        ),
        (
            "(S (S (VP (XX both) (XX to) (VP (XX eat)))) (XX and) (S (VP (XX to) (VP (XX go)))))",
            [(1, 3), (4, 6)],
        ),
        ("(NP (NP (XX the) (XX both)) (XX and) (NP (XX dogs)))", [(0, 2), (3, 4)]),  # not the first
        (
            "(NP (NP (NP (XX both) (XX a)) (XX and) (NP (XX b))) (XX and) (NP (XX c)))",
            [(1, 2), (3, 4)],
        ),
        # What stands before it is shared, and no conjunct: as a flat verb phrase has it.
        (
            "(VP (XX gave) (NP (XX us)) (NP (XX both) (XX a)) (XX and) (NP (XX b)))",
            [(3, 4), (5, 6)],
        ),
        ("(UCP (NP (XX us)) (XX both) (NP (XX a)) (XX and) (ADJP (XX b)))", [(2, 3), (4, 5)]),
        (
            "(NP (NP (XX a)) (XX and) (XX both) (NP (XX b)) (XX and) (NP (XX c)))",
            [(0, 1), (3, 4), (5, 6)],
        ),
    ],
)
def test_a_preconjunction_is_outside_of_the_first_conjunct(
    tree: str, conjuncts: list[tuple[int, int]]
) -> None:
    """Where a parser puts it inside; the tree says so, too, and what it opens may lie deeper."""
    given = parse_tree(tree)
    made = as_read(given)
    found = ptb_coordinations(made)[0]
    assert [(span.start, span.end) for span in found.conjuncts] == conjuncts
    require_sound(made, leaves(given), found)
    assert one_line(given) == tree
