"""A good release, and ways to damage a copy of it so that everything else about it stays right."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from shared_corpora import candidate_folder

from pipeline.core.files import digest_of, sha256_of, write_json
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.licences import combined
from pipeline.corpus.rows import RELEASED, RELEASED_REJECTS, STAND_OFF, STAND_OFF_REJECTS
from pipeline.release import stage as release
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.text.columns import natural_columns

Row = dict[str, Any]
SHARD, OTHER = (f"data/train-0000{n}-of-00002.parquet" for n in range(2))
REJECTS = "rejected/train-00000-of-00001.parquet"


def make_release(
    folder: Path, source: Path, *, stand_off: bool = False, license_: str = "CC0-1.0"
) -> Path:
    """A release of two shards."""
    made = candidate_folder(source, license_=license_)
    release.run(ReleaseSettings(candidates=made, out=folder, stand_off=stand_off, shards=2))
    return folder


def identified(row: Row) -> Row:
    """The row under the id of its content and with the text of its words, if it has these."""
    if "words" not in row:
        return row
    if "text" in row and row["words"] and None not in row["words"]:
        row = row | natural_columns(row["words"])
    spans = [[s["start"], s["end"]] for s in (row["reference"], *row["conjuncts"])]
    content = [row["sentence_id"], row["words"], row["coordinator"], spans]
    return row | {"candidate_id": digest_of(content)[:24]}


def rewrite(folder: Path, name: str, change: Callable[[list[Row]], list[Row]]) -> None:
    """Change the rows of a shard."""
    table = pq.read_table(folder / name)
    replace(
        folder, name, pa.Table.from_pylist(change(table.to_pylist()), schema=loose(table.schema))
    )


def replace(folder: Path, name: str, table: pa.Table) -> None:
    """Write another table as a shard, and put manifest and checksums right."""
    pq.write_table(table, folder / name)
    settle(folder)


def loose(schema: pa.Schema) -> pa.Schema:
    """The schema with nulls allowed everywhere."""

    def free(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(free(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(f.name, free(f.type)) for f in kind])
        return kind

    return pa.schema([(field.name, free(field.type)) for field in schema])


def settle(folder: Path) -> None:
    """Make manifest and checksums say what the shards hold."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    sums = {"train": RowDigest(), "rejected": RowDigest()}
    licences: dict[str, int] = {}
    runs: dict[str, dict[str, int]] = {}
    schemas = (RELEASED, RELEASED_REJECTS)
    if manifest["stand_off"]:
        schemas = (STAND_OFF, STAND_OFF_REJECTS)
    for entry in manifest["shards"]:
        table = pq.read_table(folder / entry["file"])
        schema = schemas[entry["config"] == "rejected"]
        digest = RowDigest()
        if set(schema.names) <= set(table.column_names):
            for batch in table.select(schema.names).combine_chunks().to_batches():
                digest.add(batch)
        for licence in table["license"].to_pylist():
            licences[licence] = licences.get(licence, 0) + 1
        size = (folder / entry["file"]).stat().st_size
        entry.update(rows=table.num_rows, bytes=size, digest=digest.hex())
        entry["sha256"] = sha256_of(folder / entry["file"])
        if "generation" in table.column_names:
            for key in table["generation"].to_pylist():
                runs.setdefault(key, {"train": 0, "rejected": 0})[entry["config"]] += 1
        whole = RowDigest.united([sums[entry["config"]], digest])
        sums[entry["config"]] = whole
        manifest["rows"][entry["config"]] = sum(
            each["rows"] for each in manifest["shards"] if each["config"] == entry["config"]
        )
    manifest["digests"] = {config: digest.hex() for config, digest in sums.items()}
    manifest["licenses"], manifest["license"] = licences, combined(licences)
    for key, run in manifest["generations"].items():
        run["rows"] = runs.get(key, {"train": 0, "rejected": 0})
    write_json(path, manifest)
    write_checksums(folder)
