"""Units on disk: what is finished, what is redone and why, and what a full disk or a flipped bit does."""

import errno
import os
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.core import files
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, WorkerError
from pipeline.core.files import sha256_of
from pipeline.core.fingerprint import Fingerprint, differences
from pipeline.core.parquet import MANIFEST
from pipeline.core.tally import Tally
from pipeline.executor.display import Dashboard, Progress
from pipeline.executor.launch import Worker
from pipeline.executor.monitor import Store
from pipeline.executor.run import Make, OnBatch, run_units
from pipeline.executor.units import UnitFolder, resume_line

SCHEMAS = {
    "rows": pa.schema([pa.field("number", pa.int64(), nullable=False)]),
    "rejects": pa.schema([pa.field("number", pa.int64()), pa.field("reason", pa.string())]),
}
FINGERPRINT = Fingerprint(
    settings={"beams": 1, "seed": 0},
    inputs={"trees": "b"},
    model="sha256:a",
    versions={"torch": "2"},
)


def units(out: Path, count: int = 3, **change: Any) -> UnitFolder:
    return UnitFolder(out, count, SCHEMAS, replace(FINGERPRINT, **change))


def work(folder: UnitFolder) -> list[int]:
    """Make what is not finished; returns which units that were."""
    made = []

    def prepare() -> Make:
        def make(index: int, on_batch: OnBatch) -> None:
            made.append(index)
            rows = [{"number": 10 * index + i} for i in range(5)]
            refused = [{"number": index, "reason": "odd"}] if index % 2 else []
            on_batch(6, 60)
            tally = Tally(5, Counter(r["reason"] for r in refused))
            folder.write(index, {"rows": rows, "rejects": refused}, tally, {"notes": index})

        return make

    sizes = [6] * folder.count
    run_units(Worker(0, 1, best_device()), folder, sizes, prepare, what="test", items="rows")
    return made


def contents(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


@pytest.fixture
def made(tmp_path: Path) -> UnitFolder:
    """Three finished units and their manifest."""
    folder = units(tmp_path / "out")
    assert work(folder) == [0, 1, 2]
    return folder


def test_manifest_sums_the_units(made: UnitFolder) -> None:
    """Tally and notes are sums, and every shard stands with rows and SHA-256."""
    manifest = read_json(made.folder / MANIFEST)
    assert manifest["tally"] == {"seen": 16, "kept": 15, "refused": {"odd": 1}}
    assert manifest["notes"] == {"notes": 3}
    assert manifest["fingerprint"] == made.fingerprint.digest
    for shard in manifest["shards"]:
        path = made.folder / shard["file"]
        assert shard["sha256"] == sha256_of(path)
        assert shard["rows"] == pq.read_metadata(path).num_rows
        assert (
            pq.read_schema(path).metadata[b"conjoin.fingerprint"].decode()
            == made.fingerprint.digest
        )


def test_notes_of_the_run_are_counted_once(tmp_path: Path) -> None:
    """Not once for each unit, of which the first has them."""
    folder = replace(units(tmp_path / "out"), notes_of_run={"left out": 7})
    work(folder)
    assert read_json(folder.folder / MANIFEST)["notes"] == {"notes": 3, "left out": 7}


def test_finished_units_are_left_alone(made: UnitFolder) -> None:
    """A second run makes nothing and writes the same manifest."""
    before = contents(made.folder)
    assert work(made) == []
    assert contents(made.folder) == before


@pytest.mark.parametrize("kind", ["rows", "rejects", "record"])
def test_any_flipped_bit_is_found_and_mended(made: UnitFolder, kind: str) -> None:
    """One bit at offsets all over a file, its footer included, makes its unit damaged."""
    path = made.record(1) if kind == "record" else made.path(kind, 1)
    good, before = path.read_bytes(), contents(made.folder)
    offsets = {0, 3, len(good) - 1, len(good) - 5, *range(7, len(good), max(1, len(good) // 23))}
    for offset in sorted(offsets):
        bad = bytearray(good)
        bad[offset] ^= 1 << offset % 8
        path.write_bytes(bad)
        assert [made.state(i).kind for i in range(3)] == ["current", "damaged", "current"], offset
    assert path.name in made.state(1).why
    assert work(made) == [1]
    assert contents(made.folder) == before


def test_truncated_and_lost_files_are_found(made: UnitFolder) -> None:
    """Each is named with what is wrong with it."""
    before = contents(made.folder)
    path = made.path("rows", 0)
    path.write_bytes(path.read_bytes()[:50])
    made.path("rejects", 1).unlink()
    made.record(2).unlink()
    states = [made.state(index) for index in range(3)]
    assert [s.kind for s in states] == ["damaged", "damaged", "stale"]
    assert f"{path.name}: truncated: 50 of" in states[0].why
    assert "rejects-00001-of-00003.parquet: gone" in states[1].why
    assert states[2].why == "no commit record"
    assert work(made) == [0, 1, 2]
    assert contents(made.folder) == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"settings": {"beams": 4, "seed": 0}}, "beams 1 → 4"),
        ({"model": "sha256:z"}, "model weights changed"),
        ({"inputs": {"trees": "z"}}, "input trees changed"),
        ({"algorithm": 2}, "algorithm 1 → 2"),
        ({"versions": {"torch": "3"}}, "torch 2 → 3"),
        (
            {"settings": {"beams": 4}, "algorithm": 2},
            "beams 1 → 4, seed 0 → unset, algorithm 1 → 2",
        ),
    ],
)
def test_stale_units_say_what_changed(
    made: UnitFolder, capsys: pytest.CaptureFixture[str], change: dict[str, Any], why: str
) -> None:
    """By name, and nothing of the old is left when they have been redone."""
    other = units(made.folder, **change)
    assert {made.state(i).kind for i in range(3)} == {"current"}
    assert sorted(other.state(0).why.split(", ")) == sorted(why.split(", "))
    work(other)
    assert "0 of 3 shards are current; redoing 3: shards 0, 1, 2 stale (" in capsys.readouterr().out
    fresh = units(made.folder.with_name("fresh"), **change)
    work(fresh)
    assert contents(made.folder) == contents(fresh.folder)


def test_each_group_is_named_at_the_start(made: UnitFolder) -> None:
    """What is current, missing, damaged and stale stands in one line."""
    states = [made.state(0)] * 7
    units(made.folder, settings={"beams": 4, "seed": 0}).write(
        1, {"rows": [], "rejects": []}, Tally()
    )
    made.path("rows", 2).unlink()
    line = resume_line([*states, made.state(2), made.state(1), made.state(1)])
    assert line is not None
    assert line.startswith("7 of 10 shards are current; redoing 3: shard 7 damaged (rows-00002-of-")
    assert line.endswith("shards 8, 9 stale (made by settings that are not known any more)")
    assert differences({"settings": {"beams": 4}}, {"settings": {"beams": 4}}) == ""


def test_files_of_another_plan_and_old_layout_go(tmp_path: Path) -> None:
    """Shards of another count, old ones without records and half-written files leave no trace."""
    out, fresh = units(tmp_path / "out", 2), units(tmp_path / "fresh", 2)
    work(units(out.folder, 5))
    half = [f"{path}.0123456789ab.tmp" for path in (".rows-00001-of-00002.parquet", ".units/.y")]
    for path in ("rows-00000-of-00002.parquet", *half):
        (out.folder / path).write_text("half")
    assert out.state(0).why == "no commit record"
    work(out)
    work(fresh)
    assert contents(out.folder) == contents(fresh.folder)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("which", range(4))
def test_a_full_disk_is_one_line_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, which: int
) -> None:
    """Whichever write meets it: the file and the remedy are named, and a rerun goes on."""
    folder, fresh, left = units(tmp_path / "out"), units(tmp_path / "fresh"), [which]

    def sync(handle: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", sync)
        with pytest.raises(InputError, match=r"MiB free\); free space and run the same") as caught:
            work(folder)
    assert str(folder.folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(folder.folder.rglob("*.tmp"))
    work(folder)
    work(fresh)
    assert contents(folder.folder) == contents(fresh.folder)


@contextmanager
def small_files() -> Iterator[None]:
    """No file may grow beyond 400 bytes, which the system itself enforces; pytest's log neither."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    """The error of a real write in pyarrow, not only that of a patched one, is understood."""
    with small_files(), pytest.raises(InputError, match="cannot write: File too large"):
        units(tmp_path / "out").write(0, {"rows": [], "rejects": []}, Tally())
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_a_worker_without_worker_0_stops_unless_all_is_done(
    made: UnitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losing the store ends the work in one line, but not after the last unit."""

    def gone(_: Store) -> int:
        raise WorkerError("worker 0 has gone")

    monkeypatch.setattr(Store, "take", gone)
    assert work(made) == []
    made.record(1).unlink()
    with pytest.raises(WorkerError, match="worker 0 has gone"):
        work(made)


def test_what_is_left_goes_by_words_where_these_take_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the sentences with four fifths of the words in 100 s: a fifth is left, not a half."""
    clock = [0.0]
    monkeypatch.setattr("pipeline.executor.display.time.monotonic", lambda: clock[0])
    for tokens, left in ((1_250, 25.0), (None, 100.0)):
        display = Dashboard("harvest", "sentences", 100, 0, tokens)
        begun = clock[0]
        clock[0] += 100.0
        display.show(Progress(50, 50, 1_000, 0, 0, [None]))
        assert display.left() == pytest.approx(left), begun
    # What a lost worker had read is read again: nothing is left, and never less.
    display = Dashboard("harvest", "sentences", 100, 0, 900)
    display.show(Progress(99, 99, 1_000, 0, 0, [None]))
    assert display.left() == 0


def test_progress_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates and the time left are of this run; items of earlier runs only count as done."""
    clock = [0.0]
    monkeypatch.setattr("pipeline.executor.display.time.monotonic", lambda: clock[0])
    display = Dashboard("generate", "pairs", 12_000, 6_000)
    clock[0] = 10.0
    progress = Progress(9_000, 3_000, 96_000, 960, 40, [None, None, 75.0])
    display.show(progress)
    assert display.line(progress) == (
        "9000/12000 pairs  300 pairs/s  9.6k tokens/s  rejected 4 %  10 s left  "
        "workers 2/3 (2 lost 75 s)"
    )
