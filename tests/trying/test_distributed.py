"""``conjoin predict --output distributed``: each conjunct alone, with the words that all share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from nltk.tree import Tree

from pipeline.core.files import write_json
from pipeline.core.types import Coordination, Span
from pipeline.parsing import card as parser_card
from pipeline.parsing.parser import Parsed
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction
from pipeline.text.lines import GivenSentence
from pipeline.text.trees import constituents
from pipeline.trying.predict import command as predict
from pipeline.trying.predict.answers import Found, ParsedSentence, SentenceAnswer, Skipped
from pipeline.trying.predict.distributed import (
    MOST_PHRASES,
    SENTENCE,
    distributed,
    phrases,
    phrases_cut,
)
from pipeline.trying.predict.settings import PredictSettings


def answer(
    text: str, found: Mapping[int, Sequence[tuple[int, int]]], tree: str | None = None
) -> SentenceAnswer:
    """A sentence with the conjuncts at each coordinator, and with its tree if a parser was asked."""
    entries = []
    for k, conjuncts in found.items():
        spans = tuple(Span(*each) for each in conjuncts)
        entries.append(Found(k, (Prediction(Span(spans[0].start, spans[-1].end), 1.0, spans),)))
    beside = tree and ParsedSentence(constituents=tuple(constituents(Tree.fromstring(tree))))
    return SentenceAnswer(GivenSentence(tuple(text.split()), 7), tuple(entries), beside or None)


def told(of: SentenceAnswer) -> list[tuple[str, str]]:
    """The phrases, and the frame of each."""
    return [(" ".join(one.words(of.sentence.words)), one.frame) for one in phrases(of)]


SOUP = "we ate hot and cold chicken soup today ."
FLAT = (
    "(S1 (S (NP (XX we)) (VP (XX ate) (NP (XX hot) (CC and) (XX cold) (XX chicken) (XX soup)) "
    "(NP (XX today))) (. .)))"
)


def test_the_smallest_constituent_around_is_what_is_shared() -> None:
    """Whether the tree is flat there or has a constituent of just the coordination."""
    conjuncts = {3: [(2, 3), (4, 5)]}
    expected = [("hot chicken soup", "NP"), ("cold chicken soup", "NP")]
    deep = FLAT.replace("(XX hot) (CC and) (XX cold)", "(ADJP (XX hot) (CC and) (XX cold))")
    for tree in (FLAT, deep):
        found = answer(SOUP, conjuncts, tree)
        assert told(found) == expected
        assert [one.shared for one in phrases(found)] == [(Span(2, 2), Span(5, 7))] * 2


def test_without_a_tree_the_sentence_is_shared() -> None:
    """Also if there is a parser that found none."""
    found = answer(SOUP, {3: [(2, 3), (4, 5)]})
    expected = [
        ("we ate hot chicken soup today .", SENTENCE),
        ("we ate cold chicken soup today .", SENTENCE),
    ]
    assert told(found) == expected
    unparsed = ParsedSentence(unparsed="no tree found")
    assert told(SentenceAnswer(found.sentence, found.entries, unparsed)) == expected


def test_three_conjuncts_are_three_phrases() -> None:
    """Commas, and words between that are of no conjunct, are in none."""
    text = "she read letters , poems and then news of war"
    found = answer(text, {5: [(2, 3), (4, 5), (7, 8)]})
    assert told(found) == [
        (f"she read {one} of war", SENTENCE) for one in ("letters", "poems", "news")
    ]


def test_nested_coordinations_are_distributed_each_by_itself() -> None:
    """The other one stands in the phrases as it is."""
    text = "hot and cold soup or tea"
    tree = "(NP (NP (ADJP (XX hot) (CC and) (XX cold)) (XX soup)) (CC or) (NP (XX tea)))"
    found = answer(text, {1: [(0, 1), (2, 3)], 4: [(0, 4), (5, 6)]}, tree)
    assert told(found) == [
        ("hot soup", "NP"), ("cold soup", "NP"),
        # Nothing stands around the second: its conjuncts share nothing.
        ("hot and cold soup", SENTENCE), ("tea", SENTENCE),
    ]  # fmt: skip
    assert told(answer(text, {1: [(0, 1), (2, 3)]})) == [
        ("hot soup or tea", SENTENCE), ("cold soup or tea", SENTENCE),
    ]  # fmt: skip


def test_a_first_word_of_the_coordinator_is_in_no_phrase() -> None:
    """*both* before *and*; before *or* it is a word like others."""
    tree = (
        "(S (NP (XX we)) (VP (XX like) (NP (NP (CC both) (XX tea) (CC {}) (XX milk)) (XX here))))"
    )
    spans = [(3, 4), (5, 6)]
    both = answer("we like both tea and milk here", {4: spans}, tree.format("and"))
    assert told(both) == [("tea here", "NP"), ("milk here", "NP")]
    other = answer("we like both tea or milk here", {4: spans}, tree.format("or"))
    assert told(other) == [("both tea", "NP"), ("both milk", "NP")]


def test_brackets_and_commas_alone_are_nothing_to_share() -> None:
    """The next larger constituent is, which has a word."""
    tree = "(NP (NP (XX drinks)) (PRN (-LRB- -LRB-) (NP (XX tea) (CC or) (XX milk)) (-RRB- -RRB-)))"
    found = answer("drinks ( tea or milk )", {3: [(2, 3), (4, 5)]}, tree)
    assert told(found) == [("drinks ( tea )", "NP"), ("drinks ( milk )", "NP")]


def test_a_boundary_across_the_trees_brackets_has_a_frame_all_the_same() -> None:
    """The predictor's answer may be none of the parser's constituents."""
    found = answer(SOUP, {3: [(1, 3), (4, 6)]}, FLAT)
    assert told(found) == [("ate hot soup today", "VP"), ("cold chicken soup today", "VP")]


def test_a_whole_sentence_has_its_own_label() -> None:
    """Not that of the root around it."""
    found = answer(
        "we and they ate",
        {1: [(0, 1), (2, 3)]},
        "(S1 (S (NP (XX we) (CC and) (XX they)) (VP (XX ate))))",
    )
    assert told(found) == [("we ate", "S"), ("they ate", "S")]


def test_the_parsers_structure_counts_where_it_is_the_answer() -> None:
    """With all its conjuncts."""
    structure = Coordination(3, "and", "NP", (Span(2, 3), Span(4, 7)))
    found = answer(SOUP, {}, FLAT)
    one = SentenceAnswer(found.sentence, (Found(3, (), (structure, None)),), found.beside)
    assert told(one) == [
        ("ate hot today", "VP"), ("ate cold chicken soup today", "VP"),
    ]  # fmt: skip


def test_lines_say_what_is_shared_and_what_is_not_there() -> None:
    """Phrase, conjunct, shared words, coordinator, frame, line; and each reason."""
    found = answer(SOUP, {3: [(2, 3), (4, 5)]}, FLAT)
    sentence = GivenSentence((*found.sentence.words, "and"), 7, name="doc-1")
    skipped = Skipped(9, "coordinator at the edge of the sentence")
    assert distributed(SentenceAnswer(sentence, (*found.entries, skipped), found.beside)) == (
        "hot chicken soup\thot\t… chicken soup\tand\tNP\tdoc-1\n"
        "cold chicken soup\tcold\t… chicken soup\tand\tNP\tdoc-1\n"
        f"{SOUP} and\t-\t-\tand\tcoordinator at the edge of the sentence\tdoc-1\n"
    )
    plain = answer(SOUP, {3: [(2, 3), (4, 5)]})
    assert distributed(plain).splitlines()[0].split("\t") == [
        "we ate hot chicken soup today .", "hot", "we ate … chicken soup today .", "and", SENTENCE, "7",
    ]  # fmt: skip
    none = SentenceAnswer(plain.sentence, (Skipped(None, "no coordinator"),))
    assert distributed(none) == f"{SOUP}\t-\t-\t-\tno coordinator\t7\n"


def test_phrases_of_a_sentence_are_bounded_and_the_rest_is_counted() -> None:
    """For each may be as long as the sentence."""
    count = MOST_PHRASES // 2 + 5
    text = " ".join(["x and"] * count + ["x"])
    found = answer(
        text, {2 * n + 1: [(2 * n, 2 * n + 1), (2 * n + 2, 2 * n + 3)] for n in range(count)}
    )
    lines = distributed(found).splitlines()
    assert len(lines) == MOST_PHRASES + 1
    assert lines[-1].split("\t")[1:] == ["-", "-", "-", "phrases cut: 10", "7"]
    assert phrases_cut(found) == 10
    assert phrases_cut(answer(SOUP, {3: [(2, 3), (4, 5)]})) == 0


@pytest.fixture(scope="module")
def folder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random predictor's folder."""
    folder = tmp_path_factory.mktemp("distributed") / "predictor"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).save(folder)
    return folder


def test_the_command_takes_the_parsers_tree(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For the answer and for its frame; the summary counts sentences without one."""

    def outcomes(texts: Sequence[Sequence[str]]) -> list[Parsed]:
        trees = [Tree.fromstring(FLAT) if "soup" in words else None for words in texts]
        return [Parsed(tree, None if tree else "no tree found") for tree in trees]

    parser = SimpleNamespace(outcomes=outcomes, needs_tags=False)
    monkeypatch.setattr(parser_card, "corpus_parser", lambda place: parser)
    write_json(tmp_path / "parser/parser.json", {"source": "ready"})
    (tmp_path / "f").write_text(f"{SOUP}\ndogs and cats\n")
    given = {"predictor": folder, "text": tmp_path / "f", "output": "distributed"}
    predict.run(PredictSettings(**given, parser=tmp_path / "parser", tau=0))  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out == (
        "hot chicken soup\thot\t… chicken soup\tand\tNP\t1\n"
        "cold chicken soup\tcold\t… chicken soup\tand\tNP\t1\n"
        "dogs\tdogs\t…\tand\tsentence\t2\n"
        "cats\tcats\t…\tand\tsentence\t2\n"
    )
    assert printed.err.rstrip().endswith("skipped: none; without a tree: no tree found 1")
    predict.run(PredictSettings(**given))  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert {line.split("\t")[4] for line in printed.out.splitlines()} == {SENTENCE}
    assert printed.err.rstrip().endswith("skipped: none")


def test_the_summary_says_how_many_phrases_were_cut(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of all sentences together; other outputs have no phrases."""
    monkeypatch.setattr("pipeline.trying.predict.distributed.MOST_PHRASES", 1)
    (tmp_path / "f").write_text("dogs and cats\nthe man or girl\n")
    given = {"predictor": folder, "text": tmp_path / "f"}
    predict.run(PredictSettings(**given, output="distributed"))  # type: ignore[arg-type]
    assert capsys.readouterr().err.rstrip().endswith("skipped: none; phrases cut: 2")
    predict.run(PredictSettings(**given))  # type: ignore[arg-type]
    assert capsys.readouterr().err.rstrip().endswith("skipped: none")


def test_more_structures_than_one_are_for_other_outputs() -> None:
    """Who asks for them beside phrases is told."""
    settings = PredictSettings(predictor="p", text="t", output="distributed", n_best=2)  # type: ignore[arg-type]
    (line,) = settings.without_effect(["n_best"])
    assert line == "--n-best changes nothing here: it is for --output tsv or jsonl or conllu"
