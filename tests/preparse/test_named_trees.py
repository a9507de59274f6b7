"""Trees and parsers with a name: where they lie, what was learned from, and that others leave them."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import harvested
import pytest
import torch
from harvested import LABELLED, SENTENCES_THERE, VALIDATION
from nltk.tree import Tree

from pipeline.core.annotation import Annotation, from_json, level, part_of, unknown
from pipeline.core.corpus_folder import annotation_of_trees, trees_digest
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import digest_of, sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row
from pipeline.core.types import Candidate, Sentence, candidate_id, is_unlabelled_seed
from pipeline.generate import stage as generate
from pipeline.generate.settings import GenerateSettings
from pipeline.harvest import stage as harvest
from pipeline.harvest.settings import HarvestSettings
from pipeline.parsing import labelled, making, taught
from pipeline.parsing.annotated import annotation_of_parser
from pipeline.parsing.card import LEARNED, corpus_parser, learned_from, parser_identity
from pipeline.parsing.labelled import LabelledParser
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.columns import natural_columns
from pipeline.text.trees import parse_tree, unescape

NAMED = "l-trees/10/seed-0"
DRAWN = {s.sentence_id for s in (*LABELLED, *VALIDATION)}
SMALL = {"parser_epochs": 1, "parser_hidden": 8, "limit": 8}
OF_L = {"parser": "labelled", "labelled": "10", "name": "l-trees", **SMALL}
GOLD = {s.sentence_id: s for s in SENTENCES_THERE if s.split == "train" and s.tree}
OUTSIDE = {i for i, s in GOLD.items() if i not in DRAWN and not is_unlabelled_seed(s)}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with the trees of a parser of L, and no others."""
    corpus = harvested.corpus_of(tmp_path_factory.mktemp("made") / "corpus")
    preparse.run(PreparseSettings(corpus=corpus, **OF_L, coordinated=5))
    return corpus


@pytest.fixture
def corpus(parsed: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(parsed, tmp_path / "corpus"))


def record(path: Path) -> Annotation:
    return from_json(read_json(path)["annotation"])


def parts(annotation: Annotation) -> list[tuple[Any, ...]]:
    return [(p.part, p.draw, p.use, p.sentences, p.trees) for p in annotation]


OF_L_ALONE = [
    ("labelled", "10/seed-0", "learned", len(LABELLED), len(LABELLED)),
    ("validation", "10/seed-0", "chosen", len(VALIDATION), len(VALIDATION)),
]


def test_trees_and_parser_of_l_have_folders_of_their_own(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written where trees without a name lie; what the parser learned from is L, and printed."""
    assert {path.name for path in (corpus / "trees").iterdir()} == {"l-trees"}
    assert not any((corpus / name).exists() for name in ("parser", "coordinated", "preparse.json"))
    folder = corpus / "parsers" / NAMED
    learned = read_json(folder / LEARNED)
    assert learned["trees"] == sorted(s.sentence_id for s in LABELLED)
    assert learned["dev"] == sorted(s.sentence_id for s in VALIDATION)
    for document in (
        folder / "parser.json",
        corpus / "trees" / NAMED / "manifest.json",
        corpus / "trees" / NAMED / "preparse.json",
    ):
        assert parts(record(document)) == OF_L_ALONE
        assert all(p.corpus == "corpus" and p.among["10/seed-0"] for p in record(document))
    preparse.run(PreparseSettings(corpus=corpus, **OF_L, coordinated=5))
    printed = capsys.readouterr().out
    assert "the parser is already there and current" in printed
    assert "coordinated sentences go with the trees without a name" in printed
    assert "labelled sentences of corpus of the draw 10/seed-0" in printed
    found = len(LABELLED) + len(VALIDATION)
    assert f"sentences of a draw of corpus among them: 10/seed-0: {found}" in printed


@pytest.mark.parametrize("parser", ["treebank", "ptb3-revised", "labelled", "train"])
def test_a_draw_that_is_not_there_is_said_before_anything_is_made(
    corpus: Path, parser: str
) -> None:
    """Whoever parses."""
    given = {"corpus": corpus, "parser": parser, "labelled": "11", "name": "other"}
    with pytest.raises(InputError, match=r"11\.json: .*there (is|are): 10"):
        preparse.run(PreparseSettings(**given, **SMALL))
    assert not list(corpus.glob("*/other/**/*.json"))


def learned_by(corpus: Path, **more: Any) -> dict[str, list[str]]:
    """What a parser that is asked for would learn from; nothing is trained."""
    seen: dict[str, list[str]] = {}

    def spy(
        folder: Path, fingerprint: Any, settings: Any, examples: Any, annotated: Any, **_: Any
    ) -> Any:
        train, dev = examples()
        seen.update(trees=[s.sentence_id for s in train], dev=[s.sentence_id for s in dev])
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        for module in ("pipeline.parsing.labelled", "pipeline.preparse.corpus_parser"):
            patch.setattr(f"{module}.ensure_trained", spy)
        with pytest.raises(InterruptedError):
            preparse.run(PreparseSettings(corpus=corpus, **SMALL | more))
    return seen


def test_more_trees_are_outside_the_draw_and_fewer_are_part_of_more(corpus: Path) -> None:
    """Neither L nor validation nor U; and where fewer are left, one line says how many."""
    few, many = (learned_by(corpus, **OF_L | {"more_trees": n})["trees"] for n in (5, 15))
    own = [s.sentence_id for s in LABELLED]
    assert few[: len(own)] == many[: len(own)] == own
    assert (len(few), len(many)) == (len(own) + 5, len(own) + 15)
    assert set(few) < set(many)
    assert set(many) - set(own) < OUTSIDE
    other = learned_by(corpus, **OF_L | {"more_trees": 15, "name": "more"})["trees"]
    assert other == many
    line = f"{len(OUTSIDE)} trees are left outside the draw and U, and 5,000 more are asked for"
    with pytest.raises(InputError, match=f"{line}; say --more-trees {len(OUTSIDE)} or fewer"):
        preparse.run(PreparseSettings(corpus=corpus, **OF_L | {"more_trees": 5000}))


def test_more_trees_stand_in_the_record_apart(corpus: Path) -> None:
    """A parser of L and five others is of another level, and of no draw's sentences but L's."""
    preparse.run(PreparseSettings(corpus=corpus, **OF_L | {"more_trees": 5, "name": "l-and-5"}))
    found = record(corpus / "parsers/l-and-5/10/seed-0/parser.json")
    assert parts(found) == [
        OF_L_ALONE[0], ("others", None, "learned", 5, 5), OF_L_ALONE[1],
    ]  # fmt: skip
    assert found[1].among == {}
    assert level(found) != level(record(corpus / "parsers" / NAMED / "parser.json"))
    assert annotation_of_parser(corpus / "parsers" / NAMED) == record(
        corpus / "trees" / NAMED / "manifest.json"
    )


def test_a_named_parser_of_the_treebank_leaves_the_draw_out(corpus: Path) -> None:
    """Without a name it may learn from L, as it did; with one, fewer trees than asked for are one line."""
    given = {"parser": "train", "parser_trees": len(OUTSIDE)}
    named = learned_by(corpus, **given, name="others", labelled="10")
    assert set(named["trees"]) == OUTSIDE
    assert set(learned_by(corpus, **given | {"parser_trees": 999})["trees"]) & DRAWN
    with pytest.raises(InputError, match=f"trees are left .* say --parser-trees {len(OUTSIDE)} or"):
        preparse.run(
            PreparseSettings(corpus=corpus, **SMALL, parser_trees=999, name="others", labelled="10")
        )
    assert not (corpus / "trees/others").exists()


def generated(corpus: Path, **more: Any) -> Path:
    settings = GenerateSettings(
        corpus=corpus, lm="bert", fills="attested", pool=1, batch_tokens=300, **more
    )
    generate.run(settings)
    return generate.default_out(settings)


def exported(place: Path, out: Path, **more: Any) -> str:
    export.run(ExportSettings(place=place, format="ptb", out=out, overwrite=True, **more))
    return out.read_text("utf-8")


@pytest.fixture
def with_bert(corpus: Path, tiny_bert: Path) -> Path:
    shutil.copytree(tiny_bert, corpus / "models/bert")
    return corpus


@pytest.mark.long
def test_candidates_keep_their_trees_whatever_is_parsed_since(
    with_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two names and none side by side: of each its own candidates, and exports that stay the same."""
    corpus, own = with_bert, {"trees": "l-trees", "labelled": "10"}
    place = generated(corpus, **own)
    assert place == corpus / "candidates/attested-1-bert-sync-l-trees-10/seed-0"
    manifest = read_json(place / "manifest.json")
    assert (manifest["settings"]["trees"], manifest["settings"]["labelled"]) == ("l-trees", "10")
    assert parts(record(place / "manifest.json")) == OF_L_ALONE
    out = tmp_path / "out.mrg"
    before = exported(place, out, trees_of="parser")
    assert before
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", **SMALL))
    preparse.run(
        PreparseSettings(corpus=corpus, **OF_L | {"parser": "treebank", "name": "gold-trees"})
    )  # fmt: skip
    gold = generated(corpus)
    named = generated(corpus, trees="gold-trees", labelled="10")
    assert {path.parent.name for path in (gold, named)} == {
        "attested-1-bert-sync", "attested-1-bert-sync-gold-trees-10",
    }  # fmt: skip
    (part,) = record(gold / "manifest.json")
    assert (part.part, part.sentences, part.coordinations) == ("others", 8, 0)
    assert record(named / "manifest.json") == (part,)
    assert record(generated(corpus, trees="treebank") / "manifest.json") == (part,)
    assert exported(place, out, trees_of="parser") == before
    assert "other trees than preparse has" not in capsys.readouterr().err
    # Of other trees, if these are asked for: gold ones are no parser's.
    with pytest.raises(InputError, match="no candidate to write as ptb"):
        exported(place, out, trees_of="parser", trees="gold-trees", labelled="10")
    shutil.rmtree(corpus / "trees/l-trees")
    with pytest.raises(
        InputError, match=r"made of the trees l-trees/10/seed-0, which are not there"
    ):
        exported(place, out, trees_of="parser")


def test_export_warns_where_trees_without_a_name_were_made_again(
    with_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trees that candidates without a name were made of are replaced, and an export warns."""
    corpus = with_bert
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", **SMALL))
    place = generated(corpus)
    exported(place, tmp_path / "out.mrg")
    assert "other trees than preparse has" not in capsys.readouterr().err
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", **SMALL | {"limit": 9}))
    exported(place, tmp_path / "out.mrg")
    assert "other trees than preparse has without a name now" in capsys.readouterr().err


def test_drawing_like_l_reads_its_boundaries(with_bert: Path) -> None:
    """Gold trees of U and coordinators like L's: the record has both, L without validation sentences."""
    corpus = with_bert
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", **SMALL))
    place = generated(corpus, coordinators="like-L", labelled="10")
    assert parts(record(place / "manifest.json")) == [
        ("labelled", "10/seed-0", "learned", len(LABELLED), 0), ("others", None, "learned", 8, 8),
    ]  # fmt: skip


@pytest.mark.long
def test_the_parser_of_a_name_harvests(corpus: Path) -> None:
    """It is that parser, its record travels, and rows go to a folder of their own."""
    settings = harvested.settings(corpus, trees="l-trees")
    harvest.run(settings)
    place = corpus / "candidates/harvest-l-trees-10/seed-0"
    manifest = read_json(place / "manifest.json")
    known = parser_identity(read_json(corpus / "parsers" / NAMED / "parser.json"))
    assert manifest["model"] == f"{known['name']} sha256:{known['sha256']}"
    assert manifest["settings"]["trees"] == "l-trees"
    assert parts(record(place / "manifest.json")) == OF_L_ALONE
    with pytest.raises(InputError, match=rf"no trees other/10/seed-0; there are: {NAMED}; run"):
        harvest.run(harvested.settings(corpus, trees="other"))
    with pytest.raises(InputError, match=rf"no trees other/10/seed-0; there are: {NAMED}; run"):
        generated(corpus, trees="other", labelled="10")


def test_another_corpus_s_parser_brings_its_record(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parts keep the lender's name; of a stanza package nothing is known."""
    (corpus / "parsers" / NAMED).rename(corpus / "parser")
    other = harvested.corpus_of(tmp_path / "borrower")
    given = {"name": "of-corpus", "labelled": "10", "parser": str(corpus)}
    preparse.run(PreparseSettings(corpus=other, **SMALL | given))
    found = record(other / "trees/of-corpus/10/seed-0/manifest.json")
    assert found == record(corpus / "parser/parser.json")
    assert {part.corpus for part in found} == {"corpus"}
    assert annotation_of_parser(other / "parsers/of-corpus/10/seed-0") == found
    capsys.readouterr()
    package = harvested.with_ready_parser(harvested.corpus_of(tmp_path / "ready"), "ptb3")
    assert annotation_of_parser(package / "parser") == unknown("stanza:ptb3")


def older(path: Path) -> None:
    """A document as an earlier version wrote it."""
    document = read_json(path)
    del document["annotation"]
    if "digest" in document:
        del document["digest"]
        document |= {"digest": digest_of(document)}
    write_json(path, document)


def test_what_an_earlier_version_made_is_not_stale(
    with_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A parser's record follows from its ids; trees and candidates get theirs without being made again."""
    corpus = with_bert
    place = generated(corpus, trees="l-trees", labelled="10")
    trees, card = corpus / "trees" / NAMED, corpus / "parsers" / NAMED / "parser.json"
    wanted, digest = record(card), trees_digest(trees)
    for document in (card, trees / "manifest.json", place / "manifest.json"):
        older(document)
    kept = sha256_of(card)
    assert digest == trees_digest(trees) == sha256_of(trees / "manifest.json")
    assert annotation_of_parser(card.parent) == wanted
    name = read_json(trees / "manifest.json")["model"]["name"]
    assert annotation_of_trees(trees) == unknown(name)
    monkeypatch.setattr(making, "train_parser", None)
    capsys.readouterr()
    preparse.run(PreparseSettings(corpus=corpus, **OF_L))
    generated(corpus, trees="l-trees", labelled="10")
    assert capsys.readouterr().out.count("1 of 1 shards are current\n") >= 2
    assert record(trees / "manifest.json") == wanted == record(place / "manifest.json")
    assert sha256_of(card) == kept  # lent to others, it is a part of what their trees depend on
    (card.parent / "elsewhere").mkdir()
    for name in ("parser.json", "parser.pt", LEARNED, "tagger.json"):
        shutil.copy(card.parent / name, card.parent / "elsewhere")
    away = Path(shutil.move(card.parent / "elsewhere", corpus.parent / "away"))
    assert annotation_of_parser(away)[0].part == "unknown"  # no sentences are at hand


def test_a_parser_of_l_is_what_it_was(corpus: Path) -> None:
    """Settings that came later leave the fingerprint of one of L's trees alone as it was."""
    settings = PreparseSettings(corpus=corpus, **OF_L)
    parser = LabelledParser(corpus / "p", corpus, "10", settings)
    assert set(parser.fingerprint.settings) == {
        "labelled", "parser_epochs", "parser_hidden", "seed", "tags", "threads",
    }  # fmt: skip
    assert parser.fingerprint.inputs.keys() == {"sentences", "draw", "encoder"}
    assert (
        PreparseSettings(corpus=corpus, parser="labelled", name="x", labelled="10").parser_epochs
        == 30
    )
    more = {"parser": "labelled", "name": "x", "labelled": "10", "more_trees": 9}
    assert PreparseSettings(corpus=corpus, **more).parser_epochs == 5


@pytest.mark.long
def test_a_parser_reads_any_encoder(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """A folder of any name; what the encoder itself learned from belongs to the record."""
    encoder = Path(shutil.copytree(tiny_bert, tmp_path / "minilm"))
    twins = part_of("gum", "others", list(SENTENCES_THERE[:3]), trees=True)
    annotation = [twins.model_dump(mode="json", exclude_defaults=True)]
    write_json(encoder / "pretrain.json", {"objective": "twins", "annotation": annotation})
    given = OF_L | {"parser_lm": str(encoder), "name": "reads"}
    preparse.run(PreparseSettings(corpus=corpus, **given))
    card = read_json(corpus / "parsers/reads/10/seed-0/parser.json")
    assert "encoder/model.safetensors" in card["files"]
    assert str(encoder) not in str(card)
    found = from_json(card["annotation"])
    assert twins in found
    assert len(found) == 3
    kind = harvest.default_out(
        harvested.settings(corpus, parser="labelled", parser_lm=str(encoder))
    )
    assert kind.parent.name == "harvest-labelled-10-minilm"
    with pytest.raises(ModelError, match="no such model folder"):
        preparse.run(PreparseSettings(corpus=corpus, **given | {"parser_lm": "./nowhere"}))


@pytest.mark.long
def test_a_parser_reads_its_encoder_in_bf16_ever_after(corpus: Path, tiny_bert: Path) -> None:
    """Its card says so, and whoever loads it does; another number format is another parser."""
    folder = corpus / "parsers/bf16/10/seed-0"
    given = OF_L | {"parser_lm": str(tiny_bert), "name": "bf16", "mixed_precision": "bf16"}
    preparse.run(PreparseSettings(corpus=corpus, **given))
    card = read_json(folder / "parser.json")
    assert card["training"]["mixed_precision"] == "bf16"
    assert corpus_parser(folder).precision == "bf16"
    was = sha256_of(folder / "parser.pt")
    preparse.run(PreparseSettings(corpus=corpus, **given | {"mixed_precision": "no"}))
    assert corpus_parser(folder).precision == "no"
    assert "mixed_precision" not in read_json(folder / "parser.json")["training"]
    assert sha256_of(folder / "parser.pt") != was


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a"}, "go with a draw of L: name it with --labelled"),
        ({"name": "a/b", "labelled": 10}, "must be a plain name"),
        (
            {"name": "treebank", "labelled": 10},
            "and not corpus, labelled, parsed, train or treebank",
        ),
        ({"name": "trees.parquet", "labelled": 10}, "must be a plain name"),
        ({"labelled": 10}, "labelled is for trees with a name"),
        ({"parser": "labelled", "labelled": 10}, "have a name: say --name"),
        ({"more_trees": 3}, "say --parser labelled"),
        ({"parser": "treebank", "parser_lm": "bert"}, "say --parser train or labelled"),
        ({"mixed_precision": "bf16"}, "mixed-precision is of an encoder: name it with --parser-lm"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        PreparseSettings.build({"corpus": Path("data/x"), **given}, None)


def test_who_reads_trees_with_a_name_says_of_which_draw(corpus: Path, tmp_path: Path) -> None:
    """Of generate and export, which have draws for other ends too; a parser is one or the other."""
    with pytest.raises(SettingsError, match=r"go with a draw of L; name it with --labelled"):
        generated(corpus, trees="l-trees")
    for given in ({"trees": "l-trees"}, {"trees": "l-trees", "labelled": "10", "format": "conllu"}):
        with pytest.raises(SettingsError, match=r"name it with --labelled|in the format ptb"):
            export.run(
                ExportSettings(
                    **{"format": "ptb", "place": corpus / "x", "out": tmp_path / "o", **given}
                )
            )
    with pytest.raises(SettingsError, match="leave --parser or --trees out"):
        HarvestSettings.build(
            {"corpus": corpus, "trees": "l-trees", "parser": "labelled"}, None
        )  # fmt: skip


def candidates_of(folder: Path, sentences: Sequence[Sentence]) -> Path:
    """A folder with the gold coordinations of sentences as harvested rows."""
    rows = []
    for sentence in sentences:
        for c in sentence.coordinations:
            name = candidate_id(
                sentence.sentence_id, sentence.words, c.coordinator, c.conjuncts[0], c.conjuncts
            )
            made = Candidate(
                candidate_id=name, sentence_id=sentence.sentence_id, words=sentence.words,
                coordinator=c.coordinator, conjuncts=c.conjuncts, label=c.label,
                reference=c.conjuncts[0], fill="x", score=None, score_append=None,
                score_prepend=None, license="CC0-1.0",
            )  # fmt: skip
            rows.append(candidate_row(made, natural_columns(made.words)))
    folder.mkdir()
    write_rows(folder / "candidates-00000-of-00001.parquet", CANDIDATES, rows)
    return folder


class Teacher:
    """A parser that has every sentence by heart: this one's trees would teach nothing."""

    name = "teacher"

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The gold trees."""
        known = {s.words: s.tree for s in SENTENCES_THERE}
        return [parse_tree(known[tuple(words)] or "") for words in sentences]


@pytest.fixture
def teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taught, "corpus_parser", lambda folder: Teacher())


def again(corpus: Path, also: Path) -> None:
    given = OF_L | {"name": "again", "also": also, "teacher": "l-trees"}
    preparse.run(PreparseSettings(corpus=corpus, **given))


@pytest.mark.long
@pytest.mark.usefixtures("teacher")
def test_a_parser_learns_from_sentences_of_candidates_as_another_reads_them(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Half of what it sees are L's trees; a sentence of L among the candidates is left out, which is said."""
    outside = [s for i, s in sorted(GOLD.items()) if i in OUTSIDE and s.coordinations][:14]
    found = candidates_of(tmp_path / "rows", [*outside, LABELLED[0]])
    seen: list[list[str]] = []
    real = making.train_parser

    def noted(folder: Path, trees: list[str], *rest: Any, **more: Any) -> int:
        seen.append(trees)
        return real(folder, trees, *rest, **more)

    monkeypatch.setattr(making, "train_parser", noted)
    again(corpus, found)
    (trees,) = seen
    words = [tuple(unescape(word) for word in parse_tree(tree).leaves()) for tree in trees]
    assert len(words) == 2 * len(outside)
    assert set(words[: len(outside)]) == {s.words for s in LABELLED}
    assert set(words[len(outside) :]) == {s.words for s in outside}
    card = read_json(corpus / "parsers/again/10/seed-0/parser.json")
    assert card["training"]["taught"] == len(outside)
    known = learned_from(corpus / "parsers/again/10/seed-0")  # which no harvest by it takes
    assert {s.sentence_id for s in (*outside, *LABELLED)} <= known
    printed = capsys.readouterr()
    assert "left out: 1 (labelled or validation)" in printed.out + printed.err


@pytest.mark.long
@pytest.mark.usefixtures("teacher")
def test_a_parser_of_other_candidates_is_another(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is trained again where candidates differ, and left where they are the same."""
    outside = [s for i, s in sorted(GOLD.items()) if i in OUTSIDE and s.coordinations]
    for folder, size in (("few", 3), ("few", 3), ("more", 5)):
        if not (place := tmp_path / folder).exists():
            candidates_of(place, outside[:size])
        again(corpus, place)
    printed = capsys.readouterr()
    assert (printed.out + printed.err).count("the parser is already there and current") == 1


@pytest.mark.usefixtures("teacher")
def test_validation_sentences_teach_nothing_without_a_tree_either(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of the whole draw no sentence is learned from, also one that no tree of the treebank stands for."""
    outside = [s for i, s in sorted(GOLD.items()) if i in OUTSIDE and s.coordinations][:3]
    bare = next(s for s in VALIDATION if s.coordinations)
    real = labelled.read_draw

    def without_its_tree(*given: Any) -> tuple[list[Sentence], ...]:
        draw = real(*given)
        return tuple(
            [replace(s, tree=None) if s.sentence_id == bare.sentence_id else s for s in part]
            for part in draw
        )

    monkeypatch.setattr(labelled, "read_draw", without_its_tree)
    again(corpus, candidates_of(tmp_path / "rows", [*outside, bare]))
    assert read_json(corpus / "parsers/again/10/seed-0/parser.json")["training"]["taught"] == 3
    printed = capsys.readouterr()
    assert "left out: 1 (labelled or validation)" in printed.out + printed.err


@pytest.mark.usefixtures("teacher")
def test_each_sentence_of_candidates_is_learned_from_under_whatever_id(tmp_path: Path) -> None:
    """Candidates that were made of one sentence are several; what two ids share is one."""
    one, two, three = [s for i, s in sorted(GOLD.items()) if i in OUTSIDE and s.coordinations][:3]
    rows = candidates_of(
        tmp_path / "rows",
        [one, replace(two, sentence_id=one.sentence_id), three, replace(three, sentence_id="x")],
    )
    found = taught.Taught(rows, tmp_path).trees({"y"})
    assert [words for words, _ in found.trees] == [one.words, two.words, three.words]
    assert found.ids == [one.sentence_id, three.sentence_id, "x"]


def test_a_teacher_is_known_by_all_that_it_reads(tmp_path: Path) -> None:
    """A package has no file here, and a learned encoder is a part of a parser."""
    rows = candidates_of(tmp_path / "rows", [LABELLED[0]])
    of = {"wrapper": None, "training": None}
    sums = [{"parser.pt": "a" * 64}, *({"parser.pt": "a" * 64, "encoder/x": c * 64} for c in "bc")]
    cards = [of | {"source": "no-such-package"}]
    for each in sums:
        files = {name: {"sha256": digest, "size": 1} for name, digest in each.items()}
        cards.append(of | {"source": "parser.pt", "files": files})
    found = []
    for number, card in enumerate(cards):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_json(folder / "parser.json", card)
        found.append(taught.Taught(rows, folder).inputs()["teacher"])
    assert found[:2] == ["stanza:no-such-package", "a" * 64]
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    "given",
    [{"teacher": "l-trees"}, {"also": "x"}, {"also": "x", "teacher": "l-trees", "parser": "train"},
     {"also": "x", "teacher": "l-trees", "tags": "treebank"}, {"also": "x", "teacher": "again"}],
)  # fmt: skip
def test_what_a_parser_is_to_learn_from_another_is_said_whole(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """Candidates and who reads them go together, beside L's trees, under another name, without tags."""
    with pytest.raises(SettingsError):
        PreparseSettings.build({"corpus": tmp_path, **OF_L, "name": "again", **given}, None)


@pytest.mark.parametrize("sentences", [None, [], LABELLED[:1]], ids=["none", "empty", "of L"])
def test_no_sentence_to_learn_from(
    corpus: Path, tmp_path: Path, sentences: list[Sentence] | None
) -> None:
    """One line that says where, and what to name."""
    place = tmp_path / "rows"
    if sentences is None:
        place.mkdir()
    else:
        candidates_of(place, sentences)
    with pytest.raises(
        InputError, match=r"no (candidates here|sentence of these can).*name a folder that"
    ):
        again(corpus, place)
