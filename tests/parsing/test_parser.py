"""Stanza's parser: how it is trained, run and held against its words."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from stanza.models.constituency import parser_training as stanza_training
from stanza.models.constituency.parse_tree import Tree as StanzaTree
from stanza.models.constituency.tree_reader import read_trees

from pipeline.core import console
from pipeline.core.console import Meter
from pipeline.core.errors import InputError, ModelError
from pipeline.parsing import parser as parser_module
from pipeline.parsing import training
from pipeline.parsing.levels import TOO_DEEP
from pipeline.parsing.parser import Parser, load_parser
from pipeline.parsing.training import bracket_f1, train_parser, training_tree
from pipeline.text.trees import DEEPEST, leaves, one_line, parse_tree
from pipeline.world import generate_sentences

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_bracket_f1_counts_labelled_spans() -> None:
    """By hand: of three brackets each, S and NP agree and the VP has another span."""
    gold = parse_tree("(S1 (S (NP (D a) (N b)) (VP (V c) (N d))))")
    guess = parse_tree("(ROOT (S (NP-SBJ (X a) (X b)) (X c) (VP (X d))))")
    assert bracket_f1([gold], [guess]) == pytest.approx(2 / 3)
    assert bracket_f1([gold], [gold]) == 1
    assert bracket_f1([gold, gold], [gold, None]) == pytest.approx(2 * 3 / 9)
    assert bracket_f1([gold], [parse_tree("(S1 (X (Y a) (Y b) (Y c) (Y d)))")]) == 0


def test_bracket_f1_counts_a_unary_chain_as_often_as_it_stands() -> None:
    """Two NP brackets over one word are matched by two, not by one."""
    gold = parse_tree("(S1 (S (NP (NP (N a))) (V b)))")
    guess = parse_tree("(S1 (S (NP (N a)) (V b)))")
    assert bracket_f1([gold], [guess]) == pytest.approx(2 * 2 / 5)


def test_training_tree_takes_the_deepest_tree_that_is_read() -> None:
    """``text.trees`` reads 400 levels, of which hardly one more call a level is left."""
    deep = parse_tree("(S " * 399 + "(NN x)" + ")" * 399)
    assert training_tree(deep, ("x",), None) == "(ROOT" + " (S" * 399 + " (XX x)" + ")" * 400


def test_training_tree_has_one_root_no_function_tags_and_the_given_words() -> None:
    """S1 becomes ROOT, NP-SBJ becomes NP, brackets are escaped, tags are ours or XX."""
    tree = parse_tree("(S1 (S (NP-SBJ=2 (-LRB- -LRB-) (NN x)) (VP (VB y))))")
    assert training_tree(tree, ("(", "x", "y"), None) == (
        "(ROOT (S (NP (XX -LRB-) (XX x)) (VP (XX y))))"
    )
    assert "(NN x)" in training_tree(tree, ("(", "x", "y"), ("-LRB-", "NN", "VB"))
    with pytest.raises(ValueError, match="3 leaves for 2 words"):
        training_tree(tree, ("(", "x"), None)
    with pytest.raises(ValueError, match="3 leaves for 4 words"):
        training_tree(tree, ("(", "x", "y", "z"), None)


def test_a_root_of_several_children_is_below_the_parsers_own() -> None:
    """As CoNLL-U has it for most sentences; stanza refuses a ROOT inside a tree."""
    tree = parse_tree("(ROOT (NP (NN tea)) (. .))")
    assert training_tree(tree, ("tea", "."), None) == "(ROOT (TOP (NP (XX tea)) (XX .)))"
    assert bracket_f1([tree], [parse_tree("(ROOT (TOP (NP (XX tea)) (XX .)))")]) == 1


def test_equal_runs_write_equal_bytes(tmp_path: Path) -> None:
    """The model file depends on the arguments alone, not on paths; another seed changes it."""
    torch.set_num_threads(1)
    trees = [
        training_tree(parse_tree(s.tree or ""), s.words, s.tags)
        for s in generate_sentences(SOURCE, 16, 0)
    ]
    digests = []
    for name, seed in (("a", 0), ("b/c", 0), ("d", 1)):
        folder = tmp_path / name
        best = train_parser(folder, trees, trees[:4], epochs=1, hidden=8, tagged=True, seed=seed)
        assert best == 1
        digests.append([
            hashlib.sha256((folder / file).read_bytes()).hexdigest()
            for file in ("parser.pt", "pretrain.pt", "resources.json")
        ])  # fmt: skip
    assert digests[0] == digests[1]
    assert digests[0][0] != digests[2][0]
    assert str(tmp_path).encode() not in (tmp_path / "a" / "parser.pt").read_bytes()
    tagged = load_parser(str(tmp_path / "a" / "parser.pt"))
    assert tagged.needs_tags
    with pytest.raises(ModelError, match="--tags treebank"):
        tagged.parse([["A", "word"]])
    assert len(tagged.parse([["A", "word"]], [["DT", "NN"]])) == 1


def test_training_says_how_far_it_is_within_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An epoch of many trees takes longer than anybody waits for a sign of life."""
    monkeypatch.setattr(console, "_EVERY", 0.0)
    trees = [f"(ROOT (S (XX w{number}) (XX b)))" for number in range(25)]
    train_parser(tmp_path, trees, trees[:1], epochs=2, hidden=8, tagged=False, seed=0)
    done = [line.split()[1] for line in capsys.readouterr().err.splitlines() if "[parser]" in line]
    assert set(done) - {"0/8"} == {f"{n}/8" for n in range(1, 9)}


def test_an_epoch_may_be_a_part_of_the_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that parsers learn from more or fewer trees with as many updates; all are seen in turn."""
    trees = [f"(ROOT (S (XX w{number}) (XX b)))" for number in range(4)]
    seen: list[list[str]] = []
    epoch = stanza_training.train_model_one_epoch

    def watched(*given: Any) -> Any:
        seen.append([tree.leaf_labels()[0] for tree, *_ in given[5]])
        return epoch(*given)

    monkeypatch.setattr(stanza_training, "train_model_one_epoch", watched)
    train_parser(tmp_path, trees, trees[:1], epochs=2, hidden=8, tagged=False, seed=0, per_epoch=2)
    assert [len(part) for part in seen] == [2, 2]
    assert len({word for part in seen for word in part}) == 4


def _stanza_tree(words: Sequence[str]) -> StanzaTree:
    return read_trees(f"(ROOT (S {' '.join(f'(XX {w})' for w in words)}))", use_tqdm=False)[0]


def _parser(run: Any) -> Parser:
    return Parser("fake", run, needs_tags=False, wrapper="TOP")


def test_a_failing_batch_is_parsed_again_one_by_one() -> None:
    """An assertion in stanza loses one sentence, not the batch."""
    calls = []

    def run(sentences: Sequence[Sequence[str]], _: Any) -> list[StanzaTree]:
        calls.append(len(sentences))
        if any("bad" in words for words in sentences):
            raise AssertionError("stuck")
        return [_stanza_tree(words) for words in sentences]

    outcomes = _parser(run).outcomes([["a", "b"], ["bad"], ["c"]])
    assert [o.reason for o in outcomes] == [None, "stanza failed: AssertionError", None]
    assert calls == [3, 1, 1, 1]
    assert [o.tree.label() for o in outcomes if o.tree] == ["TOP", "TOP"]


def chain(levels: int) -> StanzaTree:
    """A tree of one word with so many brackets one in another."""
    tree = StanzaTree("XX", StanzaTree("a"))
    for _ in range(levels - 2):
        tree = StanzaTree("NP", tree)
    return StanzaTree("ROOT", tree)


def test_a_tree_of_too_many_levels_is_none() -> None:
    """A weak parser makes such; the sentences beside it keep theirs, and each tree can be read again."""
    trees = {2: chain(2), DEEPEST - 1: chain(DEEPEST - 1), 500: chain(500), 5000: chain(5000)}
    found = [_parser(lambda *_, tree=tree: [tree]).outcomes([["a"]])[0] for tree in trees.values()]
    assert [each.reason for each in found] == [None, None, TOO_DEEP, TOO_DEEP]
    for each in found[:2]:
        assert each.tree is not None
        assert one_line(parse_tree(one_line(each.tree))) == one_line(each.tree)
    deep = {"a": chain(500)}
    beside = _parser(lambda some, _: [deep.get(w[0]) or _stanza_tree(w) for w in some])
    assert [each.reason for each in beside.outcomes([["a"], ["b"]])] == [TOO_DEEP, None]


def test_a_parse_of_too_many_levels_finds_nothing_while_it_is_trained() -> None:
    """It is an early epoch's."""
    gold = _stanza_tree(["a"])

    def row(tree: StanzaTree) -> SimpleNamespace:
        return SimpleNamespace(gold=gold, predictions=[SimpleNamespace(tree=tree)])

    evaluator = training._Evaluator(Meter("epochs", 1))
    assert evaluator.process([row(gold)]).f1 == 1
    assert evaluator.process([row(gold), row(chain(500))]).f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize(("patience", "epochs"), [(0, 6), (2, 4)])
@pytest.mark.long
def test_training_ends_when_it_gets_no_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: int, epochs: int
) -> None:
    """After as many epochs as are waited for; the best is kept, which an equal one is not."""
    scores = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.2])
    seen: list[float] = []

    def score(*_: Any) -> float:
        seen.append(next(scores))
        return seen[-1]

    monkeypatch.setattr(training, "bracket_f1", score)
    trees = [
        training_tree(parse_tree(s.tree or ""), s.words, s.tags)
        for s in generate_sentences(SOURCE, 12, 0)
    ]
    best = train_parser(
        tmp_path, trees, trees[:2], epochs=6, hidden=8, tagged=False, seed=0, patience=patience
    )
    assert (best, len(seen)) == (2, epochs)
    load_parser(str(tmp_path / "parser.pt"))


def test_trees_on_the_wrong_sentence_are_noticed() -> None:
    """A shifted or shortened answer is parsed again, and refused if it stays wrong."""

    def swapped(sentences: Sequence[Sequence[str]], _: Any) -> list[StanzaTree]:
        return [_stanza_tree(words) for words in reversed(sentences)]

    outcomes = _parser(swapped).outcomes([["a"], ["b"]])
    assert [leaves(o.tree) for o in outcomes if o.tree] == [["a"], ["b"]]

    def wrong(sentences: Sequence[Sequence[str]], _: Any) -> list[StanzaTree]:
        return [_stanza_tree(["z"]) for _ in sentences]

    assert [o.reason for o in _parser(wrong).outcomes([["a"]])] == ["leaves differ from words"]
    outcomes = _parser(lambda *_: []).outcomes([["a"]])
    assert [o.reason for o in outcomes] == ["no tree found"]


def test_a_package_is_a_plain_name() -> None:
    """It becomes part of a path, and of the command that is proposed."""
    with pytest.raises(InputError, match="no name of a stanza package"):
        load_parser("x'); import os #")


def test_a_package_pipeline_is_asked_for_pretokenized_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Packages go through stanza.Pipeline without download, tagging in small batches."""
    asked: dict[str, Any] = {}

    def pipeline(lang: str, **options: Any) -> Any:
        asked.update(options, lang=lang)
        return lambda rows: SimpleNamespace(
            sentences=[SimpleNamespace(constituency=_stanza_tree(words)) for words in rows]
        )

    monkeypatch.setattr(parser_module.stanza, "Pipeline", pipeline)
    parser = load_parser("ptb3-revised_charlm")
    assert parser.name == "stanza:ptb3-revised_charlm"
    tree = parser.parse([("a", "b")])[0]
    assert tree is not None
    assert tree.leaves() == ["a", "b"]
    assert asked["package"] == {"constituency": "ptb3-revised_charlm"}
    assert asked["download_method"] is None
    assert asked["tokenize_pretokenized"] is True
    assert asked["pos_batch_size"] <= 32
