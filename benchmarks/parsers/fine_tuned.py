"""What does a parser that fine-tunes MiniLM learn of coordination from candidates?

Usage, after `pretrained_study.py run --only 'preparse again'` of the draws, with a masked LM of the same
encoder (benchmarks/pretrained_encoder/README.md):
    python benchmarks/parsers/fine_tuned.py data/study/genia-again --seeds 1 --masked-lm FOLDER

Beside the parser of L's trees, which parsed and harvested, stand two that learned from 1,500 rows more: of
its harvest, sentences that a predictor of L believed whole, as that parser reads them; and attested fills in
its trees of U, drawn at random (of the masked LM nothing but the tokenizer shows). Half of what they see is
L. What they find in the test sentences is kept in outcomes/parsers.jsonl, whose tables
`parser_tables.py --corpus data/study/genia-again` prints.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.parsers.parser_results import ALONE, held_out, keep
from benchmarks.parsers.parser_study import conjoin, cpu_s, found_in, gold_tree, untagged
from benchmarks.pretrained_encoder.pretrained_study import (
    COSTS,
    PARSERS,
    PARSING,
    RETRAINED,
    WHOLE,
    Chain,
)
from pipeline.core.draws import read_draw
from pipeline.core.settings import Precision
from pipeline.parsing.card import corpus_parser, what_it_learned
from pipeline.parsing.encoders import words_encoder
from pipeline.parsing.parser import Parser, load_parser, tags_for
from pipeline.parsing.taught import mixed
from pipeline.parsing.training import MODEL, train_parser

BELIEVED, ATTESTED = "believed harvest", "attested"
L_TREES = PARSERS[2]
PRECISION: Precision = "bf16"
EPOCHS = 5
"""Of a parser that learns again: passes over as many trees of L as of candidates."""

LEARNING = dict(zip(PARSING[::2], PARSING[1::2], strict=True))
"""The options of every parser, by their names."""

MAKING = ("harvest", "train predictor", "select whole")
"""Units of the study that make what the second parser learned from."""


Trained = tuple[Parser, dict[str, int], float, float]
"""A parser, how many trees it learned from, and CPU seconds of its training and of making its candidates."""


def main(options: argparse.Namespace) -> None:
    """Parse the test sentences with all parsers of every draw, and keep what they found."""
    torch.set_num_threads(1)
    corpus, test = options.corpus, held_out(options.corpus)
    made: list[Any] = []
    for seed in options.seeds:
        about: dict[str, Any] = {
            "corpus": corpus.name, "gold": options.labelled, "seed": seed, "teacher": ALONE,
            "equal": False, "settings": {"lm": "minilm", "learns": True}, "wall_s": 0.0,
        }  # fmt: skip
        for arm, (parser, trees, training, making) in parsers_of(options, seed):
            result, spent = {**about, "arm": arm}, {"cpu_s": training, "training_cpu_s": training}
            if making:
                made.append({**result, "cpu_s": making})
            found = found_in(parser.parse([s.words for s in test], tags_for(parser, test)), test)
            made.append({**result, **spent, "trees": trees, **found})
    print(f"{keep(made)} results are kept")


def parsers_of(options: argparse.Namespace, seed: int) -> Iterator[tuple[str, Trained]]:
    """The parsers of a draw, by what they learned from."""
    draw = f"{options.labelled}/seed-{seed}"
    spent = costs_of(options.corpus.name, draw)
    first, again = (options.corpus / "parsers" / name / draw for name in (L_TREES, RETRAINED))
    yield ALONE, (corpus_parser(first), trees_of(first), spent["preparse"], 0.0)
    trained, making = spent[f"preparse {RETRAINED}"], sum(spent[unit] for unit in MAKING)
    yield BELIEVED, (corpus_parser(again), trees_of(again), trained, making)
    if options.masked_lm:
        yield ATTESTED, attested(options, seed)


def costs_of(corpus: str, draw: str) -> Mapping[str, float]:
    """CPU seconds of a draw's units, by their names without the draw; the last where one was done again."""
    lines = map(json.loads, COSTS.read_text("utf-8").splitlines())
    return {
        each["unit"].removesuffix(f" {draw}"): each["cpu_s"]
        for each in lines
        if each["corpus"] == corpus and each["unit"].endswith(f" {draw}")
    }


def trees_of(folder: Path) -> dict[str, int]:
    """How many trees the parser of a folder learned from, and chose its epoch by.

    Raises:
        SystemExit: it was not trained here.
    """
    learned = what_it_learned(folder)
    if learned is None:
        raise SystemExit(f"{folder}: nothing says what this parser learned from")
    return {
        "gold": len(learned["trees"]),
        "dev": len(learned["dev"]),
        "candidates": len(learned.get("taught", ())),
    }


def attested(options: argparse.Namespace, seed: int) -> Trained:
    """The parser that learned from attested fills, too."""
    began, corpus = cpu_s(), options.corpus
    chain = Chain(
        corpus, str(options.labelled), seed, options.encoder, updates=0, precision=PRECISION
    )
    draw, learning = chain.draw, chain.learning
    every, some = (corpus / "candidates" / name / chain.at for name in ("attested", "attested-few"))
    conjoin("preparse", corpus, "--parser", "labelled", *learning, *draw, "--name", L_TREES)
    fills = ("--lm", "bert", "--model", options.masked_lm, "--fills", "attested", "--pool", "1")
    conjoin("generate", corpus, *fills, "--trees", L_TREES, *draw, "--out", every)
    drawn = ("--sample", "random-sentences", "--size", WHOLE, "--seed", seed)
    conjoin("select", every, "--out", some, *drawn)
    lines = corpus / "parsers" / ATTESTED / f"{options.labelled}-{seed}.mrg"
    lines.parent.mkdir(parents=True, exist_ok=True)
    conjoin(
        *("export", some, "--format", "ptb", "--trees-of", "parser", "--trees", L_TREES, *draw),
        *("--own-use", "--overwrite", "--out", lines),
    )
    made = cpu_s()
    labelled, validation = (
        [gold_tree(sentence) for sentence in part if sentence.tree is not None]
        for part in read_draw(corpus, seed, str(options.labelled))
    )
    more = untagged(lines.read_text("utf-8").splitlines())
    folder = lines.with_suffix("")
    train_parser(
        folder, mixed(labelled, more), validation, epochs=EPOCHS, tagged=False, seed=seed,
        hidden=int(LEARNING["--parser-hidden"]), encoder=words_encoder(options.encoder),
        encoder_rate=float(LEARNING["--parser-lm-rate"]), precision=PRECISION,
    )  # fmt: skip
    parser = load_parser(str(folder / MODEL))
    parser.precision = PRECISION
    trees = {"gold": len(labelled), "dev": len(validation), "candidates": len(more)}
    return parser, trees, round(cpu_s() - made, 1), round(made - began, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="its folder: data/study/genia-again")
    parser.add_argument("--labelled", type=int, default=250, help="|L|: a draw's number")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, help="of the draws")
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--masked-lm", type=Path, help="also attested fills, in its words")
    main(parser.parse_args())
