"""Coordinations of text that came parsed: what is taken of its trees, and what is left out."""

from pathlib import Path
from typing import Any

import pytest
from treebank import conllu

from pipeline.core.annotation import from_json
from pipeline.core.candidates import candidate_shards
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import read_rows
from pipeline.core.schema import DEPENDENCIES, REJECTS, read_candidates
from pipeline.core.types import Candidate, Span
from pipeline.corpus.dependency_rows import TEXT_PARSER
from pipeline.harvest import natural_text, parsed_text
from pipeline.harvest.settings import HarvestSettings
from pipeline.harvest.stage import default_out, run
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest
from pipeline.preparse.settings import PreparseSettings
from pipeline.preparse.stage import run as preparse
from pipeline.release.candidate_trees import NO_PARSER
from pipeline.report.results import read_generation
from pipeline.sharing.export.command import run as export_rows
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.coordinations import UNBALANCED
from pipeline.text.dependencies import tree_in
from pipeline.text.dependency_phrases import SPLIT, UNJOINED, phrases_of

TEA = ("tea tea NOUN 0 root", "and and CCONJ 3 cc", "milk milk NOUN 1 conj", ". . PUNCT 1 punct")
THREE = (
    "we we PRON 2 nsubj", "sell sell VERB 0 root", "hot hot ADJ 4 amod", "tea tea NOUN 2 obj",
    ", , PUNCT 6 punct", "milk milk NOUN 4 conj", "or or CCONJ 9 cc", "warm warm ADJ 9 amod",
    "rum rum NOUN 4 conj", "but but CCONJ 12 cc", "not not PART 12 advmod", "buy buy VERB 2 conj",
)  # fmt: skip
SOME_SPLIT = (
    "tea tea NOUN 0 root", "now now ADV 4 advmod", "and and CCONJ 4 cc", "milk milk NOUN 1 conj",
    "cold cold ADJ 1 amod", "then then ADV 4 advmod",
)  # fmt: skip
OPEN = (*TEA[:3], "( ( PUNCT 5 punct", "rum rum NOUN 3 appos")
IDLE = ("and and CCONJ 2 cc", "tea tea NOUN 0 root", ", , PUNCT 4 punct", "milk milk NOUN 2 conj")
TREEBANK = [conllu(f"gold{n}", f"ale{n} ale NOUN 0 root", *TEA[1:]) for n in range(8)]
TEXT = {"t": TEA, "three": THREE, "split": SOME_SPLIT, "open": OPEN, "idle": IDLE}


def corpus_of(folder: Path, text: dict[str, tuple[str, ...]], **given: Any) -> Path:
    """A treebank of eight sentences with a coordination, six of them L and validation, beside parsed text."""
    (folder / "ud").mkdir(parents=True, exist_ok=True)
    (folder / "ud/toy-ud-train.conllu").write_text("".join(given.pop("treebank", TREEBANK)))
    if text:
        parsed = folder / "parsed.conllu"
        parsed.write_text("".join(conllu(name, *rows) for name, rows in text.items()))
        given["unlabelled"] = [parsed]
    settings = IngestSettings(
        reader="conllu", source=folder / "ud", name="toy", out=folder / "corpus", license="CC0-1.0",
        unlabelled_license="CC0-1.0", labelled=["5"], validation=1, **given,
    )  # fmt: skip
    ingest(settings)
    return folder / "corpus"


def settings(corpus: Path, **more: Any) -> HarvestSettings:
    return HarvestSettings(**{"corpus": corpus, "labelled": "5", "parser": "treebank", **more})


def rows(corpus: Path) -> list[Candidate]:
    shards = candidate_shards(default_out(settings(corpus)))
    return [row for shard in shards for row in read_candidates(shard)]


def test_rows_are_the_coordinations_of_the_trees(tmp_path: Path) -> None:
    """Of parsed text alone, without a parser; those of people's trees outside L are counted, not taken."""
    corpus = corpus_of(tmp_path, TEXT)
    run(settings(corpus))
    out = corpus / "candidates/harvest-treebank-5/seed-0"
    refused = [row["conjuncts"] for row in read_rows(next(out.glob("rejects-*")), REJECTS)]
    found = {(row.sentence_id.rpartition("/")[2], row.coordination) for row in rows(corpus)}
    trees = read_rows(corpus / "dependencies.parquet", DEPENDENCIES)
    expected = {
        (row["sentence_id"].rpartition("/")[2], each)
        for row in trees
        if row["parsed"] and not row["sentence_id"].endswith("open")
        for each in phrases_of(tree_in(row["rows"], "t")).coordinations
    }
    assert found == expected
    assert len(found) == 3
    one = next(row for row in rows(corpus) if len(row.conjuncts) == 3)
    assert (one.reference, one.fill, one.label) == (Span(2, 4), "warm rum", "NP")
    assert (one.score, one.donor, one.license) == (None, None, "CC0-1.0")
    assert len(refused) == 1
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"]["refused"] == {UNBALANCED: 1}
    assert manifest["notes"] == {
        natural_text.OF_L: 6, natural_text.LEARNED_FROM: 0, natural_text.COPIES: 0,
        parsed_text.WITHOUT: 2,
        natural_text.UNFOUND: 2, natural_text.EARLIER: 0,
        f"{parsed_text.REFUSED}: {SPLIT}": 1, f"{parsed_text.REFUSED}: {UNJOINED}": 1,
    }  # fmt: skip
    assert manifest["model"] == TEXT_PARSER
    assert [each.part for each in from_json(manifest["annotation"])] == ["unknown"]
    assert read_generation(corpus, "harvest-treebank-5").name.endswith("that the text came with")


def test_coordinators_are_the_corpuss(tmp_path: Path) -> None:
    """A word that joins in the trees and is none of them gives no row."""
    dutch = tuple(row.replace("and and", "en en") for row in TEA)
    treebank = [conllu(f"gold{n}", f"ale{n} ale NOUN 0 root", *dutch[1:]) for n in range(8)]
    corpus = corpus_of(tmp_path, {"en": dutch, "and": TEA}, treebank=treebank, coordinators=["en"])
    run(settings(corpus))
    assert [row.words[row.coordinator] for row in rows(corpus)] == ["en"]


def test_rows_of_another_parse_are_stale(tmp_path: Path) -> None:
    """The sentences alone do not tell; sentences that a parser would be called with at once do not matter."""
    corpus = corpus_of(tmp_path, {"three": THREE})
    run(settings(corpus))
    manifest = default_out(settings(corpus)) / "manifest.json"
    assert not {"batch_size", "parser_epochs", "tags"} & set(read_json(manifest)["settings"])
    assert [len(row.conjuncts) for row in rows(corpus)] == [3, 2]
    other = (*THREE[:8], "rum rum NOUN 6 conj", *THREE[9:])
    run(settings(corpus_of(tmp_path, {"three": other})))
    assert [len(row.conjuncts) for row in rows(corpus)] == [2, 2]


def test_trees_of_the_rows_are_those_of_the_text(tmp_path: Path) -> None:
    """As constituents, where ``preparse`` has them of sentences with a coordinator."""
    corpus = corpus_of(tmp_path, {"t": TEA, "u": (TEA[0], "cools cool VERB 1 acl")})
    run(settings(corpus))
    export = ExportSettings(
        place=default_out(settings(corpus)), format="ptb", out=tmp_path / "rows.mrg"
    )
    with pytest.raises(InputError, match=NO_PARSER):
        export_rows(export)
    preparse(PreparseSettings(corpus=corpus, parser="treebank", min_words=2, coordinated=9))
    export_rows(export)
    assert "(NP (NP (NOUN tea)) (CC and) (NP (NOUN milk)))" in (tmp_path / "rows.mrg").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tags": "treebank"}, "say --parser labelled"),
        ({"parser_lm": "bert"}, "say --parser labelled"),
        ({"trees": "l-trees"}, "leave --parser or --trees out"),
    ],
)
def test_what_does_not_go_together(more: dict[str, Any], said: str) -> None:
    """No parser is trained, named or called."""
    given = {"corpus": Path("c"), "parser": "treebank", **more}
    with pytest.raises(SettingsError, match=said) as error:
        HarvestSettings.build(given, None)
    assert "\n" not in str(error.value)


def test_a_corpus_without_parsed_text(tmp_path: Path) -> None:
    """Or with none of its sentences left: one line, which says what to do."""
    with pytest.raises(InputError, match=r"no text of this corpus came parsed; .*--unlabelled"):
        run(settings(corpus_of(tmp_path, {})))
    plain = {"plain": (TEA[0], "cools cool VERB 1 acl")}
    with pytest.raises(InputError, match=f"is left .6 sen.* of L, 2 {parsed_text.WITHOUT}"):
        run(settings(corpus_of(tmp_path, plain)))
