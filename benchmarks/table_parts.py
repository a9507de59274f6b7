"""What the tables of several studies are made of: cells of a corpus's runs, differences, and Markdown."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.outcomes import FOLDER, Outcomes, whole
from pipeline.core.comparison import Difference, compare, mean_sd


class Study:
    """What the runs of a corpus got right on test: those kept in benchmarks/outcomes, if it has any.

    Attributes:
        outcomes: the runs that are kept; None where the corpus's own are read.
    """

    def __init__(self, corpus: Path) -> None:
        self._corpus = corpus
        self._known: dict[tuple[str, str, int], list[bool]] = {}
        kept = FOLDER / f"{corpus.name}.jsonl"
        self.outcomes = Outcomes.read(kept) if kept.is_file() else None

    def right(self, system: str, size: str, seeds: Iterable[int]) -> dict[int, Sequence[bool]]:
        """Per seed whether each instance's outer boundary was found; only seeds that have been run."""
        if self.outcomes:
            runs = self.outcomes.of(system, size, seeds)
            return {seed: self.outcomes.right(run) for seed, run in runs.items()}
        found: dict[int, Sequence[bool]] = {}
        for seed in seeds:
            name = f"{system}-{self._count(size, seed)}-{seed}.parquet"
            path = self._corpus / "evaluation/predictions" / name
            if (key := (system, size, seed)) not in self._known and path.is_file():
                rows = pq.read_table(path, columns=["gold", "predicted"]).to_pylist()
                self._known[key] = [whole(row["gold"], row["predicted"]) for row in rows]
            if key in self._known:
                found[seed] = self._known[key]
        return found

    def _count(self, size: str, seed: int) -> str:
        """The size as predictions are named: the number of sentences."""
        if size != "full":
            return size
        draw = self._corpus / f"draws/seed-{seed}/full.json"
        return str(len(json.loads(draw.read_text())["labelled"]))

    def accuracy(self, system: str, size: str, seeds: Iterable[int]) -> str:
        """Mean ± sd over seeds, in per cent; how many seeds if not all."""
        wanted = list(seeds)
        runs = self.right(system, size, wanted)
        mean, sd = mean_sd([sum(each) / len(each) for each in runs.values()])
        if mean is None:
            return "–"
        spread = "" if sd is None else f" ± {100 * sd:.2f}"
        short = "" if len(runs) == len(wanted) else f" ({len(runs)} of {len(wanted)} seeds)"
        return f"{100 * mean:.2f}{spread}{short}"

    def gain(self, system: str, against: str, size: str, seeds: Iterable[int]) -> str:
        """Mean paired difference with its interval, in points, bold where that leaves 0 out."""
        wanted = list(seeds)
        found = compare(self.right(system, size, wanted), self.right(against, size, wanted), (0,))
        return "–" if found is None else signed(found)

    def accepted(self, system: str, size: str, seeds: Iterable[int]) -> str:
        """The share of examined candidates that were accepted, of all seeds together."""
        cards = (self._corpus / f"runs/{system}/{size}/seed-{seed}/run.json" for seed in seeds)
        runs = [json.loads(card.read_text()) for card in cards if card.is_file()]
        seen = sum(run["seen"] for run in runs)
        return f"{sum(run['accepted'] for run in runs) / seen:.0%}" if seen else "–"


def signed(found: Difference, digits: int = 2) -> str:
    """A difference with its interval, in points, bold where that leaves 0 out."""
    gain = f"{100 * found.gain:+.{digits}f}".replace("-", "−")
    text = f"{gain} {interval(found, digits)}"
    return f"**{text}**" if found.low > 0 or found.high < 0 else text


def interval(found: Difference, digits: int = 2) -> str:
    """The interval of a difference, in points."""
    return f"[{100 * found.low:+.{digits}f}, {100 * found.high:+.{digits}f}]".replace("-", "−")


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of cells as Markdown, all but the first column to the right."""
    print(f"| {' | '.join(head)} |")
    print(f"|---|{'---:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()
