"""The trainer's speed: the endpoint scorer, one step of Algorithm 1, and where an update's time goes.

Each is measured against its alternative in one run, in alternating rounds; figures are medians of
CPU time with one thread (on a GPU of wall time). Weights are random, sentences are GENIA's where the
treebank is at hand.

    python benchmarks/trainer/trainer.py                            about ten minutes on one core
    python benchmarks/trainer/trainer.py --shape tiny --rounds 3    a quick try: under a minute
    python benchmarks/trainer/trainer.py --device cuda --dtype bf16 --full-run 10000
                                    and a baseline-sized run there, fp32 beside bf16
"""

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.generation.generation_costs import clock, peak
from benchmarks.trainer.trainer_scorer import Side, both_ways, gather_then_mlp, one_by_one
from benchmarks.trainer.trainer_steps import PAPER, SHAPES, WAYS, Bench, Coin, parts
from pipeline.tasks.coordination.scorer import EndpointScorer, Instance

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
GOALS = {30: (6, 3), 60: (16, 5), 120: (28, 8)}
"""Words: how much faster than gather-then-MLP, forward and both ways."""
RATES = (0.3, 0.6, 0.9)
SECTIONS = ("scorer", "step", "update")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="which measurements")
    add("--shape", choices=sorted(SHAPES), default="base", help="of the encoder")
    add("--rounds", type=int, default=7, help="medians are over so many rounds")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--dtype", choices=sorted(DTYPES), default="fp32", help="bf16: autocast, weights in fp32")
    add("--full-run", type=int, default=0, metavar="STEPS",
        help="instead: so many updates on L alone, in fp32 and in bf16")  # fmt: skip
    add("--genia", type=Path, help="the GENIA treebank; ../shared's if it is there")
    return parser.parse_args()


def _precision(options: argparse.Namespace) -> AbstractContextManager[None]:
    dtype = DTYPES[options.dtype]
    # Weights cast once and remembered would outlive their update: this context spans several.
    return torch.autocast(
        options.device, dtype, enabled=dtype != torch.float32, cache_enabled=False
    )


def _rounds(
    options: argparse.Namespace, sides: dict[str, Callable[[], object]], warm: bool = True
) -> dict[str, float]:
    """Median seconds of each side, which take turns; each round begins with another."""
    names = list(sides)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-warm, options.rounds):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            start = clock(options.device)
            sides[name]()
            if turn >= 0:
                times[name].append(clock(options.device) - start)
    return {name: statistics.median(each) for name, each in times.items()}


def _scorer(options: argparse.Namespace, bench: Bench) -> None:
    shape = SHAPES["base"]
    print(f"\n## Endpoint scoring against gather-then-MLP: width {shape.width}, hidden "
          f"{shape.hidden}, 16 instances, dropout 0.5 in training\n")  # fmt: skip
    print("| words | forward, ms: theirs | ours | times | goal | both ways, ms: theirs | ours | times "
          "| goal | both ways without dropout | largest difference |")  # fmt: skip
    print("|---|" + "---:|" * 10)
    for words, goals in GOALS.items():
        instances = [(row, words // 2, words) for row in range(16)]
        _score_row(options, f"{words}, coordinator in the middle", instances, goals)
    drawn = [each.example for each in bench.candidates[:16]]
    instances = [(row, d.coordinators[0], len(d.words)) for row, d in enumerate(drawn)]
    lengths = sum(n for *_, n in instances) / 16
    _score_row(options, f"16 candidates, {lengths:.0f} on average", instances, ("–", "–"))


def _score_row(
    options: argparse.Namespace, name: str, instances: list[Instance], goals: tuple[object, object]
) -> None:
    torch.manual_seed(0)
    shape = SHAPES["base"]
    scorer = EndpointScorer(shape.width, shape.hidden, 0.5).to(options.device)
    h = torch.randn(16, max(n for *_, n in instances), shape.width, device=options.device)
    sides: dict[str, Side] = {
        "gather": gather_then_mlp, "one by one": one_by_one,
        "ours": EndpointScorer.log_probabilities,
    }  # fmt: skip
    with _precision(options):
        scorer.eval()
        with torch.inference_mode():
            found = [side(scorer, h, instances).exp() for side in sides.values()]
            forward = _rounds(options, {
                name: partial(side, scorer, h, instances) for name, side in sides.items()
            })  # fmt: skip
        h.requires_grad_()
        both = {}
        for dropout in (0.5, 0.0):
            scorer.train().dropout = dropout
            both[dropout] = _rounds(options, {
                name: partial(both_ways, side, scorer, h, instances)
                for name, side in sides.items()
            })  # fmt: skip
    apart = float((found[2] - found[0]).abs().max())
    # Theirs is the faster of its two forms: all instances at once, or one by one.
    theirs, ours, times = zip(*map(_against, (forward, both[0.5], both[0.0])), strict=True)
    print(f"| {name} | {theirs[0]:.1f} | {ours[0]:.1f} | **{times[0]:.1f}** | {goals[0]} "
          f"| {theirs[1]:.1f} | {ours[1]:.1f} | **{times[1]:.1f}** | {goals[1]} "
          f"| {theirs[2]:.1f} / {ours[2]:.1f} = {times[2]:.1f} | {apart:.0e} |", flush=True)  # fmt: skip


def _against(found: dict[str, float]) -> tuple[float, float, float]:
    """Milliseconds of theirs and ours, and how many times as fast ours is."""
    theirs = min(found["gather"], found["one by one"])
    return 1e3 * theirs, 1e3 * found["ours"], theirs / found["ours"]


def _step(options: argparse.Namespace, bench: Bench) -> None:
    print(f"\n## One step of Algorithm 1: K = {PAPER.K}, K_max = {PAPER.K_max}, "
          f"N_batch = {PAPER.N_batch}\n")  # fmt: skip
    print("| accepted | examined per step | one at a time, ms | adaptive rounds | all at once "
          "| rounds: times as fast | with the update: times as fast | goal |")  # fmt: skip
    print("|---:|" + "---:|" * 7)
    for rate in RATES:
        spent: dict[str, list[float]] = {name: [] for name in WAYS}
        updates, examined = [], 0
        for turn in range(-1, options.rounds):
            outcomes = []
            for place in range(len(WAYS)):
                name = list(WAYS)[(turn + place) % len(WAYS)]
                bench.forget()
                start = clock(options.device)
                with _precision(options):
                    trials = WAYS[name](bench, Coin(rate, turn), (turn + 1) * PAPER.K_max)
                if turn >= 0:
                    spent[name].append(clock(options.device) - start)
                outcomes.append([(t.drawn.candidate_id, t.accepted) for t in trials])
            assert all(outcome == outcomes[0] for outcome in outcomes)  # noqa: S101
            start = clock(options.device)
            with _precision(options):
                bench.update(bench.batch(turn + 1))
            if turn >= 0:
                updates.append(clock(options.device) - start)
                examined += len(outcomes[0])
        # Steps differ in what they examine, so their sums are compared and not medians.
        ms = {name: 1e3 * sum(each) / options.rounds for name, each in spent.items()}
        single, rounds, whole = *list(ms.values())[:2], 1e3 * sum(updates) / options.rounds
        print(f"| {rate} | {examined / options.rounds:.1f} | {single:.0f} | {rounds:.0f} "
              f"| {ms['all at once']:.0f} | **{single / rounds:.2f}** "
              f"| {(single + whole) / (rounds + whole):.2f} "
              f"| {3 if options.device == 'cuda' else 1.1} |", flush=True)  # fmt: skip
    print("\nAll three examined the same candidates with the same outcome at every step.")


def _update(options: argparse.Namespace, bench: Bench, fastest: float) -> None:
    work = 0.0
    with parts(options.device) as spent, _precision(options):
        for turn in range(options.rounds):
            bench.forget()
            WAYS["adaptive rounds"](bench, Coin(0.6, turn), turn * PAPER.K_max)
            batch = bench.batch(turn)
            bench.update(batch)
            work += bench.flops(batch)
    whole = sum(spent.values())
    update = whole - spent["scoring"]
    print(
        f"\n## Where a step's time goes ({1e3 * whole / options.rounds:.0f} ms, acceptance 0.6)\n"
    )
    print("| part | ms | share |\n|---|---:|---:|")
    for name, seconds in sorted(spent.items(), key=lambda part: -part[1]):
        print(f"| {name} | {1e3 * seconds / options.rounds:.1f} | {seconds / whole:.1%} |")
    print(f"\nThe update does {work / update / 1e9:.0f} GFLOP/s that are not padding, "
          f"{work / update / fastest:.2f} of the peak.")  # fmt: skip


def _full_run(options: argparse.Namespace, bench: Bench, peaks: dict[str, float]) -> None:
    print(f"\n## {options.full_run} updates on L alone, N_batch = {PAPER.N_batch}\n")
    print("| precision | seconds | updates/s | TFLOP/s that are not padding | share of peak |")
    print("|---|---:|---:|---:|---:|")
    for dtype in DTYPES:
        options.dtype = dtype
        with _precision(options):
            for turn in range(3):
                bench.update(bench.batch(turn))
            work, start = 0.0, time.perf_counter()
            for turn in range(options.full_run):
                batch = bench.batch(turn)
                bench.update(batch)
                work += bench.flops(batch)
        took = time.perf_counter() - start
        print(f"| {dtype} | {took:.1f} | {options.full_run / took:.1f} | {work / took / 1e12:.2f} "
              f"| {work / took / peaks[dtype]:.2f} |", flush=True)  # fmt: skip


def main() -> None:
    """Run the benchmark and print its tables."""
    options = _arguments()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    peaks = {name: peak(dtype, options.device) for name, dtype in DTYPES.items()}
    bench = Bench(SHAPES[options.shape], options.device, options.genia)
    print(f"machine: {platform.processor() or platform.machine()}, {platform.platform()}, "
          f"torch {torch.__version__}, transformers {transformers.__version__}, one thread")  # fmt: skip
    if options.device == "cuda":
        print(f"GPU: {torch.cuda.get_device_name()}")
    print("matrix product: " + ", ".join(f"{d} {p / 1e9:.0f} GFLOP/s" for d, p in peaks.items()))
    print(f"sentences: {bench.what}; encoder: {options.shape}, {options.dtype}")
    if options.full_run:
        _full_run(options, bench, peaks)
        return
    if "scorer" in options.only:
        _scorer(options, bench)
    if "step" in options.only:
        _step(options, bench)
    if "update" in options.only:
        _update(options, bench, peaks[options.dtype])


if __name__ == "__main__":
    main()
