"""The table of runs on questions, from what each model chose of each question, which is kept.

    python benchmarks/questions/questions_tables.py keep data/world-questions  # after `conjoin evaluate`
    python benchmarks/questions/questions_tables.py print data/world-questions

``keep`` adds the runs that `conjoin evaluate` measured to benchmarks/outcomes/CORPUS.jsonl: a digit a
question, of the choice that was taken. ``print`` needs the corpus for the right ones. Gains are over the
baseline, paired, with seeds and whole contexts resampled, and Student's interval over seeds beside it.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.said import file_of, gain, keep, known, spread
from benchmarks.table_parts import print_table
from pipeline.core.comparison import Counts, documents_of
from pipeline.tasks.questions.evaluation import QuestionEvaluation

BASELINE = "baseline"
EVALUATION = QuestionEvaluation()


def keep_choices(corpus: Path) -> None:
    """Keep what each model of the corpus chose, a digit a question."""
    keep(corpus, EVALUATION, (), lambda choice: str(choice) if choice >= 0 else "-")


def print_tables(corpus: Path) -> None:
    """Accuracy of each system and its gain over the baseline.

    Raises:
        SystemExit: the corpus has other questions than the file.
    """
    head, runs = known(file_of(corpus))
    questions = EVALUATION.instances(corpus, head["split"], None)
    if EVALUATION.digest(questions) != head["digest"]:
        raise SystemExit(f"{corpus} has other questions than {file_of(corpus)}")
    right = np.array([question.answer for question in questions])
    documents = documents_of(EVALUATION.documents(questions))
    of: defaultdict[str, dict[int, Counts]] = defaultdict(dict)
    made: defaultdict[str, set[int]] = defaultdict(set)
    for run in runs.values():
        counts = np.ones((len(questions), 1, 3), dtype=np.int64)
        counts[:, 0, 0] = np.array([int(d) if d != "-" else -1 for d in run["said"]]) == right
        of[run["system"]][run["seed"]] = counts
        made[run["system"]].add(run["synthetic"])
    rows = []
    for name in sorted(of, key=lambda name: (name != BASELINE, name)):
        shares = [float(counts[:, 0, 0].mean()) for counts in of[name].values()]
        sizes = "–".join(f"{n:,}" for n in sorted({min(made[name]), max(made[name])}))
        rows.append(
            [
                name,
                str(len(shares)),
                sizes,
                spread(shares),
                *gain(of[name], of[BASELINE], documents),
            ]
        )
    print(f"{corpus.name}, {head['split']}, n = {len(questions)}\n")
    print_table(["", "seeds", "made questions", "accuracy", "gain", "t over seeds"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("keep", "print"))
    parser.add_argument("corpus", type=Path)
    given = parser.parse_args()
    if given.command == "keep":
        keep_choices(given.corpus)
    else:
        print_tables(given.corpus)
