"""The tree of a candidate: from which sentences, whose, and why there may be none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from with_trees import attested, rows_of, world

from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import TREES
from pipeline.core.types import Candidate, Donor, Sentence, Span, candidate_id
from pipeline.parsing.parser import Parsed
from pipeline.release import candidate_trees
from pipeline.release.candidate_trees import CandidateTrees, MadeTree
from pipeline.text.splicing import NO_REFERENCE, OTHER_CONJUNCTS, require_sound
from pipeline.text.trees import leaves, one_line, parse_tree

GOLD = "(S1 (S (NP (DT the) (NN {0})) (VP (VBD saw) (NP (PRP me)))))"
PARSED = "(S1 (S (NP (DT the)) (VP (VP (NN {0}) (VBD saw)) (NP (PRP me)))))"
"""What a parser makes of it: ``the`` an NP, ``dog saw`` a VP."""


def sentence(name: str, noun: str, tree: str | None = GOLD) -> Sentence:
    words = ("the", noun, "saw", "me")
    found = None if tree is None else tree.format(noun)
    return Sentence(name, "d", "train", words, ("DT", "NN", "VBD", "PRP"), found, (), "CC0-1.0")


def candidate(reference: Span, fill: Sequence[str], label: str, **more: Any) -> Candidate:
    """``the dog saw me`` with ``and`` and a fill behind the reference."""
    words = ["the", "dog", "saw", "me"]
    k = reference.end
    spans = (reference, Span(k + 1, k + 1 + len(fill)))
    every = (*words[:k], "and", *fill, *words[k:])
    return Candidate(
        candidate_id("c/1", every, k, reference, spans), "c/1", every, k, spans, label, reference,
        " ".join(fill), -1.0, -1.0, -1.0, "CC0-1.0", **more,
    )  # fmt: skip


def parsed_as(corpus: Path, trees: dict[str, str], parser: str = "stanza:train:aa") -> None:
    """Put a parser's trees in the place of those that ``preparse`` would have taken from the treebank."""
    path = corpus / "trees/trees-00000.parquet"
    rows = [
        {"sentence_id": name, "words": leaves(parse_tree(tree)), "parser": parser, "tree": tree,
         "license": "CC0-1.0"} for name, tree in trees.items()
    ]  # fmt: skip
    write_rows(path, TREES, rows)
    write_json(
        corpus / "trees/manifest.json",
        {
            "shards": [{"file": path.name, "rows": len(rows), "sha256": sha256_of(path)}],
            "inputs": {"sentences": sha256_of(corpus / "sentences.parquet")},
            "settings": {"min_words": 1, "limit": None},
        },
    )


@pytest.fixture
def pair(tmp_path: Path, write_trees: Callable[..., None]) -> Path:
    """Two sentences with gold trees, of which a parser made others."""
    write_trees(tmp_path, [sentence("c/1", "dog"), sentence("c/2", "cat")])
    parsed_as(tmp_path, {"c/1": PARSED.format("dog"), "c/2": PARSED.format("cat")})
    return tmp_path


def made(corpus: Path, *candidates: Candidate, of: Any = "best", **more: Any) -> list[MadeTree]:
    with CandidateTrees(corpus, of, **more) as trees:
        return trees.of(rows_of(candidates, next(iter(more.get("runs", {})), None)))


def test_every_candidate_of_the_world_has_a_sound_tree(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """Two to four conjuncts, commas, both, either, neither: words, constituents and reader agree."""
    sentences = world()
    write_trees(tmp_path, sentences)
    candidates = attested(sentences)
    assert len(candidates) > 50
    assert {len(each.conjuncts) for each in candidates} == {2, 3, 4}
    for each, found in zip(candidates, made(tmp_path, *candidates), strict=True):
        assert found.origin == "treebank"
        assert found.text is not None
        require_sound(parse_tree(found.text), each.words, each.coordination)
        assert "XX" not in found.text


def test_gold_where_it_has_the_constituent_else_the_parser_s(pair: Path) -> None:
    """The column says ``treebank`` only if every part is; what was asked for alone is taken alone."""
    donor = Donor("c/2", 0, 2)
    noun = candidate(Span(0, 2), ("the", "cat"), "NP", donor=donor)
    verb = candidate(Span(1, 3), ("cat", "saw"), "VP", donor=Donor("c/2", 1, 3))
    assert [m.origin for m in made(pair, noun, verb)] == ["treebank", "parser"]
    assert [m.reason for m in made(pair, noun, verb, of="treebank")] == ["", NO_REFERENCE]
    gold, own = made(pair, noun, verb, of="parser")
    assert gold.reason == NO_REFERENCE
    assert own.text == (
        "(S1 (S (NP (DT the)) (VP (VP (VP (NN dog) (VBD saw)) (CC and) (VP (NN cat) (VBD saw))) "
        "(NP (PRP me)))))"
    )


def test_a_donor_s_subtree_may_be_the_parser_s(pair: Path) -> None:
    """Gold source, donor's span from the parser's tree: a part is the parser's, and that is said."""
    mixed = candidate(Span(0, 2), ("the",), "NP", donor=Donor("c/2", 0, 1))
    (found,) = made(pair, mixed)
    assert found.origin == "parser"
    assert "(NP (NP (DT the) (NN dog)) (CC and) (NP (DT the)))" in (found.text or "")


def test_what_has_no_tree_says_why(pair: Path) -> None:
    """Random spans, sentences from elsewhere, donors that are no constituent, no parser for a fill."""
    odd = candidate(Span(0, 2), ("the", "cat"), "X")
    lost = replace(candidate(Span(0, 2), ("a",), "NP"), sentence_id="c/9")
    donor = candidate(Span(0, 2), ("cat",), "NP", donor=Donor("c/2", 1, 2))
    free = candidate(Span(0, 2), ("the", "cat"), "NP")
    assert [m.reason for m in made(pair, odd, lost, donor, free)] == [
        candidate_trees.RANDOM, candidate_trees.NO_SENTENCE, candidate_trees.NO_DONOR_TREE,
        candidate_trees.NO_PARSER,
    ]  # fmt: skip


class _Tagger:
    def tag(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple("TG" for _ in words)


class _Parser:
    """Gives each sentence a tree of the shape asked for, with the tags it was handed."""

    def __init__(self, shape: str, *, needs_tags: bool, tagger: Any) -> None:
        self.shape, self.needs_tags, self.tagger = shape, needs_tags, tagger
        self.asked = 0

    def outcomes(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str]],
        *,
        on_batch: Callable[[int, int], None],
    ) -> list[Parsed]:
        self.asked += len(sentences)
        on_batch(len(sentences), sum(map(len, sentences)))
        leaves_ = [[f"({t} {w})" for t, w in zip(*pair, strict=True)]
                   for pair in zip(tags, sentences, strict=True)]  # fmt: skip
        return [Parsed(parse_tree(self.shape.format(*each)), None) for each in leaves_]


def knowing(monkeypatch: pytest.MonkeyPatch, shape: str, **more: Any) -> _Parser:
    parser = _Parser(shape, **({"needs_tags": True, "tagger": _Tagger()} | more))
    monkeypatch.setattr(CandidateTrees, "_parser", lambda *_: parser)
    return parser


FULL = "(ROOT (S (NP (NP {0} {1}) {2} (NP {3} {4})) (VP {5} (NP {6}))))"
FLAT = "(ROOT (S (NP {0} {1} {2} {3} {4}) (VP {5} (NP {6}))))"
WRONG = "(ROOT (S (NP {0} {1}) (VP {2} {3} (NP {4} {5}) (NP {6}))))"


def test_a_free_fill_has_the_subtree_of_a_parse(
    pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source's gold tags go in, the tagger's for the fill; the rest of the tree is the source's."""
    free = candidate(Span(0, 2), ("a", "cat"), "NP")
    for shape in (FULL, FLAT):
        knowing(monkeypatch, shape)
        (found,) = made(pair, free)
        assert found.origin == "parser"
        assert found.text == (
            "(S1 (S (NP (NP (DT the) (NN dog)) (CC and) (NP (TG a) (TG cat))) "
            "(VP (VBD saw) (NP (PRP me)))))"
        )
    knowing(monkeypatch, WRONG)
    assert made(pair, free)[0].reason == candidate_trees.NO_FILL_TREE
    knowing(monkeypatch, FULL, tagger=None)
    assert made(pair, free)[0].reason == candidate_trees.NO_TAGGER
    assert made(pair, free, of="treebank")[0].reason == candidate_trees.NO_GOLD_FILL


def natural(pair_: Path, write_trees: Callable[..., None], tree: str | None) -> Candidate:
    words = ("the", "dog", "and", "a", "cat", "saw", "me")
    tags = ("DT", "NN", "CC", "DT", "NN", "VBD", "PRP")
    given = Sentence("n/1", "d", "train", words, tags, tree, (), "CC0-1.0")
    write_trees(pair_, [given, sentence("c/2", "cat")])
    spans = (Span(0, 2), Span(3, 5))
    name = candidate_id("n/1", words, 2, spans[0], spans)
    return Candidate(
        name, "n/1", words, 2, spans, "NP", spans[0], "a cat", None, None, None, "CC0-1.0"
    )


def test_natural_text_is_its_own_tree(
    tmp_path: Path, write_trees: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the parser that found it; the treebank's, which says that it was right, if one asks."""
    tagged = FULL.replace("ROOT", "S1").format(
        "(DT the)", "(NN dog)", "(CC and)", "(DT a)", "(NN cat)", "(VBD saw)", "(PRP me)"
    )
    knowing(monkeypatch, FULL)
    row = natural(tmp_path, write_trees, tagged)
    assert [(m.text, m.origin) for m in made(tmp_path, row, of="treebank")] == [
        (tagged, "treebank")
    ]
    assert made(tmp_path, row)[0].origin == "parser"
    other = tagged.replace("(NP (NP (DT the)", "(NP (QP (DT the)")
    row = natural(tmp_path, write_trees, other)
    parsed_as(tmp_path, {"n/1": other})
    runs = {"r" * 16: {"model": "stanza:train:bb sha256:cc"}}
    monkeypatch.setattr(
        candidate_trees, "_parsers_of", lambda _: {runs["r" * 16]["model"]: tmp_path}
    )
    assert made(tmp_path, row, of="treebank")[0].reason == OTHER_CONJUNCTS
    (found,) = made(tmp_path, row, runs=runs)
    assert (found.text, found.origin) == (tagged, "parser")
    parser = knowing(monkeypatch, FULL, needs_tags=False)
    found, again = made(tmp_path, row, row, runs=runs)
    assert (found, parser.asked) == (again, 1)
    assert one_line(found.tree).count("TG") == 6  # type: ignore[arg-type]
    assert "(CC and)" in one_line(found.tree)  # type: ignore[arg-type]
    runs["r" * 16]["model"] = "stanza:train:dd sha256:ee"
    monkeypatch.setattr(candidate_trees, "_parsers_of", lambda _: {})
    assert made(tmp_path, row, runs=runs)[0].reason == candidate_trees.NO_PARSER


def test_a_harvested_row_has_the_tree_that_the_harvest_read(
    tmp_path: Path, write_trees: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bare words are joined by their tags: the tagger's, which the harvest had not, would part these two.

    So it is with a parse of preparse, which has the tagger's tags, too.
    """
    words = ("the", "dog", "and", "hot", "saw", "me")
    spans = (Span(1, 2), Span(3, 4))
    row = Candidate(
        candidate_id("n/1", words, 2, spans[0], spans), "n/1", words, 2, spans, "NP", spans[0],
        "hot", None, None, None, "CC0-1.0",
    )  # fmt: skip
    tagged = "(S1 (S (NP (DT the) (NN dog) (CC and) (JJ hot)) (VP (VBD saw) (NP (PRP me)))))"
    given = Sentence("n/1", "d", "train", words, None, tagged, (), "CC0-1.0")
    write_trees(tmp_path, [given, sentence("c/2", "cat")])
    shape = "(ROOT (S (NP {0} {1} {2} {3}) (VP {4} (NP {5}))))"
    tagger = SimpleNamespace(tag=lambda _: ("DT", "NN", "CC", "JJ", "VBD", "PRP"))
    knowing(monkeypatch, shape, needs_tags=False, tagger=tagger)
    parsed_as(tmp_path, {"n/1": tagged}, parser="stanza:train:bb")
    runs = {"r" * 16: {"model": "stanza:train:bb sha256:cc"}}
    monkeypatch.setattr(
        candidate_trees, "_parsers_of", lambda _: {runs["r" * 16]["model"]: tmp_path}
    )
    said: list[str] = []
    (found,) = made(tmp_path, row, runs=runs, note=said.append)
    assert (found.text, found.origin) == (
        "(S1 (S (NP (XX the) (XX dog) (CC and) (XX hot)) (VP (XX saw) (NP (XX me)))))", "parser",
    )  # fmt: skip
    assert said == ["1 sentences parsed"]
