"""Several corpora as one folder of candidates: provenance is kept, equal rows are kept once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.console import Meter
from pipeline.ground.errors import InputError
from pipeline.ground.files import atomic_folder, write_json
from pipeline.ground.parquet import MANIFEST
from pipeline.ground.schema import CANDIDATES, REJECTS
from pipeline.ground.tally import Tally
from pipeline.mechanisms.merging.merged_rows import MergedRows
from pipeline.mechanisms.merging.novelty import find_novelty
from pipeline.mechanisms.sharing.engine import columns_of
from pipeline.mechanisms.sharing.generations import generations, read_accepted, read_rejects
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.origin import facts, find_corpus, foreign_rows
from pipeline.mechanisms.sharing.outputs import apart
from pipeline.mechanisms.sharing.places import shown_place
from pipeline.mechanisms.sharing.rows import RELEASED, RELEASED_REJECTS
from pipeline.mechanisms.sharing.wholeness import require_whole

__all__ = ["DROPPED", "merge"]

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
    novelty = find_novelty(corpora)
    merged = {
        "train": MergedRows("candidates", RELEASED, novelty.accepted),
        "rejected": MergedRows("rejects", RELEASED_REJECTS, novelty.rejects),
    }
    with (
        atomic_folder(out) as folder,
        Meter("merge, rows", len(novelty.accepted) + len(novelty.rejects)) as meter,
    ):
        merged["train"].write(folder, map(read_accepted, corpora), meter)
        merged["rejected"].write(folder, map(read_rejects, corpora), meter)
        manifest = _manifest(corpora, runs, merged)
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
    for files, schema in ((shards.accepted, RELEASED), (shards.rejects, RELEASED_REJECTS)):
        for path in files:
            _refuse_more(path, schema)
    if shards.manifest is not None:  # a single file, or a stranger's folder, has none
        require_whole(shards)
    for read in (read_accepted, read_rejects):
        next(read(shards), None)  # says at once if nobody knows which run made the rows
    return shards


def _refuse_more(path: Path, schema: pa.Schema) -> None:
    more = [name for name in pq.read_schema(path).names if name not in schema.names]
    if more:
        raise InputError(
            f"column {more[0]!r} is none of a corpus of conjoin's", path=path,
            remedy="take it out, or merge corpora of one kind",
        )  # fmt: skip


def _united_runs(corpora: Sequence[Shards]) -> dict[str, dict[str, Any]]:
    """All generations by their key, without the numbers of rows that a release adds to them."""
    runs: dict[str, dict[str, Any]] = {}
    places: dict[str, Path] = {}
    for shards in corpora:
        for key, about in generations(shards).items():
            plain = {name: value for name, value in about.items() if name != "rows"}
            known = runs.setdefault(key, plain)
            if known != plain:
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
    corpora: Sequence[Shards], runs: Mapping[str, Any], merged: Mapping[str, MergedRows]
) -> dict[str, Any]:
    keys = sorted({*runs, *(key for rows in merged.values() for key in rows.generations)})

    def each(value: str, index: int | None = None) -> dict[str, Any]:
        """One figure of both kinds of rows: of all, or of an input."""
        wholes = {part: u.whole if index is None else u.inputs[index] for part, u in merged.items()}
        return {part: getattr(whole, value) for part, whole in wholes.items()}

    return {
        "generations": {
            key: {
                **runs.get(key, {}),
                "rows": {part: rows.generations[key] for part, rows in merged.items()},
            }
            for key in keys
        },
        "merged": [
            {
                # The whole path is nobody's business whom the corpus is given to.
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
        "tally": Tally(merged["train"].whole.rows, merged["rejected"].reasons).to_dict(),
        "dropped": {
            part: {DROPPED: sum(read.rows - read.kept for read in rows.inputs)}
            for part, rows in merged.items()
        },
        "shards": [shard for rows in merged.values() for shard in rows.shards],
    }
