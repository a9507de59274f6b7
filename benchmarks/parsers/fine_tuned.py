"""Does a parser that fine-tunes MiniLM learn coordination from harvested sentences that a predictor believes?

Usage, after `benchmarks/pretrained_encoder/pretrained_study.py run --only 'preparse again'` of the draws:
    python benchmarks/parsers/fine_tuned.py data/study/genia-again --seeds 1

Parses the test sentences with the parser of L's trees, which harvested, and with the one that learned from L
and from 1,500 sentences as the first reads them, and keeps what they found in outcomes/parsers.jsonl. Its
tables: `parser_tables.py --corpus data/study/genia-again`.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.parsers.parser_results import ALONE, held_out, keep, structure_row
from benchmarks.pretrained_encoder.pretrained_study import COSTS, PARSERS, RETRAINED
from pipeline.core.types import Sentence
from pipeline.parsing.card import corpus_parser, what_it_learned
from pipeline.parsing.measures import read_coordinations
from pipeline.parsing.parser import tags_for
from pipeline.parsing.training import bracket_counts
from pipeline.text.trees import parse_tree

BELIEVED = "believed harvest"
ARMS = {ALONE: PARSERS[2], BELIEVED: RETRAINED}
"""What a parser learned from beside L, and the name that it has in the corpus."""

TRAINED = {ALONE: "preparse", BELIEVED: f"preparse {RETRAINED}"}
"""The unit of the study that trains it."""

MAKING = ("harvest", "train predictor", "select whole")
"""Those that make what the second learns from."""


def main(options: argparse.Namespace) -> None:
    """Parse the test sentences with both parsers of every draw, and keep what they found."""
    test = held_out(options.corpus)
    made: list[Any] = []
    for seed in options.seeds:
        draw = f"{options.labelled}/seed-{seed}"
        spent = costs_of(options.corpus.name, draw)
        about: dict[str, Any] = {
            "corpus": options.corpus.name, "gold": options.labelled, "seed": seed, "teacher": ALONE,
            "equal": False, "settings": {"lm": "minilm", "learns": True}, "wall_s": 0.0,
        }  # fmt: skip
        for arm, name in ARMS.items():
            trained = spent.get(TRAINED[arm], 0.0)
            parser = options.corpus / "parsers" / name / draw
            found = found_by(parser, test)
            made.append({**about, "arm": arm, "cpu_s": trained, "training_cpu_s": trained, **found})
        making = sum(spent.get(unit, 0.0) for unit in MAKING)
        made.append({**about, "arm": BELIEVED, "cpu_s": making})
    print(f"{keep(made)} results are kept")


def costs_of(corpus: str, draw: str) -> Mapping[str, float]:
    """CPU seconds of a draw's units, by their names without the draw; the last where one was done again."""
    lines = map(json.loads, COSTS.read_text("utf-8").splitlines())
    return {
        each["unit"].removesuffix(f" {draw}"): each["cpu_s"]
        for each in lines
        if each["corpus"] == corpus and each["unit"].endswith(f" {draw}")
    }


def found_by(folder: Path, test: Sequence[Sentence]) -> dict[str, Any]:
    """What the parser of a folder finds in the test sentences, as a result says it.

    Raises:
        InputError: there is no parser.
        SystemExit: it was not trained here.
    """
    parser, began = corpus_parser(folder), time.process_time()
    trees = parser.parse([s.words for s in test], tags_for(parser, test))
    learned = what_it_learned(folder)
    if learned is None:
        raise SystemExit(f"{folder}: nothing says what this parser learned from")
    return {
        "trees": {
            "gold": len(learned["trees"]),
            "dev": len(learned["dev"]),
            "candidates": len(learned.get("taught", ())),
        },
        "parsing_cpu_s": round(time.process_time() - began, 1),
        "brackets": [
            [counts.right, counts.found, counts.wanted]
            for s, tree in zip(test, trees, strict=True)
            for counts in [bracket_counts([parse_tree(s.tree or "")], [tree])]
        ],
        "found": [[structure_row(c) for c in read_coordinations(tree)] for tree in trees],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="its folder: data/study/genia-again")
    parser.add_argument("--labelled", type=int, default=250, help="|L|: a draw's number")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="of the draws")
    main(parser.parse_args())
