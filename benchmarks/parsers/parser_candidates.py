"""How right are the candidates that parsers learn from in parser_study.py, where the treebank knows?

Usage, after the units of candidates:
    python benchmarks/parsers/parser_candidates.py data/parser-study/genia-250

In per cent by source, means of seeds: candidates whose reference span is a constituent of its label in the
gold tree; those of which every conjunct is, where it was taken from (a language model's words stand in no
tree); and harvested ones whose conjuncts are those of the gold coordination at this coordinator. Before
them, bracket F1 of the trees that the teacher made of U.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.genia.harvest_precision import gold_of, training_sentences
from pipeline.core.candidates import candidate_shards
from pipeline.core.console import table
from pipeline.core.corpus_folder import SENTENCES_FILE, TREES_FOLDER, find_trees
from pipeline.core.schema import read_candidates
from pipeline.core.types import Candidate, Donor, Span
from pipeline.parsing.measures import NOTHING
from pipeline.parsing.training import bracket_counts
from pipeline.text.trees import parse_tree, place_of

HARVEST = "harvest"
Shares = Mapping[str, float]


def main(options: argparse.Namespace) -> None:
    """Print what is right in the candidates of each teacher."""
    by_source = defaultdict[str, list[Shares]](list)
    trees = defaultdict[str, list[float]](list)
    for folder in sorted(options.study.glob("seed-*/taught-by-*/*/")):
        gold = Gold(folder)
        teacher = folder.parent.name.removeprefix("taught-by-")
        trees[teacher].append(gold.f1_of_trees(folder))
        for candidates in sorted((folder / "candidates").iterdir()):
            every = [
                row for shard in candidate_shards(candidates) for row in read_candidates(shard)
            ]
            by_source[f"{candidates.name}, taught by {teacher}"].append(
                gold.shares(candidates.name, every)
            )
    for teacher, f1 in trees.items():
        print(f"trees of U by {teacher}: bracket F1 {100 * fmean(f1):.1f}, {len(f1)} seeds")
    names = list(
        dict.fromkeys(name for seeds in by_source.values() for each in seeds for name in each)
    )
    rows = [[source, len(seeds), *_cells(names, seeds)] for source, seeds in by_source.items()]
    table(f"{options.study.name}, in per cent", ["source", "seeds", *names], rows)


def _cells(names: list[str], seeds: list[Shares]) -> Iterator[str]:
    for name in names:
        some = [each[name] for each in seeds if name in each]
        yield f"{fmean(some):.1f}" if some else ""


class Gold:
    """What the treebank knows of the training sentences of a corpus folder."""

    def __init__(self, corpus: Path) -> None:
        sentences = training_sentences(corpus)
        self._coordinations = gold_of(sentences)
        self._trees = {
            each.sentence_id: parse_tree(each.tree) for each in sentences if each.tree is not None
        }

    def f1_of_trees(self, corpus: Path) -> float:
        """Bracket F1 of the trees of U, of sentences that the treebank has a tree of."""
        rows = find_trees(corpus / TREES_FOLDER, corpus / SENTENCES_FILE)
        counts = (
            bracket_counts([self._trees[sentence.sentence_id]], [parse_tree(tree)])
            for sentence, tree in rows.read(range(len(rows)))
            if sentence.sentence_id in self._trees
        )
        return sum(counts, NOTHING).f1

    def shares(self, source: str, rows: list[Candidate]) -> Shares:
        """What is right of some candidates, in per cent."""
        if source == HARVEST:
            right = fmean(map(self._has_conjuncts, rows))
            return {"candidates": len(rows), "gold conjuncts": 100 * right}
        spans = [self._has(row.sentence_id, row.reference, row.label) for row in rows]
        shares = {"candidates": len(rows), "gold reference": 100 * fmean(spans)}
        if all(row.donor for row in rows):
            both = (
                ok
                and all(
                    self._has(d.sentence_id, Span(d.start, d.end), row.label) for d in _donors(row)
                )
                for row, ok in zip(rows, spans, strict=True)
            )
            shares["all conjuncts are constituents"] = 100 * fmean(both)
        return shares

    def _has_conjuncts(self, row: Candidate) -> bool:
        known = self._coordinations.get((row.sentence_id, row.coordinator))
        return known is not None and known.conjuncts == row.conjuncts

    def _has(self, sentence_id: str, span: Span, label: str) -> bool:
        tree = self._trees.get(sentence_id)
        return tree is not None and place_of(tree, span, label) is not None


def _donors(row: Candidate) -> Iterator[Donor]:
    yield from row.middle_donors or ()
    if row.donor:
        yield row.donor


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="a corpus and size: data/parser-study/genia-250")
    main(parser.parse_args())
