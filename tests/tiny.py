"""A corpus whose coordination is obvious, and settings that learn it in seconds."""

import json
import random
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForMaskedLM

from pipeline.core.corpus_folder import SENTENCES_FILE, ingest_output
from pipeline.core.files import FileFacts, sha256_of, write_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import CANDIDATES, SCORED, SENTENCES, candidate_row, sentence_row
from pipeline.core.types import Candidate, Coordination, Sentence, Span
from pipeline.models.tokenizers import train_wordpiece
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.tasks.protocol import Drawn
from pipeline.train.settings import TrainSettings

FILLERS = ["we", "saw", "near", "with", "today", "it", "was", "here"]
NOUNS = ["cats", "dogs", "birds", "fish", "cows", "pigs"]


def coordinated(number: int) -> tuple[tuple[str, ...], int, tuple[Span, Span]]:
    """A sentence of fillers around ``noun+ and noun+``; the structure is the run of nouns."""
    draw = random.Random(number)
    before = draw.choices(FILLERS, k=draw.randint(1, 4))
    left, right = (draw.choices(NOUNS, k=draw.randint(1, 2)) for _ in "lr")
    after = draw.choices(FILLERS, k=draw.randint(1, 4))
    k = len(before) + len(left)
    spans = Span(len(before), k), Span(k + 1, k + 1 + len(right))
    return (*before, *left, "and", *right, *after), k, spans


def sentence(number: int, split: str = "train", label: str = "NP") -> Sentence:
    """The gold sentence of that number."""
    words, k, spans = coordinated(number)
    gold = (Coordination(k, "and", label, spans),)
    return Sentence(f"s{number}", "d", split, words, None, None, gold, "CC0-1.0")


def bracketed(sentence: Sentence) -> Sentence:
    """The sentence with a tree: its coordination, with two conjuncts, under the whole."""
    (gold,) = sentence.coordinations
    left, right = gold.conjuncts

    def leaves(start: int, end: int) -> str:
        return " ".join(f"(X {word})" for word in sentence.words[start:end])

    middle = f"(NP (NP {leaves(*astuple(left))}) (CC and) (NP {leaves(*astuple(right))}))"
    before, after = leaves(0, left.start), leaves(right.end, len(sentence.words))
    return replace(sentence, tree=f"(S {before} {middle} {after})")


def candidate(number: int) -> Candidate:
    """A candidate of that number: right if even, cut short by a word on the left if odd."""
    words, k, spans = coordinated(10_000 + number)
    if number % 2:
        spans = Span(spans[0].start - 1, k), spans[1]
    label = "NP" if number % 3 else "VP"
    return Candidate(
        f"c{number}", f"u{number // 3}", words, k, spans, label, spans[0], "x", None, None, None, "test"
    )  # fmt: skip


def ingested(corpus: Path) -> Path:
    """Record sentences and draws as they stand, as `ingest` records what it wrote."""
    files = [corpus / SENTENCES_FILE, *sorted(corpus.glob("draws/*/*.json"))]
    facts = {file.relative_to(corpus).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(corpus).finish(facts, {})
    return corpus


def build(folder: Path, *, trees: bool = False, more: int = 0) -> Path:
    """A corpus folder: 40 sentences in L, 24 for validation, 30 for test, 60 candidates.

    Args:
        folder: where it goes.
        trees: whether its sentences have trees.
        more: training sentences in no draw, from number 94 on.
    """
    sentences = [sentence(n) for n in range(64)]
    sentences += [sentence(n, "test", ["NP", "VP", "UCP"][n % 3]) for n in range(64, 94)]
    sentences += [sentence(n) for n in range(94, 94 + more)]
    if trees:
        sentences = list(map(bracketed, sentences))
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    ids = [s.sentence_id for s in sentences]
    write_json(folder / "draws/seed-0/40.json", {"labelled": ids[:40], "validation": ids[40:64]})
    ingested(folder)
    rows = [candidate_row(candidate(n)) for n in range(60)]
    for shard in range(2):
        path = folder / f"candidates/t5-sync/seed-0/candidates-0000{shard}-of-00002.parquet"
        write_rows(path, CANDIDATES, rows[shard * 30 : shard * 30 + 30], {"fingerprint": "x"})
    tokenizer = train_wordpiece([" ".join(s.words) for s in sentences] * 20, 400, 24)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=24, initializer_range=0.3,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder / "models/bert")
    tokenizer.save_pretrained(folder / "models/bert")
    return folder


def release(corpus: Path, folder: Path) -> Path:
    """The candidates of a corpus as a release: other shards, rows in another order."""
    shards = sorted((corpus / "candidates/t5-sync/seed-0").glob("candidates-*.parquet"))
    rows = [row for shard in shards for row in read_rows(shard, CANDIDATES)]
    random.Random(3).shuffle(rows)
    for shard in range(3):
        write_rows(folder / f"data/train-0000{shard}-of-00003.parquet", CANDIDATES, rows[shard::3])
    (folder / "README.md").write_text("---\nlicense: other\n---\n")
    return folder


def settings(corpus: Path, **given: Any) -> TrainSettings:
    """Settings that learn the tiny corpus in seconds."""
    usual: dict[str, Any] = {
        "corpus": corpus, "candidates": corpus / "candidates/t5-sync/seed-0", "labelled": 40,
        "steps": 60, "warm_steps": 30, "eval_every": 10, "learning_rate": 0.01, "mlp_hidden": 16,
        "dropout": 0.1, "delta": 0.4,
    }  # fmt: skip
    return TrainSettings(**usual | given)


def history(run: Path) -> list[dict[str, Any]]:
    """The validations of a run."""
    return [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]


def scored(run: Path) -> list[dict[str, Any]]:
    """The candidates a run examined."""
    return list(read_rows(run / "scored.parquet", SCORED))


def digest(run: Path) -> dict[str, str]:
    """What a run wrote, but for how long it took and its locks."""
    apart = {"timing.json", "finished.json", ".lock", ".workers"}
    return {p.name: sha256_of(p) for p in sorted(run.iterdir()) if p.name not in apart}


COORDINATION = CoordinationTask()


def examples_of(
    words: Sequence[tuple[str, ...]], coordinators: Sequence[int], extents: Sequence[Span]
) -> list[CoordinationExample]:
    """An example of one structure for each."""
    return [
        CoordinationExample(w, (k,), (x,))
        for w, k, x in zip(words, coordinators, extents, strict=True)
    ]


def probabilities(
    model: CoordinationPredictor,
    words: Sequence[tuple[str, ...]],
    coordinators: Sequence[int],
    extents: Sequence[Span],
) -> list[float | None]:
    """A predictor's probability of each structure."""
    found = model.opinions(examples_of(words, coordinators, extents))
    return [None if each is None else each.probability for each in found]


def drawn_of(  # noqa: PLR0917 - in the order of the row
    candidate_id: str, label: str, words: tuple[str, ...], coordinator: int, extent: Span, size: int
) -> Drawn[CoordinationExample]:
    """A candidate as drawn."""
    return Drawn(
        candidate_id,
        label,
        size,
        coordinator,
        CoordinationExample(words, (coordinator,), (extent,)),
    )


def learned_of(
    sentences: Sequence[Sentence], predictor: CoordinationPredictor
) -> tuple[list[CoordinationExample], list[CoordinationExample]]:
    """What is learned of sentences, and what is measured on."""
    found = COORDINATION.examples(sentences, predictor)
    return found.learned, found.measured
