"""The tables of the study of relations, from what each model said of each pair, which is kept.

    python benchmarks/relations/relations_tables.py keep data/study/gdtb-minilm  # after `conjoin evaluate`
    python benchmarks/relations/relations_tables.py print data/study/gdtb-minilm  # data/world-relations alike

``keep`` adds the runs that `conjoin evaluate` measured to benchmarks/outcomes/CORPUS.jsonl: of each run a
letter a pair, in the order of the corpus, so that no word of the treebank is in it. ``print`` needs the
corpus only for its gold senses. Gains are over vanilla, paired, with seeds and whole documents resampled, and
Student's interval over seeds beside it.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.table_parts import interval, print_table, signed
from pipeline.core.comparison import Counts, compare_counts, documents_of, mean_sd, t_interval
from pipeline.core.documents import parse_json, read_json
from pipeline.core.pairs import Pair
from pipeline.tasks.relations.evaluation import RelationEvaluation, macro_f1, micro_f1
from pipeline.tasks.relations.figures import counted, f1

VANILLA = ("vanilla", "baseline")
"""Whose gains are shown: as relations_study.py calls it, or as experiments do."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Of senses, in the order of the head; what is none of them is a dash."""


class _Head(TypedDict):
    """The first line; ``digest`` is that of the pairs."""

    split: str
    digest: str
    senses: list[str]


class _Said(TypedDict):
    """A run's line; ``synthetic`` is the number of pairs besides L's, ``steps`` that of updates."""

    system: str
    seed: int
    steps: int
    synthetic: int
    said: str


def file_of(corpus: Path) -> Path:
    """Where the runs of a corpus are kept."""
    return FOLDER / f"{corpus.name}.jsonl"


def known(path: Path) -> tuple[_Head, dict[tuple[str, int], _Said]]:
    """The head and the runs of a file."""
    first, *rest = path.read_text("utf-8").splitlines()
    runs = [parse_json(line, _Said, path=path, line=n) for n, line in enumerate(rest, 2)]
    return parse_json(first, _Head, path=path, line=1), {(r["system"], r["seed"]): r for r in runs}


def keep(corpus: Path) -> None:
    """Add the runs that ``conjoin evaluate`` measured.

    Raises:
        SystemExit: the file is of other pairs.
    """
    metrics = read_json(corpus / "evaluation/metrics.json")
    evaluation = RelationEvaluation()
    pairs = evaluation.instances(corpus, metrics["split"], None)
    senses = list(evaluation.sizes(pairs))[len(evaluation.columns) :]
    head = _Head(split=metrics["split"], digest=evaluation.digest(pairs), senses=senses)
    path = file_of(corpus)
    kept, runs = known(path) if path.is_file() else (head, {})
    if kept != head:
        raise SystemExit(f"{path}: of other pairs than {corpus}: remove it to begin anew")
    for run in metrics["runs"]:
        name = f"{run['system']}-{run['labelled']}-{run['seed']}.parquet"
        said = pq.read_table(corpus / "evaluation/predictions" / name)["predicted"].to_pylist()
        card = read_json(corpus / f"runs/{run['system']}/{run['draw']}/seed-{run['seed']}/run.json")
        runs[run["system"], run["seed"]] = _Said(
            system=run["system"],
            seed=run["seed"],
            steps=run["steps"],
            synthetic=card["candidates"],
            said="".join(LETTERS[senses.index(s)] if s in senses else "-" for s in said),
        )
    lines = [head, *(run for _, run in sorted(runs.items()))]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    print(f"{path}: {len(runs)} runs")


def said_by(run: _Said, senses: Sequence[str]) -> list[str]:
    """What a run said of each pair."""
    return [senses[LETTERS.index(letter)] if letter != "-" else "" for letter in run["said"]]


def spread(values: Sequence[float]) -> str:
    """Mean ± sd over seeds, in per cent."""
    mean, sd = mean_sd(values)
    return f"{100 * (mean or 0):.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")


def gain(
    of: Mapping[int, Counts], over: Mapping[int, Counts], documents: list[int] | None
) -> list[str]:
    """The gain with its interval, and the interval over seeds; nothing of vanilla itself."""
    found = None if of is over else compare_counts(of, over, (0,), documents)
    if found is None:
        return ["", ""]
    by_t = t_interval(found.by_seed)
    return [signed(found), interval(found._replace(low=by_t[0], high=by_t[1])) if by_t else ""]


def print_tables(corpus: Path) -> None:
    """Micro- and macro-F1 of each system, gains over vanilla, and F1 of each sense.

    Raises:
        SystemExit: the corpus has other pairs than the file.
    """
    head, runs = known(file_of(corpus))
    evaluation = RelationEvaluation()
    pairs: list[Pair] = evaluation.instances(corpus, head["split"], None)
    if evaluation.digest(pairs) != head["digest"]:
        raise SystemExit(f"{corpus} has other pairs than {file_of(corpus)}")
    right = [pair.senses for pair in pairs]
    documents = documents_of(evaluation.documents(pairs))
    of: defaultdict[str, dict[int, Counts]] = defaultdict(dict)
    synthetic: defaultdict[str, list[int]] = defaultdict(list)
    for run in runs.values():
        of[run["system"]][run["seed"]] = counted(
            right, said_by(run, head["senses"]), head["senses"]
        )
        synthetic[run["system"]].append(run["synthetic"])
    vanilla = next(name for name in VANILLA if name in of)
    one = {name: {s: c.sum(1, keepdims=True) for s, c in each.items()} for name, each in of.items()}
    order = sorted(of, key=lambda name: np.mean([macro_f1(c) for c in of[name].values()]))
    made = []
    for name in order:
        counts = list(of[name].values())
        fewest, most = min(synthetic[name]), max(synthetic[name])
        micro, _ = gain(one[name], one[vanilla], documents)
        made.append(
            [
                name, str(len(counts)), "–".join(f"{n:,}" for n in sorted({fewest, most})),
                spread([micro_f1(c) for c in counts]), micro,
                spread([macro_f1(c) for c in counts]), *gain(of[name], of[vanilla], documents),
            ]
        )  # fmt: skip
    columns = ("seeds", "synthetic pairs", "micro-F1", "gain", "macro-F1", "gain", "t over seeds")
    print(f"{corpus.name}, {head['split']}, n = {len(pairs)}\n")
    print_table(["", *columns], made)
    print("F1 by sense\n")
    table = []
    for name in order:
        of_senses = np.array([[v or 0.0 for v in f1(c.sum(0))] for c in of[name].values()])
        table.append([name, *(f"{100 * value:.1f}" for value in of_senses.mean(0))])
    sizes = evaluation.sizes(pairs)
    print_table(["", *(f"{s.rpartition('.')[2]} ({sizes[s]})" for s in head["senses"])], table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("keep", "print"))
    parser.add_argument("corpus", type=Path)
    given = parser.parse_args()
    {"keep": keep, "print": print_tables}[given.command](given.corpus)
