"""The plan of generation: what is in each unit, whoever asks, and what stops it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence, SourceSentence, Span
from pipeline.generate.plan import make_plan
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.spans import draw_spans
from pipeline.text.trees import parse_tree

TREE = (
    "(S (NP (DT the) (NN man{n})) (VP (VBD saw) (NP (NP (DT a) (NN dog)) (PP (IN near) (NP it)))))"
)
WORDS = ("the", "man{n}", "saw", "a", "dog", "near", "it")


def sentence(number: int, tree: str = TREE) -> Sentence:
    words = tuple(word.format(n=number) for word in WORDS)
    return Sentence(f"s{number}", "d", "train", words, None, tree.format(n=number), (), "CC0-1.0")


@pytest.fixture
def corpus(tmp_path: Path, write_trees: Callable[..., None]) -> Path:
    """Twenty-three parsed sentences in shards of five."""
    write_trees(tmp_path, map(sentence, range(23)), size=5)
    return tmp_path


def plan_of(corpus: Path, **more: object):  # type: ignore[no-untyped-def]
    return make_plan(GenerateSettings.model_validate({"corpus": corpus, "references": 2, **more}))


@pytest.mark.parametrize("unit", [2, 6, 14, 1000])
def test_units_are_the_draws_of_all_sentences_in_order(corpus: Path, unit: int) -> None:
    """However U is cut into units, and whatever shards the trees lie in, the references are these."""
    expected = [
        reference
        for each in map(sentence, range(23))
        for reference in draw_spans(
            SourceSentence(each.sentence_id, each.words, each.license),
            tree=parse_tree(each.tree or ""),
            references=2,
            seed=0,
        )
    ]
    plan = plan_of(corpus, unit=unit)
    found = [plan.references(i)[0] for i in range(len(plan.sizes))]
    assert [reference for each in found for reference in each] == expected
    assert [len(each) for each in found] == list(plan.sizes)
    assert max(map(len, found)) == min(unit, 46)


def test_sentences_without_a_span_are_counted(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """A sentence that offers no reference is a number in its unit, not a hole."""
    flat = "(X (X the) (X man{n}) (X saw) (X a) (X dog) (X near) (X it))"
    write_trees(tmp_path, [sentence(0, flat), sentence(1), sentence(2, flat)])
    references, without = plan_of(tmp_path).references(0)
    assert {r.sentence_id for r in references} == {"s1"}
    assert without == 2


def test_gold_trees_are_those_of_the_sentences_that_preparse_parsed(corpus: Path) -> None:
    """The parser's trees may be any; other sentences are not U's; one without a gold tree is counted."""
    expected = plan_of(corpus).references(0)[0]
    every = [sentence(number) for number in range(23)]
    mixed = [
        replace(every[0], sentence_id="dev", split="dev"),
        *every[:9],
        replace(every[1], sentence_id="short", words=WORDS[:4]),
        replace(every[2], sentence_id="treeless", tree=None),
        *every[9:],
        replace(every[3], sentence_id="other", tree=every[4].tree),
    ]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, mixed))
    with pytest.raises(InputError, match="trees of other sentences"):
        plan_of(corpus)
    plan = plan_of(corpus, trees="treebank", unit=8)
    found = [plan.references(unit) for unit in range(len(plan.sizes))]
    assert [reference for each, _ in found for reference in each] == expected
    assert [without for _, without in found] == [0, 0, 1, 0, 0, 0, 1]
    manifest = corpus / "trees" / "manifest.json"
    before = read_json(manifest)
    write_json(manifest, before | {"settings": {"min_words": 7, "limit": 3}})
    assert plan_of(corpus, trees="treebank").references(0)[0] == expected[:6]


def test_a_corpus_without_gold_trees_is_one_line(corpus: Path) -> None:
    """As is one of which nobody has said yet what U is."""
    bare = [replace(sentence(number), tree=None) for number in range(3)]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, bare))
    with pytest.raises(
        InputError, match="no sentence of U has a tree of the treebank; this corpus"
    ):
        plan_of(corpus, trees="treebank")
    unfinished(corpus)
    with pytest.raises(InputError, match="no such file; run `conjoin preparse` first"):
        plan_of(corpus, trees="treebank")


def given(corpus: Path, *rows: dict[str, object]) -> Path:
    path = corpus / "given.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_given_spans_come_in_the_order_of_u(corpus: Path) -> None:
    """Units of given spans hold whole sentences, and nobody is blamed for having none."""
    rows = [
        {"sentence_id": f"s{n}", "start": start, "end": start + 2, "label": "NP"}
        for n in (20, 3, 4)
        for start in (3, 0)
    ]
    plan = plan_of(corpus, spans="given", given=given(corpus, *rows), unit=4)
    found = [plan.references(i) for i in range(len(plan.sizes))]
    assert [[(r.sentence_id, r.span) for r in references] for references, _ in found] == [
        [(f"s{n}", Span(start, start + 2)) for n in (3, 4) for start in (3, 0)],
        [("s20", Span(3, 5)), ("s20", Span(0, 2))],
    ]
    assert plan.sizes == (4, 2)
    assert not any(without for _, without in found)


def test_limit_takes_the_first_sentences(corpus: Path) -> None:
    """`--limit` counts sentences of U."""
    plan = plan_of(corpus, limit=7, unit=8)
    ids = [r.sentence_id for i in range(len(plan.sizes)) for r in plan.references(i)[0]]
    assert list(dict.fromkeys(ids)) == [f"s{n}" for n in range(7)]


def unfinished(corpus: Path) -> None:
    (corpus / "trees" / "manifest.json").unlink()


def lost(corpus: Path) -> None:
    (corpus / "trees" / "trees-00003.parquet").unlink()


def damaged(corpus: Path) -> None:
    path = corpus / "trees" / "trees-00002.parquet"
    path.write_bytes(path.read_bytes()[:-9] + b"x" + path.read_bytes()[-8:])


def ingested_again(corpus: Path) -> None:
    manifest = read_json(corpus / "trees" / "manifest.json")
    manifest["inputs"]["sentences"] = "another"
    write_json(corpus / "trees" / "manifest.json", manifest)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (unfinished, "no such file; run `conjoin preparse` first"),
        (
            lost,
            r"trees-00003.parquet: missing, or not as preparse wrote it; run `conjoin preparse`",
        ),
        (damaged, "trees-00002.parquet: missing, or not as preparse wrote it"),
        (ingested_again, "trees of other sentences than the corpus has now"),
    ],
)
def test_wrong_trees_are_one_line(
    corpus: Path, damage: Callable[[Path], None], message: str
) -> None:
    """Trees that are not there, damaged or of another ingest stop the run before it begins."""
    damage(corpus)
    with pytest.raises(InputError, match=message):
        plan_of(corpus)


def test_trees_without_references_or_of_other_words_are_one_line(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """No span anywhere, no sentence at all, or leaves that are not the words: said up front."""
    write_trees(
        tmp_path, [sentence(0, "(X (X the) (X man0) (X saw) (X a) (X dog) (X near) (X it))")]
    )
    with pytest.raises(InputError, match="no sentence offers a reference span"):
        plan_of(tmp_path)
    write_trees(tmp_path, [])
    with pytest.raises(InputError, match="no trees"):
        plan_of(tmp_path)
    write_trees(tmp_path, [sentence(0, TREE.replace("dog", "cat"))])
    with pytest.raises(InputError, match="no sentence offers a reference span"):
        plan_of(tmp_path)


@pytest.mark.parametrize("bad", [TREE.replace("dog", "cat"), "(S (NP", "(S )"])
def test_one_bad_tree_costs_one_sentence(
    tmp_path: Path, write_trees: Callable[..., None], bad: str
) -> None:
    """One of other words or none at all, as an earlier version may have left it: it is counted."""
    write_trees(tmp_path, [sentence(0), sentence(1, bad), sentence(2)])
    references, without = plan_of(tmp_path).references(0)
    assert {reference.sentence_id for reference in references} == {"s0", "s2"}
    assert without == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"sentence_id": "s99", "start": 0, "end": 1},
            r"no such sentence among .* \(sentence s99\)",
        ),
        ({"sentence_id": "s1", "start": 5, "end": 11}, "outside the 7 words"),
    ],
)
def test_given_spans_that_do_not_fit_stop_the_run(
    corpus: Path, row: dict[str, object], message: str
) -> None:
    """File and line of the wrong span, before any unit is decoded."""
    path = given(corpus, {"sentence_id": "s1", "start": 0, "end": 2}, row)
    with pytest.raises(InputError, match=message) as caught:
        plan_of(corpus, spans="given", given=path)
    assert f"{path}:2:" in str(caught.value)


def test_given_and_its_file_need_each_other(corpus: Path) -> None:
    """`--spans given` alone says nothing about which, and `--given` alone would be ignored."""
    with pytest.raises(SettingsError, match="add --spans given"):
        plan_of(corpus, given=given(corpus, {"sentence_id": "s1", "start": 0, "end": 2}))
    with pytest.raises(SettingsError, match="needs --given FILE"):
        plan_of(corpus, spans="given")
