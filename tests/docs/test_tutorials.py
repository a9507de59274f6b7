"""The tutorials, followed word for word in an empty folder: each command of each ``sh`` block, in order."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/tutorials"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps(page: str) -> Iterator[str]:
    """What to type, one command after the other; a here-document is one with its command."""
    for block in BLOCK.findall((PAGES / page).read_text(encoding="utf-8")):
        lines = iter(block.splitlines())
        for line in lines:
            step = [line]
            if line.endswith("<<'END'"):
                for more in lines:
                    step.append(more)
                    if more == "END":
                        break
            yield "\n".join(step)


def exit_code() -> object:
    """Runs the command that stands in ``sys.argv``."""
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


def follow(page: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do all that the page says; what is a command of conjoin in this process, which imports torch once."""
    (place / "conjoin").symlink_to(ROOT)  # what cloning makes
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for step in steps(page):
        if not step.startswith("conjoin "):
            subprocess.run(["/bin/bash", "-euc", step], check=True, cwd=place)  # noqa: S603 - our own page
            continue
        monkeypatch.setattr(sys, "argv", shlex.split(step))
        assert exit_code() == 0, f"{page}: {step}"


def test_own_treebank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A treebank and raw text end with a report of both systems and with predictions."""
    follow("own-treebank.md", tmp_path, monkeypatch)
    report = (tmp_path / "data/mine/report/report.md").read_text(encoding="utf-8")
    assert "generation by attested" in report
    assert re.search(r"\] (and|or|but) \[", capsys.readouterr().out)


def test_own_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text without a treebank ends with a release, by the parser and the model of another corpus."""
    follow("own-text.md", tmp_path, monkeypatch)
    assert list(tmp_path.glob("notes-corpus/data/train-*.parquet"))


def test_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Candidates are chosen, united, released, loaded and exported."""
    follow("share.md", tmp_path, monkeypatch)
    assert "# sent_id" in (tmp_path / "world.conllu").read_text(encoding="utf-8")
    assert "OWNER/NAME" in capsys.readouterr().out
