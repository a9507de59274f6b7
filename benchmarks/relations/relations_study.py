"""What do pairs of confused relations gain, by whom they are written, filtered or not? The queue of its runs.

Every command of conjoin is a unit that is not done again: `units` prints them in order, `run` does those that
are not done, until its hours are over, and evaluates; README.md here has the commands. What each cost goes to
outcomes/relations_costs.jsonl.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.units import Unit, evaluate, print_or_run

COSTS = FOLDER / "relations_costs.jsonl"

LABELLED = "full"

TRAINING = (
    "--learning-rate", "5e-4", "--encoder-rate", "0.1", "--warm-up", "0.1", "--warm-steps", "0",
    "--eval-every", "50", "--patience", "100000",
)  # fmt: skip
"""Of every model, as the prototype had it; the draw's validation pairs choose the weights, by macro-F1."""

BATCH, SYNTHETIC = 16, 8
"""Labelled pairs of a batch, with synthetic ones beside them or not."""

SIZES, WEIGHTS = (1, 3, 5), ("0.25", "0.5", "1")
"""k and λ to choose among, on dev."""


def chain(corpus: Path, seed: int, given: argparse.Namespace) -> Iterator[Unit]:
    """The units of one draw of L, in order.

    Args:
        corpus: the corpus folder, ingested with this draw.
        seed: of the draw and of everything else.
        given: the options of the command.
    """
    where, runs, candidates = str(corpus), corpus / "runs", corpus / "candidates"
    at = f"{LABELLED}/seed-{seed}"
    draw = ("--labelled", LABELLED, "--seed", str(seed))
    shared = ("--encoder", str(given.encoder), "--steps", str(given.updates), *TRAINING, "--resume")

    def train(system: str, mode: str, *more: str, needs: tuple[str, ...] = ()) -> Unit:
        command = ("train", where, "--system", system, "--mode", mode, *draw, *shared, *more)
        return Unit(f"train {system} {at}", command, needs)

    def learn(system: str, folder: str, weight: str) -> Unit:
        sizes = ("--n-batch", str(BATCH + SYNTHETIC), "--k", str(SYNTHETIC))
        source = ("--candidates", str(candidates / folder / at), "--weight", weight)
        return train(system, "no-filter", *sizes, *source, needs=(f"synthesize {folder} {at}",))

    def synthesize(folder: str, k: int, *more: str) -> Unit:
        out = ("--out", str(candidates / folder / at), "--seed", str(seed))
        command = (
            "synthesize",
            where,
            "--run",
            str(runs / "vanilla" / at),
            "--k",
            str(k),
            *more,
            *out,
        )
        return Unit(f"synthesize {folder} {at}", command, (f"train vanilla {at}",))

    yield train("vanilla", "baseline", "--n-batch", str(BATCH))
    if given.choose:
        for k in SIZES:
            yield synthesize(f"filtered-{k}", k)
            for weight in WEIGHTS:
                yield learn(f"filtered-{k}-{weight}", f"filtered-{k}", weight)
        return
    k, weight = given.k, given.weight
    yield train("logit-adjusted", "baseline", "--n-batch", str(BATCH), "--logit-adjustment", "1")
    written = {
        "unfiltered": ("--filter", "none"),
        "filtered": (),
        "random": ("--confused", "random"),
    }
    for name, more in written.items():
        yield synthesize(name, k, *more)
        yield learn(name, name, weight)
    if given.lm is None:
        return
    few = () if given.sources is None else ("--limit", str(given.sources))
    tokens = ("--tokens", "256", "--neighbours", str(given.encoder), *few)
    local = ("--writer", "local", "--model", str(given.lm), "--dtype", given.lm_dtype)
    yield synthesize("lm-filtered", k, *local, *tokens)
    yield learn("lm-filtered", "lm-filtered", weight)
    # The model wrote all of it already.
    replay = ("--writer", "replay", "--replay", str(candidates / "lm-filtered" / at), *tokens)
    unfiltered = synthesize("lm-unfiltered", k, *replay, "--filter", "none")
    yield unfiltered._replace(needs=(*unfiltered.needs, f"synthesize lm-filtered {at}"))
    yield learn("lm-unfiltered", "lm-unfiltered", weight)


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    units = [unit for seed in given.seeds for unit in chain(given.corpus, seed, given)]
    if print_or_run(units, given, COSTS):
        evaluate(given.corpus, given.split)


def _options(line: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=700)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--weight", default="0.25")
    parser.add_argument(
        "--choose", action="store_true", help="k and λ, by attested pairs that are filtered"
    )
    parser.add_argument("--lm", type=Path, help="a causal LM that writes, too")
    parser.add_argument("--lm-dtype", default="bfloat16", help="its weights' number format")
    parser.add_argument("--sources", type=int, help="pairs of L at most that it writes for")
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train filtered', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test", help="dev for the choice of settings")
    return parser.parse_args(line)


if __name__ == "__main__":
    main(_options())
