"""How generation scales: two workers against one, and memory against the size of the corpus.

Usage: python benchmarks/scaling.py [--rounds 3] [--sentences 12000] [--memory]

Efficiency is (wall time of one worker) / (2 × wall time of two) for the *additional* pairs of a run
four times as long as another, so that start-up (python, torch, the launcher: the same in both) falls
out of it. Runs alternate; the medians of all rounds are printed. --memory compares the largest worker's
peak memory for 10,000 and 100,000 pairs instead. Models are random and tiny; corpora are the embedded
world's sentences with their gold trees, under new ids as often as it takes.
"""

import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import psutil
import torch
from transformers import T5Config, T5ForConditionalGeneration

from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.models.tokenizers import train_unigram
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.world import generate_sentences

ROOT = Path(__file__).resolve().parents[1]


def corpus(folder: Path, sentences: int) -> None:
    """A corpus of gold trees in ``folder``."""
    world = generate_sentences(ROOT / "data" / "raw" / "world", 3000, 0)
    seeds = [s for s in world if is_unlabelled_seed(s)]

    def again() -> Iterator[Sentence]:
        for number in count():
            for s in seeds:
                yield dataclasses.replace(s, sentence_id=f"{number}/{s.sentence_id}")

    rows = (sentence_row(s) for s in islice(again(), sentences))
    write_rows(folder / "sentences.parquet", SENTENCES, rows)
    preparse.run(PreparseSettings(corpus=folder, parser="treebank"))


def model(folder: Path, size: int) -> None:
    """A random T5 of that width."""
    sentences = generate_sentences(ROOT / "data" / "raw" / "world", 500, 1)
    tokenizer = train_unigram([" ".join(s.words) for s in sentences], 800, 512)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=size, d_kv=size // 4, num_heads=4, d_ff=4 * size, num_layers=4,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,  # type: ignore[call-arg]
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def generate(
    folder: Path, sentences: int, references: int, processes: int, *, watch: bool = False
) -> tuple[float, float]:
    """Wall seconds of a run and, if watched, the peak memory of its largest process in MB.

    Watching takes a part of a core, so times are taken without.
    """
    with tempfile.TemporaryDirectory(dir=folder) as out:
        begun = time.perf_counter()
        run = subprocess.Popen(  # noqa: S603
            [
                sys.executable, "-m", "pipeline", "generate", str(folder), "--limit", str(sentences),
                "--references", str(references), "--model", str(folder / "model"), "--unit", "128",
                "--processes", str(processes), "--out", out,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        peak = 0.0
        while watch and run.poll() is None:
            time.sleep(0.1)
            peak = max(peak, *map(_memory, _family(run.pid)))
        if run.wait():
            raise SystemExit(run.stderr.read().decode() if run.stderr else "generate failed")
        return time.perf_counter() - begun, peak / 1e6


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _memory(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0.0


def scaling(folder: Path, sentences: int, rounds: int) -> None:
    """Print the efficiency of two workers."""
    model(folder / "model", 64)
    corpus(folder, sentences)
    times: dict[tuple[int, int], list[float]] = {}
    for number in range(rounds):
        for processes in (1, 2):
            for size in (sentences // 4, sentences):
                seconds, _ = generate(folder, size, 1, processes)
                times.setdefault((processes, size), []).append(seconds)
                print(f"round {number + 1}: {processes} processes, {size} pairs: {seconds:.1f} s")
    middle = {key: statistics.median(each) for key, each in times.items()}
    more = {p: middle[p, sentences] - middle[p, sentences // 4] for p in (1, 2)}
    pairs = sentences - sentences // 4
    for processes, seconds in more.items():
        print(f"{processes} processes: {pairs / seconds:.0f} pairs/s, start-up aside")
    print(f"efficiency of 2 processes: {more[1] / (2 * more[2]):.3f}")


def memory(folder: Path) -> None:
    """Print peak memory for 10,000 and 100,000 pairs."""
    model(folder / "model", 16)
    corpus(folder, 50_000)
    for sentences in (5_000, 50_000):
        seconds, peak = generate(folder, sentences, 2, 1, watch=True)
        print(f"about {2 * sentences:,} pairs: peak {peak:.0f} MB, {seconds:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=12_000)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if given.memory:
            memory(Path(scratch))
        else:
            scaling(Path(scratch), given.sentences, given.rounds)
