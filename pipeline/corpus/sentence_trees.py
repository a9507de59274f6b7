"""The trees of a corpus by sentence: the treebank's and those of ``preparse``, looked up when wanted."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.cards.trees import TreesManifest
from pipeline.core.corpus_folder import (
    COORDINATED_FOLDER,
    SENTENCES_FILE,
    find_trees,
    tree_sets,
    trees_digest,
    trees_folder,
)
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.engine import engine, fetched, parquet

TREEBANK = "treebank"
"""What the column ``parser`` of trees says where they are the treebank's own."""


@dataclass(frozen=True, slots=True)
class KnownSentence:
    """What a corpus has of a sentence.

    Attributes:
        words: its words.
        tags: the treebank's; None where it has none.
        gold: the treebank's bracketing, if there is one.
        parsed: the parser's, if ``preparse`` parsed it.
        parser: which parser's that is.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    gold: str | None
    parsed: str | None
    parser: str | None


def trees_behind(corpus: Path, run: Mapping[str, Any]) -> str | None:
    """The name of the trees that a generation's rows are made of, as ``tree_set`` has it; None: without one.

    Of trees without a name the corpus has one kind: whoever parses again replaces them.

    Args:
        corpus: the corpus folder.
        run: the generation, as manifests have it.

    Raises:
        InputError: trees with a name are not there any more, or others are.
    """
    settings, digest = run.get("settings") or {}, (run.get("inputs") or {}).get("trees")
    name = settings.get("trees")
    if name in (None, "parsed", TREEBANK):
        return None
    said, sets = f"{name}/{settings.get('labelled')}/seed-{settings.get('seed')}", tree_sets(corpus)
    if digest is None:  # a harvest has no trees of U: its parser is known by what it is
        return said if said in sets else None
    # They may have another name now.
    for each in sorted(sets, key=lambda each: each != said):
        if trees_digest(trees_folder(corpus, each)) == digest:
            return each
    raise InputError(
        f"these candidates were made of the trees {said[:100]}, which are not there"
        + " as they were" * (said in sets),
        path=corpus,
        remedy="run `conjoin preparse` as it was then, or name others with `export --trees`",
    )


class SentenceTrees(ExitStack):
    """Looks sentences up, in memory that does not grow with the corpus; a context.

    Args:
        corpus: the corpus folder.
        named: the trees' name, as ``tree_set`` has it; None: those without one, of U and with coordinator.

    Raises:
        InputError: its trees are damaged, or of other sentences than it has now.
    """

    def __init__(self, corpus: Path, named: str | None = None) -> None:
        super().__init__()
        self._sentences = corpus / SENTENCES_FILE
        self._shards: list[Path] = []
        folders = [trees_folder(corpus, named)]
        if named is None:
            folders.append(corpus / COORDINATED_FOLDER)
        for folder in folders:
            if not (folder / MANIFEST).is_file():
                continue
            manifest: TreesManifest = read_json(folder / MANIFEST, TreesManifest)
            if any(shard["rows"] for shard in manifest["shards"]):
                self._shards += find_trees(folder, self._sentences).shards
        self._database = self.enter_context(engine(files=[self._sentences, *self._shards]))

    def known(self, ids: Iterable[str]) -> dict[str, KnownSentence]:
        """The sentences with some ids; those that the corpus lacks are not among them."""
        wanted = {"ids": sorted(set(ids))}
        among = "WHERE sentence_id IN (SELECT unnest($ids))"
        parsed: dict[str, tuple[str, str]] = {}
        if self._shards:
            found = self._database.execute(
                f"SELECT sentence_id, tree, parser FROM {parquet(*self._shards)} {among}",  # noqa: S608 - our own paths
                wanted,
            )
            parsed = {name: (tree, parser) for name, tree, parser in fetched(found)}
        found = self._database.execute(
            f"SELECT sentence_id, words, tags, tree FROM {parquet(self._sentences)} {among}",  # noqa: S608 - our own path
            wanted,
        )
        return {
            name: KnownSentence(
                tuple(words), None if tags is None else tuple(tags), gold,
                *parsed.get(name, (None, None)),
            )
            for name, words, tags, gold in fetched(found)
        }  # fmt: skip
