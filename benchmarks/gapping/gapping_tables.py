"""The tables of docs/ellipsis.md, from what gapping_study.py measured.

Usage: python benchmarks/gapping/gapping_tables.py data/gapping-study

LAS and orphans in %, means over seeds, with 95 % intervals of the paired difference to the treebank alone:
seeds and test sentences are resampled together. An orphan counts where word, head and relation are right.
"""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.parsers.parser_tables import f1, gain
from benchmarks.table_parts import print_table, signed
from pipeline.core.documents import read_json
from pipeline.ellipsis.orphans.command import COUNTED


class Measured(TypedDict):
    """A file of gapping_study.py."""

    seed: int
    sentences: int
    words: int
    counts: dict[str, list[list[int]] | None]


class Spent(TypedDict):
    """What a file took to make."""

    cpu_s: float


Runs = Sequence[Measured]
Array = NDArray[np.int64]
"""Right, found and wanted: ``[seeds, sentences, 3]``."""

ALONE, TEST = "treebank", "ewt-test"


def main(work: Path) -> None:
    """Print the tables of both parts."""
    found = measured(work / "ellipsis")
    head = ("trained on", "sentences", "seeds", "dev: P", "R", "F", "gain in F", "train: F", "gain in F",
            "LAS, EWT test", "difference")  # fmt: skip
    print("Orphans of the gapping sentences\n")
    print_table(head, [ellipsis_row(arm, found) for arm in found])
    for folder in sorted(work.glob("samplings-*"), key=lambda each: number_in(each.name)):
        found = measured(folder)
        columns = ("trained on", "sentences", "words", "seeds", "LAS, EWT test", "difference")
        print(f"{number_in(folder.name)} % of the treebank\n")
        print_table(columns, [sampling_row(arm, found) for arm in found])
    spent = [read_json(path, Spent)["cpu_s"] for path in work.rglob("*.cpu.json")]
    print(f"{sum(spent) / 60:.0f} CPU minutes in all")


def number_in(name: str) -> int:
    """The number at the end of a name; -1 without one."""
    digits = re.search(r"\d+$", name)
    return int(digits[0]) if digits else -1


def measured(folder: Path) -> dict[str, list[Measured]]:
    """What was measured of each arm, by its name: the treebank first, then as they grow."""
    found: dict[str, list[Measured]] = {}
    arms = sorted(folder.iterdir(), key=lambda each: (number_in(each.name), each.name != ALONE))
    for arm in sorted(arms, key=lambda each: each.name.startswith("random")):
        every = [read_json(path, Measured) for path in sorted(arm.glob("seed-*/measured.json"))]
        if every:
            found[arm.name] = every
    return found


def ellipsis_row(arm: str, found: Mapping[str, Runs]) -> list[str]:
    """An arm's orphans and LAS."""
    every = found[arm]
    right, predicted, wanted = orphans(every, "gapping-dev").sum((0, 1))
    cells = [arm, mean_of(every, "sentences"), str(len(every))]
    cells += [percent(right / predicted) if predicted else "–", percent(right / wanted)]
    for name in ("gapping-dev", "gapping-train"):
        cells += [
            percent(f1(orphans(every, name).sum(1)).mean()),
            difference(orphans, arm, found, name),
        ]
    return [*cells, percent(f1(las(every, TEST).sum(1)).mean()), difference(las, arm, found, TEST)]


def sampling_row(arm: str, found: Mapping[str, Runs]) -> list[str]:
    """An arm's size and LAS."""
    every = found[arm]
    accuracy = percent(f1(las(every, TEST).sum(1)).mean())
    sizes = mean_of(every, "sentences"), mean_of(every, "words"), str(len(every))
    return [arm, *sizes, accuracy, difference(las, arm, found, TEST)]


def difference(
    kind: Callable[[Runs, str], Array], arm: str, found: Mapping[str, Runs], name: str
) -> str:
    """How much more an arm has than the treebank alone in the seeds that both have, with its interval."""
    alone = {each["seed"]: each for each in found[ALONE]}
    own = [each for each in found[arm] if each["seed"] in alone]
    if arm == ALONE or not own:
        return ""
    return signed(gain(kind(own, name), kind([alone[each["seed"]] for each in own], name)))


def las(every: Runs, name: str) -> Array:
    """Words with the right head and relation, all, and all: their F is LAS."""
    return columns(every, name, "las", "words", "words")


def orphans(every: Runs, name: str) -> Array:
    """Orphans right, found, wanted."""
    return columns(every, name, "found_and_attached", "system_orphans", "gold_orphans")


def columns(every: Runs, name: str, *kinds: str) -> Array:
    """Some of ``COUNTED``."""
    counts = np.array([each["counts"][name] for each in every], np.int64)
    return np.stack([counts[..., COUNTED.index(kind)] for kind in kinds], -1)


def mean_of(every: Runs, what: str) -> str:
    """The mean size over seeds."""
    values = [each["words"] if what == "words" else each["sentences"] for each in every]
    return f"{round(sum(values) / len(values)):,}"


def percent(share: float) -> str:
    """In %, two decimals."""
    return f"{100 * share:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of gapping_study.py: data/gapping-study")
    main(parser.parse_args().folder)
