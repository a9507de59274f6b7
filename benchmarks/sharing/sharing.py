"""How fast are the commands that share a corpus, and how much memory do they take, at a million rows?

Makes the corpus of a real one: its rows again and again, each time under other sentence ids and with
the number of the time in a word outside the conjuncts, so that no two rows are equal and every id is the
hash of its content. Words, spans, labels, scores and the share of rejects are so those of generation;
the vocabulary is larger, and the variety of sentences smaller, than a million generated rows would have.
Runs each command in a process of its own, and prints what the kernel says of the most memory that it
held (ru_maxrss). Everything lies in a temporary folder that is removed.

The kernel counts what a process held before it became another program, so this one, which starts the
others, must stay small: the corpus is made by a process of its own, too.
"""
# ruff: noqa: PLC0415 - for the same reason

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SHARD = 100_000  # rows, about


def make(corpus: Path, folder: Path, rows: int) -> None:
    """Write so many rows, usable and rejected, as ``generate`` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pipeline.core.documents import read_json
    from pipeline.core.files import sha256_of, write_json
    from pipeline.core.schema import CANDIDATES, REJECTS

    folder.mkdir(parents=True)
    manifest = read_json(corpus / "manifest.json")
    real = {
        kind: pa.concat_tables(
            [
                pq.read_table(path, schema=schema)
                for path in sorted(corpus.glob(f"{kind}-*.parquet"))
            ]
        ).combine_chunks()
        for kind, schema in (("candidates", CANDIDATES), ("rejects", REJECTS))
    }
    size = sum(table.num_rows for table in real.values())
    times = -(-rows // size)
    each = max(1, SHARD // size)  # times of a shard
    units = -(-times // each)
    shards = []
    counts = dict.fromkeys(real, 0)
    for unit in range(units):
        for kind, table in real.items():
            name = f"{kind}-{unit:05d}-of-{units:05d}.parquet"
            due = round(rows * table.num_rows / size) - counts[kind]
            numbers = range(unit * each, min(times, (unit + 1) * each))
            whole = pa.concat_tables([again(table, number) for number in numbers])[:due]
            whole = whole.replace_schema_metadata({"conjoin.fingerprint": manifest["fingerprint"]})
            pq.write_table(whole, folder / name, compression="zstd", row_group_size=4096)
            counts[kind] += whole.num_rows
            shards.append({
                "file": name, "rows": whole.num_rows, "bytes": (folder / name).stat().st_size,
                "sha256": sha256_of(folder / name),
            })  # fmt: skip
    tally = {"seen": rows, "kept": counts["candidates"], "refused": {"all": counts["rejects"]}}
    write_json(folder / "manifest.json", {**manifest, "shards": shards, "tally": tally})


def again(table: "pa.Table", number: int) -> "pa.Table":
    """The rows with other sentences' ids and one other word, under the ids of that content."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from pipeline.corpus.content import content_ids
    from pipeline.text.natural import SHOWN

    if not table.num_rows:  # attested fills may have no rejects
        return table
    batch = table.to_batches()[0]
    words = batch.column("words")
    flat = np.array(words.flatten().to_pylist(), dtype=object)
    ends = np.cumsum(np.asarray(pc.list_value_length(words)))
    # Most sentences end with a full stop, which is in no conjunct; where it is, or where text shows another
    # sign than the word, only the id differs.
    spans = batch.column("conjuncts").to_pylist()
    beyond = [max([span["end"] for span in row], default=0) for row in spans]
    free = (np.asarray(beyond) < np.diff(ends, prepend=0)) & ~np.isin(flat[ends - 1], list(SHOWN))
    flat[ends[free] - 1] = [f"{word}{number}" for word in flat[ends[free] - 1]]
    text, places = batch.column("text"), batch.column("offsets")
    until = np.array(places.flatten().field("end"))
    until[ends[free] - 1] += len(str(number))
    own = pa.StructArray.from_arrays(
        [places.flatten().field("start"), pa.array(until)], fields=list(places.type.value_type)
    )
    suffix = pa.array(np.where(free, str(number), "").tolist())
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    changed = {
        "sentence_id": pc.binary_join_element_wise(batch.column("sentence_id"), str(number), "/"),
        "words": pa.ListArray.from_arrays(offsets, pa.array(flat, pa.string())).cast(words.type),
        "text": pc.binary_join_element_wise(text, suffix, ""),
        "offsets": pa.ListArray.from_arrays(offsets, own).cast(places.type),
    }
    for name, column in changed.items():
        at = table.schema.get_field_index(name)
        batch = batch.set_column(at, table.schema.field(name), column)
    ids = content_ids(batch)
    batch = batch.set_column(0, table.schema.field("candidate_id"), ids)
    return pa.Table.from_batches([batch], schema=table.schema)


def measured(arguments: list[str], log: Path) -> tuple[float, float, float]:
    """Seconds by the clock and of the processor, and MiB, that a command takes in its own process."""
    begun = time.perf_counter()
    with log.open("wb") as out:
        child = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603 - ours
        _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begun
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{log.read_text()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20


def main() -> None:
    """Make the corpus, run the commands, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--corpus", type=Path, default=Path("data/world/candidates/t5-sync/seed-0"),
        help="folder that `conjoin generate` wrote (`make demo` makes the default)",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, help="where to put it (disk: 0.4 KB a row)")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.corpus, given.make, given.rows)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        made, released = f"{name}/candidates", f"{name}/release"
        log = Path(name) / "log"
        itself = [
            sys.executable,
            __file__,
            "--corpus",
            str(given.corpus),
            "--rows",
            str(given.rows),
        ]
        measured([*itself, "--make", made], log)
        print(f"{given.rows:,} rows, made of {given.corpus}", flush=True)
        print(f"{'command':<22}{'s':>8}{'CPU s':>8}{'rows/s':>10}{'peak MiB':>10}")
        for shown, arguments in (
            ("validate candidates", ["validate", made]),
            ("stats candidates", ["stats", made]),
            ("release", ["release", made, "--out", released]),
            ("validate release", ["validate", released]),
            ("stats release", ["stats", released]),
            (
                "export jsonl",
                ["export", released, "--format", "jsonl", "--out", f"{name}/out.jsonl"],
            ),
        ):
            seconds, busy, peak = measured([sys.executable, "-m", "pipeline", *arguments], log)
            print(
                f"{shown:<22}{seconds:>8.1f}{busy:>8.1f}{given.rows / seconds:>10,.0f}{peak:>10.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
