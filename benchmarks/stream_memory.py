"""Does training's memory grow with the number of candidates?

Generates corpora of different sizes (about 25 words a candidate, three candidates a sentence), trains
the same tiny predictor from each in a process of its own, and compares what the kernel says of the
most memory that each process held (ru_maxrss). Everything lies in a temporary folder that is removed.

The kernel counts what a process held before it became another program, so this one, which starts the
others, must stay small: the corpora are made by processes of their own, too.
"""
# ruff: noqa: PLC0415 - for the same reason

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SHARD = 100_000  # rows
GROUP = 4096  # rows of a row group, as generate writes them
LABELS = np.array(["NP", "VP", "PP", "ADJP", "ADVP", "S", "SBAR"])
NOUNS = ["cats", "dogs", "birds", "fish", "cows", "pigs"]
VOCABULARY = np.array(
    [a + b + c for a in ("ra", "ko", "mi", "shtu") for b in ("len", "dor", "s") for c in NOUNS]
    + ["we", "saw", "near", "with", "today", "it", "was", "here", "the", "of", *NOUNS]
)


def lists(values: pa.Array, lengths: np.ndarray) -> pa.ListArray:
    """Values in lists of these lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def candidates(first: int, count: int) -> pa.Table:
    """Rows ``first`` on, a pure function of their number's hundred thousand."""
    from pipeline.core.schema import CANDIDATES

    random = np.random.default_rng([7, first])
    lengths = random.integers(12, 39, count)
    words = VOCABULARY[random.integers(len(VOCABULARY), size=lengths.sum())].astype(object)
    start = random.integers(0, 4, count)
    k = start + random.integers(1, 4, count)
    end = k + 1 + random.integers(1, 4, count)
    words[np.cumsum(lengths) - lengths + k] = "and"
    identity = random.integers(0, 256, (count, 12), dtype=np.uint8)
    sentence = (first + np.arange(count)) // 3
    spans = pa.StructArray.from_arrays(
        [
            pa.array(np.stack([start, k + 1], 1).ravel(), pa.int32()),
            pa.array(np.stack([k, end], 1).ravel(), pa.int32()),
        ],
        names=["start", "end"],
    )
    score = pa.array(-random.random(count), pa.float32())
    text = identity.tobytes().hex()
    columns = {
        "candidate_id": pa.array([text[i : i + 24] for i in range(0, 24 * count, 24)]),
        "sentence_id": pa.array([f"corpus/{i // 50}/{i % 50}" for i in sentence.tolist()]),
        "words": lists(pa.array(words, pa.string()), lengths),
        "coordinator": pa.array(k, pa.int32()),
        "conjuncts": lists(spans, np.full(count, 2)),
        "label": pa.array(LABELS[random.integers(len(LABELS), size=count)]),
        "reference": spans.take(pa.array(np.arange(0, 2 * count, 2))),
        "fill": pa.array(np.full(count, "some fill")),
        "score": score,
        "score_append": score,
        "score_prepend": score,
        "license": pa.array(np.full(count, "CC0")),
    }
    # Of the others each may be null.
    arrays = [
        columns[f.name].cast(f.type) if f.name in columns else pa.array([None] * count, f.type)
        for f in CANDIDATES
    ]
    return pa.Table.from_arrays(arrays, schema=CANDIDATES)


def write_candidates(folder: Path, rows: int) -> None:
    """Shards of so many rows in all."""
    folder.mkdir(parents=True)
    starts = range(0, rows, SHARD)
    for number, first in enumerate(starts):
        path = folder / f"candidates-{number:05d}-of-{len(starts):05d}.parquet"
        table = candidates(first, min(SHARD, rows - first))
        pq.write_table(table, path, compression="zstd", row_group_size=GROUP)


def write_corpus(folder: Path) -> None:
    """120 annotated sentences, a draw of L, and a random two-layer BERT."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from pipeline.core.corpus_folder import SENTENCES_FILE, draw_file, ingest_output
    from pipeline.core.files import FileFacts, write_json
    from pipeline.core.parquet import write_rows
    from pipeline.core.schema import SENTENCES, sentence_row
    from pipeline.core.types import Coordination, Sentence, Span
    from pipeline.models.tokenizers import train_wordpiece

    def sentences() -> Iterator[Sentence]:
        for number, row in enumerate(candidates(0, 120).to_pylist()):
            k, spans = row["coordinator"], tuple(Span(**span) for span in row["conjuncts"])
            gold = (Coordination(k, "and", row["label"], spans),)
            words = tuple(row["words"])
            yield Sentence(f"s{number}", "d", "train", words, None, None, gold, "CC0")

    gold = list(sentences())
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, gold))
    ids = [s.sentence_id for s in gold]
    draw = draw_file(0, 100)
    write_json(folder / draw, {"labelled": ids[:100], "validation": ids[100:]})
    facts = {name: FileFacts.of(folder / name) for name in (SENTENCES_FILE, draw)}
    ingest_output(folder).finish(facts, {})
    tokenizer = train_wordpiece([" ".join(s.words) for s in gold] * 5, 400, 128)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=128,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder / "models/bert")
    tokenizer.save_pretrained(folder / "models/bert")


def measure(corpus: Path, shards: Path, steps: int) -> None:
    """Train, in this process, and print what it took as JSON."""
    from pipeline.tasks.coordination.rows import CoordinationRows
    from pipeline.train import stage as train
    from pipeline.train.settings import TrainSettings
    from pipeline.train.stream import CandidateStream

    def peak() -> float:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20

    imported = peak()
    begun = time.perf_counter()
    stream = CandidateStream(str(shards), CoordinationRows(), 0)
    built, after_building = time.perf_counter() - begun, peak()
    del stream
    begun = time.perf_counter()
    # δ = 0.001: a tiny predictor believes little, and batches should have candidates in them.
    train.run(
        TrainSettings(
            corpus=corpus, candidates=str(shards), labelled="100", steps=steps, warm_steps=20,
            eval_every=steps, delta=0.001, learning_rate=1e-3, out=shards.parent / "run",
        )
    )  # fmt: skip
    trained, after_training = time.perf_counter() - begun, peak()
    stream = CandidateStream(str(shards), CoordinationRows(), 1)
    begun = time.perf_counter()
    for index in range(5000):
        stream.sample(index)
    drawing = 5000 / (time.perf_counter() - begun)
    run = json.loads((shards.parent / "run" / "run.json").read_text())
    print(
        json.dumps(
            {
                "rows": len(stream), "seen": run["seen"], "accepted": run["accepted"],
                "imported": imported, "after_building": after_building, "peak": after_training,
                "building_s": built, "training_s": trained, "draws_per_s": drawing,
            }
        )
    )  # fmt: skip


def child(folder: str, *arguments: object) -> list[str]:
    """Lines that this program prints in a process of its own, which copies candidates to ``folder``."""
    done = subprocess.run(  # noqa: S603 - itself
        [sys.executable, __file__, *map(str, arguments)],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "HF_DATASETS_CACHE": f"{folder}/cache"},
    )  # fmt: skip
    return done.stdout.splitlines()


def main() -> None:
    """Compare sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 10_000_000])
    parser.add_argument("--steps", type=int, default=300, help="updates of each training")
    parser.add_argument("--folder", type=Path, help="where to put the corpora (disk: 0.7 KB a row)")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        write_corpus(given.make / "corpus")
        for rows in given.rows:
            write_candidates(given.make / str(rows) / "candidates", rows)
        return
    if given.measure:
        corpus, shards = given.measure
        measure(corpus, shards, given.steps)
        return
    first = 0.0
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        child(name, "--make", name, "--rows", *given.rows)
        for rows in given.rows:
            shards = Path(name) / str(rows) / "candidates"
            lines = child(name, "--steps", given.steps, "--measure", Path(name) / "corpus", shards)
            result = json.loads(lines[-1])
            first = first or result["peak"]
            print(
                f"{result['rows']:>12,} candidates: peak {result['peak']:.0f} MiB "
                f"(imports {result['imported']:.0f}, store built {result['after_building']:.0f}); "
                f"store built in {result['building_s']:.1f} s, {given.steps} steps in "
                f"{result['training_s']:.1f} s, {result['seen']:,} candidates seen and "
                f"{result['accepted']:,} accepted; {result['draws_per_s']:,.0f} draws/s "
                f"-> {result['peak'] / first:.3f} of the first's memory",
                flush=True,
            )


if __name__ == "__main__":
    main()
