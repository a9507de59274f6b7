"""A treebank of a language with coordinators of its own, from ingestion to a release.

Its sentences are Afrikaans: *en* is "and", *of* is "or", and no word of them joins anything in English.
"""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import harvested
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM
from treebank import conllu

from pipeline.api import Predictor
from pipeline.core.corpus_folder import coordinators_of
from pipeline.core.decisions import to_ask
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError
from pipeline.core.files import write_json
from pipeline.core.schema import read_candidates, read_sentences
from pipeline.core.types import COORDINATORS, Candidate, Sentence, bracketed
from pipeline.corpus.layout import find_shards
from pipeline.corpus.statistics import summarise
from pipeline.corpus.validity.checks import require_valid
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.generate import stage as generate
from pipeline.generate.settings import GenerateSettings
from pipeline.harvest import stage as harvest
from pipeline.harvest.settings import HarvestSettings
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.models.tokenizers import train_wordpiece
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.tasks.coordination.examples import protected
from pipeline.train import stage as train
from pipeline.train.settings import TrainSettings
from pipeline.trying.annotate import command as annotate
from pipeline.trying.annotate.settings import AnnotateSettings

SHARED = Path(__file__).resolve().parents[2] / "shared/data"
SAID = {".md", ".cff", ".json"}
NOUNS = ("hond", "kat", "man", "vrou", "kind", "boer", "perd", "voël", "koning", "seun", "dogter")


def plain(number: int) -> str:
    """The dog sleeps nicely today in the house by the sea; sometimes with an *of* that joins nothing."""
    when = "of of SCONJ 3 mark" if number % 4 == 0 else "vandag vandag ADV 3 advmod"
    one, two, three = (NOUNS[(number * step) % len(NOUNS)] for step in (1, 2, 3))
    return conllu(
        f"p{number}", "Die die DET 2 det", f"{one} {one} NOUN 3 nsubj", "slaap slaap VERB 0 root",
        when, "lekker lekker ADV 3 advmod", "in in ADP 8 case", "die die DET 8 det",
        f"{two} {two} NOUN 3 obl", "by by ADP 11 case", "die die DET 11 det", f"{three} {three} NOUN 8 nmod",
        ". . PUNCT 3 punct",
    )  # fmt: skip


def joined(number: int) -> str:
    """The dog and the cat sleep nicely today in the house; every third time it is the dog or the cat."""
    one, two, three = (NOUNS[(number * step + 1) % len(NOUNS)] for step in (1, 2, 3))
    word = "en" if number % 3 else "of"
    return conllu(
        f"c{number}", "Die die DET 2 det", f"{one} {one} NOUN 6 nsubj", f"{word} {word} CCONJ 5 cc",
        "die die DET 5 det", f"{two} {two} NOUN 2 conj", "slaap slaap VERB 0 root",
        "vandag vandag ADV 6 advmod", "lekker lekker ADV 6 advmod", "in in ADP 11 case", "die die DET 11 det",
        f"{three} {three} NOUN 6 obl", ". . PUNCT 6 punct",
    )  # fmt: skip


def small_bert(corpus: Path) -> Path:
    """A random BERT with the corpus's words."""
    folder = corpus / "models/bert"
    tokenizer = train_wordpiece((corpus / "text.txt").read_text().splitlines() * 20, 400, 256)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=256, initializer_range=0.3,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The treebank, ingested, with the trees of U."""
    source, out = tmp_path_factory.mktemp("ud"), tmp_path_factory.mktemp("data") / "af"
    for split, numbers in (("train", range(24)), ("dev", range(24, 30)), ("test", range(30, 36))):
        text = "".join(each(number) for number in numbers for each in (plain, joined))
        (source / f"af-ud-{split}.conllu").write_text(text)
    given = {"reader": "conllu", "source": source, "out": out, "name": "af", "labelled": ["10"]}
    ingest.run(IngestSettings.build({**given, "license": "CC-BY-SA-4.0"}, None))
    preparse.run(PreparseSettings(corpus=out, parser="treebank"))
    small_bert(out)
    return out


@pytest.fixture(scope="module")
def made(corpus: Path) -> Path:
    """Candidates with the corpus's usual coordinator."""
    given = {"corpus": corpus, "lm": "bert", "fills": "attested", "pool": 1, "references": 2}
    settings = GenerateSettings.build({**given, "model": str(corpus / "models/bert")}, None)
    generate.run(settings)
    return generate.default_out(settings)


def rows(folder: Path) -> list[Candidate]:
    """All candidates of a folder."""
    return [row for file in folder.glob("candidates-*.parquet") for row in read_candidates(file)]


def sentences(corpus: Path, wanted: Callable[[Sentence], bool] = lambda _: True) -> list[Sentence]:
    """Those of the corpus."""
    return list(read_sentences(corpus / "sentences.parquet", wanted))


def test_its_coordinators_are_evaluated(corpus: Path) -> None:
    """And no word of English; what no variant of a sentence changes are they and what they link."""
    assert coordinators_of(corpus) == ("en", "of")
    card = read_json(corpus / "ingest.json")
    assert card["splits"]["train"] == {
        "sentences": 48, "with_coordination": 24, "instances": 24, "evaluable_instances": 24,
    }  # fmt: skip
    seeds = card["unlabelled_seeds"]
    assert (seeds["of_10_words_or_more"], seeds["and_without_coordinator_word"]) == (24, 18)
    one = next(each for each in sentences(corpus) if each.coordinations)
    assert to_ask(one.words, one.coordinators) == [2]
    assert protected(replace(one, coordinations=(), tags=None)) == {2}
    other = replace(one, words=(one.words[0], "and", *one.words[2:]), coordinations=(), tags=None)
    assert protected(other) == {2}


def test_generation_puts_its_most_frequent_coordinator_in(corpus: Path, made: Path) -> None:
    """Or those of L; fills hold none, and validation and statistics know them by the manifest."""
    found = rows(made)
    assert len(found) > 20
    assert {row.words[row.coordinator] for row in found} == {"en"}
    manifest = read_json(made / "manifest.json")
    assert "--coordinator en" in manifest["command"]
    assert manifest["inputs"]["coordinators"] == ["en", "of"]
    require_valid(find_shards(made), distinct=True)
    summary = summarise(find_shards(made), corpus)
    assert summary["coordinators"] == {"en": len(found)}
    assert summary["reference"]["coordinators"] == {"en": 16, "of": 8}
    beside = sum("of" in row.words for row in found)
    assert beside > 4
    assert summary["other_coordinators"] == {
        "rows": beside,
        "source": beside,
        "fill": 0,
        "unknown": 0,
    }
    assert not any(
        "of" in row.words[row.conjuncts[-1].start : row.conjuncts[-1].end] for row in found
    )

    given = {"corpus": corpus, "lm": "bert", "fills": "attested", "pool": 1, "labelled": "10"}
    like = {**given, "coordinators": "like-L", "out": corpus / "candidates/like", "references": 2}
    generate.run(GenerateSettings.build({**like, "model": str(corpus / "models/bert")}, None))
    counts = Counter(row.words[row.coordinator] for row in rows(corpus / "candidates/like"))
    assert counts.keys() == {"en", "of"}
    named = {**given, "coordinator": "asook", "out": corpus / "candidates/named", "limit": 5}
    named["labelled"] = None
    generate.run(GenerateSettings.build({**named, "model": str(corpus / "models/bert")}, None))
    assert {r.words[r.coordinator] for r in rows(corpus / "candidates/named")} == {"asook"}


def test_a_predictor_keeps_them(corpus: Path, made: Path, tmp_path: Path) -> None:
    """Chosen from, learned from, evaluated, and asked without an option."""
    some = corpus / "candidates/some/seed-0"
    select.run(
        SelectSettings(places=[made], out=some, like=corpus / "draws/seed-0/10.json", size="8")
    )
    require_valid(find_shards(some), distinct=True)
    assert read_json(some / "manifest.json")["generations"]
    train.run(
        TrainSettings(
            corpus=corpus, candidates=str(some), encoder=str(corpus / "models/bert"), system="tiny",
            mode="no-filter", labelled="10", steps=4, warm_steps=2, eval_every=2, mlp_hidden=8, n_batch=4,
            k=2, k_max=4, augment="fill", augment_lm=str(corpus / "models/bert"),
        )
    )  # fmt: skip
    folder = corpus / "runs/tiny/10/seed-0/predictor"
    assert read_json(folder / "predictor.json")["coordinators"] == ["en", "of"]
    # A run of other ones is stale.
    assert read_json(folder.parent / "finished.json")["about"]["inputs"]["coordinators"] == [
        "en",
        "of",
    ]
    evaluate.run(EvaluateSettings(corpus=corpus))
    assert read_json(corpus / "evaluation/metrics.json")["instances"]["overall"] == 6
    release.run(ReleaseSettings(candidates=folder.parent, out=tmp_path / "released", license="MIT"))
    assert "\nlanguage:" not in (tmp_path / "released/README.md").read_text()
    (found,) = Predictor.load(folder).predict(["Jan en Piet and Koos of Hendrik"])
    assert [each.word for each in found.coordinations] == ["en", "of"]
    (asked,) = Predictor.load(folder).predict(["Jan en Piet and Koos"], coordinators=["and"])
    assert [each.word for each in asked.coordinations] == ["and"]

    copy = tmp_path / "predictor"
    shutil.copytree(folder, copy)
    card = read_json(copy / "predictor.json")
    for strange in ([], ["En"], ["a b"]):
        write_json(copy / "predictor.json", {**card, "coordinators": strange})
        with pytest.raises(ConjoinError, match="that no predictor has"):
            Predictor.load(copy)
    del card["coordinators"]  # one of before
    write_json(copy / "predictor.json", card)
    (old,) = Predictor.load(copy).predict(["Jan en Piet and Koos of Hendrik"])
    assert [each.word for each in old.coordinations] == ["and"]


def test_natural_coordinations_are_harvested(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a parser without tags, whose coordinators are known by the word; also where text stays behind."""
    own = sentences(corpus, lambda s: s.split == "train")
    harvested.knowing(monkeypatch, [replace(each, tags=None) for each in own])
    harvested.with_ready_parser(corpus)
    out = corpus / "candidates/harvest-10/seed-0"
    harvest.run(HarvestSettings(corpus=corpus, labelled="10", out=out))
    found = rows(out)
    gold = {s.sentence_id: s.coordinations for s in own if s.coordinations}
    draw = read_json(corpus / "draws/seed-0/10.json")
    known = {*draw["labelled"], *draw["validation"]}
    said = {s.words for s in own if s.sentence_id in known}  # copies of which are left out
    left = [s for s in own if s.coordinations and s.words not in said]
    assert len(found) == len(left) > 4
    assert all(row.coordination in gold[row.sentence_id] for row in found)
    assert {row.words[row.coordinator] for row in found} == {"en", "of"}
    require_valid(find_shards(out), distinct=True)
    release.run(
        ReleaseSettings(candidates=out, out=tmp_path / "off", corpus=corpus, stand_off=True)
    )
    assert read_json(tmp_path / "off/manifest.json")["rows"] == {"train": len(found), "rejected": 0}
    require_valid(find_shards(tmp_path / "off"), distinct=True)
    assert summarise(find_shards(tmp_path / "off"), None)["coordinators"].keys() == {"en", "of"}

    manifest = read_json(out / "manifest.json")
    del manifest["inputs"]["coordinators"]  # as of an English corpus
    write_json(out / "manifest.json", manifest)
    with pytest.raises(ConjoinError, match=r"the coordinator is '(en|of)'"):
        require_valid(find_shards(out), distinct=True)


def test_it_is_handed_on(corpus: Path, made: Path, tmp_path: Path) -> None:
    """Released with trees, and exported."""
    release.run(ReleaseSettings(candidates=made, out=tmp_path / "full", corpus=corpus, trees=True))
    require_valid(find_shards(tmp_path / "full"), distinct=True)
    count = read_json(tmp_path / "full/manifest.json")["rows"]["train"]
    assert count == len(rows(made))
    said = "".join(
        path.read_text() for path in (tmp_path / "full").iterdir() if path.suffix in SAID
    )
    assert "English" not in said
    assert "inLanguage" not in said
    export.run(ExportSettings(place=made, format="conllu", out=tmp_path / "a.conllu"))
    assert (tmp_path / "a.conllu").read_text().count("\ten\t") == count
    export.run(ExportSettings(place=tmp_path / "full", format="ptb", out=tmp_path / "a.mrg"))
    assert (tmp_path / "a.mrg").read_text().count("(CC en)") == len(
        {row.words for row in rows(made)}
    )


def test_people_are_asked_of_them(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the corpus that is made of what they say has them, too."""
    kept: list[Any] = []
    monkeypatch.setattr(annotate, "serve", lambda *_: None)
    monkeypatch.setattr(annotate, "make_app", lambda *args: kept.append(args))
    out = tmp_path / "annotated.jsonl"
    annotate.run(AnnotateSettings(corpus=corpus, port=0, open=False, size=3, out=out))
    served = SimpleNamespace(words=kept[0][1], known=kept[0][-1])
    assert served.known == {"en", "of"}
    assert all({"en", "of"} & {*words} for words in served.words.values())
    one = next(each for each in sentences(corpus) if each.coordinations)
    (tmp_path / "given.jsonl").write_text(
        f'{{"sentence_id": "{one.sentence_id}", "words": {list(one.words)}, "coordinations": '
        f'[{{"coordinator": 2, "conjuncts": [[0, 2], [3, 5]]}}]}}\n'.replace("'", '"')
    )
    given = {"reader": "corrected", "source": tmp_path / "given.jsonl", "of": corpus}
    ingest.run(IngestSettings.build({**given, "out": tmp_path / "corrected"}, None))
    assert coordinators_of(tmp_path / "corrected") == ("en", "of")
    found = [each for each in sentences(tmp_path / "corrected") if each.evaluable]
    assert [bracketed(each.words, each.evaluable[0].conjuncts) for each in found] == [
        bracketed(one.words, one.coordinations[0].conjuncts)
    ]


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        ("ud-afrikaans", "af_afribooms-ud-dev.conllu.xz", ("en", "of")),
        pytest.param(
            "ud-ewt",
            "en_ewt-ud-dev.conllu.xz",
            ("and", "or", "but", "nor", "and/or"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_of_real_treebanks(
    folder: str, file: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    """A part of each."""
    source = SHARED / folder / file
    if not source.is_file():
        pytest.skip(f"no {source}")
    ingest.run(
        IngestSettings.build({"reader": "conllu", "source": source, "out": tmp_path / "x"}, None)
    )
    assert coordinators_of(tmp_path / "x") == expected
    found = sentences(tmp_path / "x")
    assert {each.coordinators for each in found} == {frozenset(expected)}
    assert (set(expected) == COORDINATORS) == (folder == "ud-ewt")
