"""The trees of a corpus by sentence: the treebank's and those of ``preparse``, looked up when wanted."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.corpus_folder import (
    COORDINATED_FOLDER,
    SENTENCES_FILE,
    TREES_FOLDER,
    TreesManifest,
    find_trees,
)
from pipeline.core.documents import read_json
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


class SentenceTrees(ExitStack):
    """Looks sentences up, in memory that does not grow with the corpus; a context.

    Args:
        corpus: the corpus folder.

    Raises:
        InputError: its trees are damaged, or of other sentences than it has now.
    """

    def __init__(self, corpus: Path) -> None:
        super().__init__()
        self._sentences = corpus / SENTENCES_FILE
        self._shards: list[Path] = []
        for name in (TREES_FOLDER, COORDINATED_FOLDER):
            folder = corpus / name
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
