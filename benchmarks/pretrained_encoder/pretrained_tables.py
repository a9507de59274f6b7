"""The tables of the study with a pretrained encoder, from outcomes that are kept.

Usage: python benchmarks/pretrained_encoder/pretrained_tables.py data/study/genia-minilm data/study/gum-minilm

One table for each corpus, size of L and annotation. Gains are over the row without candidates of the highest
mean of that table, of those that have most seeds, which is chosen by looking at it: candidates are held
against the best there is. Intervals
as in equal_annotation.py: seeds and instances resampled, seeds and documents, and Student's over seeds. With
``--over SYSTEM`` they are over that row instead, whatever was annotated for it; ``--over NAME/SYSTEM`` takes
it from another folder's outcomes of the same test split. ``--seeds`` leaves other draws out. With ``--parts``
instead: each system's accuracy by label, and how often one of two systems is right.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.equal_annotation.equal_annotation import Correct, accuracy, gains
from benchmarks.outcomes import FOLDER, Outcome, Outcomes
from benchmarks.parsers.parser_results import evaluable, held_out
from benchmarks.table_parts import print_table

UNKNOWN = "not known"
HEAD = ("seeds", "accuracy", "gain", "documents and seeds", "t over seeds")


def groups(outcomes: Outcomes) -> Mapping[tuple[str, str], Mapping[str, Sequence[Outcome]]]:
    """The runs of each size and annotation, by system."""
    found: defaultdict[tuple[str, str], dict[str, list[Outcome]]] = defaultdict(dict)
    for run in outcomes.runs.values():
        where = found[run["size"], run.get("annotated", UNKNOWN)]
        where.setdefault(run["system"], []).append(run)
    return found


def rows(
    systems: Mapping[str, Sequence[Outcome]], right: Mapping[str, Correct], documents: Sequence[str]
) -> tuple[str, list[list[str]]]:
    """The best system without candidates, among those of most seeds, and the rows of a table, by their means.

    Args:
        systems: their runs.
        right: what each got right, by seed.
        documents: of each instance.
    """
    means = {
        name: fmean(sum(each) / len(each) for each in correct.values())
        for name, correct in right.items()
    }
    alone = {
        name
        for name, runs in systems.items()
        if not any(run.get("has_candidates", True) for run in runs)
    }
    best = max(alone, key=lambda name: (len(right[name]), means[name]), default="")
    made = []
    for name in sorted(systems, key=lambda each: means[each]):
        gain = [""] * 3 if name in alone or not best else gains(right[name], right[best], documents)
        made.append([name, str(len(right[name])), accuracy(right[name]), *gain])
    return best, made


def print_parts(outcomes: Outcomes, size: str) -> None:
    """What systems of one size of L know: accuracy by label, and what two of them find together."""
    found = {
        name: {run["seed"]: run for run in runs} for name, runs in by_system(outcomes, size).items()
    }
    labels = list(outcomes.instances)

    def share(right: Sequence[Sequence[bool]]) -> str:
        return f"{100 * fmean(fmean(each) for each in right):.1f}"

    heads = [f"{label} ({outcomes.instances[label]})" for label in labels]
    made = [
        [name, *(share([outcomes.right(run, label) for run in runs.values()]) for label in labels)]
        for name, runs in sorted(found.items())
    ]
    print_table(["", *heads], made)
    plain = sorted(name for name in found if "+" not in name)
    pairs = []
    for one, other in combinations(plain, 2):
        both = sorted(found[one].keys() & found[other].keys())
        either = []
        for seed in both:
            rights = (outcomes.right(found[system][seed]) for system in (one, other))
            either.append([any(pair) for pair in zip(*rights, strict=True)])
        if both:
            pairs.append([one, other, str(len(both)), share(either)])
    print_table(["one of the two is right", "", "seeds", "share"], pairs)


def of_systems(
    systems: Mapping[str, Sequence[Outcome]], outcomes: Outcomes, labels: Sequence[str]
) -> dict[str, Correct]:
    """What each system got right, by seed, in the order of the corpus's instances."""
    return {
        name: {run["seed"]: outcomes.by_instance(run, labels) for run in runs}
        for name, runs in systems.items()
    }


def print_gains(corpus: Path, outcomes: Outcomes, over: str) -> None:
    """The gains of every row over one, of the same folder or of another that has the same test split.

    Raises:
        SystemExit: there is no such row.
    """
    folder, _, system = over.rpartition("/")
    documents, labels = instances(corpus)
    others = Outcomes.read(FOLDER / f"{folder}.jsonl") if folder else outcomes
    for size in sorted({run["size"] for run in outcomes.runs.values()}):
        systems = by_system(outcomes, size)
        right = of_systems(systems, outcomes, labels)
        against = of_systems(by_system(others, size), others, labels).get(system)
        if against is None:
            raise SystemExit(f"{over}: nothing of such a row of |L| = {size} is kept in outcomes")
        print(f"{corpus.name}, |L| = {size}; gains over {over}, of the seeds that both have\n")
        print_table(
            ["", "annotated", "accuracy", *HEAD[2:]],
            [
                [
                    name,
                    systems[name][0].get("annotated", UNKNOWN),
                    accuracy(each),
                    *gains(each, against, documents),
                ]
                for name, each in sorted(right.items())
                if folder or name != system
            ],
        )


def by_system(outcomes: Outcomes, size: str) -> dict[str, list[Outcome]]:
    """The runs of a size of L, by system."""
    found: defaultdict[str, list[Outcome]] = defaultdict(list)
    for run in outcomes.runs.values():
        if run["size"] == size:
            found[run["system"]].append(run)
    return found


def instances(corpus: Path) -> tuple[list[str], list[str]]:
    """The document of each instance of test, and its label."""
    found = [(s.doc_id, each.label) for s in held_out(corpus) for each in evaluable(s)]
    return [document for document, _ in found], [label for _, label in found]


def main(corpora: Sequence[Path], over: str | None, seeds: Sequence[int], *, parts: bool) -> None:
    """Print the tables of every corpus."""
    for corpus in corpora:
        outcomes = Outcomes.read(FOLDER / f"{corpus.name}.jsonl")
        if seeds:
            wanted = {key: run for key, run in outcomes.runs.items() if run["seed"] in seeds}
            outcomes = replace(outcomes, runs=wanted)
        if parts:
            for size in sorted({run["size"] for run in outcomes.runs.values()}):
                print(f"{corpus.name}, |L| = {size}: accuracy by label (instances)\n")
                print_parts(outcomes, size)
            continue
        if over is not None:
            print_gains(corpus, outcomes, over)
            continue
        documents, labels = instances(corpus)
        for (size, annotated), systems in sorted(groups(outcomes).items()):
            if annotated == UNKNOWN:
                print(f"{corpus.name}: of {len(systems)} systems nothing says what was annotated\n")
                continue
            best, made = rows(systems, of_systems(systems, outcomes, labels), documents)
            said = f"gains over {best}" if best else "nothing without candidates to compare with"
            print(f"{corpus.name}, |L| = {size}, annotated: {annotated}; {said}\n")
            print_table(["", *HEAD], made)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path, help="corpus folders, as data/study/NAME")
    parser.add_argument("--over", metavar="[NAME/]SYSTEM", help="the row that gains are over")
    parser.add_argument("--seeds", type=int, nargs="+", default=[], help="of these draws alone")
    parser.add_argument("--parts", action="store_true", help="accuracy by label")
    given = parser.parse_args()
    main(given.corpora, given.over, given.seeds, parts=given.parts)
