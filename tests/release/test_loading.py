"""A release without conjoin: what its card shows is run as it stands there."""

import importlib.abc
import re
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from shared_corpora import candidate_folder

from pipeline.release.card import training_program
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run


class NoConjoin(importlib.abc.MetaPathFinder):
    """An installation without conjoin."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse conjoin, and leave all else to the others."""
        if name.partition(".")[0] in {"pipeline", "conjoin"}:
            raise ModuleNotFoundError(name)


def blocks(markdown: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)


def test_programs_of_the_card_run_without_conjoin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the card's Python runs with conjoin out of reach, and the tagger's loss falls."""
    out = tmp_path / "out"
    run(ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", 240), out=out, name="toy"))
    programs = blocks((out / "README.md").read_text())
    assert training_program("path/to/toy") + "\n" in programs
    for name in [n for n in sys.modules if n.partition(".")[0] == "pipeline"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoConjoin(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError):
        exec("import pipeline.cli", {})  # noqa: S102 - as the programs below
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    torch.manual_seed(0)
    capsys.readouterr()
    here: dict[str, Any] = {}
    for program in programs:
        exec(program.replace("path/to/toy", str(out)), here)  # noqa: S102 - what the card shows
    rows, refused = here["rows"], here["refused"]
    assert (len(rows), len(refused)) == (206, 34)
    assert next(iter(here["stream"])) == rows[0]
    assert len(here["frame"]) == sum(count for _, count in here["counts"].fetchall()) == 206
    assert 0.4 < len(here["better"]) / len(rows) < 0.7
    losses = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 3
    assert losses[-1] < losses[0] / 2


def test_releases_of_equal_size_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Same name, rows and bytes, other scores: `datasets` reads the second, not its copy of the first."""
    loaded = []
    for place, shift in (("a", 0.0), ("b", 0.25)):
        out = tmp_path / place / "release"
        corpus = candidate_folder(tmp_path / place / "toy", shift=shift)
        run(ReleaseSettings(candidates=corpus, out=out, name="toy"))
        rows = datasets.load_dataset(str(out), split="train", cache_dir=str(tmp_path / "cache"))
        loaded.append(list(rows["score"]))
    assert loaded[1] == [score + 0.25 for score in loaded[0]]
