"""One process with two threads, or two processes with one: which is faster where there are two cores?

Steps of ``road.py`` that can have either, at MiniLM's size, by the clock, so on a machine that does nothing
else. Rates are of what a larger run costs beyond a smaller one, start-up aside.

    python benchmarks/two_cores.py --genia data/raw/genia --minilm data/models/minilm
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.road import Road
from benchmarks.sharing.sharing import measured

SIZES = {"free": (256, 1280), "harvest": (128, 1152), "train": (10, 90)}
UNITS = ("--unit", 64)
"""Small, so that two processes have as much to do as each other."""

WAYS = {"one thread": (1, 1), "two threads": (2, 1), "two processes": (1, 2)}


def seconds(road: Road, command: Sequence[object], threads: int, processes: int) -> float:
    """By the clock, of a command of conjoin."""
    road.clear()
    units = UNITS if "train" not in command else ()
    cores = ("--threads", threads, "--processes", processes, *units)
    with tempfile.NamedTemporaryFile() as log:
        line = [sys.executable, "-m", "pipeline", *map(str, (*command, *cores))]
        return measured(line, Path(log.name))[0]


def main(given: argparse.Namespace) -> None:
    """Print a line for each step and way."""
    road = Road(given)
    road.prepare()
    for name, (fewer, more) in SIZES.items():
        step, rates = road.steps[name], dict[str, float]()
        for way, cores in WAYS.items():
            first, second = (seconds(road, step.command(n), *cores) for n in (fewer, more))
            rates[way] = (more - fewer) / (second - first)
            times = rates[way] / rates["one thread"]
            print(f"{step.what}: {way}: {rates[way]:.3g} a second, {times:.2f} times", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--genia", type=Path, required=True, help="the treebank's folder")
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("data/road"))
    parser.set_defaults(smollm2=None, mixed_precision="no")
    main(parser.parse_args())
