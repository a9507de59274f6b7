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
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.said import file_of, gain, keep, known, spread
from benchmarks.table_parts import print_table
from pipeline.core.comparison import Counts, documents_of
from pipeline.core.questions import Question
from pipeline.tasks.questions.evaluation import QuestionEvaluation

BASELINE = "baseline"
EVALUATION = QuestionEvaluation()


@dataclass(frozen=True, slots=True)
class Answered:
    """What is kept of the runs on a corpus, beside its questions.

    Attributes:
        split: the questions are of.
        questions: in the corpus's order.
        of: by system and seed what was right, ``[questions, 1, 3]``, as ``core.comparison`` counts it.
        made: by system how many made questions its runs learned from.
    """

    split: str
    questions: Sequence[Question]
    of: Mapping[str, Mapping[int, Counts]]
    made: Mapping[str, Set[int]]

    @classmethod
    def read(cls, corpus: Path) -> Self:
        """The runs of a corpus.

        Raises:
            SystemExit: the corpus has other questions than the file.
        """
        head, runs = known(file_of(corpus))
        questions = EVALUATION.instances(corpus, head["split"], None)
        if EVALUATION.digest(questions) != head["digest"]:
            raise SystemExit(f"{corpus} has other questions than {file_of(corpus)}")
        right = np.array([question.answer for question in questions])
        of: defaultdict[str, dict[int, Counts]] = defaultdict(dict)
        made: defaultdict[str, set[int]] = defaultdict(set)
        for run in runs.values():
            counts = np.ones((len(questions), 1, 3), dtype=np.int64)
            counts[:, 0, 0] = np.array([int(d) if d != "-" else -1 for d in run["said"]]) == right
            of[run["system"]][run["seed"]] = counts
            made[run["system"]].add(run["synthetic"])
        return cls(head["split"], questions, dict(of), dict(made))

    @property
    def places(self) -> dict[str, int]:
        """Places of the questions by their pair of core events, which made ones have each of their own."""
        return {question.events or "": n for n, question in enumerate(self.questions)}

    def shares(self, system: str) -> dict[int, float]:
        """Accuracy of a system by seed; nothing where it has no run."""
        return {seed: float(c[:, 0, 0].mean()) for seed, c in self.of.get(system, {}).items()}


def keep_choices(corpus: Path) -> None:
    """Add the runs that ``conjoin evaluate`` measured; as ``keep``."""
    keep(corpus, EVALUATION, (), lambda choice: str(choice) if choice >= 0 else "-")


def print_tables(corpus: Path) -> None:
    """Accuracy of each system and its gain over the baseline.

    Raises:
        SystemExit: the corpus has other questions than the file.
    """
    found = Answered.read(corpus)
    documents = documents_of(EVALUATION.documents(found.questions))
    rows = []
    for name in sorted(found.of, key=lambda name: (name != BASELINE, name)):
        shares = list(found.shares(name).values())
        made = found.made[name]
        sizes = "–".join(f"{n:,}" for n in sorted({min(made), max(made)}))
        compared = gain(found.of[name], found.of[BASELINE], documents)
        rows.append([name, str(len(shares)), sizes, spread(shares), *compared])
    print(f"{corpus.name}, {found.split}, n = {len(found.questions)}\n")
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
