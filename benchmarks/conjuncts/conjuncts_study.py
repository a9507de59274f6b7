"""Do predictors find all conjuncts, and do candidates of three and more help them? The queue of its runs.

The chain of `pretrained_study.py` as far as it is needed: a parser of L's trees, the predictor of L, that of
the believed harvest, and, with ``--masked-lm``, those of attested fills of two conjuncts and of as many as L
has. What is done there already is not done again in the same corpus folder. `conjuncts_tables.py` prints the
tables.

    python benchmarks/conjuncts/conjuncts_study.py run --corpus data/study/genia-minilm --seeds 0
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.pretrained_encoder.pretrained_study import PARSERS, RATE, Chain
from benchmarks.units import Unit, evaluate, print_or_run

COSTS = FOLDER / "conjuncts_costs.jsonl"

ARITIES = {"pairs": "two", "lists": "like-L"}
"""By the name of a system, how many conjuncts its attested fills have."""


class ConjunctsChain(Chain):
    """The units of one draw."""

    def units(self) -> Iterator[Unit]:
        """All of them, in order."""
        yield from self.parsers()
        yield self.train("predictor", "baseline")
        harvest = ("--trees", PARSERS[self.level], *self.draw, "--out", self.candidates("harvest"))
        yield self.unit("harvest", "harvest", str(self.corpus), *harvest, needs=("preparse",))
        needs = ("harvest", "train predictor")
        yield self.select("believed", "harvest", more=self.believed, needs=needs)
        yield self.learn("believed", "believed", "select believed")
        if self.masked_lm is None:
            return
        for name, arity in ARITIES.items():
            yield self.generate(name, "--fills", "attested", "--pool", "1", "--arity", arity)
            yield self.learn(name, name, f"generate {name}")


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    chains = (
        ConjunctsChain(
            given.corpus, given.labelled, seed, given.encoder, given.updates,
            masked_lm=given.masked_lm, rate=given.rate,
        )
        for seed in given.seeds
    )  # fmt: skip
    if print_or_run([unit for each in chains for unit in each.units()], given, COSTS):
        evaluate(given.corpus, given.split, "--parser", PARSERS[2])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--masked-lm", type=Path, help="for attested fills, which need one")
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--rate", default=RATE, help="of learning; a small encoder wants more")
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train believed', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
