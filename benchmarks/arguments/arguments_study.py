"""What do variants gain on Japanese zero anaphora, over copies and over rules? Its runs and its tables.

Every command of conjoin is a unit that is not done again: ``units`` prints them in order, ``run`` does those
that are not done, until its hours are over, evaluates, and keeps what was right in
outcomes/CORPUS-arguments.jsonl, of which ``tables`` prints; ``rules`` reads the corpus. README.md has the
commands. What each unit cost goes to outcomes/arguments_costs.jsonl.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER, kept_lines, packed_counts, unpacked_counts
from benchmarks.table_parts import print_table, signed
from benchmarks.units import Unit, evaluate, print_or_run
from pipeline.core.comparison import Counts, compare_counts, documents_of, mean_sd
from pipeline.core.documents import read_json
from pipeline.core.predicates import DEP, ROLES, ZAR
from pipeline.tasks.arguments.evaluation import ArgumentEvaluation, chosen_in
from pipeline.tasks.arguments.figures import KINDS, counted, f1
from pipeline.tasks.arguments.permutation import p_value
from pipeline.tasks.arguments.predicates import Clause, clauses_of_split
from pipeline.tasks.arguments.rules import by_rules

COSTS = FOLDER / "arguments_costs.jsonl"

SYSTEMS = ("baseline", "copy", "fill-multi-argmax", "mask", "mask-no-verbs", "mask-verbs")
"""Names of params.yaml."""

CONTROLS = ("baseline", "copy")
"""What gains are over: with a frozen encoder without dropout these are one model, up to rounding."""

SIZES = ("500", "2000")

FIGURES = (ZAR, DEP, "ALL")

SHAPE = (-1, len(KINDS), len(ROLES), 3)
"""Of what is counted in each predicate."""


def chain(corpus: Path, seed: int, sizes: Sequence[str], encoder: Path | None) -> Iterator[Unit]:
    """The units of one seed, in order: the smaller draw first."""
    other = () if encoder is None else ("--encoder", str(encoder))
    for size in sizes:
        for system in SYSTEMS:
            command = (
                "train", str(corpus), "--system", system, "--labelled", size, "--seed", str(seed),
                "--params", "params.yaml", "--resume", *other,
            )  # fmt: skip
            yield Unit(f"train {system} {size}/seed-{seed}", command)


def of_figure(counts: Counts, figure: str) -> Counts:
    """Right, said and there of a figure's arguments, ``[predicates, 1, 3]``."""
    own = counts if figure == "ALL" else counts[:, [KINDS.index(figure)]]
    summed: Counts = own.sum((1, 2))[:, None]
    return summed


def in_per_cent(counts: Counts) -> list[str]:
    """F1 of zeros, of dependents and of all."""
    return [f"{100 * (f1(of_figure(counts, figure)) or 0):.1f}" for figure in FIGURES]


def by_the_rules(clauses: Sequence[Clause]) -> Counts:
    """What the rules get right, say, and what is there, of each predicate."""
    return counted([each.predicate for each in clauses], [by_rules(each) for each in clauses])


def print_rules(corpus: Path) -> None:
    """Of each split, and of all there is."""
    splits = {name: clauses_of_split(corpus, name) for name in ("train", "dev", "test")}
    splits["all"] = [clause for own in splits.values() for clause in own]
    rows = [
        [name, f"{len(own):,}", *in_per_cent(by_the_rules(own))] for name, own in splits.items()
    ]
    print_table(["split", "predicates", *FIGURES], rows)


class Head(TypedDict):
    """The first line of what is kept: ``sentences`` has the number of each predicate's, from 0."""

    split: str
    sentences: list[int]
    rules: str


class Run(TypedDict):
    """Every other line; counts are ``[predicates, KINDS, ROLES, 3]``, as ``packed_counts`` has them."""

    system: str
    labelled: int
    seed: int
    counts: str


def kept_in(corpus: Path) -> Path:
    """The file of a corpus."""
    return FOLDER / f"{corpus.name}-arguments.jsonl"


def keep(corpus: Path) -> None:
    """Write what each run of an evaluation chose, and the rules, in counts.

    Draws that were kept before and are not in the evaluation stay. Of one that is, all its runs are replaced,
    since systems are compared that have the same encoder: so it must have every system that was kept of it.

    Raises:
        SystemExit: the predictions are of other predicates than the corpus has, or what is kept is; runs of a
            draw have several encoders; or more systems of it were kept.
    """
    metrics = read_json(corpus / "evaluation/metrics.json")
    evaluation = ArgumentEvaluation()
    clauses = evaluation.instances(corpus, metrics["split"], None)
    if dict(evaluation.sizes(clauses)) != metrics["instances"]:
        raise SystemExit(f"{corpus}: evaluate it again, it has other predicates by now")
    names = evaluation.documents(clauses)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    head: Head = {
        "split": metrics["split"], "sentences": [numbers[name] for name in names],
        "rules": packed_counts(by_the_rules(clauses)),
    }  # fmt: skip
    runs: list[Run] = []
    encoders: dict[tuple[int, int], set[str]] = {}
    for each in metrics["runs"]:
        name = f"{each['system']}-{each['labelled']}-{each['seed']}.parquet"
        rows = pq.read_table(corpus / "evaluation/predictions" / name).to_pylist()
        counts = counted([clause.predicate for clause in clauses], [chosen_in(row) for row in rows])
        runs.append(
            {"system": each["system"], "labelled": int(each["labelled"]), "seed": int(each["seed"]),
             "counts": packed_counts(counts)}
        )  # fmt: skip
        folder = corpus / "runs" / each["system"] / each["draw"] / f"seed-{each['seed']}"
        encoders.setdefault(draw_of(runs[-1]), set()).add(read_json(folder / "run.json")["model"])
    require_one_encoder(corpus, encoders)
    path, again = kept_in(corpus), {draw_of(run) for run in runs}
    if path.exists():
        before, earlier = read_kept(path)
        if before != head:
            raise SystemExit(f"{path}: is of other predicates than {corpus}; remove it first")
        made = {(*draw_of(run), run["system"]) for run in runs}
        lost = [run for run in earlier if draw_of(run) in again]
        lost = [run for run in lost if (*draw_of(run), run["system"]) not in made]
        if lost:
            systems = ", ".join(
                f"{run['system']} {run['labelled']}/seed-{run['seed']}" for run in lost
            )
            raise SystemExit(f"{path}: would lose {systems}; make these first, or remove the file")
        runs = [*(run for run in earlier if draw_of(run) not in again), *runs]
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *runs)))


def require_one_encoder(corpus: Path, encoders: Mapping[tuple[int, int], set[str]]) -> None:
    """Refuse to compare runs whose encoder was made anew between them."""
    for (labelled, seed), several in encoders.items():
        if len(several) > 1:
            raise SystemExit(
                f"{corpus}: runs of {labelled}/seed-{seed} have {len(several)} encoders; remove the older"
            )


def draw_of(run: Run) -> tuple[int, int]:
    """The draw that a run learned from."""
    return run["labelled"], run["seed"]


def read_kept(path: Path) -> tuple[Head, list[Run]]:
    """What is kept of an evaluation, and of its runs.

    Raises:
        SystemExit: nothing is.
    """
    head, *runs = map(json.loads, kept_lines(path))
    return head, runs


def print_tables(corpus: Path) -> None:
    """F1 beside the rules', gains over the controls with intervals, and p of each seed, of what is kept."""
    head, kept = read_kept(kept_in(corpus))
    sentences = documents_of([str(number) for number in head["sentences"]])
    found: dict[tuple[int, str], dict[int, Counts]] = {}
    for run in kept:
        cell = found.setdefault((run["labelled"], run["system"]), {})
        cell[run["seed"]] = unpacked_counts(run["counts"], *SHAPE)
    predicates = len(head["sentences"])
    print(f"{corpus.name}, {head['split']}, {predicates:,} predicates\n")
    rows = [["", "rules", "", *in_per_cent(unpacked_counts(head["rules"], *SHAPE))]]
    for (labelled, system), runs in sorted(found.items()):
        cells = []
        for figure in FIGURES:
            mean, sd = mean_sd([f1(of_figure(each, figure)) for each in runs.values()])
            cells.append(f"{100 * (mean or 0):.1f}" + (f" ± {100 * sd:.1f}" if sd else ""))
        rows.append([f"{labelled:,}", system, str(len(runs)), *cells])
    print_table(["L", "system", "seeds", *FIGURES], rows)
    gains = []
    for against, ((labelled, system), runs) in product(CONTROLS, sorted(found.items())):
        control = found.get((labelled, against))
        if control is None or system in CONTROLS[: CONTROLS.index(against) + 1]:
            continue
        for figure in FIGURES:
            one, two = (
                {seed: of_figure(each, figure) for seed, each in of.items()}
                for of in (runs, control)
            )
            gain = compare_counts(one, two, (0, labelled), sentences)
            if gain is None:
                continue
            groups = list(range(predicates)) if sentences is None else sentences
            ps = [f"{p_value(one[seed], two[seed], groups):.3f}" for seed in gain.seeds]
            gains.append([f"{labelled:,}", system, against, figure, signed(gain), ", ".join(ps)])
    print_table(["L", "system", "over", "of", "gain", "p of each seed"], gains)


def main(given: argparse.Namespace) -> None:
    """Print, or do the units of the seeds, one chain after the other."""
    if given.command == "rules":
        print_rules(given.corpus)
        return
    if given.command == "tables":
        print_tables(given.corpus)
        return
    units = [
        unit
        for seed in given.seeds
        for unit in chain(given.corpus, seed, given.sizes, given.encoder)
    ]
    if print_or_run(units, given, COSTS):
        evaluate(given.corpus, given.split)
        keep(given.corpus)


def _options(line: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run", "rules", "tables"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--encoder", type=Path, help="unset: the corpus's own")
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train mask-no-verbs', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test")
    return parser.parse_args(line)


if __name__ == "__main__":
    main(_options())
