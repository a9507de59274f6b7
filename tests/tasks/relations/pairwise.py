"""A corpus of relations that is learned in seconds."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from pipeline.core.annotation import as_json
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import RELATIONS_FILE, ingest_output
from pipeline.core.files import FileFacts, sha256_of, write_json
from pipeline.core.pairs import IMPLICIT, SYNTHETIC, Pair, write_pairs
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.models.tokenizers import train_wordpiece
from pipeline.tasks.relations.pairs import part_of_pairs
from pipeline.train.settings import TrainSettings

SENSES = ("expansion.conjunction", "contingency.cause", "comparison.contrast")
CUES = {SENSES[0]: ("also", "too"), SENSES[1]: ("thus", "hence"), SENSES[2]: ("still", "yet")}
FILLERS = ["we", "saw", "near", "with", "today", "it", "was", "here"]


def arguments(number: int, sense: str) -> tuple[str, str]:
    """Two arguments of fillers; a word of the second tells the sense."""
    draw = random.Random(f"{number} {sense}")
    first, second = (draw.choices(FILLERS, k=draw.randint(2, 5)) for _ in "ab")
    second.insert(draw.randrange(len(second)), draw.choice(CUES[sense]))
    return " ".join(first), " ".join(second)


def pair(number: int, split: str = "train", senses: Sequence[str] | None = None) -> Pair:
    """The pair of that number; of six the first three are of the most frequent sense."""
    own = tuple(senses or (SENSES[(0, 0, 0, 1, 1, 2)[number % 6]],))
    first, second = arguments(number, own[0])
    return Pair(
        f"small/d{number % 12}/{number}", f"d{number % 12}", split, first, second, tuple(first.split()),
        tuple(second.split()), own, IMPLICIT, None, beside_explicit=False, license="CC0-1.0",
    )  # fmt: skip


def build(folder: Path) -> Path:
    """A corpus folder: 36 pairs in L, 18 to validate, 18 of dev, 60 to test, candidates, a tiny BERT."""
    pairs = [pair(n) for n in range(54)] + [pair(n, "dev") for n in range(54, 72)]
    pairs += [pair(n, "test") for n in range(72, 132)]
    pairs.append(pair(132, "test", SENSES[:2]))
    write_pairs(folder, pairs)
    ids = [each.pair_id for each in pairs]
    write_json(folder / "draws/seed-0/36.json", {"labelled": ids[:36], "validation": ids[36:54]})
    files = [folder / RELATIONS_FILE, *folder.glob("draws/*/*.json")]
    facts = {file.relative_to(folder).as_posix(): FileFacts.of(file) for file in files}
    card = {"reader": "pdtb", "name": "small", "task": RELATIONS, "senses": list(SENSES)}
    ingest_output(folder).finish(facts, card)
    synthetic(folder / "candidates/made/seed-0", ids)
    words = [*FILLERS, *(cue for cues in CUES.values() for cue in cues)]
    tokenizer = train_wordpiece([" ".join(words)] * 20, 200, 64)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder / "models/bert")
    tokenizer.save_pretrained(folder / "models/bert")
    return folder


def synthetic(folder: Path, ids: Sequence[str]) -> Path:
    """Candidates of contrast with their manifest, each of a pair, every fourth in truth a cause."""
    rows = []
    for n in range(54):
        first, second = arguments(1000 + n, SENSES[1 if n % 4 == 0 else 2])
        rows.append({
            "candidate_id": f"c{n}", "sentence_id": ids[n], "label": SENSES[2], "arg1": first, "arg2": second,
            "confused": SENSES[0], "writer": "test", "prompt": None, "completion": None, "verdict": None,
            "score": None, "license": "CC0-1.0",
        })  # fmt: skip
    path = folder / "candidates-00000-of-00001.parquet"
    write_rows(path, SYNTHETIC, rows)
    shard = {
        "file": path.name,
        "rows": len(rows),
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
    }
    draw = "36/seed-0"
    record = [
        part_of_pairs("small", "labelled", [pair(n) for n in range(36)], draw=draw),
        part_of_pairs(
            "small", "validation", [pair(n) for n in range(36, 54)], draw=draw, use="chosen"
        ),
    ]
    write_json(
        folder / MANIFEST,
        {
            "shards": [shard],
            "annotation": as_json(record),
            "inputs": {"confusions": [[SENSES[2], SENSES[0], 2, 3]]},
            "tally": {"seen": 60, "kept": 54, "refused": {"twice": 6}},
        },
    )
    return folder


def settings(corpus: Path, **given: Any) -> TrainSettings:
    """Settings that learn the corpus in seconds."""
    usual: dict[str, Any] = {
        "corpus": corpus, "candidates": corpus / "candidates/made/seed-0", "labelled": 36, "steps": 40,
        "warm_steps": 20, "eval_every": 10, "learning_rate": 0.02, "delta": 0.4, "encoder_dropout": 0.0,
    }  # fmt: skip
    return TrainSettings(**usual | given)
