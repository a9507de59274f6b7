"""From fills to candidates and rejects."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.core.settings import DecodingSettings
from pipeline.core.types import (
    Attested,
    Candidate,
    Donor,
    Reference,
    Reject,
    Span,
    Structure,
    bracketed,
)
from pipeline.infill import Fill
from pipeline.infill.candidates import (
    COORDINATED,
    EMPTY,
    ENDS_IN_MARK,
    NO_TEXT,
    PUNCTUATION,
    REPEATED,
    SAME,
    grown,
    make_candidate,
    make_candidates,
)
from pipeline.text.coordinations import UNBALANCED

WORDS = ("The", "parser", "read", "ten", "trees", ".")
REFERENCE = Reference("s1", WORDS, Span(3, 5), "NP", "CC0-1.0")


def test_candidate_has_exact_boundaries() -> None:
    """The fill's treebank tokens follow the coordinator, and both conjuncts are marked."""
    made = make_candidate(REFERENCE, Fill("nine (old) graphs", -0.5, -0.4, -0.6), "and")
    assert isinstance(made, Candidate)
    assert made.coordinator == 5
    assert made.words[5] == "and"
    assert (
        bracketed(made.words, made.conjuncts)
        == "The parser read [ten trees] and [nine ( old ) graphs] ."
    )
    assert (made.label, made.reference, made.license) == ("NP", Span(3, 5), "CC0-1.0")
    assert (made.score, made.score_append, made.score_prepend) == (-0.5, -0.4, -0.6)


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (Fill(""), EMPTY),
        (Fill("   "), EMPTY),
        (Fill(", ."), PUNCTUATION),
        (Fill("Ten trees"), SAME),
        (Fill("t\u00e9n tre es"), SAME),
        (Fill("nine graphs ,"), ENDS_IN_MARK),
        (Fill("nine graphs."), ENDS_IN_MARK),
        (Fill("ten <pad>", reason="special token in the fill"), "special token in the fill"),
        (Fill("", reason="longer than the model allows"), "longer than the model allows"),
    ],
)
def test_unusable_fill_is_rejected_with_its_reason(fill: Fill, reason: str) -> None:
    """Every reject says why, and keeps what came to be."""
    made = make_candidate(REFERENCE, fill, "and")
    assert isinstance(made, Reject)
    assert made.reason == reason
    assert made.candidate.fill == fill.text
    if not fill.text.strip():
        assert (made.candidate.words, made.candidate.coordinator) == (WORDS, -1)


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("caf\ufffd", None, NO_TEXT),
        ("old\u202e graphs", None, NO_TEXT),
        ("<extra_id_0> graphs", None, NO_TEXT),
        ("[MASK]", None, NO_TEXT),
        ("\ufffdd", "fill begins inside a word", "fill begins inside a word"),
        ("ten <pad> \ufffd", "special token in the fill", "special token in the fill"),
    ],
)
def test_what_no_corpus_may_hold_is_in_no_row(text: str, given: str | None, reason: str) -> None:
    """Half a character or a sign of other models: `validate` would refuse every row of the folder."""
    made = make_candidate(REFERENCE, Fill(text, reason=given), "and")
    assert isinstance(made, Reject)
    assert (made.reason, made.candidate.fill, made.candidate.words) == (reason, "", WORDS)


def test_a_copy_is_one_however_a_model_spells_it() -> None:
    """Word pieces lose capitals, accents, where words were cut and which way a quote turns; digits count."""
    for words, copies, others in (
        (("PU.1", "sites"), ("pu. 1 sites", "PU.1 sites"), ("pu. 2 sites",)),
        (("\u201c", "Yucat\u00e1n", "\u201d"), ("'' yucatan ''",), ("'' yucatan 2 ''",)),
        (("19", ",", "1982"), ("19,1982",), ("19,1983",)),
    ):
        reference = Reference("s1", ("see", *words, "."), Span(1, 1 + len(words)), "NP", "CC0-1.0")
        for text in (*copies, *others):
            made = make_candidate(reference, Fill(text, -0.5, -0.4, -0.6), "and")
            assert (isinstance(made, Reject) and made.reason == SAME) == (text in copies)


def test_identity_is_the_content() -> None:
    """Equal content has an equal id whatever the scores; another fill or span another id."""
    one = make_candidate(REFERENCE, Fill("old graphs", -1.0), "and")
    two = make_candidate(REFERENCE, Fill("old graphs", -2.0), "and")
    other = make_candidate(REFERENCE, Fill("new graphs", -1.0), "and")
    assert isinstance(one, Candidate)
    assert isinstance(two, Candidate)
    assert isinstance(other, Candidate)
    assert one.candidate_id == two.candidate_id != other.candidate_id


def test_repeated_fill_of_a_reference_is_rejected() -> None:
    """Each text counts once, whatever its case and spacing; a faulty fill keeps its own reason."""
    texts = ["old graphs", "Old  graphs", "", "new graphs", "", "old graphs"]
    made = make_candidates(REFERENCE, [Fill(text, -1.0) for text in texts], "and")
    reasons = [row.reason if isinstance(row, Reject) else None for row in made]
    assert reasons == [None, REPEATED, EMPTY, None, EMPTY, REPEATED]
    again = make_candidates(REFERENCE, [Fill("old graphs")], "and")
    assert isinstance(again[0], Candidate)


@pytest.mark.parametrize(
    ("fill", "coordinator", "refused"),
    [
        ("nine graphs and a dog", "and", True),
        ("Either nine or", "and", True),
        ("graphs and/or dogs", "but", True),
        ("nine Plus ten", "plus", True),
        ("nine plus ten", "and", False),
        ("nine android orders", "and", False),
    ],
)
def test_a_fill_that_holds_a_coordinator_is_rejected_unless_asked_for(
    fill: str, coordinator: str, refused: bool
) -> None:
    """One of the five or the inserted word, in any place and case; the setting keeps such fills."""
    (made,) = make_candidates(REFERENCE, [Fill(fill)], coordinator)
    assert (made.reason if isinstance(made, Reject) else None) == (COORDINATED if refused else None)
    (kept,) = make_candidates(REFERENCE, [Fill(fill)], coordinator, coordinators_in_fills=True)
    assert isinstance(kept, Candidate)


@pytest.mark.parametrize(
    ("span", "fill", "refused"),
    [
        (Span(1, 2), "dogs ( big ones", True),
        (Span(1, 2), "dogs ( big ones )", False),
        (Span(1, 2), "the so-called `` dogs", True),
        (Span(2, 4), "dogs", True),  # the reference itself
        (Span(2, 5), "dogs", False),
    ],
)
def test_a_conjunct_that_does_not_balance_is_rejected_unless_asked_for(
    span: Span, fill: str, refused: bool
) -> None:
    """Of a fill that a model writes and of one that somebody wrote, and of the reference."""
    reference = Reference("s", ("We", "saw", "(", "cats", ")", "."), span, "NP", "CC0-1.0")
    words = tuple(fill.split())
    attested = Attested(words, Donor("t", 0, len(words)), "CC0-1.0")
    for each in (Fill(fill), Fill(fill, attested=attested)):
        (made,) = make_candidates(reference, [each], "and")
        assert (made.reason if isinstance(made, Reject) else None) == (
            UNBALANCED if refused else None
        )
        (kept,) = make_candidates(reference, [each], "and", unbalanced=True)
        assert isinstance(kept, Candidate)


def test_a_copy_of_a_coordinated_reference_is_a_copy() -> None:
    """The reason says what is worst about a fill; in treebanks a reference may hold a coordinator."""
    reference = Reference(
        "s", ("We", "saw", "cats", "and", "dogs", "."), Span(2, 5), "NP", "CC0-1.0"
    )
    (made,) = make_candidates(reference, [Fill("Cats and dogs")], "and")
    assert isinstance(made, Reject)
    assert made.reason == SAME


def test_a_structure_grows_by_one_fill_a_round() -> None:
    """Each first fill begins one; the licence of a donor in the middle stays, every cut fill is counted."""
    donor = Attested(("nine", "graphs"), Donor("t", 0, 2), "CC-BY-SA-4.0")
    asked: list[list[tuple[int, str]]] = []

    def fill_all(references: Sequence[Reference], first: bool) -> list[list[Fill]]:
        asked.append([(len(each.placed), each.license) for each in references])
        if first:
            return [[Fill("nine graphs", cut=True, attested=donor), Fill("old lamps", cut=True)]]
        return [[Fill("red dogs"), Fill("blue cats", cut=True)] for _ in references]

    reference = replace(REFERENCE, structure=Structure("and", conjuncts=3))
    (rows,), cut = grown([reference], fill_all, DecodingSettings())
    assert asked == [[(0, "CC0-1.0")], [(1, "CC-BY-SA-4.0"), (1, "CC0-1.0")]]
    assert cut == 2  # what a later round has beside its best is not used
    assert [
        (bracketed(row.words, row.conjuncts), row.license)
        for row in rows
        if isinstance(row, Candidate)
    ] == [
        ("The parser read [ten trees] , [nine graphs] and [red dogs] .", "CC-BY-SA-4.0"),
        ("The parser read [ten trees] , [old lamps] and [red dogs] .", "CC0-1.0"),
    ]
