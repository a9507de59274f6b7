"""The corpus that candidates were made from: where it is, and what a release says of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.cards.candidates import SourceFacts, TreesFacts
from pipeline.core.corpus_folder import (
    SENTENCES_FILE,
    corpus_around,
    corpus_name,
    ingest_card,
    parser_of_trees,
    require_ingested,
    tree_sets,
    trees_digest,
    trees_folder,
)
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import MANIFEST, read_batches, value_counts
from pipeline.core.schema import SENTENCES
from pipeline.corpus.engine import engine, parquet, rows_of
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import combined


def find_corpus(place: Path, named: Path | None) -> Path | None:
    """The corpus folder: the one that is named, or the nearest above ``place``; None if there is none.

    Raises:
        InputError: the one that is named has no ``sentences.parquet``.
    """
    if named is not None:
        sentences_of(named)
        return named
    return corpus_around(place.resolve().parent)


def sentences_of(place: Path, what: str = "corpus") -> Path:
    """The ``sentences.parquet`` of a corpus folder, or the file itself; ``what`` it is called if missing.

    Raises:
        InputError: there is none, or ingest did not finish it.
    """
    path = place / SENTENCES_FILE if place.is_dir() else place
    if not path.is_file():
        raise InputError(
            f"no such {what}", path=path,
            remedy="name a corpus folder that `conjoin ingest` wrote, or its sentences.parquet",
        )  # fmt: skip
    if path.name == SENTENCES_FILE:
        require_ingested(path.parent)
    return path


def facts(corpus: Path, used: Set[str] = frozenset()) -> SourceFacts:
    """What a manifest says of a source: name, licence, sentences by split, checksum.

    Args:
        corpus: the corpus folder.
        used: checksums of trees; of the trees with a name, those among them are listed.

    Raises:
        InputError: its ``sentences.parquet`` is damaged, or two sentences have the same id.
    """
    path = sentences_of(corpus)
    splits: Counter[str] = Counter()
    licenses: set[str] = set()
    columns = pa.schema([SENTENCES.field(name) for name in ("split", "license")])
    for batch in read_batches(path, columns, 65_536):
        splits.update(value_counts(batch.column("split")))
        licenses |= value_counts(batch.column("license")).keys()
    with engine() as database:
        twice = database.execute(
            f"SELECT sentence_id FROM {parquet(path)} GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 LIMIT 1"  # noqa: S608 - our own path
        ).fetchone()
    if twice:
        raise InputError(
            "two sentences have the same id", path=path, sentence_id=twice[0],
            remedy="ingest the corpus again",
        )  # fmt: skip
    card = ingest_card(path.parent)
    found: SourceFacts = {
        # Sentence ids begin with it.
        "corpus": corpus_name(path.parent),
        "license": combined(licenses),
        "sentences": {split: splits[split] for split in sorted(splits)},
        "sha256": sha256_of(path),
    }
    if "reader" in card:
        found["reader"] = card["reader"]
    trees = trees_folder(path.parent)
    if (trees / MANIFEST).is_file():  # those there now; a generation names its own by this checksum
        found["trees"] = _facts_of_trees(trees)
    named = {
        name: _facts_of_trees(trees_folder(path.parent, name)) for name in tree_sets(path.parent)
    }
    if own := {name: each for name, each in named.items() if each["sha256"] in used}:
        found["named_trees"] = own
    return found


def _facts_of_trees(trees: Path) -> TreesFacts:
    return {"sha256": trees_digest(trees), "parser": parser_of_trees(trees)}


def trees_used(runs: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Checksums of the trees that generations, as manifests have them, were made of."""
    found = ((run.get("inputs") or {}).get("trees") for run in runs)
    return frozenset(each for each in found if isinstance(each, str))


def foreign_rows(shards: Shards, corpus: Path) -> tuple[int, str]:
    """How many rows are of sentences that a corpus does not have, and the first of those sentences."""
    with engine() as database:
        count, first = database.execute(
            f"SELECT count(*), min(sentence_id) FROM {rows_of(shards)} ANTI JOIN "  # noqa: S608 - our own paths
            f"{parquet(sentences_of(corpus))} USING (sentence_id)"
        ).fetchone() or (0, None)
    return int(count), str(first or "")
