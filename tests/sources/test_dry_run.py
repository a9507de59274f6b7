"""What a run would cost: the probe and what is made of it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.sources import dry_run
from pipeline.sources.dry_run import Probe, probe, show


def test_probe_doubles_until_it_took_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last trial alone counts, and none is larger than it has to be."""
    clock = [0.0]
    monkeypatch.setattr(dry_run.time, "perf_counter", lambda: clock[0])
    trials = []

    def work(items: Sequence[int]) -> int:
        trials.append(len(items))
        clock[0] += 1 + 0.01 * len(items)
        return 7 * len(items)

    assert probe(work, range(1000), enough=3.0) == Probe(256, pytest.approx(3.56), 1792)
    assert trials == [16, 32, 64, 128, 256]
    assert probe(work, range(50), enough=99.0).items == 50
    trials.clear()
    assert probe(work, range(1000), enough=1.03, first=1).items == 4
    assert trials == [1, 2, 4]


def test_what_is_remembered_is_not_tried_twice() -> None:
    """Each trial has items of its own, until there are none; the last that was made counts."""
    trials: list[list[int]] = []

    def work(items: Sequence[int]) -> int:
        trials.append(list(items))
        return len(items)

    assert probe(work, range(9), enough=99.0, first=1, again=False).items == 2
    assert trials == [[0], [1, 2], [3, 4, 5, 6], [7, 8]]
    trials.clear()
    assert probe(work, range(1), enough=99.0, first=1, again=False).size == 1
    assert trials == [[0]]


def test_forecast_multiplies_the_probe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the processes, half the time; no more processes than units count."""
    tried = Probe(100, 2.0, 4000)
    given = {"items": 90_000, "out": tmp_path / "not" / "yet"}
    show("pairs", tried, units=(9, 10), processes=2, **given)
    printed = capsys.readouterr().out
    assert "9 to make of 10" in printed
    assert "50 pairs/s a process (100 tried in 2.0 s)" in printed
    assert "15 min 0 s with 2 at work" in printed
    assert "3.6 MB of" in printed
    show("pairs", tried, units=(1, 10), processes=2, **given)
    assert "30 min 0 s with 2 at work" in capsys.readouterr().out
    show("pairs", tried, units=(0, 10), processes=2, items=0, out=tmp_path)
    assert " 0 s with 2 at work" in capsys.readouterr().out
    assert not (tmp_path / "not").exists()
