"""Rows of a release of new argument pairs: their columns, what they must be, and whose terms they have."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.core.cards.candidates import SourceFacts
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import (
    RELATIONS_FILE,
    corpus_name,
    ingest_card,
    require_ingested,
)
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.pairs import PAIRS, SYNTHETIC, SYNTHETIC_REJECTS, synthetic_id
from pipeline.core.parquet import read_batches, value_counts
from pipeline.corpus.handing_on import require_permission
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, combined, licence_ids
from pipeline.release.kinds.protocol import Columns, HidingWords, PuttingBack, Wrong, with_run
from pipeline.release.kinds.rows import common_fault, kind_batches
from pipeline.release.pairs.card import write_pair_documents
from pipeline.release.shards import CONFIGS

_TEXTS = ("sentence_id", "label", "arg1", "arg2")
_SHOWN = ("confused", "writer", "prompt", "license")  # what a model said may have any character
_READ = pa.schema([PAIRS.field(name) for name in ("pair_id", "split", "license")])


class NewPairs:
    """Argument pairs that ``synthesize`` made (``RowKind``)."""

    task = RELATIONS
    called = "argument pairs"
    marks = frozenset({"arg1"})
    bare: ClassVar[Columns] = {"train": SYNTHETIC, "rejected": SYNTHETIC_REJECTS}
    released: ClassVar[Columns] = with_run(SYNTHETIC)
    stand_off: ClassVar[Columns] = {}
    order: ClassVar[
        Mapping[str, Sequence[str]]
    ] = {  # a line that is written twice is refused as often
        "train": ("candidate_id", "generation"),
        "rejected": ("candidate_id", "generation", "reason", "verdict", "completion"),
    }
    again = "make the pairs again with `conjoin synthesize`"

    def fault(self, row: Mapping[str, Any], *, usable: bool) -> Wrong | None:
        """See ``RowKind``."""
        due = synthetic_id(*(row[name] for name in _TEXTS))
        texts = {name: row[name] for name in (*_SHOWN, *(_TEXTS if usable else ()))}
        return common_fault(row, due, texts, _TEXTS)

    def require_permission(self, shards: Shards, license_: str | None) -> None:
        """Refuse pairs whose text must not be handed on: the source's, or what a language model wrote.

        ``license_`` names the terms of the source alone. Where a row says ``unknown`` and a language model
        wrote for it, nothing tells whose terms that is about, so it is refused all the same.

        Raises:
            InputError: there are such rows.
        """
        rows, written = Counter[str](), Counter[str]()
        for config in CONFIGS:
            for batch in kind_batches(self, shards, config):
                for row in batch.select(["license", "prompt"]).to_pylist():
                    (rows if row["prompt"] is None else written)[row["license"]] += 1
        if license_ is not None:
            rows[license_] += rows.pop(UNKNOWN, 0)
        require_permission(dict(sorted((+rows).items())), shards.place, remedy=_of_source)
        require_permission(dict(sorted(written.items())), shards.place, remedy=_of_writer)

    def foreign(self, shards: Shards, corpus: Path) -> tuple[int, str]:
        """See ``RowKind``."""
        require_ingested(corpus, RELATIONS_FILE)
        there = {
            each
            for batch in read_batches(corpus / RELATIONS_FILE, _READ)
            for each in batch.column("pair_id").to_pylist()
        }
        strange = sorted(
            each
            for config in CONFIGS
            for batch in kind_batches(self, shards, config)
            for each in batch.column("sentence_id").to_pylist()
            if each not in there
        )
        return len(strange), strange[0] if strange else ""

    def facts(self, corpus: Path) -> SourceFacts:
        """Name, reader, licence, pairs by split, checksum."""
        path = corpus / RELATIONS_FILE
        splits, licenses = Counter[str](), Counter[str]()
        for batch in read_batches(path, _READ):
            splits.update(value_counts(batch.column("split")))
            licenses.update(value_counts(batch.column("license")))
        found: SourceFacts = {
            "corpus": corpus_name(corpus),
            "license": combined(licenses),
            "pairs": {split: splits[split] for split in sorted(splits)},
            "sha256": sha256_of(path),
        }
        card = ingest_card(corpus)
        if "reader" in card:
            found["reader"] = card["reader"]
        return found

    def name(self, runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Whose pairs they are, such as ``attested-pairs``."""
        given = [run.get("inputs") for run in runs.values()]
        writers = {str(each.get("writer")) for each in given if isinstance(each, Mapping)}
        kinds = sorted(each if each in {"attested", "oracle"} else "written" for each in writers)
        return [*kinds, "pairs"]

    def hiding(self, shards: Shards, corpus: Path) -> HidingWords:
        """There is none: the source's words are in every pair.

        Raises:
            InputError: always.
        """
        raise _no_stand_off(shards.place)

    def putting_back(self, source: Path) -> PuttingBack:
        """There is none.

        Raises:
            InputError: always.
        """
        raise _no_stand_off(source)

    def write_documents(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """See ``RowKind``."""
        write_pair_documents(folder, manifest)


def _no_stand_off(place: Path) -> InputError:
    return InputError(
        "there is no stand-off release of argument pairs", path=place,
        remedy="release them with their text",
    )  # fmt: skip


def _of_source(expression: str) -> str:
    if expression == UNKNOWN:
        return "name it with `--license`, or with `conjoin ingest --license`"
    return "the source's words are in every pair, so there is no release without them"


def _of_writer(expression: str) -> str:
    if UNKNOWN not in licence_ids(expression):
        return _of_source(expression)
    return (
        "name the terms on what the model wrote with `conjoin synthesize --writer-license`, and those of the "
        "source with `conjoin ingest --license`; --writer replay asks no model again"
    )
