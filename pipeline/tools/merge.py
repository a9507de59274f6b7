"""``conjoin merge``: merges several corpora into one folder of candidates and drops duplicate rows.

Rows are compared by a 128-bit key of each in a table of DuckDB, which keeps on disk what does not fit its
memory; Python keeps a byte a row. The new rows are then written in the order of the corpora.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.files import atomic_folder, write_json
from pipeline.core.parquet import MANIFEST, column_names, regroup, row_count
from pipeline.core.schema import CANDIDATES, REJECTS
from pipeline.core.settings import shown_place
from pipeline.core.tally import Tally
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import CONTENT, REFUSAL, columns_of, engine, fetched, parquet
from pipeline.corpus.layout import Shards, apart, find_shards
from pipeline.corpus.origin import facts, find_corpus, foreign_rows
from pipeline.corpus.rows import generations, read_accepted, read_rejects, require_whole
from pipeline.release.shards import RELEASED, write_shard
from pipeline.release.survey import Survey
from pipeline.tools.settings import Merge

_MEMORY = "64MB"  # of the table of keys, which has 57 bytes a row
_GROUP = 10_000  # rows of a row group; they are in memory at once
_GROUPS = 20  # of a shard
_NAMES = {"train": "candidates", "rejected": "rejects"}
"""What the names of the files of a configuration begin with."""


def run(settings: Merge) -> None:
    """Write the united corpus, and print what each of them gave to it.

    Raises:
        InputError: as ``merge``; nothing is written then.
    """
    manifest = merge([find_shards(place) for place in settings.places], settings.out)
    named = [
        (str(place), *_counts(entry))
        for place, entry in zip(settings.places, manifest["merged"], strict=True)
    ]
    total = [sum(column) for column in zip(*(row[1:] for row in named), strict=True)]
    table(
        "merge: rows of each corpus, in this order; repeated: those that say what an earlier row says",
        ["corpus", "candidates", "new", "repeated", "rejects", "new", "repeated"],
        [*named, ("together", *total)],
    )
    undescribed = [key for key, about in manifest["generations"].items() if set(about) == {"rows"}]
    if undescribed:
        warn(f"no manifest says how these generations were made: {', '.join(undescribed)}")
    rows, runs = manifest["rows"], len(manifest["generations"])
    say(
        f"written: {settings.out}: {rows['train']:,} candidates and {rows['rejected']:,} rejects, "
        f"of {runs:,} generation{'' if runs == 1 else 's'}"
    )


def _counts(entry: Mapping[str, Any]) -> list[int]:
    """Rows, new ones and repeated ones: of the candidates, then of the rejects."""
    counts = []
    for part, rows in entry["rows"].items():
        kept = entry["kept"][part]
        counts += [rows, kept, rows - kept]
    return counts


@dataclass(frozen=True, slots=True)
class Read:
    """Rows that were read: how many, how many of them were kept, and their row digest."""

    rows: int
    kept: int
    digest: str


@dataclass(frozen=True, slots=True)
class MergedRows:
    """One kind of rows (candidates, or rejects) of several corpora, written into one folder.

    Attributes:
        inputs: what was read of each corpus.
        whole: what was written; all of it is kept.
        shards: what a manifest says of each file.
    """

    inputs: list[Read]
    whole: Read
    shards: list[dict[str, Any]]


def _write(
    folder: Path,
    config: str,
    new: npt.NDArray[np.bool_],
    corpora: Iterable[Iterable[pa.RecordBatch]],
    *,
    counts: Survey,
    meter: Meter,
) -> MergedRows:
    """Write the new rows of one kind; a file without any if there are none.

    Args:
        folder: where the files go.
        config: ``train`` for candidates, ``rejected`` for rejects.
        new: which of all rows to keep, in the order of the corpora, shape (rows,).
        corpora: the rows of each corpus.
        counts: counts the rows that are written.
        meter: is advanced by every row read.

    Raises:
        InputError: as the reading of the corpora; or one of them has more rows than ``new``.
    """
    inputs: list[Read] = []
    digests: list[RowDigest] = []
    shards: list[dict[str, Any]] = []
    rows = counts.counted(_new_rows(new, corpora, inputs, meter), config)
    groups = regroup(rows, repeat(_GROUP))  # so that files do not tell how they were read
    count = max(-(-int(new.sum()) // (_GROUP * _GROUPS)), 1)
    for index in range(count):
        path = folder / f"{_NAMES[config]}-{index:05d}-of-{count:05d}.parquet"
        digest, facts = write_shard(path, RELEASED[config], islice(groups, _GROUPS))
        digests.append(digest)
        shards.append({"file": path.name, **facts})
    next(groups, None)  # reads what is left of the corpora: rows that are not new
    whole = RowDigest.united(digests)
    return MergedRows(inputs, Read(whole.rows, whole.rows, whole.hex()), shards)


def _new_rows(
    new: npt.NDArray[np.bool_],
    corpora: Iterable[Iterable[pa.RecordBatch]],
    inputs: list[Read],
    meter: Meter,
) -> Iterator[pa.RecordBatch]:
    """The rows to keep; what was read of each corpus is added to ``inputs`` at its end."""
    begin = 0
    for batches in corpora:
        digest, kept = RowDigest(), 0
        for batch in batches:
            digest.add(batch)
            mask = new[begin : begin + len(batch)]
            begin += len(batch)
            if len(mask) < len(batch):
                raise InputError("a corpus grew while it was read", remedy="merge again")
            kept += int(mask.sum())
            yield batch.filter(pa.array(mask))
            meter.advance(len(batch))
        inputs.append(Read(digest.rows, kept, digest.hex()))


def find_novelty(corpora: Sequence[Shards]) -> list[npt.NDArray[np.bool_]]:
    """Finds the first row of each content, in the order of the corpora and their files.

    A reject is equal to another reject, never to a candidate, if their content, reference, fill and
    reason are.

    Returns:
        For every usable candidate whether it is new, shape (rows of all corpora,); the same for the
        rejects.

    Raises:
        InputError: a file is damaged, or two rows have the same id and not the same content.
    """
    files = [
        [file for shards in corpora for file in shards.accepted],
        [file for shards in corpora for file in shards.rejects],
    ]
    begins = [list(_begins(part)) for part in files]
    with engine(_MEMORY, files=files[0] + files[1]) as database:
        database.execute(
            "CREATE TEMP TABLE seen (rejected BOOL, row BIGINT, id UHUGEINT, content UHUGEINT, "
            "refusal UHUGEINT)"
        )
        for rejected in (False, True):
            for file, begin in zip(files[rejected], begins[rejected], strict=False):
                database.execute(
                    f"""INSERT INTO seen SELECT ?, ? + file_row_number, md5_number(candidate_id),
                    {CONTENT}, {REFUSAL if rejected else 0}
                    FROM {parquet(file)}""",  # noqa: S608 - our own keys and paths
                    [rejected, begin],
                )
        _refuse_clash(database, files, begins)
        masks = [np.zeros(part[-1], dtype=bool) for part in begins]
        found = database.execute(
            "SELECT rejected, min(row) FROM seen GROUP BY rejected, content, refusal"
        )
        for rejected, row in fetched(found):
            masks[rejected][row] = True
    return masks


def _begins(files: Sequence[Path]) -> Iterator[int]:
    """The number of the first row of each file, and of one beyond the last."""
    begin = 0
    for file in files:
        yield begin
        begin += row_count(file)
    yield begin


def _refuse_clash(
    database: duckdb.DuckDBPyConnection, files: Sequence[Sequence[Path]], begins: list[list[int]]
) -> None:
    """Ids are hashes of content, so equal ids with another content are damage or forgery."""
    rows = database.execute(
        """SELECT rejected, row, content FROM seen WHERE id = (
            SELECT id FROM seen GROUP BY id HAVING min(content) <> max(content)
            ORDER BY min(rejected), min(row) LIMIT 1
        ) ORDER BY rejected, row"""
    ).fetchall()
    if not rows:
        return
    other = next(row for row in rows if row[2] != rows[0][2])
    places = []
    for rejected, row, _ in (rows[0], other):
        index = bisect_right(begins[rejected], row) - 1
        places.append((files[rejected][index], row - begins[rejected][index]))
    (first, at), (second, there) = places
    ((name,),) = database.execute(
        f"SELECT candidate_id FROM {parquet(first)} WHERE file_row_number = ?",  # noqa: S608 - our own path
        [at],
    ).fetchall()
    raise InputError(
        f"row {there} (from 0) has the id {name} of row {at} of {first}, but not its content",
        path=second, remedy="one of them is damaged: run `conjoin validate` on both",
    )  # fmt: skip


DROPPED = "same content as an earlier row"


def merge(corpora: Sequence[Shards], out: Path) -> dict[str, Any]:
    """Unite corpora in a folder, in their order; returns its manifest, which docs/sharing.md explains.

    Equal inputs give equal files. Memory grows by a byte a row.

    Args:
        corpora: what to unite; a corpus may occur twice.
        out: the folder; it appears whole or not at all, and must not hold anything.

    Raises:
        InputError: there is one corpus only; ``out`` is not empty, or in a corpus; a corpus is a
            stand-off release, damaged, not all of what its manifest lists, or has other columns; the
            same id or generation stands for different things in two of them.
    """
    if len(corpora) < 2:
        raise InputError(
            "one corpus alone is nothing to merge", path=corpora[0].place, remedy="name two or more"
        )
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError("there is something here already", path=out, remedy="name a new folder")
    apart(out, *(shards.place for shards in corpora))
    corpora = [_sound(shards) for shards in corpora]
    runs = _united_runs(corpora)
    accepted, rejects = find_novelty(corpora)
    counts = Survey()
    with (
        atomic_folder(out) as folder,
        Meter("merge, rows", len(accepted) + len(rejects)) as meter,
    ):
        inputs = ("train", accepted, read_accepted), ("rejected", rejects, read_rejects)
        merged = {
            config: _write(folder, config, new, map(read, corpora), counts=counts, meter=meter)
            for config, new, read in inputs
        }
        manifest = _manifest(corpora, runs, merged, counts)
        write_json(folder / MANIFEST, manifest)
    return manifest


def _sound(shards: Shards) -> Shards:
    """The corpus, if it has all columns of one and no others, which merging would lose."""
    if shards.kind == "stand-off":
        raise InputError(
            "a stand-off release: its rows have no words to tell equal ones by",
            path=shards.place, remedy="rebuild it with `conjoin rehydrate` first",
        )  # fmt: skip
    found = columns_of(replace(shards, rejects=()), CANDIDATES)
    if shards.kind == "file" and "reason" in found:
        shards = replace(shards, accepted=(), rejects=shards.accepted)
    columns_of(replace(shards, accepted=()), REJECTS)
    for files, schema in zip((shards.accepted, shards.rejects), RELEASED.values(), strict=True):
        for path in files:
            more = [name for name in column_names(path) if name not in schema.names]
            if more:
                raise InputError(
                    f"column {more[0]!r} is none of a corpus of conjoin's", path=path,
                    remedy="take it out, or merge corpora of one kind",
                )  # fmt: skip
    if shards.manifest is not None:  # a single file, or a stranger's folder, has none
        require_whole(shards)
    for read in (read_accepted, read_rejects):
        next(read(shards), None)  # raises at once if it is not known which run made the rows
    return shards


def _united_runs(corpora: Sequence[Shards]) -> dict[str, dict[str, Any]]:
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


def _sources(corpora: Sequence[Shards]) -> list[Mapping[str, Any]]:
    """The source corpora behind the rows, each once, as releases tell them or as they are at hand."""
    found: dict[str, Mapping[str, Any]] = {}
    for shards in corpora:
        told = (shards.manifest or {}).get("sources")
        if told is None:
            corpus = find_corpus(shards.place, None)
            at_hand = corpus is not None and not foreign_rows(shards, corpus)[0]
            told = [facts(corpus)] if corpus is not None and at_hand else []
        for source in told:
            found.setdefault(str(source.get("sha256")), source)
    return list(found.values())


def _manifest(
    corpora: Sequence[Shards],
    runs: Mapping[str, Any],
    merged: Mapping[str, MergedRows],
    counts: Survey,
) -> dict[str, Any]:

    def each(value: str, index: int | None = None) -> dict[str, Any]:
        """One figure of both kinds of rows: of all, or of an input."""
        wholes = {part: u.whole if index is None else u.inputs[index] for part, u in merged.items()}
        return {part: getattr(whole, value) for part, whole in wholes.items()}

    return {
        "generations": {
            key: {**runs.get(key, {}), "rows": {part: rows[part] for part in merged}}
            for key in sorted({*runs, *counts.generations})
            for rows in [counts.generations.get(key, Counter[str]())]
        },
        "merged": [
            {
                # The whole path would tell how this machine is arranged.
                "place": shown_place(shards.place.absolute()),
                "kind": shards.kind,
                "rows": each("rows", index),
                "kept": each("kept", index),
                "digests": each("digest", index),
            }
            for index, shards in enumerate(corpora)
        ],
        "rows": each("rows"),
        "digests": each("digest"),
        "sources": _sources(corpora),
        "tally": Tally(merged["train"].whole.rows, counts.reasons).to_dict(),
        "dropped": {
            part: {DROPPED: sum(read.rows - read.kept for read in rows.inputs)}
            for part, rows in merged.items()
        },
        "shards": [shard for rows in merged.values() for shard in rows.shards],
    }
