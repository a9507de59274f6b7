"""``conjoin merge``: merges several corpora into one folder of candidates and drops duplicate rows.

The rows that say something new are written in the order of the corpora. What a candidate says,
no reject does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.files import atomic_folder, write_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.settings import shown_place
from pipeline.corpus.card import write_card
from pipeline.corpus.counts import Survey
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.novelty import CONTRADICTED, DROPPED, contents
from pipeline.corpus.rows import lost_trees, read_accepted, read_rejects
from pipeline.corpus.writing import (
    Written,
    selections,
    sound,
    told_of,
    united_runs,
    vacant,
    write_kind,
)
from pipeline.sharing.merge.settings import Merge
from pipeline.text.columns import with_text


def run(settings: Merge) -> None:
    """Write the united corpus, and print what each of them gave to it.

    Raises:
        InputError: as ``merge``; nothing is written then.
    """
    corpora = [find_shards(place) for place in settings.places]
    manifest = merge(corpora, settings.out)
    for told in filter(None, map(lost_trees, corpora)):
        warn(told)
    named = [
        (str(place), *_counts(entry))
        for place, entry in zip(settings.places, manifest["merged"], strict=True)
    ]
    total = [sum(column) for column in zip(*(row[1:] for row in named), strict=True)]
    table(
        "merge: rows of each corpus, in this order; repeated: those that say what another row says",
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
        whole: what was written.
    """

    inputs: list[Read]
    whole: Written


def _write(
    folder: Path,
    config: str,
    new: npt.NDArray[np.bool_],
    corpora: Iterable[Iterable[pa.RecordBatch]],
    *,
    counts: Survey,
    meter: Meter,
) -> MergedRows:
    """Write the new rows of one kind.

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
    rows = counts.counted(_new_rows(new, corpora, inputs, meter), config)
    whole = write_kind(folder, config, rows, int(new.sum()))
    return MergedRows(inputs, whole)


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
            yield with_text(batch.filter(pa.array(mask)))
            meter.advance(len(batch))
        inputs.append(Read(digest.rows, kept, digest.hex()))


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
    vacant(out, corpora)
    corpora = [sound(shards) for shards in corpora]
    runs = united_runs(corpora)
    with contents(corpora) as said:
        every = np.ones(said.candidates, dtype=bool)
        accepted, contradicted = said.first_candidates(every), said.contradicted(every)
        rejects = said.first_rejects(~contradicted)
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
        manifest = _manifest(corpora, runs, merged, counts, int(contradicted.sum()))
        write_json(folder / MANIFEST, manifest)
        places = ", ".join(entry["place"] for entry in manifest["merged"])
        write_card(folder, f"Merged from {places}.", manifest["digests"])
    return manifest


def _manifest(
    corpora: Sequence[Shards],
    runs: Mapping[str, Any],
    merged: Mapping[str, MergedRows],
    counts: Survey,
    contradicted: int,
) -> dict[str, Any]:
    """What is told of the folder; ``contradicted`` rejects are left out for a candidate of their content."""

    def each(value: str, index: int) -> dict[str, Any]:
        """One figure of both kinds of rows of an input."""
        return {part: getattr(rows.inputs[index], value) for part, rows in merged.items()}

    return {
        **told_of(corpora, runs, {part: rows.whole for part, rows in merged.items()}, counts),
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
        **selections(corpora),
        "dropped": {
            part: {
                DROPPED: sum(read.rows - read.kept for read in rows.inputs) - count,
                **({CONTRADICTED: count} if count else {}),
            }
            for (part, rows), count in zip(merged.items(), (0, contradicted), strict=True)
        },
    }
