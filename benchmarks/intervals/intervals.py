"""Do the 95 % intervals of gains hold the true gain in 95 % of experiments? A simulation that knows it.

Usage: python benchmarks/intervals/intervals.py [--trials 400] [--instances 1300] [--disagree 0.2]

Two systems with a true gain of 2 points are compared on the same instances for some seeds. They differ
on a share of the instances, half of it the same ones for every seed, as harder sentences are hard in
every run; and the gain itself varies from seed to seed with a known standard deviation, as draws of L
do. Printed per number of seeds and per deviation: how many intervals hold the true gain, how many lie
wholly on the wrong side of 0, and how wide they are on average. About eight minutes on one core.
"""

import argparse
from itertools import product

import numpy as np

from pipeline.core.comparison import Correct, compare

GAIN = 0.02
SHARED = 0.5  # of an instance's luck that is the same for all seeds
SEEDS = (1, 2, 3, 5, 10)
DEVIATIONS = (0.0, 0.01, 0.02, 0.05)


def experiment(
    random: np.random.Generator, seeds: int, instances: int, disagree: float, deviation: float
) -> tuple[Correct, Correct]:
    """What two systems got right, seed by seed; their expected difference is ``GAIN``."""
    common = random.random(instances)
    first, second = dict[int, list[bool]](), dict[int, list[bool]]()
    for seed in range(seeds):
        gain = np.clip(GAIN + random.normal(0, deviation), -disagree, disagree)
        luck = np.where(
            random.random(instances) < SHARED, common, random.random(instances)
        )  # uniform, and for half of the instances the same in every seed
        first[seed] = (luck < (disagree + gain) / 2).tolist()
        second[seed] = (luck > 1 - (disagree - gain) / 2).tolist()
    return first, second


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--instances", type=int, default=1300)
    parser.add_argument("--disagree", type=float, default=0.2)
    options = parser.parse_args()
    print("seeds  sd over seeds  holds the gain  wrong side of 0  mean width")
    for seeds, deviation in product(SEEDS, DEVIATIONS):
        random = np.random.default_rng([seeds, round(1000 * deviation)])
        holds = wrong = 0
        widths = []
        for _ in range(options.trials):
            pair = experiment(random, seeds, options.instances, options.disagree, deviation)
            found = compare(*pair, (0,))
            if found is None:
                raise RuntimeError("no common seed")
            holds += found.low <= GAIN <= found.high
            wrong += found.high < 0
            widths.append(found.high - found.low)
        print(
            f"{seeds:5}  {100 * deviation:11.0f} p  {holds / options.trials:14.1%}  "
            f"{wrong / options.trials:15.1%}  {100 * np.mean(widths):8.1f} p",
            flush=True,
        )


if __name__ == "__main__":
    main()
