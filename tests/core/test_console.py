"""What is printed holds names that anybody may have chosen: no markup, nothing that steers a terminal."""

import io
import os
import subprocess
import threading

import pytest
from rich.console import Console

from pipeline.core import console
from pipeline.core.console import Meter, say, table, warn

HOSTILE = ["[/x]", "[red]x", "[link=http://a]b", ":car:", "\x1b[31mx", "a\rb", "\x9b1m", "\x07",
           "caf\udce9", "\u202egnp.exe"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In a title, a column, a cell, a line and a warning; control characters are shown escaped."""
    shown = console.plain(name)
    table(name, (name, "n"), [(name, 1000)])
    say(name)
    warn(name)
    out, err = capsys.readouterr()
    assert out.count(shown) == 4
    assert shown in err
    assert not set(out + err) & set("\x1b\r\x9b\x07\u202e\udce9")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_names_as_they_are(
    name: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal and off it."""
    bars = Console(
        file=io.StringIO(), force_terminal=terminal, width=200, highlight=False, markup=False,
        emoji=False, color_system=None,
    )  # fmt: skip
    monkeypatch.setattr(console, "_err", bars)
    with Meter(name, 3) as meter:
        meter.advance(note=name)
    said = bars.file.getvalue()  # type: ignore[attr-defined]
    assert said.count(console.plain(name)) >= 2
    assert not set(said) & set("\x9b\x07\u202e\udce9")


def test_a_cell_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A line feed in a label would look like another row."""
    table("t", ("a", "b"), [("x\ny", "1"), ("tab\there", "2")])
    assert r"x\ny" in capsys.readouterr().out


def test_a_narrow_terminal_cuts_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on in the next line."""
    out = Console(file=io.StringIO(), width=40)
    monkeypatch.setattr(console, "_out", out)
    name = "t5-" + "x" * 60 + "-end"
    table("runs", ("system", "seeds", "overall"), [(name, 1, "12.3")])
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert "".join(line.partition("│")[0].strip() for line in lines if "│" in line) == name


def test_the_first_of_many_that_come_at_once_say_nothing_of_the_speed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows whose sentences were parsed for a minute beforehand are written in an instant."""
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with Meter("rows", 9000) as meter:
        for now[0], report in (
            (20.0, lambda: meter.note("256 sentences parsed")),
            (52.0, lambda: meter.at(1)),
            (63.0, lambda: meter.at(2100)),
        ):
            report()
        lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[rows] 0/9000  20 s  256 sentences parsed"
    assert "left" not in lines[1]
    assert "63 s, 207 s left" in lines[2]


def test_time_since_the_last_batch_is_no_time_without_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten batches of twenty seconds: at any time the forecast is what is really left."""
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with Meter("batches", 2560) as meter:
        for now[0], done in ((20.0, 256), (25.0, 256), (39.0, 256), (40.0, 512), (59.0, 512)):
            meter.at(done)
            assert meter.left() == pytest.approx(200 - now[0])
        now[0] = 500.0  # long overdue: as long again as it has been
        assert meter.left() == pytest.approx(300)
    capsys.readouterr()


@pytest.mark.parametrize("name", [*HOSTILE, "it's", "a\nb", "\\x1b", "'\x1b\\'", "plain", ""])
def test_a_command_to_copy_steers_nothing_and_says_the_same(name: str) -> None:
    """A shell reads the very word back, byte by byte."""
    line = console.shell_line(["printf", "%s", name])
    assert not set(line) & set("\x1b\r\x9b\x07\u202e\udce9")
    ended = subprocess.run(  # noqa: S603 - bash, our own line
        ["/bin/bash", "-c", line], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert ended.stdout == os.fsencode(name)


def test_no_meter_is_silent_while_one_unit_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Off a terminal, where nothing moves by itself; work without parts says no more when it was short."""
    monkeypatch.setattr(console, "_EVERY", 0.2)
    spoken = threading.Event()
    tell = console.tell
    monkeypatch.setattr(console, "tell", lambda text: (tell(text), spoken.set()))
    with Meter("slow", 2):
        assert spoken.wait(60)
    assert "[slow] 0/2" in capsys.readouterr().err
    with console.in_one_piece("short"):
        pass
    assert not capsys.readouterr().err


def test_a_process_forked_while_a_meter_speaks_can_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy of the lock is free."""
    monkeypatch.setattr(console, "_EVERY", 0.2)
    with Meter("parent", 2):
        for _ in range(20):
            child = os.fork()
            if not child:
                console._speaking.acquire(timeout=20) or os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
