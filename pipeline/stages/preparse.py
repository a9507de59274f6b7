"""Stage ``preparse``: constituency trees of the unlabelled sentences U (§3.3 of the paper)."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import torch

from pipeline.ground import console
from pipeline.ground.coordination import Sentence, is_unlabelled_seed
from pipeline.ground.errors import InputError, ModelError
from pipeline.ground.files import write_json
from pipeline.ground.schema import TREES, read_sentences, write_rows
from pipeline.ground.tally import Tally
from pipeline.ground.trees import Tree, leaves, one_line, parse_tree
from pipeline.mechanisms.parser import CARD, Parser, load_parser
from pipeline.mechanisms.parser_training import MODEL, bracket_f1, train_parser, training_tree
from pipeline.settings.preparse import Preparse

__all__ = ["run"]

_DEV = 300  # development trees that F1 is measured on, at most


def run(settings: Preparse) -> None:
    """Write ``trees.parquet``, ``preparse.json`` and ``parser/`` into the corpus folder.

    Raises:
        InputError: the corpus has no unlabelled sentences, or no trees to learn from.
        ModelError: the parser cannot be loaded or parses nothing.
    """
    torch.set_num_threads(settings.threads)
    source = settings.corpus / "sentences.parquet"
    seeds = read_sentences(source, lambda s: is_unlabelled_seed(s, settings.min_words))
    unlabelled = list(islice(seeds, settings.limit))
    if not unlabelled:
        raise InputError(
            f"no training sentence without coordination has {settings.min_words} words or more",
            path=source,
            remedy="lower --min-words or ingest more text",
        )
    tally = Tally()
    summary: dict[str, Any] | None = None
    if settings.parser == "treebank":
        _write_card(settings.corpus, source="treebank", wrapper=None)
        rows = _treebank_rows(unlabelled, tally)
    else:
        if settings.parser == "train":
            parser, summary = _train(settings, source)
        else:
            parser = load_parser(settings.parser)
            _write_card(settings.corpus, source=settings.parser, wrapper=None)
        rows = _parsed_rows(settings, parser, unlabelled, tally)
    if not rows:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in tally.rows()[1:])
        raise ModelError(f"not one sentence could be parsed ({reasons})", path=source)
    write_rows(settings.corpus / "trees.parquet", TREES, rows)
    report = {
        "parser": rows[0]["parser"],
        "unlabelled": tally.to_dict(),
        "training": summary,
        "min_words": settings.min_words,
    }
    write_json(settings.corpus / "preparse.json", report)
    console.table("Trees of the unlabelled sentences", ("outcome", "sentences"), tally.rows())
    if summary:
        console.say(
            f"parser: {summary['trees']} trees, best of {summary['epochs']} epochs "
            f"{summary['best_epoch']}, F1 {summary['f1']:.4f} on {summary['dev_trees']} other trees"
        )


def _write_card(corpus: Path, **card: Any) -> None:
    write_json(corpus / "parser" / CARD, card)


def _treebank_rows(sentences: Sequence[Sentence], tally: Tally) -> list[dict[str, str]]:
    rows = []
    for sentence in sentences:
        if sentence.tree is None:
            tally.refuse("no tree in the treebank")
        elif leaves(parse_tree(sentence.tree)) != list(sentence.words):
            tally.refuse("leaves differ from words")
        else:
            tally.keep()
            rows.append(_row(sentence, "treebank", sentence.tree))
    return rows


def _parsed_rows(
    settings: Preparse, parser: Parser, sentences: Sequence[Sentence], tally: Tally
) -> list[dict[str, str]]:
    rows = []
    with console.Meter("parse", len(sentences)) as meter:
        for start in range(0, len(sentences), settings.batch_size):
            batch = sentences[start : start + settings.batch_size]
            outcomes = parser.outcomes([s.words for s in batch], _tags(parser, batch))
            for sentence, parsed in zip(batch, outcomes, strict=True):
                if parsed.tree is None:
                    tally.refuse(parsed.reason or "no tree found")
                else:
                    tally.keep()
                    rows.append(_row(sentence, parser.name, one_line(parsed.tree)))
            meter.advance(len(batch))
    return rows


def _row(sentence: Sentence, parser: str, tree: str) -> dict[str, str]:
    return {"sentence_id": sentence.sentence_id, "parser": parser, "tree": tree}


def _tags(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[str, ...]] | None:
    if not parser.needs_tags:
        return None
    for sentence in sentences:
        if sentence.tags is None:
            raise InputError(
                "no part-of-speech tags",
                sentence_id=sentence.sentence_id,
                remedy="use a parser that needs none (--tags none)",
            )
    return [sentence.tags or () for sentence in sentences]


def _examples(settings: Preparse, source: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Training trees outside U, so that the trees of U are predictions; and trees to score on."""
    train = [
        sentence
        for sentence in read_sentences(source, lambda s: s.tree is not None and s.split == "train")
        if not is_unlabelled_seed(sentence, settings.min_words)
    ]
    dev = list(read_sentences(source, lambda s: s.tree is not None and s.split == "dev"))
    if len(train) < 2:
        raise InputError(
            "no training trees outside the unlabelled sentences to learn from",
            path=source,
            remedy="name a stanza package with --parser, e.g. ptb3-revised_charlm",
        )
    train = _draw(train, settings.parser_trees + (0 if dev else _DEV), f"parser/{settings.seed}")
    if not dev:
        cut = min(_DEV, max(1, len(train) // 10))
        return train[cut:][: settings.parser_trees], train[:cut]
    return train, _draw(dev, _DEV, f"parser-dev/{settings.seed}")


def _draw(sentences: list[Sentence], count: int, seed: str) -> list[Sentence]:
    ordered = sorted(sentences, key=lambda s: s.sentence_id)
    return Random(seed).sample(ordered, min(count, len(ordered)))


def _train(settings: Preparse, source: Path) -> tuple[Parser, dict[str, Any]]:
    train, dev = _examples(settings, source)
    folder, tagged = settings.corpus / "parser", settings.tags == "treebank"
    best = train_parser(
        folder,
        [_training_tree(s, tagged) for s in train],
        [_training_tree(s, tagged) for s in dev],
        epochs=settings.parser_epochs,
        hidden=settings.parser_hidden,
        tagged=tagged,
        seed=settings.seed,
    )
    roots = {parse_tree(s.tree or "").label() for s in train}
    wrapper = roots.pop() if len(roots) == 1 and roots <= {"S1", "ROOT", "TOP"} else None
    _write_card(settings.corpus, source=MODEL, wrapper=wrapper)
    parser = load_parser(str(folder / MODEL))
    guess: list[Tree | None] = []
    for start in range(0, len(dev), settings.batch_size):
        batch = dev[start : start + settings.batch_size]
        guess += parser.parse([s.words for s in batch], _tags(parser, batch))
    return parser, {
        "trees": len(train),
        "dev_trees": len(dev),
        "f1": round(bracket_f1([parse_tree(s.tree or "") for s in dev], guess), 4),
        "epochs": settings.parser_epochs,
        "best_epoch": best,
        "hidden": settings.parser_hidden,
        "tags": settings.tags,
        "seed": settings.seed,
    }


def _training_tree(sentence: Sentence, tagged: bool) -> str:
    tree = parse_tree(sentence.tree or "")
    if tagged and sentence.tags is None:
        raise InputError(
            "no part-of-speech tags", sentence_id=sentence.sentence_id, remedy="use --tags none"
        )
    try:
        return training_tree(tree, sentence.words, sentence.tags if tagged else None)
    except ValueError as error:
        raise InputError(
            f"tree and words differ: {error}", sentence_id=sentence.sentence_id
        ) from error
