"""Units of an earlier plan that are taken over: the same bytes, nothing made twice, and why not."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.core.device import best_device
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.tally import Tally
from pipeline.executor.growing import take_over
from pipeline.executor.launch import Worker
from pipeline.executor.run import Make, OnBatch, run_units
from pipeline.executor.units import UnitContent, UnitFolder

SCHEMAS = {
    "rows": pa.schema([pa.field("number", pa.int64(), nullable=False)]),
    "rejects": pa.schema([pa.field("number", pa.int64()), pa.field("reason", pa.string())]),
}
ABOUT = Fingerprint(settings={"limit": 7, "seed": 0}, inputs={"text": "a"}, model="sha256:a")
SIZE = 3


def plan(out: Path, items: list[int], **change: Any) -> tuple[UnitFolder, list[list[int]]]:
    """A folder of units of three numbers each, and these."""
    parts = [items[start : start + SIZE] for start in range(0, len(items), SIZE)]
    about = replace(
        ABOUT,
        settings={"limit": len(items), "seed": change.pop("seed", 0)},
        inputs={"text": str(sum(items))},
        **change,
    )
    content = UnitContent(parts.__getitem__, frozenset({"limit", "text"}))
    notes = {"numbers in all": len(items)}
    return UnitFolder(out, len(parts), SCHEMAS, about, None, None, content, notes), parts


def work(out: Path, items: list[int], **change: Any) -> list[int]:
    """Make what is not finished; returns which units that were."""
    folder, parts = plan(out, items, **change)
    made: list[int] = []

    def prepare() -> Make:
        def make(index: int, on_batch: OnBatch) -> None:
            made.append(index)
            odd = [{"number": n, "reason": "odd"} for n in parts[index] if n % 2]
            even = [{"number": n} for n in parts[index] if not n % 2]
            on_batch(len(parts[index]), 0)
            tally = Tally(len(even), Counter(row["reason"] for row in odd))
            folder.write(index, {"rows": even, "rejects": odd}, tally, {"sum": sum(parts[index])})

        return make

    run_units(
        Worker(0, 1, best_device()),
        folder,
        list(map(len, parts)),
        prepare,
        what="test",
        items="numbers",
    )
    return made


def contents(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def test_a_greater_plan_makes_only_what_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last unit was not full; a smaller plan afterwards makes that one again alone."""
    out, once = tmp_path / "out", tmp_path / "once"
    assert work(out, list(range(7))) == [0, 1, 2]
    assert work(out, list(range(14))) == [2, 3, 4]
    assert "2 of 5 shards are an earlier run's, and are not made again" in capsys.readouterr().out
    work(once, list(range(14)))
    assert contents(out) == contents(once)
    work(tmp_path / "few", list(range(7)))
    assert work(out, list(range(7))) == [2]
    assert contents(out) == contents(tmp_path / "few")


def test_as_many_units_of_other_numbers(tmp_path: Path) -> None:
    """Files have the same names; a unit whose numbers changed is made again, the others are not."""
    out = tmp_path / "out"
    work(out, list(range(6)))
    assert work(out, [0, 1, 2, 3, 4, 9]) == [1]
    work(tmp_path / "once", [0, 1, 2, 3, 4, 9])
    assert contents(out) == contents(tmp_path / "once")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "sha256:b"}, "model weights changed"),
        ({"seed": 1}, "seed 0 → 1"),
        ({"algorithm": 2}, "algorithm 1 → 2"),
    ],
)
def test_what_is_alike_for_all_must_be_the_same(
    tmp_path: Path, change: dict[str, Any], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else all is made anew, and a line says why: one alone where the files have the same names."""
    work(tmp_path, list(range(6)))
    assert work(tmp_path, list(range(12)), **change) == [0, 1, 2, 3]
    assert f"no shard of the earlier run stays: {why}" in capsys.readouterr().out
    assert work(tmp_path, list(range(12))) == [0, 1, 2, 3]
    assert "no shard of the earlier run stays" not in capsys.readouterr().out


def test_other_items_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of more numbers before the first."""
    work(tmp_path, list(range(6)))
    assert work(tmp_path, list(range(1, 13))) == [0, 1, 2, 3]
    assert "no shard of the earlier run stays: each has other items" in capsys.readouterr().out


def test_an_earlier_version_kept_no_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records without one, of the same numbers: made again, and said."""
    folder, parts = plan(tmp_path, list(range(6)))
    folder = replace(folder, content=None)
    folder.begin()
    for index, part in enumerate(parts):
        rows = [{"number": n} for n in part]
        folder.write(index, {"rows": rows, "rejects": []}, Tally(len(part)))
    assert work(tmp_path, list(range(9))) == [0, 1, 2]
    assert "made by a version that kept no account" in capsys.readouterr().out


def test_a_damaged_shard_is_not_taken_over(tmp_path: Path) -> None:
    """Nor one whose record is."""
    out, once = tmp_path / "out", tmp_path / "once"
    work(out, list(range(9)))
    shard = out / "rows-00000-of-00003.parquet"
    shard.write_bytes(shard.read_bytes()[:-1] + b"?")
    record = out / ".units/00001-of-00003.json"
    record.write_text(record.read_text().replace("sum", "sun"))
    assert work(out, list(range(12))) == [0, 1, 3]
    work(once, list(range(12)))
    assert contents(out) == contents(once)


@pytest.mark.parametrize("stop", range(3))
def test_a_run_killed_while_it_takes_over_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """After each of its writes; no manifest speaks of what is half done."""
    out, once = tmp_path / "out", tmp_path / "once"
    work(once, list(range(12)))
    work(out, list(range(9)))
    write, written = UnitFolder.write, list[int]()

    def killed(self: UnitFolder, index: int, *rest: Any) -> None:
        if len(written) == stop:
            raise KeyboardInterrupt
        written.append(index)
        write(self, index, *rest)

    monkeypatch.setattr(UnitFolder, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        take_over(plan(out, list(range(12)))[0])
    monkeypatch.undo()
    assert not (out / "manifest.json").exists()
    assert work(out, list(range(12))) == [3]
    assert contents(out) == contents(once)
