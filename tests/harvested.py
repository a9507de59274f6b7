"""A small corpus of the embedded world to harvest, and a parser that knows its trees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from stanza.models.constituency.tree_reader import read_trees

from pipeline.core.files import write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence, holds_coordinator
from pipeline.harvest import natural_text
from pipeline.harvest.settings import HarvestSettings
from pipeline.parsing.parser import Parser
from pipeline.parsing.training import training_tree
from pipeline.text.trees import parse_tree
from pipeline.world import generate_sentences

WORLD = Path(__file__).resolve().parents[1] / "data" / "raw" / "world"
SENTENCES_THERE = list(generate_sentences(WORLD, 180, 0))
COORDINATED = [
    s for s in SENTENCES_THERE if s.split == "train" and holds_coordinator(s.words) and s.tree
]
LABELLED, VALIDATION = COORDINATED[:10], COORDINATED[10:12]


def corpus_of(folder: Path, sentences: Iterable[Sentence] = SENTENCES_THERE) -> Path:
    """A corpus folder with a draw of 10 labelled and 2 validation sentences, as ingest records it."""
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    write_json(
        folder / "draws/seed-0/10.json",
        {
            "labelled": [s.sentence_id for s in LABELLED],
            "validation": [s.sentence_id for s in VALIDATION],
        },
    )
    return tiny.ingested(folder)


def with_ready_parser(corpus: Path, name: str = "ready") -> Path:
    """As preparse leaves a corpus whose parser is a stanza package."""
    card = {"source": name, "wrapper": None, "training": None}
    write_json(corpus / "parser/parser.json", card)
    return corpus


def without_gold(sentence: Sentence) -> Sentence:
    """Raw text of the same words."""
    return replace(sentence, tree=None, tags=None, coordinations=())


def knowing(
    monkeypatch: pytest.MonkeyPatch,
    sentences: Iterable[Sentence] = COORDINATED,
    others: Mapping[tuple[str, ...], Any] | None = None,
) -> None:
    """Put a parser in the place of any other that has the gold trees of some sentences by heart.

    Args:
        monkeypatch: puts it there.
        sentences: whose trees it knows.
        others: stanza's trees of some words that it takes instead.
    """
    known = {s.words: training_tree(parse_tree(s.tree or ""), s.words, s.tags) for s in sentences}

    def run(texts: Sequence[Sequence[str]], _: Any) -> list[Any]:
        trees = [known.get(tuple(words)) for words in texts]
        found = [tree and read_trees(tree, use_tqdm=False)[0] for tree in trees]
        return [(others or {}).get(tuple(w), tree) for w, tree in zip(texts, found, strict=True)]

    parser = Parser("knowing", run, needs_tags=False, wrapper="S1")
    monkeypatch.setattr(natural_text, "corpus_parser", lambda _: parser)


def settings(corpus: Path, **more: Any) -> HarvestSettings:
    """Small units of the draw that is there."""
    return HarvestSettings(
        **{"corpus": corpus, "labelled": "10", "unit": 12, "batch_size": 5, **more}
    )
