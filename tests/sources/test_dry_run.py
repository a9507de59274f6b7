"""What a run would cost: the probe and what is made of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from pipeline.core.schema import CANDIDATES, REJECTS
from pipeline.sources import dry_run
from pipeline.sources.dry_run import Probe, probe, probe_source, show
from pipeline.sources.protocol import CandidateSource, WordedSource


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


@pytest.mark.parametrize(
    ("seconds", "speed", "unit"),
    [
        (2.0, "50 pairs/s", None),
        (60.0, "1.7 pairs/s", "10 min 0 s"),
        (250.0, "0.40 pairs/s", "41 min 40 s"),
    ],
)
def test_a_slow_models_speed_is_no_zero_and_what_a_kill_costs_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, speed: str, unit: str | None
) -> None:
    """From ten minutes a unit on, unless what it has got outlives the worker, as a server's answers do."""
    for kept in (False, True):
        show(
            "pairs", Probe(100, seconds, 4000), units=(3, 3), items=3000, processes=2, out=tmp_path,
            kept=kept,
        )  # fmt: skip
        lines = capsys.readouterr().out.splitlines()
        assert any(f" {speed} a process" in line for line in lines)
        said = [line.split("│")[1].split(",")[0].strip() for line in lines if " a unit " in line]
        assert said == ([] if kept or unit is None else [unit])


class Parsing:
    """A source that takes a second a batch of 8 and a hundredth a word; its first unit has the short ones."""

    schemas = {"candidates": CANDIDATES, "rejects": REJECTS}  # noqa: RUF012 - never changed
    at_once = 8

    def __init__(self, clock: list[float]) -> None:
        self._clock = clock
        self._lengths = [[5] * 16, [20] * 16, [60] * 16]
        self.words = [sum(unit) for unit in self._lengths]
        self.trials: list[int] = []

    def items(self, unit: int) -> tuple[list[int], dict[str, int]]:
        """Sentences as their numbers of words."""
        return self._lengths[unit], {}

    def words_of(self, items: Sequence[int]) -> int:
        """Their sum."""
        return sum(items)

    def prepare(self, device: torch.device) -> Callable[..., Any]:
        """Time passes."""

        def make(items: Sequence[int], on_batch: object) -> tuple[list[int], dict[str, int]]:
            self.trials.append(len(items))
            self._clock[0] += -(-len(items) // self.at_once) * 0.01 + 0.01 * sum(items)
            return [], {}

        return make

    def tables(self, rows: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
        """None."""
        return {"candidates": [], "rejects": []}


def test_a_parsers_forecast_goes_by_words_and_whole_batches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences of 60 words take twelve times those of 5: what the whole takes, within a quarter."""
    clock = [0.0]
    monkeypatch.setattr(dry_run.time, "perf_counter", lambda: clock[0])
    source = Parsing(clock)
    assert isinstance(source, WordedSource)
    tried = probe_source(cast("CandidateSource[Any]", source), range(3), torch.device("cpu"), 0.1)
    assert tried
    assert source.trials == [4, 8]
    assert tried.words == 40
    show(
        "sentences",
        tried,
        units=(3, 3),
        items=48,
        words=sum(source.words),
        processes=1,
        out=tmp_path,
    )
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "time" in line)
    forecast = int(line.split("│")[1].split(" s ")[0])
    takes = 6 * 0.01 + 0.01 * sum(source.words)
    assert abs(forecast - takes) < takes / 4
