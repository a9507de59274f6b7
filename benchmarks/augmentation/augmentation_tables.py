"""The tables of docs/augmentation.md, from the runs of the experiments augment or augment-genia.

Usage, after `conjoin evaluate DATA`:
    python benchmarks/augmentation/augmentation_tables.py DATA [SEEDS]

DATA is a corpus folder; of GENIA the runs are read that outcomes.py keeps, and it need not be there. SEEDS,
a number: of the runs of seeds 0 up to that, if more were made than the experiment names.
Gains are computed as for the embedded world's tables (table_parts.py): over the baseline, over the copies
of the same recipe, and of what stands on candidates over the recipe alone.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.table_parts import Study, print_table
from pipeline.core.documents import read_json

VARIANTS = {
    "copy": "the same words (`copy`)",
    "mask": "masks, all",
    "mask-no-verbs": "masks, all but verbs",
    "mask-verbs": "masks, verbs",
    "fill-multi-argmax": "fills, multi-argmax",
    "fill-multi-sample": "fills, multi-sample",
    "fill-single-argmax": "fills, single-argmax",
    "fill-single-sample": "fills, single-sample",
    "substitute": "substituted conjuncts",
}


class Timing(TypedDict):
    """timing.json of a run, as far as it is read here."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Grid:
    """What was run on a corpus.

    Attributes:
        size: of L.
        seeds: of the runs.
        baseline: the system without candidates and variants, with as many updates as theirs.
        best: the system of the best candidates' recipe.
        head: what the names of systems with variants beside those candidates begin with.
        recipe: that recipe, in words.
    """

    size: str
    seeds: range
    baseline: str
    best: str
    head: str
    recipe: str


GRIDS = {
    "world": Grid(
        "100", range(5), "baseline", "attested-bert", "attested-", "attested fills ranked by BERT"
    ),
    "genia": Grid(
        "250", range(3), "baseline-short", "both-short", "both-", "the harvest of both parsers"
    ),
}


class Tables:
    """Cells of the tables of a corpus."""

    def __init__(self, corpus: Path, grid: Grid) -> None:
        self._corpus, self._grid = corpus, grid
        self._study = Study(corpus)

    def accuracy(self, system: str) -> str:
        """Mean ± sd over the seeds."""
        return self._study.accuracy(system, self._grid.size, self._grid.seeds)

    def gain(self, system: str, against: str) -> str:
        """Mean paired difference with its interval; nothing of a system over itself."""
        if system == against:
            return ""
        return self._study.gain(system, against, self._grid.size, self._grid.seeds)

    def seconds(self, system: str) -> str:
        """Seconds of a run, the mean over the seeds, by its update."""
        runs, grid = self._corpus / f"runs/{system}/{self._grid.size}", self._grid
        if kept := self._study.outcomes:
            found = kept.of(system, grid.size, grid.seeds).values()
            each = [run["seconds"] / run["steps"] for run in found]
        else:
            each = [
                read_json(timing, Timing)["seconds"]
                / read_json(timing.with_name("run.json"))["steps"]
                for timing in (runs / f"seed-{seed}/timing.json" for seed in grid.seeds)
                if timing.is_file()
            ]
        return f"{sum(each) / len(each):.3f}" if each else "–"

    def print(self, title: str, alone: str, name: str, head: str) -> None:
        """Print the table of a recipe: alone, then with every kind of variants that was run with it.

        Args:
            title: above the table.
            alone: the system without variants.
            name: of that row.
            head: what the names of those with variants begin with.
        """
        print(f"{title}, {self._grid.size} labels, seeds 0 to {self._grid.seeds[-1]}\n")
        over_best = alone == self._grid.best
        columns = ["over `copy`", "over the baseline", *(["over the recipe"] if over_best else [])]
        rows = []
        for system, text in {alone: name, **{head + k: t for k, t in VARIANTS.items()}}.items():
            if (accuracy := self.accuracy(system)) == "–":
                continue
            own = [self.gain(system, alone)] if over_best else []
            gains = [self.gain(system, f"{head}copy"), self.gain(system, self._grid.baseline), *own]
            rows.append([text, accuracy, *gains, self.seconds(system)])
        print_table(["", "accuracy", *columns, "s an update"], rows)

    def print_chosen(self) -> None:
        """Print the table of the variants with the α that dev chose, if they were run."""
        grid, rows = self._grid, []
        for system in ("fill-single-sample", "substitute"):
            alone, beside = f"chosen-{system}", f"chosen-{grid.head}{system}"
            if (accuracy := self.accuracy(alone)) == "–":
                continue
            over = (
                self.gain(beside, each) for each in (grid.best, f"{grid.head}copy", grid.baseline)
            )
            rows.append(
                [VARIANTS[system], accuracy, self.gain(alone, "copy"), self.accuracy(beside), *over]
            )
        if rows:
            print("With the α that dev chose: alone, and beside the best candidates\n")
            recipe = ["over the recipe", "over it with `copy`", "over the baseline"]
            print_table(["", "alone", "over `copy`", "beside", *recipe], rows)


def main(corpus: Path, seeds: int | None) -> None:
    """Print the tables."""
    if corpus.name not in GRIDS:
        sys.exit(f"{corpus}: not of this study, whose corpora are {' and '.join(GRIDS)}")
    grid = GRIDS[corpus.name]
    if seeds:
        grid = replace(grid, seeds=range(seeds))
    tables = Tables(corpus, grid)
    tables.print("Variants of L alone", grid.baseline, "baseline", "")
    tables.print(f"Beside {grid.recipe}", grid.best, grid.recipe, grid.head)
    tables.print("Frozen encoder", "frozen", "frozen encoder", "frozen-")
    tables.print_chosen()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [folder]:
            main(Path(folder), None)
        case [folder, count] if count.isdecimal():
            main(Path(folder), int(count))
        case _:
            sys.exit(__doc__)
