"""A treebank with labels that the Penn Treebank of the 1990s lacks, from ingestion to report."""

import re
from collections import Counter
from pathlib import Path

import harvested
import pytest
import torch
from prenominal import relabelled, write_brackets
from transformers import BertConfig, BertForMaskedLM

from pipeline.core.documents import read_json
from pipeline.core.schema import read_candidates, read_sentences
from pipeline.core.types import CATEGORIES, Candidate, Sentence
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
from pipeline.report import stage as report
from pipeline.report.settings import ReportSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.text.trees import parse_tree
from pipeline.train import stage as train
from pipeline.train.settings import TrainSettings

DOCUMENTS = 60


def candidates(folder: Path) -> list[Candidate]:
    """The candidates of a folder that have the new label."""
    files = sorted(folder.glob("candidates-*.parquet"))
    return [row for file in files for row in read_candidates(file) if row.label == "NML"]


def is_shared_head(row: Candidate, source: Sentence) -> bool:
    """Whether the structure stands in its sentence before a noun of the same noun phrase."""
    after = row.words[row.conjuncts[-1].end :]
    tags = (source.tags or ())[len(source.words) - len(after) :]
    nouns = [tag.startswith("NN") for tag in tags if tag not in ("JJ", "POS", "CD", "VBG")]
    return nouns[0]


def small_bert(corpus: Path) -> Path:
    """A random BERT in a corpus, with its words and room for all its sentences."""
    folder = corpus / "models/bert"
    texts = (corpus / "text.txt").read_text("utf-8").splitlines()
    tokenizer = train_wordpiece(texts, 2000, 512)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=512,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def piece(genia: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some documents of GENIA as brackets with NML."""
    folder = tmp_path_factory.mktemp("brackets")
    corpus, _ = genia
    held_out = list(read_sentences(corpus / "sentences.parquet", lambda s: s.split != "train"))
    some = set(sorted({sentence.doc_id for sentence in held_out})[:DOCUMENTS])
    write_brackets((s for s in held_out if s.doc_id in some), folder)
    return folder


@pytest.mark.long
def test_from_ingestion_to_report(
    piece: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Shared heads are found and made, and the columns sum to overall."""
    corpus = tmp_path / "newer"
    given = {"reader": "treebank", "source": piece, "out": corpus, "name": "newer", "labelled": [40],
             "license": "CC-BY-3.0"}  # fmt: skip
    ingest.run(IngestSettings.build(given, None))
    labels = read_json(corpus / "ingest.json")["labels"]
    assert all(labels[split]["NML"] for split in ("train", "test"))
    every = Counter[str]()
    for found in labels.values():
        every.update(found)
    share = 100 * (every["UCP"] + every["QP"]) / every.total()
    assert f"no reference span has the label of {share:.1f} % of them" in capsys.readouterr().out

    preparse.run(PreparseSettings(corpus=corpus, parser="treebank"))
    bert, made = small_bert(corpus), corpus / "candidates/attested/seed-0"
    generate.run(
        GenerateSettings(
            corpus=corpus, lm="bert", fills="attested", references=4, pool=2, out=made, limit=200
        )
    )
    sources = {s.sentence_id: s for s in read_sentences(corpus / "sentences.parquet")}
    rows = candidates(made)
    assert len(rows) > 5
    assert all(row.donor for row in rows)
    assert all(is_shared_head(row, sources[row.sentence_id]) for row in rows)
    validate.run(ValidateSettings(place=made))

    harvested.knowing(monkeypatch, [s for s in sources.values() if s.tree])
    harvested.with_ready_parser(corpus)
    harvest.run(HarvestSettings(corpus=corpus, labelled="40"))
    assert candidates(corpus / "candidates/harvest-40/seed-0")

    train.run(
        TrainSettings(
            corpus=corpus, mode="baseline", system="baseline", encoder=str(bert), labelled=40, steps=2,
            eval_every=2, mlp_hidden=8,
        )
    )  # fmt: skip
    evaluate.run(EvaluateSettings(corpus=corpus))
    metrics = read_json(corpus / "evaluation/metrics.json")
    counts = dict(metrics["instances"])
    assert set(counts) == {"overall", *CATEGORIES, "NML", "other"}
    assert counts.pop("overall") == sum(counts.values()) == sum(labels["test"].values())
    assert counts["NML"] == labels["test"]["NML"]
    capsys.readouterr()
    report.run(ReportSettings(corpus=corpus, examples=2))
    page = (corpus / "report/report.md").read_text()
    table = next(line for line in page.splitlines() if "NP, NX (" in line)
    whole, *parts = (int(number) for number in re.findall(r"\((\d+)\)", table))
    assert whole == sum(parts) == sum(counts.values())
    assert len(parts) == len(CATEGORIES) + 2


def test_only_what_stands_before_a_noun_is_relabelled() -> None:
    """The script that makes the treebank: the noun phrase, and those that are joined in it."""
    rest = "(NNS cells) (PP (IN of) (NP (NNS mice)))"
    given = f"(NP (NP (NP (NN bone)) (CC and) (NP (NN muscle))) {rest})"
    expected = f"(NP (NML (NML (NN bone)) (CC and) (NML (NN muscle))) {rest})"
    assert relabelled(parse_tree(given)) == parse_tree(expected)
