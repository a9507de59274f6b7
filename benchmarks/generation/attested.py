"""Attested fills against free ones, side by side in one process: pairs per second of one thread.

Both work on the same references, in the engine of `conjoin generate`, greedily, with random weights.
Donors are constituents of the same treebank with the reference's label and, for BERT, its nearest
length, for T5 a third to three times its length, drawn evenly, as a pool's. A free fill of T5's is as
long as the first donor, so that neither side writes longer fills; drawn evenly between the paper's limits,
as in `generation.py`, free fills are longer, and that is printed, too.

    python benchmarks/generation/attested.py                a few minutes
    python benchmarks/generation/attested.py --shapes t5-small --pairs 50
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.generation.generation_costs import attested_flops_of, clock, flops_of, peak
from benchmarks.generation.generation_pairs import (
    GENIA,
    SHAPES,
    forced_lengths,
    model_of,
    references,
    tokenizer_of,
)
from benchmarks.generation.generation_sides import OurBert, OurT5, task_of
from pipeline.core.tally import Tally
from pipeline.core.types import Attested, Donor, Reference
from pipeline.infill.base import fill_tokens
from pipeline.infill.batching import plan_batches
from pipeline.infill.masked_ranker import BertRanker
from pipeline.infill.rankings.protocol import ReferenceOptions
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.ingest.readers.genia import read_genia
from pipeline.text.constituents import constituent_spans
from pipeline.text.natural import join_words
from pipeline.text.trees import parse_tree

_Words = tuple[str, ...]


def _constituents(found: Sequence[Reference], source: Path | None) -> dict[str, list[_Words]]:
    """Constituents by label: of the treebank, or, without it, the references' own spans."""
    offered: dict[str, list[_Words]] = defaultdict(list)
    source = source or (GENIA if GENIA.is_dir() else None)
    if source is None:
        for each in found:
            offered[each.label].append(each.words[each.span.start : each.span.end])
        return offered
    for sentence in read_genia(source, Tally()):
        if sentence.split == "train" and sentence.tree:
            tree = parse_tree(sentence.tree)
            for span, label in constituent_spans(sentence.words, tree):
                offered[label].append(sentence.words[span.start : span.end])
    return offered


def _choices(
    ranker: Any, found: Sequence[Reference], offered: dict[str, list[_Words]], count: int
) -> list[ReferenceOptions]:
    """References with so many options, drawn as a pool draws them."""
    tokenizer, rng = ranker._infiller.tokenizer, random.Random(2)
    by_length: dict[str, dict[int, list[tuple[_Words, tuple[int, ...]]]]] = {}
    for label in sorted({each.label for each in found}):
        lengths = by_length[label] = defaultdict(list)
        some = sorted(set(offered[label]))
        for words, ids in zip(
            some, fill_tokens(tokenizer, [join_words(w).text for w in some]), strict=True
        ):
            if ids:
                lengths[len(ids)].append((words, tuple(ids)))
    choices = []
    for reference, length in zip(found, ranker.counts(found), strict=True):
        known = by_length[reference.label]
        usable = (
            [each for n in wanted if n in known for each in known[n]]
            for wanted in ranker.lengths(length, sorted(known))
        )
        donors = next(filter(None, usable))
        drawn = rng.sample(donors, min(count, len(donors)))
        options = tuple(Attested(words, Donor("d", 0, len(words)), "CC0") for words, _ in drawn)
        choices.append(ReferenceOptions(reference, options, tuple(ids for _, ids in drawn)))
    return choices


def _timed(filler: Any, inputs: Sequence[Any], budget: int, rounds: int) -> float:
    batches = plan_batches(inputs, budget)

    def run() -> float:
        start = clock("cpu")
        for batch in batches:
            filler.decode([inputs[i] for i in batch])
        return clock("cpu") - start

    return min(run() for _ in range(rounds))


def _measure(
    name: str,
    found: list[Reference],
    offered: dict[str, list[_Words]],
    options: argparse.Namespace,
) -> None:
    shape = SHAPES[name]
    t5 = shape.kind == "t5"
    infiller: Any = (OurT5 if t5 else OurBert)(
        model_of(shape, torch.float32, "cpu"), tokenizer_of(shape.kind, found), task_of(1)
    )
    ranker: Any = (T5Ranker if t5 else BertRanker)(infiller)
    choices = _choices(ranker, found, offered, max(options.pool))
    usable = [not isinstance(each, str) for each in ranker.encode(choices)]
    choices = [choice for choice, use in zip(choices, usable, strict=True) if use]
    sources: list[Any] = infiller.encode([choice.reference for choice in choices])
    speed = peak(torch.float32, "cpu")
    print(f"\n## {name}: {len(choices)} pairs; matrix product {speed / 1e9:.0f} GFLOP/s")

    def said(what: str, seconds: float, work: float, tokens: float) -> float:
        print(f"{what:34} {seconds:7.2f} s, {len(choices) / seconds:6.2f} pairs/s, {tokens:6.1f} tokens "
              f"and {work / len(choices) / 1e9:6.2f} GFLOP a pair, {work / seconds / speed:.2f} of peak",
              end="", flush=True)  # fmt: skip
        return seconds

    def free(what: str, lengths: Sequence[int]) -> float:
        own = sources
        if t5:
            own = [infiller.force(*both) for both in zip(sources, lengths, strict=True)]
        seconds = _timed(infiller, own, options.budget, options.rounds)
        said(what, seconds, flops_of(shape, own, 1), sum(lengths) / len(lengths))
        print()
        return seconds

    first = [len(choice.tokens[0]) for choice in choices]
    base = free("free, as long as the first donor" if t5 else "free", first)
    even = base
    if t5:
        limits = [(each.limits.shortest, each.limits.longest) for each in sources]
        even = free("free, between the limits", forced_lengths(limits))
    for count in options.pool:
        some = [
            replace(each, options=each.options[:count], tokens=each.tokens[:count])
            for each in choices
        ]
        inputs = ranker.encode(some)
        seconds = _timed(ranker, inputs, options.budget, options.rounds)
        written = sum(len(ids) for each in some for ids in each.tokens) / len(some)
        work = attested_flops_of(shape, sources, [each.tokens for each in some])
        said(f"attested, M = {count}", seconds, work, written)
        print(f": {base / seconds:.2f} x free" + f", {even / seconds:.2f} x the longer" * t5)


def main() -> None:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Callable[..., Any] = parser.add_argument
    add("--shapes", nargs="+", choices=sorted(SHAPES), default=["bert-base", "t5-small"])
    add("--pool", nargs="+", type=int, default=[16, 4, 1], help="values of M")
    add("--pairs", type=int, default=120)
    add("--rounds", type=int, default=2, help="the best of so many counts")
    add("--budget", type=int, default=16_384, help="tokens of a batch")
    add("--genia", type=Path, help="the GENIA treebank; ../shared's if it is there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    found, what = references(options.pairs, options.genia)
    print(f"torch {torch.__version__}, one thread, CPU time; {len(found)} references of {what}")
    offered = _constituents(found, options.genia)
    for name in options.shapes:
        _measure(name, found, offered, options)


if __name__ == "__main__":
    main()
