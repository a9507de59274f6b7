"""The parser of a corpus: trained on its own treebank (§3.3), or made elsewhere.

``CORPUS/parser/parser.json`` says which it is and, for one trained here, from what: a run that finds
it current does not train again.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import stanza
import torch

from pipeline.ground.closure import code_digest
from pipeline.ground.console import say
from pipeline.ground.coordination import Sentence, is_unlabelled_seed
from pipeline.ground.errors import InputError, ModelError
from pipeline.ground.files import digest_of, read_json, sha256_of, write_json
from pipeline.ground.schema import read_sentences
from pipeline.ground.trees import Tree, parse_tree
from pipeline.mechanisms import parser_training
from pipeline.mechanisms.parser import CARD, Parser, file_name, load_parser
from pipeline.mechanisms.parser_training import (
    MODEL,
    PRETRAIN,
    bracket_f1,
    train_parser,
    training_tree,
)
from pipeline.settings.preparse import Preparse

__all__ = ["TREEBANK", "corpus_parser", "ensure_parser", "parser_identity", "tags_for"]

TREEBANK = "treebank"
"""In place of a parser: the corpus's own trees."""

_DEV = 300  # development trees that F1 is measured on, at most


def ensure_parser(settings: Preparse) -> dict[str, Any]:
    """Make the corpus's parser, unless the one that is there was made of the same.

    Returns:
        The card: ``source`` (``treebank``, a file in the folder, or what stanza is to load),
        ``wrapper`` (root label of the treebank's trees), and for a parser trained here ``training``
        (what was learned from, and how well), ``made_of`` and ``sha256``.

    Raises:
        InputError: no trees to learn from.
    """
    folder = settings.corpus / "parser"
    card: dict[str, Any]
    if settings.parser != "train":
        card = {"source": settings.parser, "wrapper": None, "training": None}
    else:
        made_of = _made_of(settings)
        if (found := _current(folder, made_of)) is not None:
            say("the parser is already there and current")
            return found
        card = {**_train(settings), "made_of": made_of, "sha256": sha256_of(folder / MODEL)}
    write_json(folder / CARD, card)
    return card


def _made_of(settings: Preparse) -> dict[str, Any]:
    fields = {
        "min_words",
        "parser_epochs",
        "parser_hidden",
        "parser_trees",
        "seed",
        "tags",
        "threads",
    }
    return {
        "settings": settings.model_dump(mode="json", include=fields),
        "sentences": sha256_of(settings.corpus / "sentences.parquet"),
        "code": code_digest(parser_training.__name__),
        "versions": {"stanza": stanza.__version__, "torch": torch.__version__},
    }


def _current(folder: Path, made_of: dict[str, Any]) -> dict[str, Any] | None:
    if not (folder / CARD).is_file() or not (folder / MODEL).is_file():
        return None
    card: dict[str, Any] = read_json(folder / CARD)
    whole = card.get("sha256") == sha256_of(folder / MODEL)
    return card if whole and card.get("made_of") == made_of else None


def parser_identity(card: Mapping[str, Any]) -> dict[str, str | None]:
    """What tells two parsers apart: the ``name`` that stands beside their trees, and a ``sha256``.

    Raises:
        InputError: the card names a file that is not there.
    """
    source = str(card["source"])
    if "made_of" in card:
        return {"name": f"stanza:train:{card['sha256'][:8]}", "sha256": card["sha256"]}
    if source.endswith(".pt"):
        path = Path(source)
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="name a stanza .pt file")
        beside = (path, path.with_name(PRETRAIN), path.with_name(CARD))
        sums = [sha256_of(each) for each in beside if each.exists()]
        return {"name": file_name(path), "sha256": digest_of(sums)}
    if source == TREEBANK:
        return {"name": source, "sha256": None}
    package = Path(stanza.resources.common.DEFAULT_MODEL_DIR, "en", "constituency", f"{source}.pt")
    return {"name": f"stanza:{source}", "sha256": sha256_of(package) if package.exists() else None}


def corpus_parser(folder: Path) -> Parser:
    """The parser that ``preparse`` used, from CORPUS/parser.

    Raises:
        InputError: preparse has not run.
        ModelError: it took the treebank's own trees, or the parser cannot be loaded.
    """
    card = read_json(folder / CARD, remedy="run `conjoin preparse`")
    source = str(card["source"])
    if source == TREEBANK:
        raise ModelError(
            "this corpus took its trees from the treebank and has no parser",
            path=folder,
            remedy="run `conjoin preparse` with --parser train",
        )
    return load_parser(str(folder / MODEL) if "made_of" in card else source)


def tags_for(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[str, ...]] | None:
    """The tags a parser must be given, or None if it needs none.

    Raises:
        InputError: a sentence has none.
    """
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


def _train(settings: Preparse) -> dict[str, Any]:
    train, dev = _examples(settings, settings.corpus / "sentences.parquet")
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
    parser = load_parser(str(folder / MODEL))
    guess: list[Tree | None] = []
    for start in range(0, len(dev), settings.batch_size):
        batch = dev[start : start + settings.batch_size]
        guess += parser.parse([s.words for s in batch], tags_for(parser, batch))
    training = {
        "trees": len(train),
        "dev_trees": len(dev),
        "f1": round(bracket_f1([parse_tree(s.tree or "") for s in dev], guess), 4),
        "epochs": settings.parser_epochs,
        "best_epoch": best,
        "hidden": settings.parser_hidden,
        "tags": settings.tags,
        "seed": settings.seed,
    }
    return {"source": MODEL, "wrapper": wrapper, "training": training}


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
