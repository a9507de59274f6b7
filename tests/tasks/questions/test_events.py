"""Events are read off clauses: predicate, voice, negation, and arguments by role."""

import pytest

from pipeline.tasks.questions.events import Event, event_of, event_text
from pipeline.text.trees import parse_tree

IT = "(NP (PRP it))"
GLASS = "(NP (DT the) (NN glass))"


def read(clause: str) -> str | None:
    event = event_of(parse_tree(clause))
    return None if event is None else event_text(event)


@pytest.mark.parametrize(
    ("clause", "event"),
    [
        (
            f"(S {GLASS} (VP (VBZ does) (RB n't) (VP (VB break) (PP (IN on) (NP (NN impact))))))",
            "not break(subject glass, on impact)",
        ),
        (
            f"(S {GLASS} (VP (VBD was) (VP (VBN broken) (PP (IN by) (NP (NNP Ann))))))",
            "passive broken(subject glass, by Ann)",
        ),
        (f"(S {GLASS} (VP (VBD had) (VP (VBN broken))))", "broken(subject glass)"),
        (f"(S {GLASS} (VP (VBD broke) (PRT (RP down))))", "broke down(subject glass)"),
        (
            "(S (NP (PRP I)) (VP (VBP am) (ADJP (RB very) (JJ afraid) (PP (IN of) (NP (NNS dogs))))))",
            "be afraid(subject I, of dogs)",
        ),
        ("(S (NP (NNP Ann)) (VP (VBZ ’s) (NP (DT a) (NN baker))))", "be baker(subject Ann)"),
        (f"(S {GLASS} (VP (VBZ is) (PP (IN in) (NP (NN water)))))", "be(subject glass, in water)"),
        ("(S (NP (EX There)) (VP (VBZ is) (NP (DT no) (NN water))))", "not be(subject water)"),
        (
            "(S (NP (PRP We)) (VP (VBD gave) (NP (DT the) (NN man) (POS 's) (NN dog)) (NP (NN meat))))",
            "gave(subject we, indirect dog, object meat)",
        ),
        (
            "(S (NP (PRP We)) (VP (VBD met) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NNS dogs)))) "
            "(NP (JJ last) (NN week))))",
            "met(subject we, object man)",
        ),
        (
            "(S (NP (NP (DT the) (NN man) (POS 's)) (NN dog)) (VP (VBD became) (ADJP (JJ angry))))",
            "becam(subject dog, complement angry)",
        ),
        (
            f"(S {IT} (VP (VBZ is) (VP (VBG going) (S (VP (TO to) (VP (VB rain)))))))",
            "rain(subject it)",
        ),
        ("(S (NP (PRP She)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))))", "want(subject she, to go)"),
        ("(S (NP (NN income)) (VP (NNS rises)))", "rise(subject income)"),
        (
            "(S (PP (IN In) (NP (NN winter))) (, ,) (NP (NNS lakes)) (VP (VBP freeze)))",
            "freez(in winter, subject lakes)",
        ),
        (
            "(S (NP (NNS men) (CC and) (NNS dogs)) (VP (VBP have) (NP (NNS legs))))",
            "have(subject men, object legs)",
        ),
    ],
)  # fmt: skip
def test_an_event_is_predicate_and_arguments(clause: str, event: str) -> None:
    """Words are in lower case but for names and I; what a form of be says is a state."""
    assert read(clause) == event


@pytest.mark.parametrize(
    "clause",
    [
        "(S (NP (PRP they)) (VP (VBP do)))",
        "(S (NP (PRP they)) (VP (MD can)))",
        "(S (NP (PRP you)) (VP (VBP want)))",
        f"(S {IT} (VP (VBZ is)))",
        f"(S {GLASS})",
        f"(S {GLASS} (VP (VP (VBD fell)) (CC and) (VP (VBD broke))))",
        f"(S {GLASS} (VP (VBD fell) (CC and) (VBD broke)))",
    ],
)
def test_a_clause_without_one_verb_has_no_event(clause: str) -> None:
    """A verb that is left out stands elsewhere; two are two events."""
    assert read(clause) is None


def test_an_event_is_written_with_its_marks() -> None:
    """As a person reads it, and as two are told apart."""
    assert event_text(Event("break", True, True, ())) == "not passive break()"
