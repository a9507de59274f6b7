"""Reference spans and twins."""

import random
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.core.types import Reference, SourceSentence, Span
from pipeline.generate.spans import (
    draw_spans,
    place_given_spans,
    random_spans,
    read_given_spans,
)
from pipeline.infill.base import make_twins
from pipeline.text.constituents import capital_of_place, constituent_spans
from pipeline.text.trees import parse_tree

BRACKETS = (
    "(S1 (S (NP (DT The) (NN parser)) (VP (VBD read) (NP (NP (CD ten) (NNS trees)) "
    "(PP (IN in) (NP (DT the) (NN bank)))) (ADVP (RB quickly))) (. .)))"
)
TREE = parse_tree(BRACKETS)
WORDS = ("The", "parser", "read", "ten", "trees", "in", "the", "bank", "quickly", ".")


def sentence(sentence_id: str = "s1") -> SourceSentence:
    return SourceSentence(sentence_id, WORDS, "CC0-1.0")


def test_constituents_exclude_root_and_other_labels() -> None:
    """Every labelled constituent but the whole sentence is a possible reference (§3.3)."""
    assert constituent_spans(WORDS, TREE) == [
        (Span(0, 2), "NP"),
        (Span(2, 9), "VP"),
        (Span(3, 5), "NP"),
        (Span(3, 8), "NP"),
        (Span(5, 8), "PP"),
        (Span(6, 8), "NP"),
        (Span(8, 9), "ADVP"),
    ]


def test_unary_chain_takes_the_topmost_label_once() -> None:
    """A span that is S over VP is one reference, labelled S."""
    words = ("He", "tried", "to", "go", "home")
    tree = "(S (NP (PRP He)) (VP (VBD tried) (S (VP (TO to) (VP (VB go) (NP (NN home)))))))"
    spans = dict(constituent_spans(words, parse_tree(tree)))
    assert spans[Span(2, 5)] == "S"
    assert len(spans) == 5


def test_a_newer_treebanks_modifiers_can_be_references() -> None:
    """What stands before a noun is NML there: "[bone marrow] and [muscle] cells" can be made of it."""
    words = ("We", "saw", "bone", "marrow", "cells", ".")
    tree = "(S (NP (PRP We)) (VP (VBD saw) (NP (NML (NN bone) (NN marrow)) (NNS cells))) (. .))"
    assert (Span(2, 4), "NML") in constituent_spans(words, parse_tree(tree))


@pytest.mark.parametrize(
    ("word", "tag", "of_place"),
    [
        ("The", "DT", True),
        ("A", "DT", True),
        ("the", "DT", False),
        ("Antigen-specific", "JJ", True),
        ("Alice", "NNP", False),
        ("Alice", "XX", True),
        ("I", "PRP", False),
        ("DNA", "NN", False),
        ("IL-2", "NN", False),
        ("1,000", "CD", False),
        ("``", "``", False),
    ],
)
def test_a_capital_is_of_the_place_or_of_the_word(word: str, tag: str, of_place: bool) -> None:
    """Only the first kind makes a constituent unfit for the middle of a sentence."""
    assert capital_of_place(word, tag) is of_place


def test_draw_is_a_function_of_seed_and_sentence_id() -> None:
    """The same seed and id give the same spans; another seed or id may not."""
    drawn = [
        [r.span for r in draw_spans(sentence(name), tree=TREE, references=2, seed=seed)]
        for name in ("a", "b", "c", "d")
        for seed in (0, 1)
    ]
    again = [r.span for r in draw_spans(sentence("a"), tree=TREE, references=2, seed=0)]
    assert drawn[0] == again
    assert len({tuple(spans) for spans in drawn}) > 1
    assert all(len(set(spans)) == 2 for spans in drawn)


def test_draw_takes_what_there_is() -> None:
    """Asking for more references than constituents gives each once."""
    drawn = draw_spans(sentence(), tree=TREE, references=99, seed=0)
    assert [r.span for r in drawn] == [span for span, _ in constituent_spans(WORDS, TREE)]


def test_random_spans_are_distinct_parts_of_the_sentence() -> None:
    """Random spans stay inside, are never the whole sentence, and never punctuation only."""
    for seed in range(50):
        spans = [s for s, _ in random_spans(WORDS, random.Random(seed), 4)]
        assert len(spans) == len(set(spans)) == 4
        assert all(0 <= s.start < s.end <= len(WORDS) and len(s) < len(WORDS) for s in spans)
        assert Span(9, 10) not in spans


def test_random_lengths_are_spanberts() -> None:
    """Lengths are geometric with p = 0.2, cut off at 10: mean 3.8 words, 22 % of them single."""
    words = tuple(f"w{i}" for i in range(60))
    lengths = [len(random_spans(words, random.Random(s), 1)[0][0]) for s in range(4000)]
    assert max(lengths) == 10
    assert sum(lengths) / len(lengths) == pytest.approx(3.8, abs=0.15)
    assert lengths.count(1) / len(lengths) == pytest.approx(0.224, abs=0.03)


def test_given_spans_are_read(tmp_path: Path) -> None:
    """JSON lines give reference spans, in order, label optional."""
    path = tmp_path / "given.jsonl"
    path.write_text(
        '{"sentence_id": "s1", "start": 3, "end": 8, "label": "NP-SBJ"}\n\n'
        '{"sentence_id": "s1", "start": 0, "end": 2}\n'
    )
    first, second = place_given_spans(sentence(), read_given_spans(path)["s1"], path)
    assert (first.span, first.label) == (Span(3, 8), "NP-SBJ")
    assert (second.span, second.label) == (Span(0, 2), "X")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "not a given span"),
        ("[1, 2]", "not a given span"),
        ('{"sentence_id": "s1", "start": 0, "end": 2}', r"span \[0, 2\) is given twice"),
        ('{"sentence_id": "s1", "start": 1, "end": 3, "label": "np"}', "'np' is no label"),
        ('{"sentence_id": "s1", "start": 1, "end": 3, "label": ""}', "'' is no label"),
        ('{"sentence_id": "s1", "start": 4, "end": 4}', r"span \[4, 4\) is empty"),
        ('{"sentence_id": "s1", "start": 0, "end": 10}', "whole"),
        ('{"sentence_id": "s1", "start": 5, "end": 11}', "outside the 10 words"),
    ],
)
def test_wrong_given_span_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    """A wrong span is one error with file, line and remedy."""
    path = tmp_path / "given.jsonl"
    path.write_text('{"sentence_id": "s1", "start": 0, "end": 2}\n' + line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        place_given_spans(sentence(), read_given_spans(path)["s1"], path)
    assert f"{path}:2:" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(b"\ncaf\xe9", "not UTF-8"), (b"\na\0", "a NUL character")]
)
def test_given_spans_that_are_no_text_name_the_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """They are read as all text is."""
    (tmp_path / "given.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=rf"given\.jsonl:2: .*{message}"):
        read_given_spans(tmp_path / "given.jsonl")


def test_twins_put_the_mask_after_and_before() -> None:
    """S′(1) reads "X and mask", S′(2) "mask and X" (§3.1), in natural spacing."""
    reference = Reference("s1", WORDS, Span(5, 8), "PP", "CC0-1.0")
    twins = make_twins(reference, "and", "<extra_id_0>")
    assert twins.append == "The parser read ten trees in the bank and <extra_id_0> quickly."
    assert twins.prepend == "The parser read ten trees <extra_id_0> and in the bank quickly."


def test_twins_repeat_the_mask_for_bert() -> None:
    """BERT's twins hold as many masks as are asked for."""
    reference = Reference("s1", WORDS, Span(8, 9), "ADVP", "CC0-1.0")
    twins = make_twins(reference, "or", "[MASK]", 3)
    assert twins.append.endswith("quickly or [MASK] [MASK] [MASK].")
    assert twins.prepend.endswith("bank [MASK] [MASK] [MASK] or quickly.")
