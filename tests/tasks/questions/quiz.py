"""A corpus of questions that is learned in seconds: a word gives the right choice away."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from pipeline.core.corpora import QUESTIONS
from pipeline.core.corpus_folder import QUESTIONS_FILE, ingest_output
from pipeline.core.files import FileFacts, sha256_of, write_json
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.core.questions import PSEUDO_QUESTIONS, QUESTION_ROWS, Question, question_row
from pipeline.models.tokenizers import train_wordpiece
from pipeline.train.settings import TrainSettings

FILLERS = ["we", "saw", "near", "with", "today", "it", "was", "here"]
RIGHT, WRONG = ("thus", "hence"), ("still", "yet")


def texts(number: int, choices: int) -> tuple[str, tuple[str, ...], int]:
    """Context, choices of fillers with a word that tells the right one, and its place."""
    draw = random.Random(number)
    answer = draw.randrange(choices)
    told = [
        [
            *draw.choices(FILLERS, k=draw.randint(1, 4)),
            draw.choice(RIGHT if n == answer else WRONG),
            str(n),
        ]
        for n in range(choices)
    ]
    context = " ".join(draw.choices(FILLERS, k=draw.randint(2, 4)))
    return context, tuple(map(" ".join, told)), answer


def question(number: int, split: str = "train") -> Question:
    """The question of that number; of three the first has two choices, the others four and five."""
    context, choices, answer = texts(number, (2, 4, 5)[number % 3])
    return Question(
        f"small/{number}", f"d{number % 12}", split, "cause" if number % 2 else "effect", context, choices,
        answer, None, None, "CC0-1.0",
    )  # fmt: skip


def build(folder: Path) -> Path:
    """A corpus folder: 36 questions in L, 18 to validate, 60 to test, candidates, a tiny BERT."""
    questions = [question(n) for n in range(54)] + [question(n, "test") for n in range(54, 114)]
    write_rows(folder / QUESTIONS_FILE, QUESTION_ROWS, map(question_row, questions))
    ids = [each.question_id for each in questions]
    write_json(folder / "draws/seed-0/36.json", {"labelled": ids[:36], "validation": ids[36:54]})
    files = [folder / QUESTIONS_FILE, *folder.glob("draws/*/*.json")]
    facts = {file.relative_to(folder).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(folder).finish(facts, {"reader": "ecare", "name": "small", "task": QUESTIONS})
    pseudo(folder / "candidates/asked/seed-0")
    tokenizer = train_wordpiece([" ".join([*FILLERS, *RIGHT, *WRONG, *"01234"])] * 20, 200, 64)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder / "models/bert")
    tokenizer.save_pretrained(folder / "models/bert")
    return folder


def asked(number: int) -> dict[str, Any]:
    """The row of a pseudo-question of four choices; of every fourth the answer is wrong."""
    context, choices, answer = texts(1000 + number, 4)
    return {
        "candidate_id": f"c{number}", "sentence_id": f"pair{number}", "label": ("because", "if")[number % 2],
        "context": context, "choices": list(choices), "answer": (answer + (number % 4 == 0)) % 4,
        "events": "a → b", "split": "train", "score": None, "license": "CC0-1.0",
    }  # fmt: skip


def pseudo(folder: Path, rows: Sequence[dict[str, Any]] | None = None) -> Path:
    """A folder of pseudo-questions with its manifest, as `ask` leaves it."""
    path = folder / "candidates-00000-of-00001.parquet"
    write_rows(path, PSEUDO_QUESTIONS, rows or [asked(n) for n in range(48)])
    shard = {
        "file": path.name,
        "rows": len(rows or range(48)),
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
    }
    tally = {"seen": shard["rows"], "kept": shard["rows"], "refused": {}}
    write_json(folder / MANIFEST, {"shards": [shard], "annotation": [], "tally": tally})
    return folder


def settings(corpus: Path, **given: Any) -> TrainSettings:
    """Settings that learn the corpus in seconds."""
    usual: dict[str, Any] = {
        "corpus": corpus, "candidates": corpus / "candidates/asked/seed-0", "labelled": 36, "steps": 40,
        "warm_steps": 10, "eval_every": 10, "learning_rate": 0.02, "delta": 0.4, "encoder_dropout": 0.0,
        "n_batch": 12, "k": 4, "k_max": 8,
    }  # fmt: skip
    return TrainSettings(**usual | given)
