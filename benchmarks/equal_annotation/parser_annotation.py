"""What annotation beyond L a corpus's parser knows, and with it each row of candidates that it made.

Usage:
    python benchmarks/equal_annotation/parser_annotation.py data/parsers/genia
        [--trees 2500] [--labelled 250] [--seeds 0 1 2]

The parser of `conjoin preparse` that made the candidates of docs/results.md learned from N gold trees, drawn
from the training sentences outside U whatever was in L: some of L's own are among them. The draw is made
again here, so no more is needed than `conjoin ingest` makes.
"""

import argparse
from pathlib import Path
from random import Random

from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.draws import read_draw
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed

MIN_WORDS = 10


def parser_trees(corpus: Path, count: int) -> list[Sentence]:
    """The training sentences whose trees the corpus's parser of seed 0 learned from."""
    train = read_sentences(
        corpus / SENTENCES_FILE, lambda s: s.tree is not None and s.split == "train"
    )
    outside = [sentence for sentence in train if not is_unlabelled_seed(sentence, MIN_WORDS)]
    ordered = sorted(outside, key=lambda sentence: sentence.sentence_id)
    return Random("parser/0").sample(ordered, min(count, len(ordered)))


def instances(sentences: list[Sentence]) -> int:
    """How many coordinations of them the field evaluates."""
    return sum(len(sentence.evaluable) for sentence in sentences)


def main(options: argparse.Namespace) -> None:
    """Print the parser's line, and one for each draw."""
    learned = parser_trees(options.corpus, options.trees)
    ids = {sentence.sentence_id for sentence in learned}
    holding = sum(bool(instances([sentence])) for sentence in learned)
    print(
        f"{options.corpus.name}: of {len(learned):,} trees {holding:,} hold coordination, "
        f"{instances(learned):,} instances"
    )
    for seed in options.seeds:
        drawn, validation = read_draw(options.corpus, seed, options.labelled)
        among, checked = (sum(s.sentence_id in ids for s in part) for part in (drawn, validation))
        print(
            f"seed {seed}: L has {instances(drawn):,} instances; {among} of its {len(drawn)} sentences "
            f"and {checked} of {len(validation)} validation sentences are among these trees"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--trees", type=int, default=2500)
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    main(parser.parse_args())
