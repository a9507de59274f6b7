"""Causal LMs beside T5 and BERT in one process: writing, ranking, and the authors' way of writing.

Shapes are SmolLM2-135M's, T5-small's and BERT-base's, weights are random, one thread, CPU time, the same
references of GENIA. Fills are as long as a third to three times the reference, drawn once. Theirs is Hugging
Face `generate` over both prompts of 20 pairs as the halves of a batch, with a processor that takes their
minimum; ours decodes the same prompts in lockstep, what they begin alike with read once.

    python benchmarks/generation/causal.py                 a quarter of an hour
    python benchmarks/generation/causal.py --pairs 4 --rounds 1 --shapes smollm2
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedTokenizerFast,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.byte_level import byte_level
from benchmarks.generation.attested import _choices, _constituents
from benchmarks.generation.generation_costs import clock
from benchmarks.generation.generation_pairs import SHAPES, model_of, references, tokenizer_of
from benchmarks.generation.generation_sides import AUTHORS_BATCH, OurBert, OurT5, task_of
from pipeline.core.comparison import t_interval
from pipeline.core.types import Reference
from pipeline.infill.batching import plan_batches
from pipeline.infill.causal import CausalInfiller
from pipeline.infill.causal_ranker import CausalRanker
from pipeline.infill.decoding import Limits
from pipeline.infill.masked_ranker import BertRanker
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.models.tokenizers import token_batch
from pipeline.text.natural import join_words

CAUSAL = "smollm2"
VOCABULARY = 49_152


class OurCausal(CausalInfiller):
    """conjoin's engine for causal LMs; random weights write no text, so fills are token ids."""

    def _text(self, tokens: Sequence[int]) -> tuple[str, str | None]:
        return " ".join(map(str, tokens)), None


class _Minimum(LogitsProcessor):
    """Both halves of the batch get the minimum of the two, and no token that would end a fill."""

    def __init__(self, endings: Sequence[int]) -> None:
        self._endings = list(endings)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores ``[rows, V]`` of S′(1), then of S′(2)."""
        joint = torch.minimum(*scores.chunk(2))
        joint[:, self._endings] = -torch.inf
        return torch.cat([joint, joint])


def causal_model() -> LlamaForCausalLM:
    """SmolLM2-135M's shape."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192,
        tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()  # type: ignore[no-untyped-call,no-any-return]


def causal_tokenizer(found: Sequence[Reference]) -> PreTrainedTokenizerFast:
    """Of about as many pieces a word as SmolLM2's."""
    return byte_level((join_words(each.words).text for each in found), 5_000, "<end>")


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it gave."""
    start = clock("cpu")
    found = run()
    return clock("cpu") - start, found


def decoded(filler: Any, inputs: Sequence[Any], budget: int) -> list[str]:
    """The first fill of each, in conjoin's batches."""
    fills = [""] * len(inputs)
    for batch in plan_batches(inputs, budget):
        for i, found in zip(batch, filler.decode([inputs[i] for i in batch]), strict=True):
            fills[i] = found[0].text
    return fills


@torch.inference_mode()
def authors(model: Any, sources: Sequence[Any], endings: Sequence[int]) -> list[str]:
    """Fills by ``generate``, batches in input order; each is cut at its own length."""
    fills: list[str] = []
    for start in range(0, len(sources), AUTHORS_BATCH):
        batch = sources[start : start + AUTHORS_BATCH]
        rows = [source.inputs[part] for part in range(2) for source in batch]
        ids, mask = token_batch(rows, 0, model.device, left=True)
        written = model.generate(
            input_ids=ids, attention_mask=mask, do_sample=False, pad_token_id=0,
            max_new_tokens=max(source.limits.longest for source in batch),
            logits_processor=LogitsProcessorList([_Minimum(endings)]),
        )[:, ids.shape[1] :]  # fmt: skip
        for source, row in zip(batch, written.tolist(), strict=False):
            fills.append(" ".join(map(str, row[: source.limits.longest])))
    return fills


class Shape:
    """A model's shape, and what measures it.

    Args:
        name: of the shape.
        found: references of all rounds, whose constituents are what is chosen among.
        options: of the command.
    """

    def __init__(self, name: str, found: list[Reference], options: argparse.Namespace) -> None:
        self.name, self._options = name, options
        self._constituents = _constituents(found, None)
        self._infiller: Any
        if name == CAUSAL:
            self._infiller = OurCausal(causal_model(), causal_tokenizer(found), task_of(1))
            self._ranker: Any = CausalRanker(self._infiller)
        else:
            t5 = name.startswith("t5")
            tokenizer = tokenizer_of(SHAPES[name].kind, found)
            self._infiller = (OurT5 if t5 else OurBert)(
                model_of(SHAPES[name], torch.float32, "cpu"), tokenizer, task_of(1)
            )
            self._ranker = (T5Ranker if t5 else BertRanker)(self._infiller)

    def measure(self, found: list[Reference]) -> dict[str, float]:
        """Pairs a second of a round, and how many times as fast as the authors' way ours is."""
        options, infiller, ranker = self._options, self._infiller, self._ranker
        sources = infiller.encode(found)
        if hasattr(sources[0], "limits"):
            drawn = random.Random(1)
            lengths = [drawn.randint(each.limits.shortest, each.limits.longest) for each in sources]
            sources = [
                replace(s, limits=Limits(n, n)) for s, n in zip(sources, lengths, strict=True)
            ]
        pairs = len(sources)
        seconds, fills = timed(lambda: decoded(infiller, sources, options.budget))
        choices = ranker.encode(_choices(ranker, found, self._constituents, options.pool))
        ranked, _ = timed(lambda: decoded(ranker, choices, options.budget))
        rates = {"writing": pairs / seconds, "ranking": pairs / ranked}
        if self.name == CAUSAL:
            theirs, other = timed(lambda: authors(infiller.model, sources, infiller.endings))
            rates |= {"authors": pairs / theirs, "times as fast as the authors": theirs / seconds}
            if fills != other:
                same = sum(one == two for one, two in zip(fills, other, strict=True))
                print(f"{same} of {pairs} fills are those of the authors' way")
        return rates


def main() -> None:
    """Measure the shapes one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=10, help="references of a round")
    parser.add_argument("--rounds", type=int, default=5, help="each with others")
    parser.add_argument("--pool", type=int, default=16, help="M")
    parser.add_argument("--budget", type=int, default=16_384, help="tokens of a batch")
    parser.add_argument(
        "--shapes", nargs="+", default=[CAUSAL, "t5-small", "bert-base"],
        choices=[CAUSAL, "t5-small", "bert-base"],
    )  # fmt: skip
    options = parser.parse_args()
    torch.set_num_threads(1)
    found, what = references(options.pairs * options.rounds, None)
    print(f"{len(found)} references: {what}; one thread, CPU time, fp32, random weights")
    shapes = [Shape(name, found, options) for name in options.shapes]
    rates: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for start in range(0, len(found), options.pairs):
        for shape in shapes:
            some = shape.measure(found[start : start + options.pairs])
            for kind, rate in some.items():
                rates[shape.name, kind].append(rate)
            print(shape.name, {kind: round(rate, 2) for kind, rate in some.items()}, flush=True)
    print(f"mean of {options.rounds} rounds, Student's interval of 95 %; M = {options.pool}")
    for (name, kind), each in rates.items():
        bounds = t_interval(each)
        shown = f"{fmean(each):6.2f}" + (f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else "")
        hours = (
            "" if "times" in kind else f", a million in {1e6 / fmean(each) / 3600:,.0f} core hours"
        )
        print(f"{name:10} {kind:28} {shown}{hours}")


if __name__ == "__main__":
    main()
