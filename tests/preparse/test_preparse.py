"""The preparse stage and its stanza parser: what is learned from, what is parsed, what is refused."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError
from pipeline.core.files import digest_of, write_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import SENTENCES, TREES, UNPARSED, sentence_row
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.parsing import making
from pipeline.parsing import parser as parser_module
from pipeline.parsing.annotated import annotation_of_parser
from pipeline.parsing.card import LEARNED, corpus_parser, learned_from, loaded_from, tagger_sum
from pipeline.parsing.parser import Parser, load_parser
from pipeline.parsing.tagging import TAGGER, Tagger, train_tagger
from pipeline.parsing.training import training_tree
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.text.trees import leaves, parse_tree
from pipeline.world import generate_sentences

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"
SMALL = {"parser_trees": 40, "parser_epochs": 1, "parser_hidden": 16, "limit": 20, "unit": 8}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _corpus(folder: Path, sentences: Sequence[Sentence] | None = None) -> Path:
    if sentences is None:
        sentences = list(generate_sentences(SOURCE, 180, 0))
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    return folder


def _sentence(number: int, words: str, tree: str | None, split: str = "train") -> Sentence:
    tags = ("NN",) * len(words.split())
    return Sentence(f"t/{number}", "t", split, tuple(words.split()), tags, tree, (), "CC0-1.0")


def tree_rows(corpus: Path) -> list[dict[str, Any]]:
    shards = sorted((corpus / "trees").glob("trees-*.parquet"))
    return [row for shard in shards for row in read_rows(shard, TREES)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus after a tiny `--parser train`."""
    corpus = _corpus(tmp_path_factory.mktemp("made") / "corpus")
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    return corpus


def test_trained_trees_cover_u_and_their_leaves_are_the_words(trained: Path) -> None:
    """One row per sentence of U in its order, in the treebank's style, with the parser's name."""
    sentences = [s for s in generate_sentences(SOURCE, 180, 0) if is_unlabelled_seed(s)][:20]
    rows = tree_rows(trained)
    assert [row["sentence_id"] for row in rows] == [s.sentence_id for s in sentences]
    digest = hashlib.sha256((trained / "parser" / "parser.pt").read_bytes()).hexdigest()
    for row, sentence in zip(rows, sentences, strict=True):
        tree = parse_tree(row["tree"])
        assert tuple(leaves(tree)) == sentence.words
        assert tree.label() == "S1"
        assert "\n" not in row["tree"]
        assert row["parser"] == f"stanza:train:{digest[:8]}"


def test_the_report_counts_and_says_what_was_learned_from(trained: Path) -> None:
    """preparse.json holds counts, sizes and an F1 between 0 and 1."""
    report = read_json(trained / "preparse.json")
    assert report["unlabelled"] == {"seen": 20, "kept": 20, "refused": {}}
    training = report["training"]
    assert (training["trees"], training["dev_trees"], training["epochs"]) == (40, 10, 1)
    assert 0 <= training["f1"] <= 1


def test_a_parser_that_learnt_little_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Its F1 alone does not say so to who sees one for the first time."""
    training = {"trees": 40, "best_epoch": 3, "epochs": 5, "dev_trees": 10}
    for f1, warned in ((0.05, True), (0.19, True), (0.2, False), (0.8, False)):
        preparse._show_training(training | {"f1": f1})
        shown = capsys.readouterr().out
        assert f"parser: 40 trees, best epoch 3 of 5, F1 {f1:.4f} on 10 other trees" in shown
        assert ("has learnt little" in shown) == warned


def test_nothing_is_learned_from_u_dev_or_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training trees are of the training split and outside U; the others are dev trees."""
    sentences = list(generate_sentences(SOURCE, 180, 0))
    seen: dict[str, Any] = {}

    def spy(folder: Path, trees: list[str], dev: list[str], **_: Any) -> int:
        seen.update(trees=trees, dev=dev)
        raise InterruptedError

    monkeypatch.setattr(making, "train_parser", spy)
    with pytest.raises(InterruptedError):
        preparse.run(PreparseSettings(corpus=_corpus(tmp_path, sentences), parser_trees=1000))

    def texts(chosen: list[Sentence]) -> set[str]:
        return {training_tree(parse_tree(s.tree or ""), s.words, None) for s in chosen}

    train = [s for s in sentences if s.split == "train"]
    assert set(seen["trees"]) == texts([s for s in train if not is_unlabelled_seed(s)])
    assert not set(seen["trees"]) & texts([s for s in train if is_unlabelled_seed(s)])
    assert set(seen["dev"]) == texts([s for s in sentences if s.split == "dev"])


def test_the_corpus_parser_parses_new_sentences_with_brackets(trained: Path) -> None:
    """Words stanza spells differently keep their place; a bad sentence costs only itself."""
    parser = corpus_parser(trained / "parser")
    assert not parser.needs_tags
    sentences = [["He", "(", "a", "cook", ")", "slept", "."], [], ["two words", "."], ["No", ""]]
    trees = parser.parse([*sentences, ["Unheard-of", "1/2", "-RRB-", "."]])
    assert [tree is None for tree in trees] == [False, True, True, True, False]
    assert trees[0] is not None
    assert leaves(trees[0]) == sentences[0]
    reasons = [parsed.reason for parsed in parser.outcomes(sentences)]
    assert reasons == [None, "no words", *["an empty word or a blank inside a word"] * 2]


def test_the_parser_folder_is_a_stanza_pipeline_folder(trained: Path) -> None:
    """Stanza's own Pipeline loads what was written and finds the same tree."""
    import stanza  # noqa: PLC0415 (slow, and only this test speaks to it directly)

    folder = trained / "parser"
    pipeline = stanza.Pipeline(
        lang="en", dir=str(folder), package=None, processors="tokenize,constituency",
        download_method=None, allow_unknown_language=True, tokenize_pretokenized=True,
        constituency_pretagged=True, constituency_model_path=str(folder / "parser.pt"),
        constituency_pretrain_path=str(folder / "pretrain.pt"), use_gpu=False, verbose=False,
    )  # fmt: skip
    words = ["The", "baker", "sold", "the", "cake", "to", "a", "sailor", "."]
    theirs = str(pipeline([words]).sentences[0].constituency)  # tags are empty there
    ours = corpus_parser(folder).parse([words])[0]
    assert ours is not None
    labels = [node.label() for node in ours.subtrees(lambda t: t.height() > 2)]
    assert re.findall(r"\((\w+) ", theirs) == ["ROOT", *labels[1:]]


def test_treebank_takes_gold_trees_and_counts_what_it_refuses(tmp_path: Path) -> None:
    """Missing trees and trees of other words are counted with their reason."""
    good = _sentence(1, "a b c", "(S1 (S (X a) (X b) (X c)))")
    rest = [_sentence(2, "a b c", None), _sentence(3, "a b c", "(S1 (S (X a) (X b) (X d)))")]
    corpus = _corpus(tmp_path, [good, *rest, _sentence(4, "a b c", good.tree, "test")])
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", min_words=3))
    assert tree_rows(corpus) == [
        {
            "sentence_id": "t/1",
            "words": ["a", "b", "c"],
            "parser": "treebank",
            "tree": good.tree,
            "license": "CC0-1.0",
        }
    ]
    assert list(read_rows(corpus / "trees" / "rejects-00000-of-00001.parquet", UNPARSED)) == [
        {"sentence_id": "t/2", "reason": "no tree in the treebank"},
        {"sentence_id": "t/3", "reason": "leaves differ from words"},
    ]
    refused = read_json(corpus / "preparse.json")["unlabelled"]["refused"]
    assert refused == {"no tree in the treebank": 1, "leaves differ from words": 1}
    with pytest.raises(ModelError, match="has no parser"):
        corpus_parser(corpus / "parser")


def _raw(number: int, words: str) -> Sentence:
    return Sentence(f"t/{number}", "t", "train", tuple(words.split()), None, None, (), "CC0-1.0")


def test_raw_text_with_a_coordinator_is_parsed_as_coordinated_only(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out of U, counted, and what --coordinated wants; --limit counts what it met."""
    texts = ["the cook slept .", "the cook and baker slept .", "sailors saw Rome .", "Or a cook ."]
    corpus = _corpus(tmp_path, [_raw(n, text) for n, text in enumerate(texts)])
    options = {"parser": str(trained / "parser" / "parser.pt"), "min_words": 4, "coordinated": 9}
    preparse.run(PreparseSettings(corpus=corpus, **options))
    assert [row["sentence_id"] for row in tree_rows(corpus)] == ["t/0", "t/2"]
    (coordinated,) = (corpus / "coordinated").glob("trees-*.parquet")
    assert [row["sentence_id"] for row in read_rows(coordinated, TREES)] == ["t/1", "t/3"]
    assert read_json(corpus / "preparse.json")["left_out"] == {"coordinator in raw text": 2}
    assert "unlabelled sentences: 2 (coordinator in raw text)" in capsys.readouterr().out
    preparse.run(PreparseSettings(corpus=corpus, **options, limit=2))
    assert read_json(corpus / "preparse.json")["left_out"] == {"coordinator in raw text": 1}
    with pytest.raises(
        InputError, match=r"6 words or more \(left out: 1, coordinator in raw text\)"
    ):
        preparse.run(PreparseSettings(corpus=corpus, **options | {"min_words": 6}))


def test_words_that_look_like_escapes_are_the_leaves_of_their_trees(
    trained: Path, tmp_path: Path
) -> None:
    """Raw text may hold them; what reads the trees finds the very words."""
    texts = [
        "the cook saw -LRB- .",
        "the cook saw a\\/b .",
        "the cook saw C:\\ .",
        "the cook saw \\) .",
    ]
    corpus = _corpus(tmp_path, [_raw(n, text) for n, text in enumerate(texts)])
    parser = str(trained / "parser" / "parser.pt")
    preparse.run(PreparseSettings(corpus=corpus, parser=parser, min_words=4))
    rows = tree_rows(corpus)
    assert [row["words"] for row in rows] == [text.split() for text in texts]
    for row in rows:
        assert leaves(parse_tree(row["tree"])) == row["words"]


def test_a_tree_that_is_none_is_a_reject_with_its_id(tmp_path: Path) -> None:
    """Malformed or too deep, as another program may have written it: it stops nothing."""
    good = _sentence(1, "a b c", "(S1 (S (X a) (X b) (X c)))")
    deep = _sentence(3, "a b c", f"{'(X ' * 500}(X a) (X b) (X c){')' * 500}")
    corpus = _corpus(tmp_path, [good, _sentence(2, "a b c", "(S1 (S (X a)"), deep])
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", min_words=3))
    assert [row["sentence_id"] for row in tree_rows(corpus)] == ["t/1"]
    assert list(read_rows(corpus / "trees" / "rejects-00000-of-00001.parquet", UNPARSED)) == [
        {"sentence_id": "t/2", "reason": "malformed brackets"},
        {"sentence_id": "t/3", "reason": "a tree of more than 400 levels"},
    ]


def _shards(corpus: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((corpus / "trees").glob("*-of-*.parquet"))}


def test_units_do_not_change_the_trees(trained: Path, tmp_path: Path) -> None:
    """However U is cut, the trees are the same; and a unit holds so many sentences of U."""
    corpus = _corpus(tmp_path)
    options = {"parser": str(trained / "parser" / "parser.pt"), "limit": 20}
    preparse.run(PreparseSettings(corpus=corpus, **options))
    trees = [(row["sentence_id"], row["tree"]) for row in tree_rows(corpus)]
    assert trees == [(row["sentence_id"], row["tree"]) for row in tree_rows(trained)]
    kept = read_json(trained / "trees" / "manifest.json")["shards"]
    assert [s["rows"] for s in kept if s["file"].startswith("trees-")] == [8, 8, 4]


def test_more_sentences_are_parsed_alone(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same folder, with a greater limit; trees, records and manifest are as if made at once."""
    options = {"parser": str(trained / "parser" / "parser.pt"), "unit": 4, "coordinated": 0}
    parsed: list[int] = []
    parse = preparse.parse_unit

    def counted(sentences: Sequence[Sentence], *rest: Any) -> Any:
        parsed.append(len(sentences))
        return parse(sentences, *rest)

    monkeypatch.setattr(preparse, "parse_unit", counted)
    folders = []
    for name, limits in (("grown", (6, 14)), ("once", (14,))):
        corpus = _corpus(tmp_path / name)
        for limit in limits:
            preparse.run(PreparseSettings(corpus=corpus, limit=limit, **options))
        trees = corpus / "trees"
        files = {str(p.relative_to(trees)): p for p in trees.rglob("*") if p.is_file()}
        folders.append({n: p.read_bytes() for n, p in files.items() if not n.startswith(".lock")})
    assert parsed == [4, 2, 4, 4, 2, 4, 4, 4, 2]
    assert folders[0] == folders[1]


def test_another_corpus_lends_its_parser(trained: Path, tmp_path: Path) -> None:
    """Raw text is parsed offline: --parser may name a corpus, which must have a parser of its own."""
    words = "The old man near the harbor sold the small lamp yesterday ."
    text = Sentence("n/1", "n", "train", tuple(words.split()), None, None, (), "CC0-1.0")
    corpus = _corpus(tmp_path / "notes", [text])
    preparse.run(PreparseSettings(corpus=corpus, parser=str(trained)))
    (row,) = tree_rows(corpus)
    assert row["words"] == words.split()
    assert row["parser"] == tree_rows(trained)[0]["parser"]
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="bare: this corpus has no parser"):
        preparse.run(PreparseSettings(corpus=corpus, parser=str(tmp_path / "bare")))
    gold = _corpus(tmp_path / "gold")
    preparse.run(PreparseSettings(corpus=gold, parser="treebank", limit=5))
    with pytest.raises(ModelError, match="took its trees from the treebank and has no parser"):
        preparse.run(PreparseSettings(corpus=corpus, parser=str(gold)))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("englsih", ModelError),
        ("", InputError),
        ("parser/parser.pt", InputError),
        ("not.pt", ModelError),
    ],
)
def test_a_parser_that_does_not_load_leaves_the_one_that_is_there(
    trained: Path, tmp_path: Path, given: str, error: type[ConjoinError]
) -> None:
    """Neither does one that is to be lent to itself: its card says all that is known of it."""
    corpus, card = _lender(trained, tmp_path)
    shutil.copy(trained / "sentences.parquet", corpus)
    (corpus / "not.pt").write_bytes(b"no parser")
    named = given if given == "englsih" else str(corpus / given)
    with pytest.raises(error):
        preparse.run(PreparseSettings(corpus=corpus, parser=named, limit=5))
    assert read_json(corpus / "parser/parser.json") == card


def test_a_lent_parser_that_is_another_by_now_is_not_taken(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither loaded nor asked what it learned from; and it is looked for where preparse ran."""
    other, card = _lender(trained, tmp_path)
    corpus = _corpus(tmp_path / "notes", [_sentence(1, "a b c d e f g h i j k", None)])
    monkeypatch.chdir(tmp_path)
    preparse.run(PreparseSettings(corpus=corpus, parser="other", min_words=3))
    folder = corpus / "parser"
    assert loaded_from(folder) == "other/parser/parser.pt"
    assert annotation_of_parser(folder) == annotation_of_parser(other / "parser")
    write_json(other / "parser/parser.json", card | {"training": card["training"] | {"seed": 7}})
    for ask in (loaded_from, learned_from, annotation_of_parser, tagger_sum, corpus_parser):
        with pytest.raises(
            InputError, match=r"lent is another one by now: other/parser/parser\.pt; run"
        ):
            ask(folder)
    monkeypatch.chdir(corpus)
    with pytest.raises(
        InputError, match=r"lent is not there: other/parser/parser\.pt; run this where"
    ):
        loaded_from(folder)
    monkeypatch.chdir(tmp_path)
    preparse.run(PreparseSettings(corpus=corpus, parser="other", min_words=3))
    assert loaded_from(folder)


def _lender(trained: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of a corpus's parser and its card, as it may come from a stranger."""
    shutil.copytree(trained / "parser", folder / "other" / "parser")
    return folder / "other", read_json(folder / "other" / "parser" / "parser.json")


@pytest.mark.parametrize("file", ["parser.pt", "pretrain.pt"])
def test_a_parser_that_is_not_the_file_of_its_card_is_not_loaded(
    file: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums are compared before anything is read of it."""
    other, _ = _lender(trained, tmp_path)
    with (other / "parser" / file).open("ab") as handle:
        handle.write(b"x")
    monkeypatch.setattr(parser_module.Trainer, "load", None)
    with pytest.raises(ModelError, match=f"{file}: not the file that parser.json beside it lists"):
        load_parser(str(other / "parser" / "parser.pt"))


@pytest.mark.parametrize("key", ["bert_model", "charlm_forward_file", "wordvec_pretrain_file"])
def test_a_corpus_parser_names_nothing_outside_its_folder(
    key: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stanza would ask the hub for a transformer that its file names, or read the files; sums do not help."""
    other, card = _lender(trained, tmp_path)
    model = other / "parser" / "parser.pt"
    if key == "wordvec_pretrain_file":
        (other / "parser" / "pretrain.pt").unlink()
    checkpoint = torch.load(model, weights_only=True)
    checkpoint["params"]["config"][key] = "evil/model"
    torch.save(checkpoint, model)
    card["files"] = {"parser.pt": {"sha256": hashlib.sha256(model.read_bytes()).hexdigest()}}
    (other / "parser" / "parser.json").write_text(json.dumps(card))
    monkeypatch.setattr(parser_module.Trainer, "load", None)
    with pytest.raises(ModelError, match=f"names {key} 'evil/model'"):
        load_parser(str(model))


@pytest.mark.parametrize("source", ["/etc/any.pt", "../any.pt", "../../x", "x'; import os #", ""])
def test_the_card_of_another_corpus_names_its_own_file_or_a_package(
    source: str, trained: Path, tmp_path: Path
) -> None:
    """Another path is not opened, and what is no name of a package is in no command."""
    other, card = _lender(trained, tmp_path)
    card.pop("files")
    (other / "parser" / "parser.json").write_text(json.dumps(card | {"source": source}))
    corpus = _corpus(tmp_path / "notes", [_sentence(1, "a b c", None)])
    with pytest.raises(InputError, match=r"parser\.json: this corpus's parser is "):
        preparse.run(PreparseSettings(corpus=corpus, parser=str(other), min_words=3))
    assert not (corpus / "parser" / "parser.json").exists()


@pytest.mark.long
def test_the_temporary_folder_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python draws its name, and stanza makes one underscore of several in the path it saves to."""
    (tmp_path / "two__underscores").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "two__underscores"))
    corpus = _corpus(tmp_path)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    assert (corpus / "parser" / "parser.pt").is_file()


@pytest.mark.long
def test_what_is_current_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run trains and parses nothing; a damaged shard alone is parsed again; a change says so."""
    corpus = _corpus(tmp_path)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    before, made = _shards(corpus), []
    outcomes = Parser.outcomes

    def spy(self: Parser, sentences: Any, tags: Any = None, **given: Any) -> Any:
        made.append(len(sentences))
        return outcomes(self, sentences, tags, **given)

    monkeypatch.setattr(Parser, "outcomes", spy)
    monkeypatch.setattr(making, "train_parser", None)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    assert made == []
    path = corpus / "trees" / "trees-00001-of-00003.parquet"
    path.write_bytes(path.read_bytes()[:-7])
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    assert made == [8]
    assert _shards(corpus) == before
    assert "truncated" in capsys.readouterr().out
    preparse.run(PreparseSettings(corpus=corpus, **SMALL | {"batch_size": 5}))
    assert "batch_size 256 → 5" in capsys.readouterr().out


def test_the_parser_says_what_it_learned_from(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids stand in a file of its record; that of an earlier version is completed without training."""
    sentences = {s.sentence_id: s for s in generate_sentences(SOURCE, 180, 0)}
    learned = read_json(trained / "parser" / LEARNED)
    assert len(learned["trees"]) == 40
    assert {sentences[name].split for name in learned["trees"]} == {"train"}
    assert {sentences[name].split for name in learned["dev"]} == {"dev"}
    assert learned_from(trained / "parser") == {*learned["trees"], *learned["dev"]}
    corpus = tmp_path / "corpus"
    shutil.copytree(trained, corpus)
    card = corpus / "parser" / "parser.json"
    about = read_json(card)
    old = {key: value for key, value in about.items() if key != "digest"}
    old["files"] = {name: facts for name, facts in about["files"].items() if name != LEARNED}
    write_json(card, old | {"digest": digest_of(old)})
    (corpus / "parser" / LEARNED).unlink()
    with pytest.raises(InputError, match=r"learned from; run `conjoin preparse` again"):
        learned_from(corpus / "parser")
    monkeypatch.setattr(making, "train_parser", None)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    assert read_json(card) == about
    assert learned_from(corpus / "parser") == learned_from(trained / "parser")
    (corpus / "parser" / LEARNED).write_text('{"trees": [], "dev": []}')
    with pytest.raises(InputError, match=r"learned\.json: not the file that parser\.json"):
        learned_from(corpus / "parser")


def test_a_parser_that_reads_no_tags_writes_some(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tagger knows those of the sentences it learned from; an older parser gets one without training."""
    gold = {s.sentence_id: s.tags or () for s in generate_sentences(SOURCE, 180, 0)}
    pairs = [
        (tag, right)
        for row in tree_rows(trained)
        for (_, tag), right in zip(
            parse_tree(row["tree"]).pos(), gold[row["sentence_id"]], strict=True
        )
    ]
    assert "XX" not in {tag for tag, _ in pairs}
    # Forty trees have few of the words; the commonest tag alone would be right a fifth of the time.
    assert sum(tag == right for tag, right in pairs) > 0.7 * len(pairs)
    corpus = tmp_path / "corpus"
    shutil.copytree(trained, corpus)
    card = corpus / "parser" / "parser.json"
    about = read_json(card)
    old = {key: value for key, value in about.items() if key not in ("digest", "tagged")}
    old["files"] = {name: facts for name, facts in about["files"].items() if name != TAGGER}
    write_json(card, old | {"digest": digest_of(old)})
    (corpus / "parser" / TAGGER).unlink()
    monkeypatch.setattr(making, "train_parser", None)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    assert read_json(card) == about
    assert tagger_sum(corpus / "parser") == about["files"][TAGGER]["sha256"]
    (corpus / "parser" / TAGGER).write_text("{}")
    with pytest.raises(ModelError, match=r"tagger\.json: not the file that parser\.json"):
        corpus_parser(corpus / "parser")


def test_a_tagger_is_for_trees_that_it_writes_into(tmp_path: Path) -> None:
    """Trees of gold tags do not depend on it; without tags to learn from there is none; equal bytes."""
    words, tags = ("the", "dog", "ran"), ("DT", "NN", "VBD")
    made = [train_tagger(tmp_path / name, [(words, tags)] * 3, 0) for name in "ab"]
    assert made == [True, True]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Tagger(tmp_path / "a").tag(words) == tags
    assert not train_tagger(tmp_path / "c", [(words, None)], 0)
    assert not (tmp_path / "c").exists()
    for kind, expected in (("treebank", False), ("none", True)):
        card = {"source": "parser.pt", "wrapper": None, "training": {"tags": kind}, "files": {}}
        write_json(tmp_path / "parser.json", card)
        (tmp_path / TAGGER).write_text("{}")
        assert (tagger_sum(tmp_path) is not None) == expected
    write_json(
        tmp_path / "parser.json",
        {"source": "ptb3-revised_charlm", "wrapper": None, "training": None},
    )
    assert tagger_sum(tmp_path) is None


def test_a_lent_parser_tells_what_it_learned_from(trained: Path, tmp_path: Path) -> None:
    """Its ids leave out nothing in a corpus of other sentences; of a package there is none."""
    for source in (str(trained / "parser" / "parser.pt"), "ptb3-revised_charlm"):
        write_json(tmp_path / "parser.json", {"source": source, "wrapper": None, "training": None})
        wanted = learned_from(trained / "parser") if source.endswith(".pt") else frozenset()
        assert learned_from(tmp_path) == wanted


@pytest.mark.long
def test_another_treebank_trains_another_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser that is there counts only if it was made of the same sentences and settings."""
    corpus = _corpus(tmp_path)
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))

    def spy(*_: Any, **__: Any) -> int:
        raise InterruptedError

    monkeypatch.setattr(making, "train_parser", spy)
    with pytest.raises(InterruptedError):
        preparse.run(PreparseSettings(corpus=corpus, **SMALL | {"seed": 1}))
    _corpus(tmp_path, list(generate_sentences(SOURCE, 170, 0)))
    with pytest.raises(InterruptedError):
        preparse.run(PreparseSettings(corpus=corpus, **SMALL))


def test_bad_input_is_one_line_and_writes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No U, no trees to learn from, no parse at all, a missing file, an unknown package."""
    with pytest.raises(InputError, match=r"no corpus here: .* run `conjoin ingest`"):
        preparse.run(PreparseSettings(corpus=tmp_path))
    corpus = _corpus(tmp_path, [_sentence(1, "a b c", None), _sentence(2, "a b c", None)])
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, InputError, "lower --min-words"),
        ({"min_words": 3}, InputError, "no training trees"),
        ({"min_words": 3, "parser": "treebank"}, ModelError, "no tree in the treebank: 2"),
        ({"min_words": 3, "parser": "nowhere/x.pt"}, InputError, "nowhere/x.pt: no such file"),
        ({"min_words": 3, "parser": "data/other"}, InputError, "data/other: no such corpus folder"),
        ({"min_words": 3, "parser": "no-such_package"}, ModelError, r"stanza\.download"),
    ]
    for options, error, message in cases:
        with pytest.raises(error, match=message):
            preparse.run(PreparseSettings(corpus=corpus, **options))
    assert not (corpus / "preparse.json").exists()
    (tmp_path / "broken.pt").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot load this parser"):
        load_parser(str(tmp_path / "broken.pt"))
    assert not caplog.records  # stanza logs a traceback


def test_a_corpus_without_dev_holds_training_trees_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F1 is never measured on trees that were learned from."""
    sentences = [s for s in generate_sentences(SOURCE, 180, 0) if s.split == "train"]
    seen: dict[str, Any] = {}

    def spy(folder: Path, trees: list[str], dev: list[str], **_: Any) -> int:
        seen.update(trees=trees, dev=dev)
        raise InterruptedError

    monkeypatch.setattr(making, "train_parser", spy)
    with pytest.raises(InterruptedError):
        preparse.run(PreparseSettings(corpus=_corpus(tmp_path, sentences), parser_trees=50))
    assert len(seen["trees"]) == 50
    assert seen["dev"]
    assert not set(seen["trees"]) & set(seen["dev"])
