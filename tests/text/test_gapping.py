"""Clauses whose verb can be left out: what is found, and each reason why a verb stays."""

import pytest

from pipeline.core.types import Span
from pipeline.text.gapping import GappableClause, clauses_in, same_subject
from pipeline.text.trees import parse_tree

PETER, BRONZE = "(NP (NNP Peter))", "(NP (NN bronze))"


def found(subject: str, phrase: str) -> GappableClause | str:
    """What becomes of a clause of two constituents."""
    tree = parse_tree(f"(S1 (S {subject} {phrase}))")
    return next(clause for _, clause in clauses_in(tree))


@pytest.mark.parametrize(
    ("subject", "phrase", "verbs", "staying"),
    [
        (PETER, f"(VP (VBD won) {BRONZE})", (1, 2), ("NP",)),
        (PETER, f"(VP (MD may) (VP (VB have) (VP (VBN won) {BRONZE})))", (1, 4), ("NP",)),
        (
            PETER,
            f"(VP (VBD gave) (PRT (RP up)) {BRONZE} (PP (IN in) {PETER}))",
            (1, 3),
            ("NP", "PP"),
        ),
        ("(NP (DT the) (NN man))", "(VP (VBD went) (PP (TO to) (NP (NNP Rome))))", (2, 3), ("PP",)),
        (PETER, f"(VP (VBD had) {BRONZE})", (1, 2), ("NP",)),
    ],
)
def test_a_verb_that_can_be_left_out(
    subject: str, phrase: str, verbs: tuple[int, int], staying: tuple[str, ...]
) -> None:
    """Auxiliaries and particles go with it; what stays is named by its labels."""
    clause = found(subject, phrase)
    assert isinstance(clause, GappableClause)
    assert (clause.verbs, clause.staying) == (Span(*verbs), staying)
    assert clause.span.start == 0


@pytest.mark.parametrize(
    ("subject", "phrase", "reason"),
    [
        (PETER, "(VP (VBD won))", "nothing would stay beside the subject"),
        (PETER, f"(VP (VBZ is) {BRONZE})", "a form of be alone"),
        (PETER, f"(VP (VBD was) (VP (VBN given) {BRONZE}))", "passive"),
        (PETER, f"(VP (VBD did) (RB not) (VP (VB win) {BRONZE}))", "negated"),
        (PETER, "(VP (VBD won) (NP (DT no) (NN medal)))", "negated"),
        (PETER, f"(VP (VBD said) (SBAR (S {PETER} (VP (VBD won) {BRONZE}))))", "a clause below it"),
        (PETER, "(VP (VBD won) (NP (PRP it)))", "a pronoun would stay as object"),
        ("(NP (EX there))", f"(VP (VBD came) {BRONZE})", "there as subject"),
        ("(NP (WP who))", f"(VP (VBD won) {BRONZE})", "a question or relative word"),
        (
            PETER,
            f"(VP (ADVP (RB often)) (VBD won) {BRONZE})",
            "no finite verb, or words among the verbs",
        ),
        (PETER, f"(VP (TO to) (VP (VB win) {BRONZE}))", "no finite verb, or words among the verbs"),
        (PETER, f"(VP (VBD won) {BRONZE} (, ,))", "not just a subject and a verb phrase"),
        ("(ADVP (RB Then))", f"(VP (VBD won) {BRONZE})", "not just a subject and a verb phrase"),
        (
            "(NP (XX Peter))",
            "(VP (XX won) (NP (XX bronze)))",
            "no finite verb, or words among the verbs",
        ),
    ],
)
def test_a_verb_that_stays(subject: str, phrase: str, reason: str) -> None:
    """Each reason by its name."""
    assert found(subject, phrase) == reason


def test_only_the_subject_is_held_against_the_first_clauses() -> None:
    """By its words, but for case."""
    assert same_subject(["The", "man", "won"], ["the", "man", "bronze"], 2)
    assert not same_subject(["The", "man", "won"], ["the", "woman", "won"], 2)
