"""Folders of candidates made of the rows of other corpora: what `merge` and `select` have in common."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.annotation import Part, as_json, joined
from pipeline.core.cards.candidates import (
    CandidatesHistory,
    CandidatesManifest,
    SourceFacts,
    UnitedCorpus,
)
from pipeline.core.cards.parts import Shard
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.parquet import column_names, regroup
from pipeline.core.schema import CANDIDATES, REJECTS
from pipeline.core.settings import shown_place
from pipeline.core.tally import Tally
from pipeline.corpus.annotated import annotation_of
from pipeline.corpus.checked import require_whole
from pipeline.corpus.counts import Survey
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import columns_of
from pipeline.corpus.layout import Shards
from pipeline.corpus.origin import facts, find_corpus, foreign_rows, trees_used
from pipeline.corpus.rows import (
    RELEASED,
    RELEASED_REJECTS,
    TREE_COLUMNS,
    generations,
    read_accepted,
    read_rejects,
)

SCHEMAS = {"train": RELEASED, "rejected": RELEASED_REJECTS}
"""The columns of each kind of rows, candidates and rejects, by what manifests call it."""

_NAMES = {"train": "candidates", "rejected": "rejects"}
"""What the names of the files of a kind begin with."""

_GROUP = 10_000  # rows of a row group; they are in memory at once
_GROUPS = 20  # of a shard


def require_known_columns(shards: Shards) -> None:
    """Refuse rows with a column of which what is written anew would have nothing.

    Raises:
        InputError: there is one, which is named.
    """
    left = TREE_COLUMNS.names  # of which nothing is lost: `release --trees` makes them again
    for files, schema in zip((shards.accepted, shards.rejects), SCHEMAS.values(), strict=True):
        for path in files:
            known = {*schema.names, *left, *({"reason"} if shards.kind == "file" else ())}
            if more := [name for name in column_names(path) if name not in known]:
                raise InputError(
                    f"column {more[0]!r} is none of a corpus of conjoin's", path=path,
                    remedy="take it out; what is made of the rows would not have it",
                )  # fmt: skip


def sound(shards: Shards) -> Shards:
    """The corpus, if it has all columns of one and no others but trees, which merging would lose.

    Whether its rows are valid is asked elsewhere (``pipeline.corpus.validity``).
    """
    if shards.kind == "stand-off":
        raise InputError(
            "a stand-off release: its rows have no words to tell equal ones by",
            path=shards.place, remedy="rebuild it with `conjoin rehydrate` first",
        )  # fmt: skip
    found = columns_of(replace(shards, rejects=()), CANDIDATES)
    if shards.kind == "file" and "reason" in found:
        shards = replace(shards, accepted=(), rejects=shards.accepted)
    columns_of(replace(shards, accepted=()), REJECTS)
    require_known_columns(shards)
    if shards.manifest is not None:  # a single file, or a stranger's folder, has none
        require_whole(shards)
    for read in (read_accepted, read_rejects):
        next(read(shards), None)  # raises at once if it is not known which run made the rows
    return shards


def united_runs(corpora: Sequence[Shards]) -> dict[str, dict[str, Any]]:
    """All generations by their key, without the numbers of rows that a release adds to them."""
    runs: dict[str, dict[str, Any]] = {}
    places: dict[str, Path] = {}
    for shards in corpora:
        for key, about in generations(shards).items():
            plain = {name: value for name, value in about.items() if name != "rows"}
            known = runs.setdefault(key, plain)
            # The same rows may have been made in folders of other names, which the command shows.
            if {**known, "command": None} != {**plain, "command": None}:
                name = next(n for n in {**plain, **known} if plain.get(n) != known.get(n))
                raise InputError(
                    f"generation {key} is described otherwise than in {places[key]}: its {name!r} "
                    "differs", path=shards.place, remedy="one of the two manifests is damaged",
                )  # fmt: skip
            places.setdefault(key, shards.place)
    return runs


def write_shard(
    path: Path, schema: pa.Schema, groups: Iterable[pa.RecordBatch], **options: bool
) -> tuple[RowDigest, FileFacts]:
    """Write a shard with these row groups; returns the digest of its rows, and the facts of the file.

    ``options`` are those of ``ParquetWriter``.
    """
    digest = RowDigest()
    with pq.ParquetWriter(path, schema, compression="zstd", **options) as writer:
        for group in groups:
            digest.add(group)
            writer.write_batch(group, row_group_size=len(group))
    return digest, FileFacts.of(path, digest.rows)


_READ = {"train": read_accepted, "rejected": read_rejects}


class GatheredRows:
    """Rows of several corpora on their way into a folder, and what was read of each corpus meanwhile.

    Args:
        corpora: in their order.
        kept: by kind, which of all their rows go there, shape (rows,).
        again: the remedy where a corpus grows while it is read.
        advance: called with the number of rows read since the last time.
    """

    def __init__(
        self,
        corpora: Sequence[Shards],
        kept: Mapping[str, npt.NDArray[np.bool_]],
        *,
        again: str,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._corpora, self._kept = corpora, kept
        self._again, self._advance = again, advance
        self._inputs: list[UnitedCorpus] = [
            {
                # The whole path would tell how this machine is arranged.
                "place": shown_place(shards.place.absolute()),
                "kind": shards.kind,
                "rows": {},
                "kept": {},
                "digests": {},
            }
            for shards in corpora
        ]

    def rows(self, config: str) -> Iterator[pa.RecordBatch]:
        """The rows of a kind that go there.

        Raises:
            InputError: a corpus cannot be read, or has more rows than it had.
        """
        begin, mask = 0, self._kept[config]
        for shards, entry in zip(self._corpora, self._inputs, strict=True):
            digest, kept = RowDigest(), 0
            for batch in _READ[config](shards):
                digest.add(batch)
                part = mask[begin : begin + len(batch)]
                begin += len(batch)
                if len(part) < len(batch):
                    raise InputError("a corpus grew while it was read", remedy=self._again)
                kept += int(part.sum())
                yield batch.filter(pa.array(part))
                self._advance(len(batch))
            entry["rows"][config], entry["kept"][config] = digest.rows, kept
            entry["digests"][config] = digest.hex()

    def inputs(self) -> list[UnitedCorpus]:
        """What a manifest says of each corpus, once the rows of all kinds have gone by."""
        return self._inputs


@dataclass(frozen=True, slots=True)
class Written:
    """Rows of one kind that were written.

    Attributes:
        rows: how many.
        digest: their row digest.
        shards: what a manifest says of each file.
    """

    rows: int
    digest: str
    shards: list[Shard]


def write_kind(folder: Path, config: str, batches: Iterable[pa.RecordBatch], rows: int) -> Written:
    """Write all rows of one kind; a file without any if there are none.

    Args:
        folder: where the files go.
        config: ``train`` for candidates, ``rejected`` for rejects.
        batches: the rows, with the columns of ``SCHEMAS``, however cut.
        rows: how many they are.

    Raises:
        InputError: ``batches`` does.
    """
    digests: list[RowDigest] = []
    shards: list[Shard] = []
    groups = regroup(batches, repeat(_GROUP))  # so that files do not tell how they were read
    count = max(-(-rows // (_GROUP * _GROUPS)), 1)
    for index in range(count):
        path = folder / f"{_NAMES[config]}-{index:05d}-of-{count:05d}.parquet"
        digest, facts = write_shard(path, SCHEMAS[config], islice(groups, _GROUPS))
        digests.append(digest)
        shards.append({
            "file": path.name, "rows": digest.rows, "bytes": facts.bytes, "sha256": facts.sha256,
            "digest": digest.hex(),
        })  # fmt: skip
    next(groups, None)  # reads what is left: batches without rows
    whole = RowDigest.united(digests)
    return Written(whole.rows, whole.hex(), shards)


def manifest_facts(
    corpora: Sequence[Shards],
    runs: Mapping[str, Mapping[str, Any]],
    written: Mapping[str, Written],
    counts: Survey,
    asked: Iterable[Part] = (),
) -> CandidatesManifest:
    """What every such folder's manifest says: runs, sources, annotation, and counts and files of its rows.

    Args:
        corpora: what it was made of.
        runs: of ``united_runs``.
        written: by kind.
        counts: of the rows that were written.
        asked: what was annotated for those who chose among the rows.
    """
    parts = (part for shards in corpora for part in annotation_of(shards))
    described: dict[str, Any] = {
        key: {**runs.get(key, {}), "rows": {part: rows[part] for part in written}}
        for key in sorted({*runs, *counts.generations})
        for rows in [counts.generations.get(key, Counter[str]())]
    }
    train, rejected = written["train"], written["rejected"]
    return {
        "annotation": as_json(joined([*parts, *asked])),
        "generations": described,
        "rows": {"train": train.rows, "rejected": rejected.rows},
        "digests": {"train": train.digest, "rejected": rejected.digest},
        "sources": _sources(corpora),
        "tally": Tally(written["train"].rows, counts.reasons).to_dict(),
        "shards": [shard for each in written.values() for shard in each.shards],
    }


def dropped_so_far(
    corpora: Sequence[Shards], now: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """Why rows were left out, by kind and reason: now, and where each corpus was made of others."""
    total = {part: Counter(reasons) for part, reasons in now.items()}
    for shards in corpora:
        earlier: Any = (shards.manifest or {}).get("dropped")
        for part, count in total.items():
            reasons = earlier.get(part) if isinstance(earlier, dict) else None
            if isinstance(reasons, dict):
                count.update({str(why): n for why, n in reasons.items() if isinstance(n, int)})
    return {part: dict(count) for part, count in total.items()}


def selections(corpora: Sequence[Shards]) -> CandidatesHistory:
    """What a manifest says of the selections behind its corpora: ``selections``, earlier ones first.

    Each is what ``select`` wrote as ``selection``, once. Nothing where there was none.
    """
    found: list[Any] = []
    for shards in corpora:
        manifest = shards.manifest or {}
        for each in (*manifest.get("selections", ()), manifest.get("selection")):
            if each is not None and each not in found:
                found.append(each)
    return {"selections": found} if found else {}


def _sources(corpora: Sequence[Shards]) -> list[SourceFacts]:
    """The source corpora behind the rows, each once, as releases tell them or as they are at hand."""
    found: dict[str, SourceFacts] = {}
    used = trees_used(run for shards in corpora for run in generations(shards).values())
    for shards in corpora:
        sources = (shards.manifest or {}).get("sources")
        if sources is None:
            corpus = find_corpus(shards.place, None)
            at_hand = corpus is not None and not foreign_rows(shards, corpus)[0]
            sources = [facts(corpus, used)] if corpus is not None and at_hand else []
        for source in sources:
            key = str(source.get("sha256"))
            found[key] = _joined(found[key], source) if key in found else source
    return list(found.values())


def _joined(one: SourceFacts, other: SourceFacts) -> SourceFacts:
    """What two folders say of the same source: each may know trees that the other was not made of."""
    both = other | one
    if named := other.get("named_trees", {}) | one.get("named_trees", {}):
        both["named_trees"] = named
    return both
