"""Could rejected rows be repaired? How many would be right with the boundary that a predictor finds best.

Of a draw's harvest, the rows that the predictor of L does not believe, at whose coordinator the treebank has
a coordination: right is an outer boundary that is the treebank's. Nothing is trained.

    python benchmarks/pretrained_encoder/repairs.py --corpus data/study/genia-level-2 --seed 0
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.genia.harvest_precision import Gold, gold_of, training_sentences
from benchmarks.pretrained_encoder.controls import rows_of
from pipeline.core.console import table
from pipeline.core.types import Candidate, Span
from pipeline.tasks.coordination.model import CoordinationPredictor


def boundary(row: Candidate) -> Span:
    """The outer boundary of a row."""
    return Span(row.conjuncts[0].start, row.conjuncts[-1].end)


def best_boundaries(rows: Sequence[Candidate], folder: Path) -> list[Span | None]:
    """The outer boundary that a predictor finds best at each row's coordinator."""
    predictor = CoordinationPredictor.load(folder)
    found = predictor.predict([row.words for row in rows], [row.coordinator for row in rows])
    return [own.span if own else None for own in found]


def right(rows: Sequence[Candidate], said: Sequence[Span | None], gold: Gold) -> list[bool]:
    """Whether each boundary that is said is the treebank's."""
    verdicts = []
    for row, own in zip(rows, said, strict=True):
        known = gold[row.sentence_id, row.coordinator]
        if own is not None:
            verdicts.append((own.start, own.end) == (known.start, known.end))
    return verdicts


def main(given: argparse.Namespace) -> None:
    """Print how many are right."""
    torch.set_num_threads(1)
    at = f"{given.labelled}/seed-{given.seed}"
    gold = gold_of(training_sentences(given.corpus))
    harvest, believed = (
        list(rows_of(given.corpus / "candidates" / name / at)) for name in ("harvest", "believed")
    )
    kept = {row.candidate_id for row in believed}
    rejected = [
        row
        for row in harvest
        if row.candidate_id not in kept and (row.sentence_id, row.coordinator) in gold
    ]
    accepted = [row for row in believed if (row.sentence_id, row.coordinator) in gold]
    said = {
        f"best of {name}": best_boundaries(
            rejected, given.corpus / "runs" / name / at / "predictor"
        )
        for name in given.predictors
    }
    one, *others = said.values()
    agreed = [each if all(own[i] == each for own in others) else None for i, each in enumerate(one)]
    judged: dict[str, tuple[Sequence[Candidate], Sequence[Span | None]]] = {
        "believed, as the parser has it": (accepted, [boundary(row) for row in accepted]),
        "rejected, as the parser has it": (rejected, [boundary(row) for row in rejected]),
        **{f"rejected, {name}": (rejected, own) for name, own in said.items()},
        "rejected, where these agree": (rejected, agreed),
    }
    lines = []
    for name, (rows, own) in judged.items():
        verdicts = right(rows, own, gold)
        lines.append([name, f"{len(verdicts):,}", f"{100 * sum(verdicts) / len(verdicts):.1f}"])
    title = f"{given.corpus.name} {at}: rows with a gold coordination"
    table(title, ["boundary", "rows", "right, %"], lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--predictors", nargs="+", default=["predictor", "believed-brackets"])
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
