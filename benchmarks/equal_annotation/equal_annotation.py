"""What candidates gain at equal annotation: the first tables of docs/results.md, from outcomes that are kept.

Usage: python benchmarks/equal_annotation/equal_annotation.py --corpus data/parsers/genia data/parsers/gum

A predictor of L's boundaries and one whose candidates a parser of L's trees made are not of equal annotation:
who has L's trees can use that parser itself, and the predictor where it finds nothing. So gains of candidates
are over the best that needs none. Runs are those that outcomes.py and parser_results.py keep, of the same
draws; of a corpus no more is needed than `conjoin ingest` makes, for its test sentences and their documents.

Outer boundary by coordinator, in %, mean ± sd over seeds. Each paired difference has three 95 % intervals:
with seeds and instances resampled, as everywhere (core/comparison.py); with seeds and whole documents
resampled, since instances of a document resemble each other; and Student's t over seeds, with the test set
as it is.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER, Outcomes
from benchmarks.parsers.parser_results import ALONE, evaluable, held_out, read_kept
from benchmarks.parsers.parser_tables import COMBINED, Table
from benchmarks.table_parts import interval, print_table, signed
from pipeline.core.comparison import compare, t_interval

SEEDS = (0, 1, 2)
GOLD = 250

Correct = Mapping[int, Sequence[bool]]
"""By seed, for each test instance in one fixed order, whether its outer boundary was found."""


class Row(NamedTuple):
    """A system.

    Attributes:
        name: as the table has it.
        annotation: of L, that anything of it learned from or chose by.
        parser: the arm of parser_study.py whose parser finds boundaries; None for none.
        predictor: whose boundaries are taken, where a parser, if any, finds none; None for none.
        candidates: whether anything of it learned from candidates.
    """

    name: str
    annotation: str
    parser: str | None
    predictor: str | None
    candidates: bool = True


BOUNDARIES, TREES = "boundaries", "trees"
FILLS, OWN, OWN_LONG = "attested, as many", "harvest-labelled", "harvest-labelled-long"
ROWS = (
    Row("predictor", BOUNDARIES, None, "baseline", False),
    Row("predictor, 4,000 updates", BOUNDARIES, None, "baseline-long", False),
    Row("parser", TREES, ALONE, None, False),
    BEST := Row("parser, else predictor", TREES, ALONE, "baseline", False),
    BEST_LONG := Row("the same, 4,000 updates", TREES, ALONE, "baseline-long", False),
    Row("predictor of the harvest", TREES, None, OWN),
    Row("predictor of the harvest, 4,000 updates", TREES, None, OWN_LONG),
    Row("parser, else predictor of the harvest", TREES, ALONE, OWN),
    Row("the same, 4,000 updates", TREES, ALONE, OWN_LONG),
    Row("parser of attested fills", TREES, FILLS, None),
    Row("parser of attested fills, else predictor", TREES, FILLS, "baseline"),
    Row("parser of attested fills, else predictor of the harvest", TREES, FILLS, OWN),
    Row("the same, 4,000 updates", TREES, FILLS, OWN_LONG),
    Row("predictor of its own boundaries in the harvest, δ = 0.7", TREES, None, "self-trained"),
)


class Systems:
    """What the systems of a corpus got right on test."""

    def __init__(self, table: Table, outcomes: Outcomes) -> None:
        self._table, self._outcomes = table, outcomes

    def right(self, row: Row) -> Correct:
        """By seed whether each instance's outer boundary was found; only seeds that are kept."""
        parser, predictor = row.parser, row.predictor
        labels = self._table.labels
        kept = {} if predictor is None else self._outcomes.of(predictor, str(GOLD), SEEDS)
        runs: Correct = {s: self._outcomes.by_instance(run, labels) for s, run in kept.items()}
        if parser is None:
            return runs
        if predictor is None:
            runs = {seed: [False] * len(labels) for seed in SEEDS}
        if parser not in self._table.arms:
            return {}
        by_system = self._table.beside_predictor(parser, runs)
        return by_system.get("parser" if predictor is None else COMBINED, {})


def accuracy(right: Correct) -> str:
    """Mean and sample standard deviation over seeds, in %."""
    shares = [100 * sum(each) / len(each) for each in right.values()]
    spread = f" ± {stdev(shares):.2f}" if len(shares) > 1 else ""
    return f"{fmean(shares):.2f}{spread}"


def gains(right: Correct, against: Correct, documents: Sequence[str]) -> list[str]:
    """The gain with its interval, and the interval in the two other ways.

    Args:
        right: what a system got right.
        against: what the other did.
        documents: of each instance.
    """
    _, numbers = np.unique(np.array(documents), return_inverse=True)
    gain = compare(right, against, (0,))
    clustered = compare(right, against, (0,), numbers.tolist())
    if gain is None or clustered is None:
        return ["", "", ""]
    bounds = t_interval(gain.by_seed)
    student = interval(gain._replace(low=bounds[0], high=bounds[1])) if bounds else "–"
    return [signed(gain), interval(clustered), student]


def lines(systems: Systems, documents: Sequence[str], best: Row) -> list[list[str]]:
    """The rows of which runs are kept: name, annotation, accuracy, gain with three intervals.

    Args:
        systems: of the corpus.
        documents: of each instance.
        best: what gains of candidates are over.
    """
    found = []
    against = systems.right(best)
    for row in ROWS:
        if right := systems.right(row):
            gain = gains(right, against, documents) if row.candidates else [""] * 3
            found.append([row.name, f"{row.annotation} of {GOLD}", accuracy(right), *gain])
    return found


def main(options: argparse.Namespace) -> None:
    """Print the tables of every corpus."""
    results = [each for each in read_kept() if each["gold"] == GOLD]
    for corpus in options.corpus:
        test = held_out(corpus)
        table = Table(test, [each for each in results if each["corpus"] == corpus.name])
        systems = Systems(table, Outcomes.read(FOLDER / f"{corpus.name}.jsonl"))
        documents = [sentence.doc_id for sentence in test for _ in evaluable(sentence)]
        counts = f"{len(documents):,} instances of {len(set(documents))} documents, seeds 0 to 2"
        for best in (BEST, BEST_LONG):
            if not systems.right(best):
                continue
            of = "" if best is BEST else " of 4,000 updates"
            print(f"{corpus.name}, {counts}; gains over parser, else predictor{of}\n")
            head = ("accuracy", "gain", "documents and seeds", "t over seeds")
            print_table(["", "annotated", *head], lines(systems, documents, best))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="corpus folders")
    main(parser.parse_args())
