"""The tables of README.md here, from what coordinated_study.py measured.

Usage: python benchmarks/dependencies/coordinated_tables.py data/coordinated-study/ud-ewt-250 [--split dev]

LAS, CLAS and F1 of conjuncts and coordinators (relation and head right) in %, means over seeds, and the
paired difference to L alone with its 95 % interval: seeds and sentences are resampled together.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.dependencies.coordinated_study import ALONE, COUNTED, ROWS
from benchmarks.parsers.parser_tables import Array, f1, gain
from benchmarks.table_parts import print_table, signed
from pipeline.core.documents import read_json

FIGURES = {
    "LAS": ("las", "words", "words"),
    "CLAS": ("content_right", "content_found", "content"),
    "conj F1": ("conj_right", "conj_found", "conj"),
    "cc F1": ("cc_right", "cc_found", "cc"),
}


class Measured(TypedDict):
    """A file of coordinated_study.py."""

    seed: int
    updates: int
    others: int
    words: int
    copies: int
    counts: list[list[int]]


def main(work: Path, split: str) -> None:
    """Print a line for each row and number of updates."""
    found: dict[tuple[str, int], dict[int, Measured]] = {}
    for path in sorted(work.glob(f"seed-*/*/{split}-*.json")):
        if path.name.endswith(".cpu.json"):
            continue
        one: Measured = read_json(path, Measured)
        found.setdefault((path.parent.name, one["updates"]), {})[one["seed"]] = one
    order = sorted(found, key=lambda key: (ROWS.index(key[0].partition("-")[0]), key))
    alone = max(key for key in order if key[0] == ALONE)
    head = ["learned from", "others", "updates", "seeds"]
    for name in FIGURES:
        head += [name, "difference"]
    print_table(head, [line(found, key, alone) for key in order])


def line(
    found: dict[tuple[str, int], dict[int, Measured]],
    key: tuple[str, int],
    against: tuple[str, int],
) -> list[str]:
    """The cells of a row."""
    own, other = found[key], found[against]
    seeds = sorted(own)
    cells = [
        key[0],
        f"{np.mean([own[s]['others'] for s in seeds]):,.0f}",
        str(key[1]),
        str(len(seeds)),
    ]
    both = [seed for seed in seeds if seed in other]
    for columns in FIGURES.values():
        cells.append(f"{100 * f1(counts(own, seeds, columns).sum(1)).mean():.2f}")
        is_other = key != against and both
        cells.append(
            signed(gain(counts(own, both, columns), counts(other, both, columns)))
            if is_other
            else ""
        )
    return cells


def counts(runs: dict[int, Measured], seeds: list[int], columns: tuple[str, ...]) -> Array:
    """Right, found and wanted: ``[seeds, sentences, 3]``."""
    every = np.array([runs[seed]["counts"] for seed in seeds], np.int64)
    return np.stack([every[..., COUNTED.index(name)] for name in columns], -1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    given = parser.parse_args()
    main(given.work, given.split)
