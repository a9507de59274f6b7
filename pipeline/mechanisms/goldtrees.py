"""The treebank's own trees of U, in the place of the parser's: what shows the price of parsing."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.ground.coordination import Sentence, is_unlabelled_seed
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.ground.parquet import MANIFEST
from pipeline.ground.schema import read_sentences
from pipeline.ground.trees import leaves, parse_tree
from pipeline.mechanisms.spans import Source

__all__ = ["GoldRows", "find_gold_trees", "seeds_of"]


@dataclass(frozen=True, slots=True)
class GoldRows:
    """The sentences of U, numbered through as ``preparse`` reads them, with their gold trees.

    Attributes:
        path: ``sentences.parquet``.
        rows: the row of each sentence of U there.
    """

    path: Path
    rows: tuple[int, ...]

    def __len__(self) -> int:
        """Sentences in all."""
        return len(self.rows)

    def read(self, rows: range) -> Iterator[tuple[Source, str | None]]:
        """Sentence and bracketing of some consecutive ones; None: no tree, or one of other words.

        Raises:
            InputError: the file is missing, damaged or has another schema.
        """
        wanted = self.rows[rows.start : rows.stop]
        if not wanted:
            return
        within = range(wanted[0], wanted[-1] + 1)
        places = set(wanted)
        for row, sentence in zip(within, read_sentences(self.path, rows=within), strict=True):
            if row in places:
                source = Source(sentence.sentence_id, sentence.words, sentence.license)
                yield source, _tree(sentence)


def find_gold_trees(sentences: Path, trees: Path) -> GoldRows:
    """The gold trees of just the sentences that ``preparse`` parsed, or tried to.

    Args:
        sentences: ``sentences.parquet``.
        trees: the folder that preparse wrote, which knows what U is.

    Raises:
        InputError: preparse has not run, the corpus has no trees, or U is empty.
    """
    seeds = seeds_of(trees)
    found: list[int] = []
    any_tree = False
    for row, sentence in enumerate(read_sentences(sentences)):
        if len(found) == seeds["limit"]:
            break
        if is_unlabelled_seed(sentence, seeds["min_words"]):
            found.append(row)
            any_tree = any_tree or sentence.tree is not None
    if not any_tree:
        raise InputError(
            "no sentence of U has a tree of the treebank",
            path=sentences,
            remedy="this corpus has none: generate with --trees parsed",
        )
    return GoldRows(sentences, tuple(found))


def seeds_of(trees: Path) -> dict[str, Any]:
    """Which sentences are U, in the words of preparse's settings: ``min_words`` and ``limit``.

    Raises:
        InputError: preparse has not run.
    """
    settings = read_json(trees / MANIFEST, remedy="run `conjoin preparse` first")["settings"]
    return {name: settings[name] for name in ("min_words", "limit")}


def _tree(sentence: Sentence) -> str | None:
    if sentence.tree is None or leaves(parse_tree(sentence.tree)) != list(sentence.words):
        return None
    return sentence.tree
