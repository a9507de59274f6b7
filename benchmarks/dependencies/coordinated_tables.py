"""The tables of README.md here, from what coordinated_study.py measured.

    python benchmarks/dependencies/coordinated_tables.py keep data/coordinated-half/ud-ewt-250
    python benchmarks/dependencies/coordinated_tables.py print data/coordinated-half/ud-ewt-250 [--split dev]

`keep` writes what was counted to ``benchmarks/outcomes/dependencies-FOLDER.jsonl``, from which `print` takes
a study whose folder is not there. LAS, CLAS and F1 of conjuncts and coordinators (relation and head right),
in per cent, are means over seeds. Beside them stands the paired difference to L alone with its 95 % interval,
for which seeds and sentences are resampled together.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.dependencies.coordinated_study import ALONE, COUNTED, ROWS
from benchmarks.outcomes import FOLDER, packed_counts, unpacked_counts
from benchmarks.parsers.parser_tables import Array, f1, gain
from benchmarks.table_parts import print_table, signed
from pipeline.core.documents import read_json

FIGURES = {
    "LAS": ("las", "words", "words"),
    "CLAS": ("content_right", "content_found", "content"),
    "conj F1": ("conj_right", "conj_found", "conj"),
    "cc F1": ("cc_right", "cc_found", "cc"),
}


def kept_in(work: Path) -> Path:
    """Where the runs of a treebank, a size and a parser are kept, whatever the study."""
    return FOLDER / f"dependencies-{work.name}.jsonl"


class Measured(TypedDict):
    """A file of coordinated_study.py."""

    seed: int
    updates: int
    others: int
    words: int
    copies: int
    counts: list[list[int]]


class Kept(TypedDict):
    """A line of what is kept: ``counts`` are ``[sentences, COUNTED]``."""

    study: str
    row: str
    split: str
    seed: int
    updates: int
    others: int
    counts: str


class Run(NamedTuple):
    """A parser: ``counts`` are ``[sentences, COUNTED]``."""

    others: int
    counts: Array


Runs = dict[tuple[str, int], dict[int, Run]]
"""By what was learned from and the number of updates, and by seed."""


def kept(work: Path) -> Iterator[Kept]:
    """The lines of a study: its own files', or those that are kept."""
    study = "/".join(work.parts[-2:])
    if not work.is_dir():
        lines = map(json.loads, kept_in(work).read_text().splitlines())
        yield from (line for line in lines if line["study"] == study)
        return
    for path in sorted(work.glob("seed-*/*/*-*.json")):
        split, _, updates = path.stem.partition("-")
        if not updates.isdecimal():
            continue
        one: Measured = read_json(path, Measured)
        packed = packed_counts(np.array(one["counts"]))
        yield {"study": study, "row": path.parent.name, "split": split, "seed": one["seed"],
               "updates": one["updates"], "others": one["others"], "counts": packed}  # fmt: skip


def keep(work: Path) -> None:
    """Put a study's runs in place of those that were kept of it."""
    own, path = list(kept(work)), kept_in(work)
    lines = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    every = [*(line for line in lines if line["study"] != own[0]["study"]), *own]
    path.write_text("".join(json.dumps(line) + "\n" for line in every))


def main(work: Path, split: str) -> None:
    """Print a line for each row and number of updates."""
    found: Runs = {}
    for one in kept(work):
        if one["split"] == split:
            run = Run(one["others"], unpacked_counts(one["counts"], -1, len(COUNTED)))
            found.setdefault((one["row"], one["updates"]), {})[one["seed"]] = run
    order = sorted(found, key=lambda key: (ROWS.index(key[0].partition("-")[0]), key))
    alone = max(key for key in order if key[0] == ALONE)
    head = ["learned from", "others", "updates", "seeds"]
    for name in FIGURES:
        head += [name, "difference"]
    print_table(head, [line(found, key, alone) for key in order])


def line(found: Runs, key: tuple[str, int], against: tuple[str, int]) -> list[str]:
    """The cells of a row."""
    own, other = found[key], found[against]
    seeds = sorted(own)
    cells = [
        key[0],
        f"{np.mean([own[s].others for s in seeds]):,.0f}",
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


def counts(runs: dict[int, Run], seeds: list[int], columns: tuple[str, ...]) -> Array:
    """Right, found and wanted: ``[seeds, sentences, 3]``."""
    every = np.stack([runs[seed].counts for seed in seeds])
    return np.stack([every[..., COUNTED.index(name)] for name in columns], -1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("keep", "print"))
    parser.add_argument("work", type=Path, help="data/STUDY/TREEBANK-SIZE")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    given = parser.parse_args()
    if given.command == "keep":
        keep(given.work)
    else:
        main(given.work, given.split)
