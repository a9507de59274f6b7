"""How many harvested boundaries are right, where the treebank knows: of a parser, of predictors, of both.

A: the rows of a harvested folder. B: the first predictor's best boundary at the coordinators of the same
training sentences, without those of L. A and B: rows on which every predictor agrees. Right is a row
whose first and last word are the gold coordination's at that coordinator (the outer boundary); of A also
with all conjuncts, and with these and the label. A coordinator that joins nothing in the treebank makes a
row wrong. With ``--keep`` the counts of all labels are kept, a line a folder, in
benchmarks/outcomes/harvest_precision.jsonl: folders of candidates are not.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from pipeline.core.candidates import candidate_shards
from pipeline.core.console import table
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.schema import read_candidates, read_sentences
from pipeline.core.types import Candidate, Coordination, Sentence
from pipeline.tasks.coordination.model import CoordinationPredictor

Gold = dict[tuple[str, int], Coordination]

KEPT = FOLDER / "harvest_precision.jsonl"

_COUNTS = {
    "A": "rows",
    "A outer": "outer",
    "A exact": "exact",
    "A label": "label",
    "A joined": "joined",
}
"""Counts that are kept, and their names there; joined: the coordinator joins something in the treebank."""


def training_sentences(corpus: Path) -> list[Sentence]:
    """The training sentences of a corpus folder."""
    return list(read_sentences(corpus / SENTENCES_FILE, lambda each: each.split == "train"))


def gold_of(sentences: Iterable[Sentence]) -> Gold:
    """The evaluable coordinations of sentences, by sentence and coordinator."""
    return {
        (sentence.sentence_id, each.coordinator): each
        for sentence in sentences
        for each in sentence.evaluable
    }


def agreeing(rows: Sequence[Candidate], predictors: Sequence[CoordinationPredictor]) -> list[bool]:
    """Whether each row's boundary is every predictor's best."""
    agrees = [True] * len(rows)
    for predictor in predictors:
        for place, found in enumerate(
            predictor.predict([row.words for row in rows], [row.coordinator for row in rows])
        ):
            ends = (rows[place].conjuncts[0].start, rows[place].conjuncts[-1].end)
            agrees[place] &= found is not None and (found.span.start, found.span.end) == ends
    return agrees


def keep(corpus: Path, folder: Path, counts: Counter[str]) -> None:
    """Keep the counts of a folder's rows, in place of those that it had.

    Args:
        corpus: the corpus folder.
        folder: in it.
        counts: of all labels, as ``main`` counts them.
    """
    where = {"corpus": corpus.name, "candidates": folder.relative_to(corpus).as_posix()}
    line = json.dumps(where | {name: counts[of] for of, name in _COUNTS.items()})
    kept = KEPT.read_text("utf-8").splitlines() if KEPT.is_file() else []
    others = [each for each in kept if not where.items() <= json.loads(each).items()]
    KEPT.write_text("\n".join(sorted([*others, line])) + "\n", "utf-8")


def main(arguments: argparse.Namespace) -> None:
    """Print what is right of each, by label."""
    torch.set_num_threads(1)
    sentences = training_sentences(arguments.corpus)
    gold, words = gold_of(sentences), {each.sentence_id: each.words for each in sentences}
    predictors = [CoordinationPredictor.load(each) for each in arguments.predictor]
    rows = [row for shard in candidate_shards(arguments.folder) for row in read_candidates(shard)]
    agrees = agreeing(rows, predictors) if predictors else [False] * len(rows)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, both in zip(rows, agrees, strict=True):
        known = gold.get((row.sentence_id, row.coordinator))
        ends = (row.conjuncts[0].start, row.conjuncts[-1].end)
        outer = known is not None and (known.start, known.end) == ends
        exact = known is not None and known.conjuncts == row.conjuncts
        label = known is not None and exact and known.label == row.label
        for name in (row.label, "all"):
            counts[name].update({"A": 1, "A outer": outer, "A exact": exact, "A label": label})
            counts[name].update(
                {"A joined": known is not None, "AB": both, "AB outer": both and outer}
            )
    if arguments.keep:
        keep(arguments.corpus, arguments.folder, counts["all"])
    asked = {row.sentence_id for row in rows}
    places = [place for place in gold if place[0] in asked]
    if predictors:
        found = predictors[0].predict([words[i] for i, _ in places], [at for _, at in places])
        for place, best in zip(places, found, strict=True):
            known = gold[place]
            right = best is not None and (best.span.start, best.span.end) == (
                known.start,
                known.end,
            )
            for name in (known.label, "all"):
                counts[name].update({"B": 1, "B outer": right})

    def share(of: Counter[str], what: str, among: str) -> str:
        return f"{100 * of[what] / of[among]:.1f} %" if of[among] else "–"

    order = sorted(counts, key=lambda name: (-counts[name]["A"], name))
    table(
        f"{arguments.folder}: {len(places):,} gold coordinations in its sentences",
        ("label", "A", "outer right", "exact", "and label", "B", "outer right", "A and B", "outer right"),
        [
            (name, of["A"], share(of, "A outer", "A"), share(of, "A exact", "A"),
             share(of, "A label", "A"), of["B"], share(of, "B outer", "B"), of["AB"],
             share(of, "AB outer", "AB"))
            for name in order for of in [counts[name]] if of["A"] >= arguments.least
        ],
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="corpus folder of a treebank, e.g. data/genia")
    parser.add_argument("folder", type=Path, help="what `conjoin harvest` wrote")
    parser.add_argument("--predictor", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument(
        "--least", type=int, default=30, help="rows below which a label is not shown"
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the counts in benchmarks/outcomes"
    )
    main(parser.parse_args())
