"""Stage ``preparse``: constituency trees of the unlabelled sentences U (§3.3 of the paper)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import stanza
import torch
from accelerate import PartialState

from pipeline.ground import console
from pipeline.ground.closure import code_digest
from pipeline.ground.coordination import Sentence, is_unlabelled_seed
from pipeline.ground.errors import InputError, ModelError
from pipeline.ground.files import folder_lock, sha256_of, write_json
from pipeline.ground.schema import TREES, UNPARSED, read_sentences
from pipeline.ground.tally import Tally
from pipeline.ground.trees import leaves, one_line, parse_tree
from pipeline.mechanisms import workers
from pipeline.mechanisms.corpus_parser import TREEBANK, corpus_parser, ensure_parser, tags_for
from pipeline.mechanisms.parser import Parser
from pipeline.settings.preparse import Preparse

__all__ = ["parse_unit", "run"]


def run(settings: Preparse) -> None:
    """Write ``trees/``, ``preparse.json`` and ``parser/`` into the corpus folder.

    Raises:
        InputError: the corpus has no unlabelled sentences or no trees to learn from, or another run
            writes here.
        ModelError: the parser cannot be loaded or parses nothing.
    """


def parse_unit(
    sentences: Sequence[Sentence],
    parser: Parser | None,
    batch_size: int,
    on_batch: Callable[[int], None] = lambda _: None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ``TREES`` and of ``UNPARSED`` for the sentences of a unit, in their order.

    Args:
        sentences: the unit's.
        parser: None takes the treebank's own trees.
        batch_size: sentences per call of the parser.
        on_batch: told how many sentences are done.
    """
    parsed: list[dict[str, Any]] = []
    unparsed: list[dict[str, Any]] = []
    for start in range(0, len(sentences), batch_size):
        batch = sentences[start : start + batch_size]
        for sentence, (tree, reason) in zip(batch, _trees(batch, parser), strict=True):
            row = {"sentence_id": sentence.sentence_id}
            if tree is None:
                unparsed.append(row | {"reason": reason or "no tree found"})
            else:
                made = {"words": list(sentence.words), "tree": tree, "license": sentence.license}
                parsed.append(row | made | {"parser": parser.name if parser else TREEBANK})
        on_batch(len(batch))
    return parsed, unparsed


def _trees(
    sentences: Sequence[Sentence], parser: Parser | None
) -> list[tuple[str | None, str | None]]:
    """Bracketing of each sentence, or the reason for none."""
    if parser is None:
        return [_treebank_tree(sentence) for sentence in sentences]
    outcomes = parser.outcomes([s.words for s in sentences], tags_for(parser, sentences))
    return [(one_line(o.tree) if o.tree is not None else None, o.reason) for o in outcomes]


def _treebank_tree(sentence: Sentence) -> tuple[str | None, str | None]:
    if sentence.tree is None:
        return None, "no tree in the treebank"
    if leaves(parse_tree(sentence.tree)) != list(sentence.words):
        return None, "leaves differ from words"
    return sentence.tree, None


def _seed_rows(source: Path, settings: Preparse) -> tuple[list[range], list[int]]:
    """The units: which rows of the sentences each has, and how many of U are among them.

    Raises:
        InputError: there is no sentence of U.
    """
    rows: list[range] = []
    sizes: list[int] = []
    begin = seeds = total = 0
    for row, sentence in enumerate(read_sentences(source)):
        if not is_unlabelled_seed(sentence, settings.min_words):
            continue
        seeds, total = seeds + 1, total + 1
        if seeds == settings.unit or total == settings.limit:
            rows.append(range(begin, row + 1))
            sizes.append(seeds)
            begin, seeds = row + 1, 0
        if total == settings.limit:
            break
    if seeds:
        rows.append(range(begin, row + 1))
        sizes.append(seeds)
    if not rows:
        raise InputError(
            f"no training sentence without coordination has {settings.min_words} words or more",
            path=source,
            remedy="lower --min-words or ingest more text",
        )
    return rows, sizes
