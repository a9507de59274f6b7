"""The tables of docs/results.md on parsers, from the results of parser_study.py.

Usage: python benchmarks/parsers/parser_tables.py --corpus data/parsers/genia data/parsers/gum

The results are those that parser_results.py keeps, and outcomes.py for predictors of the same draws; of a
corpus no more is needed than `conjoin ingest` makes.

F1 with 95 % intervals of the paired difference to ``gold``, of a second round to its first: seeds and test
sentences are resampled together, as for accuracies (core/comparison.py). ``by a tree's rule`` is what
reading the gold trees finds.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER, Outcomes
from benchmarks.parsers.parser_results import (
    ALONE,
    TREEBANK,
    TREES,
    Result,
    evaluable,
    held_out,
    read_kept,
    structures,
)
from benchmarks.table_parts import print_table, signed
from pipeline.core.comparison import Difference, compare, resamples
from pipeline.core.types import Coordination, Sentence
from pipeline.parsing.measures import (
    CONJUNCTS,
    OUTER,
    Counts,
    Key,
    coordination_counts,
    read_coordinations,
)
from pipeline.parsing.training import BATCH, training_tree
from pipeline.text.trees import parse_tree

Array = NDArray[np.int64]
"""Right, found and wanted: ``[seeds, sentences, 3]``."""

LABELS = ("NP", "VP", "PP", "S", "ADJP")
ORDER = (ALONE, "attested", "unranked", "free", "harvest")
CEILING = "by a tree's rule"
COMBINED = "the parser's, else the predictor's"
PREDICTORS = ("baseline", "harvest-labelled")
"""Systems of benchmarks/outcomes that parsers are set beside: of L alone, and of L's own harvest."""


def array(counts: Sequence[Sequence[Counts]]) -> Array:
    """Counts by seed and sentence."""
    return np.array([[(c.right, c.found, c.wanted) for c in row] for row in counts], dtype=np.int64)


def f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 along the last axis; 0 where there is nothing."""
    among = counts[..., 1] + counts[..., 2]
    found: NDArray[np.float64] = 2 * counts[..., 0] / np.maximum(among, 1)
    return found


def gain(first: Array, second: Array, seed: tuple[int, ...] = (0,)) -> Difference:
    """How much higher the mean F1 over seeds is, with its 95 % interval.

    Seeds and sentences are resampled together and alike for both; F1 is that of each seed's counts.
    """
    seeds, sentences = first.shape[:2]
    by_seed = f1(first.sum(1)) - f1(second.sum(1))
    drawn = []
    for of_seeds, of_sentences in resamples(seed, seeds, sentences):
        one, other = (f1(np.einsum("bn,snc->bsc", of_sentences, side)) for side in (first, second))
        drawn.append(((one - other) * of_seeds).sum(1) / of_seeds.sum(1))
    low, high = np.quantile(np.concatenate(drawn), [0.025, 0.975])
    return Difference(
        tuple(range(seeds)),  # by place
        float(by_seed.mean()),
        float(low),
        float(high),
        tuple(map(float, by_seed)),
    )


class Table:
    """What the arms of a corpus and size found in its test sentences."""

    def __init__(self, test: Sequence[Sentence], results: Sequence[Result]) -> None:
        self._words = [sentence.words for sentence in test]
        self._gold = [evaluable(sentence) for sentence in test]
        # Without tags, as parsers' trees are read.
        bare = (training_tree(parse_tree(s.tree or ""), s.words, None) for s in test)
        self._rule = [read_coordinations(parse_tree(each)) for each in bare]
        self.arms: defaultdict[str, dict[int, Result]] = defaultdict(dict)
        self._made: dict[tuple[str, str, int], float] = {}
        for each in sorted(results, key=_place):
            if "found" in each:
                name = each["arm"] + ", as many" * each["equal"] + taught_by(each["teacher"])
                self.arms[name][each["seed"]] = each
            else:
                self._made[each["arm"], each["teacher"], each["seed"]] = each["cpu_s"]
        settings = {
            json.dumps(each["settings"]) for arm in self.arms.values() for each in arm.values()
        }
        if len(settings) > 1:
            raise SystemExit(f"results of several settings do not compare: {', '.join(settings)}")

    def making_cpu_s(self, result: Result) -> float:
        """Processor time of parsing U and making what an arm learned from, without training the teacher."""
        arm, teacher, seed = result["arm"], result["teacher"], result["seed"]
        if arm == ALONE:
            return 0.0
        return sum(self._made.get((each, teacher, seed), 0.0) for each in (TREES, *arm.split("+")))

    def bases_of(self, arm: str) -> list[str]:
        """What an arm is held against, of those that have its seeds: L alone, and an arm's first round.

        The first round comes first for the second, which is to show what the loop gains.
        """
        teacher = next(iter(self.arms[arm].values()))["teacher"]
        round_one = arm.removesuffix(taught_by(teacher))
        bases = [ALONE, round_one] if teacher in (ALONE, TREEBANK) else [round_one, ALONE]
        return [
            base
            for base in dict.fromkeys(bases)
            if base != arm and self.arms[arm].keys() <= self.arms.get(base, {}).keys()
        ]

    def brackets(self, arm: str, seeds: Sequence[int]) -> Array:
        """The constituents that an arm found."""
        return np.array(
            [self.arms[arm][seed].get("brackets", []) for seed in seeds], dtype=np.int64
        )

    def coordinations(
        self,
        arm: str,
        seeds: Sequence[int],
        measure: str,
        among: Key | None = None,
        group: object = None,
    ) -> Array:
        """The coordinations that an arm found, or that gold trees show (``CEILING``)."""
        return array(
            [
                [
                    coordination_counts(gold, found, measure, among, group)
                    for gold, found in zip(self._gold, self._found(arm, seed), strict=True)
                ]
                for seed in seeds
            ]
        )

    def _found(self, arm: str, seed: int) -> list[Sequence[Coordination]]:
        if arm == CEILING:
            return list(self._rule)
        every = self.arms[arm][seed].get("found", [])
        return [structures(rows, words) for rows, words in zip(every, self._words, strict=True)]

    @property
    def labels(self) -> list[str]:
        """Of the gold coordinations, in order."""
        return [each.label for gold in self._gold for each in gold]

    def beside_predictor(
        self, arm: str, predicted: Mapping[int, Sequence[bool]]
    ) -> dict[str, dict[int, list[bool]]]:
        """By system and seed, for each gold coordinator, whether its outer boundary was found.

        Args:
            arm: whose parsers.
            predicted: the same of a predictor, by seed.
        """
        by_system: defaultdict[str, dict[int, list[bool]]] = defaultdict(dict)
        for seed in sorted(self.arms[arm].keys() & predicted.keys()):
            rights = iter(predicted[seed])
            for gold, found in zip(self._gold, self._found(arm, seed), strict=True):
                for name, right in verdicts(gold, found, rights):
                    by_system[name].setdefault(seed, []).append(right)
        return by_system


def verdicts(
    gold: Sequence[Coordination], found: Sequence[Coordination], predicted: Iterator[bool]
) -> Iterator[tuple[str, bool]]:
    """For each gold coordinator, which system has its outer boundary.

    The combination takes the parser's where it finds a coordination at this coordinator, else the
    predictor's.
    """
    at = {each.coordinator: (each.start, each.end) for each in found}
    for each, predictor in zip(gold, predicted, strict=False):
        parser = at.get(each.coordinator) == (each.start, each.end)
        yield "parser", parser
        yield "predictor", predictor
        yield "either (oracle)", parser or predictor
        yield COMBINED, parser if each.coordinator in at else predictor


def _place(of: Result) -> tuple[object, ...]:
    """Where a result stands in a table: rounds one after another, equal arms first, L alone before them."""
    arm = of["arm"]
    return (
        *(of["teacher"] != ALONE, of["teacher"], arm != ALONE, not of["equal"]),
        *(ORDER.index(arm) if arm in ORDER else len(ORDER), arm, of["seed"]),
    )


def taught_by(teacher: str) -> str:
    """What an arm's name says of its teacher."""
    return "" if teacher == ALONE else f", taught by {teacher}"


def seen(result: Result) -> float:
    """How many candidates an arm saw: half of the trees of its updates are candidates, none twice.

    Where a parser has epochs instead of updates (fine_tuned.py), it has seen all.
    """
    every = result.get("trees", {})["candidates"]
    updates: int | None = result["settings"].get("updates")
    return every if updates is None else min(updates * BATCH // 2, every)


def _percent(of: Array) -> str:
    return f"{100 * float(f1(of.sum(1)).mean()):.1f}"


def _mean_sd(of: Array) -> str:
    each = 100 * f1(of.sum(1))
    return f"{each.mean():.1f}" + (f" ± {each.std(ddof=1):.1f}" if len(each) > 1 else "")


def _size(each: Coordination) -> str:
    return "2" if len(each.conjuncts) == 2 else "3 or more"


GROUPS: dict[str, Key] = dict.fromkeys(("2", "3 or more"), _size) | dict.fromkeys(
    LABELS, lambda c: c.label
)
"""Coordinations of which F1 is given separately: by number of conjuncts, and by label."""


def print_tables(title: str, table: Table) -> None:
    """All tables of a corpus and size."""
    print(f"### {title}\n")
    rows, gains = [], []
    for arm, by_seed in table.arms.items():
        seeds = tuple(sorted(by_seed))
        own = _all_counts(table, arm, seeds)
        signed_gains = []
        for base in table.bases_of(arm):
            pairs = zip(own, _all_counts(table, base, seeds), strict=True)
            signed_gains.append([signed(gain(*pair), 1) for pair in pairs])
            gains.append([arm, base, *signed_gains[-1]])
        more = signed_gains[0] if signed_gains else ["", ""]
        brackets, exact, outer, *groups = own
        rows.append(
            [
                *(arm, ", ".join(map(str, seeds)), _mean(by_seed, seen)),
                *(_mean_sd(brackets), more[0], _mean_sd(exact), more[1], _mean_sd(outer)),
                *map(_percent, groups),
                *(_mean(by_seed, of) for of in (table.making_cpu_s, _training_cpu_s)),
            ]
        )
    best, best_outer, *best_groups = map(_percent, _counts_of_coordinations(table, CEILING, [0]))
    rows.append([CEILING, "", "", "", "", best, "", best_outer, *best_groups, "", ""])
    scores = ("bracket F1", "coordination F1", "outer boundary F1")
    spent = ("making, CPU s", "training, CPU s")
    about = ("trained on", "seeds", "candidates seen")
    print_table([*about, scores[0], "gain", scores[1], "gain", scores[2], *GROUPS, *spent], rows)
    print_table(["gain in", "over", *scores, *GROUPS], gains)


@cache  # every arm is held against the same one
def _all_counts(table: Table, arm: str, seeds: tuple[int, ...]) -> list[Array]:
    """Constituents that an arm found, and coordinations in all ways in which they are counted."""
    return [table.brackets(arm, seeds), *_counts_of_coordinations(table, arm, seeds)]


def _counts_of_coordinations(table: Table, arm: str, seeds: Sequence[int]) -> Iterator[Array]:
    """Coordinations with all conjuncts, outer boundaries, and the first by group."""
    for measure in (CONJUNCTS, OUTER):
        yield table.coordinations(arm, seeds, measure)
    for group, key in GROUPS.items():
        yield table.coordinations(arm, seeds, CONJUNCTS, key, group)


def _training_cpu_s(result: Result) -> float:
    return result.get("training_cpu_s", 0.0)


def _mean(by_seed: Mapping[int, Result], of: Callable[[Result], float]) -> str:
    return f"{np.mean([of(each) for each in by_seed.values()]):,.0f}"


def _print_predictors(table: Table, outcomes: Outcomes, size: str) -> None:
    rows = []
    for system in PREDICTORS:
        for arm, by_seed in table.arms.items():
            runs = outcomes.of(system, size, by_seed)
            by_system = table.beside_predictor(
                arm, {s: outcomes.by_instance(run, table.labels) for s, run in runs.items()}
            )
            if not by_system:
                continue
            means = [f"{100 * np.mean([*rights.values()]):.1f}" for rights in by_system.values()]
            more = (
                compare(by_system[COMBINED], by_system[each], (0,))
                for each in ("parser", "predictor")
            )
            rows.append([system, arm, *means, *(signed(each, 1) if each else "" for each in more)])
    if not rows:
        print(f"No predictor of {size} sentences is kept in {FOLDER.name}.\n")
    else:
        names = ("parser", "predictor", "either (oracle)", COMBINED)
        gains = ("gain over the parser", "and over the predictor")
        print_table(["outer boundary by coordinator: predictor", "arm", *names, *gains], rows)
        print(
            "A predictor of L (baseline) knows boundaries alone: gains over it are across annotation.\n"
        )


def main(options: argparse.Namespace) -> None:
    """Print the tables of every corpus and size."""
    results = read_kept()
    for corpus in options.corpus:
        test = held_out(corpus)
        own = [each for each in results if each["corpus"] == corpus.name]
        for gold in sorted({each["gold"] for each in own}):
            some = [each for each in own if each["gold"] == gold]
            table = Table(test, some)
            print_tables(f"{corpus.name}, {gold} gold trees", table)
            kept = FOLDER / f"{corpus.name}.jsonl"
            outcomes = Outcomes.read(kept) if kept.is_file() else Outcomes("test", {})
            _print_predictors(table, outcomes, str(gold))
    names = {corpus.name for corpus in options.corpus}
    hours = sum(each["cpu_s"] for each in results if each["corpus"] in names) / 3600
    print(f"CPU of these parsers: {hours:.1f} h")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="corpus folders")
    main(parser.parse_args())
