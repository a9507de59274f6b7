"""Stage ``preparse``: constituency trees of the unlabelled sentences U (§3.3 of the paper)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
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
from pipeline.mechanisms.corpus_parser import (
    TREEBANK,
    corpus_parser,
    ensure_parser,
    parser_identity,
    tags_for,
)
from pipeline.mechanisms.crew import Make, OnBatch, run_units
from pipeline.mechanisms.parser import Parser
from pipeline.mechanisms.units import UnitFolder
from pipeline.settings.preparse import TREES_FOLDER, Preparse

__all__ = ["parse_unit", "run"]


def run(settings: Preparse) -> None:
    """Write ``trees/``, ``preparse.json`` and ``parser/`` into the corpus folder.

    Raises:
        InputError: the corpus has no unlabelled sentences or no trees to learn from, or another run
            writes here.
        ModelError: the parser cannot be loaded or parses nothing.
    """
    source, out = settings.corpus / "sentences.parquet", settings.corpus / TREES_FOLDER
    rows, sizes = _seed_rows(source, settings)
    card = _parser_card(settings)
    if settings.processes > 1 and not workers.in_launch():
        gpus = card["source"] != TREEBANK and not str(card["source"]).endswith(".pt")
        workers.launch(settings.command_line(), settings.processes, out, gpus=gpus)
    with workers.working(out, settings.threads) as worker:
        schemas = {"trees": TREES, "rejects": UNPARSED}
        folder = UnitFolder(out, len(rows), schemas, _about(settings, source, card))

        def prepare() -> Make:
            parser = (
                None if card["source"] == TREEBANK else corpus_parser(settings.corpus / "parser")
            )

            def make(index: int, on_batch: OnBatch) -> None:
                unit = [
                    sentence
                    for sentence in read_sentences(source, rows=rows[index])
                    if is_unlabelled_seed(sentence, settings.min_words)
                ]
                parsed, unparsed = parse_unit(unit, parser, settings.batch_size, on_batch)
                tally = Tally(len(parsed), Counter(row["reason"] for row in unparsed))
                folder.write(index, {"trees": parsed, "rejects": unparsed}, tally)

            return make

        report = run_units(worker, folder, sizes, prepare, what="preparse", items="sentences")
        if report:
            _finish(settings, folder, card)
            report.show("sentences")


def _parser_card(settings: Preparse) -> dict[str, Any]:
    """The corpus's parser, made if it must be, by one process for all."""
    workers.pin(settings.threads)
    if workers.in_launch():
        with PartialState(cpu=not torch.cuda.is_available()).main_process_first():
            return ensure_parser(settings)
    with folder_lock(settings.corpus / "parser"):
        return ensure_parser(settings)


def _about(settings: Preparse, source: Path, card: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the trees depend on; its digest is the shards' fingerprint."""
    fields = {"batch_size", "limit", "min_words", "parser", "threads", "unit"}
    return {
        "settings": settings.model_dump(mode="json", include=fields),
        "parser": parser_identity(card),
        "inputs": {"sentences": sha256_of(source)},
        "code": code_digest(__name__),
        "versions": {
            "pyarrow": pyarrow.__version__,
            "stanza": stanza.__version__,
            "torch": torch.__version__,
        },
        "device": workers.describe(workers.device()),
    }


def _finish(settings: Preparse, folder: UnitFolder, card: Mapping[str, Any]) -> None:
    tally, training = folder.tally(), card["training"]
    if not tally.kept:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in tally.rows()[1:])
        raise ModelError(
            f"not one sentence could be parsed ({reasons})",
            path=folder.folder,
            remedy="choose another --parser",
        )
    report = {
        "parser": folder.about["parser"]["name"],
        "unlabelled": tally.to_dict(),
        "training": training,
        "min_words": settings.min_words,
    }
    write_json(settings.corpus / "preparse.json", report)
    console.table("Trees of the unlabelled sentences", ("outcome", "sentences"), tally.rows())
    if training:
        console.say(
            f"parser: {training['trees']} trees, best of {training['epochs']} epochs "
            f"{training['best_epoch']}, F1 {training['f1']:.4f} on {training['dev_trees']} other trees"
        )


def parse_unit(
    sentences: Sequence[Sentence],
    parser: Parser | None,
    batch_size: int,
    on_batch: OnBatch = lambda *_: None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ``TREES`` and of ``UNPARSED`` for the sentences of a unit, in their order.

    Args:
        sentences: the unit's.
        parser: None takes the treebank's own trees.
        batch_size: sentences per call of the parser.
        on_batch: told of progress.
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
        on_batch(len(batch), sum(len(s.words) for s in batch))
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
