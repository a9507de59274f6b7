"""The tables of the study of relations, from what each model said of each pair, which is kept.

    python benchmarks/relations/relations_tables.py keep data/gdtb  # after `conjoin repro relations`
    python benchmarks/relations/relations_tables.py print data/gdtb  # data/world-relations alike

``keep`` adds the runs that `conjoin evaluate` measured to benchmarks/outcomes/CORPUS.jsonl: of each run a
letter a pair, in the order of the corpus, so that no word of the treebank is in it. ``print`` needs the
corpus only for its gold senses. Gains are over vanilla, paired, with seeds and whole documents resampled, and
Student's interval over seeds beside it.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.said import Said, file_of, gain, keep, known, spread
from benchmarks.table_parts import print_table
from pipeline.core.comparison import Counts, documents_of
from pipeline.core.documents import read_json
from pipeline.core.pairs import Pair
from pipeline.tasks.relations.evaluation import RelationEvaluation, macro_f1, micro_f1
from pipeline.tasks.relations.figures import counted, f1

VANILLA = ("vanilla", "baseline")
"""Whose gains are shown: as relations_study.py calls it, or as experiments do."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Of senses, in the order of the head; what is none of them is a dash."""


def said_by(run: Said, senses: Sequence[str]) -> list[str]:
    """What a run said of each pair."""
    return [senses[LETTERS.index(letter)] if letter != "-" else "" for letter in run["said"]]


def keep_senses(corpus: Path) -> None:
    """Add the runs that ``conjoin evaluate`` measured; as ``keep``."""
    evaluation = RelationEvaluation()
    split = read_json(corpus / "evaluation/metrics.json")["split"]
    sizes = evaluation.sizes(evaluation.instances(corpus, split, None))
    senses = list(sizes)[len(evaluation.columns) :]
    keep(corpus, evaluation, senses, lambda s: LETTERS[senses.index(s)] if s in senses else "-")


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
    {"keep": keep_senses, "print": print_tables}[given.command](given.corpus)
