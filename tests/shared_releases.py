"""Small release folders, for tests of what describes and sends them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from shared_corpora import candidate_folder

from pipeline.ground.files import sha256_of, write_json, write_text
from pipeline.mechanisms.release.digest import RowDigest
from pipeline.mechanisms.release.generations import generations, read_accepted, read_rejects
from pipeline.mechanisms.release.layout import find_shards
from pipeline.mechanisms.release.rows import RELEASED, RELEASED_REJECTS


def release_folder(
    tmp_path: Path, rows: int = 60, *, shards: int = 2, license_: str = "CC0-1.0", **also: Any
) -> tuple[Path, dict[str, Any]]:
    """A release of a small candidate folder as far as its documents need it, and its manifest."""
    candidates = find_shards(candidate_folder(tmp_path / "toy", rows, license_=license_))
    out = tmp_path / "release"
    made: list[dict[str, Any]] = []
    digests, counts = {}, {}
    for config, folder, batches, schema in (
        ("train", "data", read_accepted(candidates), RELEASED),
        ("rejected", "rejected", read_rejects(candidates), RELEASED_REJECTS),
    ):
        table = pa.Table.from_batches(batches, schema)
        digest, counts[config] = RowDigest(), len(table)
        for index in range(shards):
            part = table.take(list(range(index, len(table), shards)))
            file = f"{folder}/train-{index:05d}-of-{shards:05d}.parquet"
            (out / folder).mkdir(parents=True, exist_ok=True)
            pq.write_table(part, out / file, compression="zstd", row_group_size=16)
            about = {"rows": len(part), "bytes": (out / file).stat().st_size}
            made.append({"file": file, "config": config, "sha256": sha256_of(out / file), **about})
            for batch in part.to_batches():
                digest.add(batch)
        digests[config] = digest.hex()
    manifest = {
        "conjoin": "0.1.0", "format": 1, "name": "conjoin-toy-t5-sync", "version": "1.0.0",
        "authors": [], "url": None, "license": license_, "licenses": {license_: rows},
        "stand_off": False, "command": "conjoin release toy/candidates --out release", "seed": 0,
        "rows": counts, "digests": digests, "shards": made,
        "generations": {k: {**g, "rows": counts} for k, g in generations(candidates).items()},
        "sources": [{"corpus": "toy", "license": license_, "sentences": {"train": rows},
                     "sha256": sha256_of(tmp_path / "toy/sentences.parquet")}], **also,
    }  # fmt: skip
    write_json(out / "manifest.json", manifest)
    return out, manifest


def write_sums(release: Path) -> None:
    """``SHA256SUMS`` of all files of a folder."""
    names = sorted(
        os.path.relpath(p, release) for p in release.rglob("*") if p.is_file() and p.name != "SHA256SUMS"
    )
    write_text(release / "SHA256SUMS", "".join(f"{sha256_of(release / n)}  {n}\n" for n in names))
