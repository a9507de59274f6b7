"""conjoin's generation engine against the authors' way, side by side in one process.

Theirs is Hugging Face `generate` with a processor that takes the minimum of the two halves of the
batch, 20 pairs in input order, fp32; for BERT one forward pass over padded batches. Ours is the
engine of `conjoin generate`. Both write fills of the same lengths, drawn once between the paper's
limits: no stop before, a cut there. Weights are random.

    python benchmarks/generation/generation.py                         about an hour on one core
    python benchmarks/generation/generation.py --quick                 200 pairs: about ten minutes
    python benchmarks/generation/generation.py --shapes t5-tiny --modes greedy
    python benchmarks/generation/generation.py --device cuda           T5-large and BERT-large, bf16

bf16 is measured by default where the CPU has instructions for it, else with `--dtypes fp32 bf16`.
With 4 beams the fills are compared in a further run in which theirs, as ours always, makes the
joint scores log-probabilities again before adding them up.
"""

import argparse
import copy
import platform
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.generation.generation_costs import (
    bandwidth,
    clock,
    encoder_flops_of,
    flops_of,
    padded_flops_of,
    peak,
    stopwatch,
    traffic_of,
)
from benchmarks.generation.generation_pairs import (
    SHAPES,
    forced_lengths,
    model_of,
    references,
    tokenizer_of,
)
from benchmarks.generation.generation_sides import (
    OurBert,
    OurT5,
    authors_bert,
    authors_t5,
    ours,
    task_of,
)
from pipeline.core.types import Reference
from pipeline.infill.batching import plan_batches

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--shapes", nargs="+", choices=sorted(SHAPES), help="which models")
    add("--modes", nargs="+", choices=["greedy", "beams"], default=["greedy", "beams"])
    add("--dtypes", nargs="+", choices=sorted(DTYPES), help="of ours; theirs is fp32, on cuda bf16")
    add("--rounds", type=int, default=1, help="medians are over so many rounds")
    add("--pairs", type=int, default=1000)
    add("--budget", type=int, default=16_384, help="tokens of a batch of ours")
    add("--quick", action="store_true", help="200 pairs, one round")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--genia", type=Path, help="the GENIA treebank; ../shared's if it is there")
    found = parser.parse_args()
    gpu = found.device == "cuda"
    if found.shapes is None:
        found.shapes = ["t5-large", "bert-large"] if gpu else ["t5-tiny", "t5-small", "bert-base"]
    if found.dtypes is None:
        found.dtypes = ["bf16"] if gpu else ["fp32"] + ["bf16"] * _has_bf16()
    if found.quick:
        found.pairs, found.rounds = 200, 1
    return found


def _has_bf16() -> bool:
    flags = Path("/proc/cpuinfo")
    return flags.is_file() and "avx512_bf16" in flags.read_text()


class _Case:
    """One model, decoded one way, by both sides."""

    def __init__(
        self, name: str, mode: str, found: list[Reference], options: argparse.Namespace
    ) -> None:
        self.name, self.shape, self.options = f"{name} {mode}".strip(), SHAPES[name], options
        self.beams = 4 if mode == "beams" else 1
        self.theirs = "bf16" if options.device == "cuda" else "fp32"
        tokenizer = tokenizer_of(self.shape.kind, found)
        kind: Any = OurT5 if self.shape.kind == "t5" else OurBert
        self.models = {
            dtype: model_of(self.shape, DTYPES[dtype], options.device)
            for dtype in {self.theirs, *options.dtypes}
        }
        self.engines = {
            dtype: kind(model, tokenizer, task_of(self.beams))
            for dtype, model in self.models.items()
        }
        engine = self.engines[self.theirs]
        sources = [each for each in engine.encode(found) if not isinstance(each, str)]
        # Batches know the greatest length that a fill may have, as in real use, not what it will be.
        self.batches = plan_batches(sources, options.budget)
        if self.shape.kind == "t5":
            limits = [(each.limits.shortest, each.limits.longest) for each in sources]
            lengths = forced_lengths(limits)
            sources = [engine.force(*both) for both in zip(sources, lengths, strict=True)]
        self.sources: list[Any] = sources

    @property
    def tokens(self) -> int:
        """Tokens of all fills."""
        counts = (s.limits.longest if self.shape.kind == "t5" else s.count for s in self.sources)
        return sum(counts)

    def authors(self, *, normalized: bool = False) -> list[str]:
        """Fills the authors' way."""
        model, engine = self.models[self.theirs], self.engines[self.theirs]
        if self.shape.kind == "t5":
            return authors_t5(model, self.sources, engine, self.beams, normalized=normalized)
        return authors_bert(model, self.sources, int(engine.tokenizer.mask_token_id))

    def ours(self, dtype: str) -> list[str]:
        """Fills by the engine."""
        return ours(self.engines[dtype], self.sources, self.batches)

    def generic(self, dtype: str) -> list[str]:
        """The same through the model's own decoder, as for encoder-decoders that are no T5."""
        engine = copy.copy(self.engines[dtype])
        engine._weights = None
        return ours(engine, self.sources, self.batches)


def _timed(device: str, run: Callable[[], list[str]]) -> tuple[float, list[str]]:
    start = clock(device)
    fills = run()
    return clock(device) - start, fills


def _measure(case: _Case, peaks: dict[str, float]) -> None:
    device, rounds = case.options.device, case.options.rounds
    if device == "cuda":
        case.ours(case.theirs)  # kernels are loaded, memory is taken
    times: dict[str, list[float]] = {}
    fills: dict[str, list[str]] = {}
    for _ in range(rounds):
        sides: dict[str, Callable[[], list[str]]] = {
            "authors": case.authors,
            **{dtype: partial(case.ours, dtype) for dtype in case.options.dtypes},
        }
        if case.shape.kind == "t5":
            sides["generic"] = partial(case.generic, case.options.dtypes[0])
        for side, run in sides.items():
            took, fills[side] = _timed(device, run)
            times.setdefault(side, []).append(took)
    median = {side: statistics.median(each) for side, each in times.items()}
    needed = flops_of(case.shape, case.sources, case.beams)
    padded = padded_flops_of(case.shape, case.sources, case.beams)
    theirs, pairs = median["authors"], len(case.sources)
    print(f"\n## {case.name}: {pairs} pairs, {case.tokens} fill tokens, {rounds} round(s)")
    print(f"needed {needed / 1e12:.2f} TFLOP, the authors' way does {padded / 1e12:.2f}")
    done, share = (work / theirs / peaks[case.theirs] for work in (padded, needed))
    print(f"authors {case.theirs}: {theirs:8.2f} s, {pairs / theirs:7.1f} pairs/s, "
          f"{case.tokens / theirs:8.1f} tokens/s, {share:.2f} of peak, "
          f"{done:.2f} with its padding")  # fmt: skip
    expected = fills["authors"]
    if case.beams > 1 and "fp32" in case.options.dtypes:
        expected = case.authors(normalized=True)
    for dtype in case.options.dtypes:
        took = median[dtype]
        same = sum(a == b for a, b in zip(expected, fills[dtype], strict=True))
        limit = theirs * peaks[dtype] / needed
        print(f"ours {dtype}:    {took:8.2f} s, {pairs / took:7.1f} pairs/s, "
              f"{case.tokens / took:8.1f} tokens/s, {needed / took / peaks[dtype]:.2f} of peak, "
              f"{theirs / took:.2f}x (limit {limit:.1f}x), {same} of {pairs} fills identical")  # fmt: skip
    if case.shape.kind == "t5":
        dtype = case.options.dtypes[0]
        same = sum(a == b for a, b in zip(fills[dtype], fills["generic"], strict=True))
        faster = median["generic"] / median[dtype]
        print(f"by the model's own decoder, {dtype}: {median['generic']:8.2f} s; conjoin's decoder is "
              f"{faster:.2f}x as fast, {same} of {pairs} fills identical")  # fmt: skip
        _break_down(case, peaks)


def _break_down(case: _Case, peaks: dict[str, float]) -> None:
    device = case.options.device
    dtype = case.options.dtypes[0]
    with stopwatch(device) as spent:
        case.ours(dtype)
    whole = sum(spent.values())
    parts = sorted(spent.items(), key=lambda part: -part[1])
    shares = ", ".join(f"{name} {seconds / whole:.1%}" for name, seconds in parts)
    print(f"where the time of {dtype} goes ({whole:.2f} s): {shares}")
    if device == "cuda":
        reading = spent["encoder"]
        writing = whole - reading - spent["cross keys and values"]
        work = encoder_flops_of(case.shape, case.sources)
        traffic = traffic_of(case.shape, case.sources, case.beams, case.batches)
        print(f"encoder {work / reading / peaks[dtype]:.2f} of peak FLOP/s, decoder "
              f"{traffic / writing / bandwidth(device):.2f} of memory bandwidth")  # fmt: skip


def main() -> None:
    """Run the benchmark and print its tables."""
    options = _arguments()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    # A CPU without instructions for bf16 takes an hour for a matrix product that nobody asked for.
    dtypes = {*options.dtypes, "bf16" if options.device == "cuda" else "fp32"}
    peaks = {dtype: peak(DTYPES[dtype], options.device) for dtype in sorted(dtypes)}
    found, what = references(options.pairs, options.genia)
    print(f"machine: {platform.processor() or platform.machine()}, {platform.platform()}, "
          f"torch {torch.__version__}, transformers {transformers.__version__}, one thread")  # fmt: skip
    if options.device == "cuda":
        print(f"GPU: {torch.cuda.get_device_name()}, {bandwidth('cuda') / 1e12:.2f} TB/s")
    else:
        print(f"bf16 instructions: {'yes' if _has_bf16() else 'no, so bf16 cannot pay here'}")
    print("matrix product: " + ", ".join(f"{d} {p / 1e9:.0f} GFLOP/s" for d, p in peaks.items()))
    print(f"pairs: {len(found)} of {what}; time is CPU time" if options.device == "cpu" else what)
    for name in options.shapes:
        for mode in options.modes if SHAPES[name].kind == "t5" else [""]:
            _measure(_Case(name, mode, found, options), peaks)


if __name__ == "__main__":
    main()
