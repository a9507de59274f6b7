"""However a command ends, it says so in one line; a defect's traceback lies in a file."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core import console
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.corpus.engine import engine
from pipeline.sharing.corpora import command as corpora

ROOT = Path(__file__).resolve().parents[2]


class OutOfMemoryError(RuntimeError):
    """Called like torch's."""


@pytest.fixture
def ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:
    """Runs `conjoin corpora` that raises something; its exit code and what it said."""
    monkeypatch.setenv("CONJOIN_DEBUG", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def end(error: BaseException, *options: str) -> tuple[int, str]:
        def run(_: object) -> None:
            raise error

        monkeypatch.setattr(corpora, "run", run)
        monkeypatch.setattr(sys, "argv", ["conjoin", *options, "corpora"])
        with pytest.raises(SystemExit) as ending:
            main()
        assert isinstance(ending.value.code, int)
        return ending.value.code, capsys.readouterr().err

    return end


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("bad\n  thing"), 70, "unexpected ValueError: bad thing; this is a defect of"),
        (RecursionError("too deep"), 70, "unexpected RecursionError: too deep; this is a defect"),
        (AssertionError(), 70, "unexpected AssertionError; this is a defect of conjoin"),
        (RuntimeError("x" * 9999), 70, "unexpected RuntimeError: xxx"),
        (MemoryError(), 2, "out of memory: MemoryError; give smaller batches"),
        (OutOfMemoryError("CUDA"), 2, "out of memory: OutOfMemoryError: CUDA; give smaller"),
        (RuntimeError("[enforce fail] can't allocate memory: you"), 2, "out of memory: RuntimeError"),
        (RuntimeError("mmap: Cannot allocate memory (12)"), 2, "out of memory: RuntimeError"),
        (KeyboardInterrupt(), 130, "interrupted; what is finished is kept"),
        (InputError("no"), 2, "no"),
        (FileNotFoundError(2, "No such file", "x\x1b[31m\udcff"), 2, r"'x\x1b[31m\udcff'"),
        (OSError(40, "Too many links", "a"), 2, "conjoin: 'a': Too many links; look at it, and run"),
        (OSError(18, "Other device", "a", 1, "b"), 2, "conjoin: 'b': Other device; look at it"),
        (BrokenPipeError(32, "of another pipe"), 2, "of another pipe"),
    ],
)  # fmt: skip
def test_any_end_is_one_line(ended: Any, error: BaseException, code: int, said: str) -> None:
    """Its length is bounded, nothing in it steers a terminal, and no traceback stands beside it."""
    found, err = ended(error)
    assert found == code
    assert err.startswith("conjoin: ")
    assert said in err
    assert err.count("\n") == 1
    assert len(err) < 700
    assert "\x1b" not in err


def test_the_traceback_of_a_defect_is_kept(ended: Any, tmp_path: Path) -> None:
    """In a new file each time, below the folder for temporary files."""
    places = []
    for _ in range(2):
        _, err = ended(ValueError("bad"))
        (place,) = re.findall(r"the traceback is in (\S+)\n", err)
        places.append(Path(place))
        assert "Traceback (most recent call last)" in Path(place).read_text()
        assert "ValueError: bad" in Path(place).read_text()
    assert len(set(places)) == 2
    assert {place.parent for place in places} == {tmp_path}


def test_without_a_place_for_it_the_traceback_is_shown(
    ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk does not hide what happened."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    code, err = ended(ValueError("bad"))
    assert code == 70
    assert "Traceback (most recent call last)" in err
    assert "the traceback is above" in err.splitlines()[-1]


def test_debug_shows_the_traceback(ended: Any) -> None:
    """The option and the environment variable alike; the one line is the last."""
    _, err = ended(ValueError("bad"), "--debug")
    assert "Traceback (most recent call last)" in err
    assert err.splitlines()[-1].startswith("conjoin: unexpected ValueError: bad")
    assert os.environ["CONJOIN_DEBUG"] == "1"  # for the workers
    _, err = ended(InputError("no"))
    assert "InputError: no" in err


def test_a_reader_that_has_enough_is_no_problem() -> None:
    """`conjoin corpora | head -c 1`: nothing is said, whenever the output is flushed."""
    for unbuffered in ("", "1"):
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "corpora"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in {1, 128 + signal.SIGPIPE}
        process.stderr.close()


@pytest.mark.parametrize("gone", [["stdout"], ["stderr"], ["stdout", "stderr"]])
def test_work_is_finished_though_nobody_reads_what_is_said(
    gone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`conjoin gap … | head -1`: all is written, then the exit code says that something was not read."""
    done = []

    def run(_: object) -> None:
        with Meter("work", 2) as meter:
            for word in ("one", "two"):
                say(word)
                table(word, ("a",), [(word,)])
                warn(word)
                done.append(word)
                meter.advance()

    monkeypatch.setattr(corpora, "run", run)
    monkeypatch.setattr(sys, "argv", ["conjoin", "corpora"])
    for stream in ("_out", "_err"):
        monkeypatch.setattr(console, stream, console._Spoken(stderr=stream == "_err"))
    with ExitStack() as files:
        for stream in ("stdout", "stderr"):
            reader, writer = os.pipe()
            if stream in gone:
                os.close(reader)
            else:
                files.callback(os.close, reader)
            monkeypatch.setattr(sys, stream, files.enter_context(os.fdopen(writer, "w")))
        with pytest.raises(SystemExit) as ending:
            main()
    assert done == ["one", "two"]
    assert ending.value.code == 141


@pytest.mark.parametrize(
    "arguments", [["\x1b[31m[/x]"], ["stats", "--rows", "[/x]"], ["--nix[/x]"]]
)
def test_a_typo_with_markup_is_reported(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line's own complaints are not read as markup."""
    monkeypatch.setattr(sys, "argv", ["conjoin", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_standard_output_is_reported() -> None:
    """`conjoin corpora >&-`, where the next file opened would get what is printed."""
    script = f"exec {shlex.quote(sys.executable)} -m pipeline corpora >&-"
    ended = subprocess.run(  # noqa: S603 - our own command
        ["/bin/sh", "-c", script], stderr=subprocess.PIPE, cwd=ROOT, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.decode().splitlines() == [
        "conjoin: standard output is closed; send it to a file or to /dev/null"
    ]


def test_sigterm_clears_what_ctrl_c_clears(tmp_path: Path, forks: Any) -> None:
    """Batch systems send it: temporary files and half-made outputs go, and the line says why it ended."""
    scratch, out, begun = tmp_path / "scratch", tmp_path / "data/out", tmp_path / "begun"
    scratch.mkdir()

    def run(_: object) -> None:
        with TemporaryDirectory(dir=scratch), appearing(Claim(out, "export")) as new:
            (new / "text").write_text("licensed")
            begun.touch()
            time.sleep(60)

    def work() -> None:
        corpora.run = run  # type: ignore[assignment]
        sys.argv = ["conjoin", "corpora"]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a command finds it
        main()

    child = forks.start(work, tmp_path / "log")
    until = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(child, signal.SIGTERM)
    assert forks.end(child) == 143
    assert (tmp_path / "log").read_text() == "conjoin: stopped; what is finished is kept\n"
    assert not list(scratch.iterdir())
    assert not out.parent.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_a_library_swallows_ends_the_command_as_itself(
    tmp_path: Path, forks: Any, number: signal.Signals, code: int
) -> None:
    """DuckDB makes an error of its own of what the signal raises in a query, and checks a finding of that."""
    begun = tmp_path / "begun"
    endless = (
        "SELECT count(*) FROM range(100000000) a, range(1000) b WHERE a.range * b.range % 7 = 3"
    )

    def run(_: object) -> None:
        with engine(threads=1) as database:
            begun.touch()
            database.execute(endless).fetchall()

    def work() -> None:
        corpora.run = run  # type: ignore[assignment]
        sys.argv = ["conjoin", "corpora"]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a command finds them
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()

    child = forks.start(work, tmp_path / "log")
    until = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(child, number)
    assert forks.end(child) == code
    assert (tmp_path / "log").read_text().endswith("what is finished is kept\n")


@pytest.mark.long
def test_closed_input_and_errors_are_replaced(tmp_path: Path) -> None:
    """`conjoin predict MODEL - <&- 2>&-`: one line, into no file that happens to be opened next."""
    command = f"exec {shlex.quote(sys.executable)} -m pipeline orphans - -- x"
    for redirection in ("<&-", "<&- 2>&-"):
        ended = subprocess.run(  # noqa: S603 - our own command
            ["/bin/sh", "-c", f"{command} {redirection}"], capture_output=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 2
        assert not ended.stdout
        assert ended.stderr.startswith("conjoin: standard input: closed; ") is (
            "2>" not in redirection
        )


def test_progress_of_a_generator_does_not_come_after_the_error(ended: Any) -> None:
    """What it holds open outlives the error: its last line comes before the one that says why it ended."""

    def read() -> Iterator[int]:
        with Meter("reading", 2) as meter:
            meter.advance()
            yield 1

    rows = read()
    next(rows)
    code, said = ended(InputError("bad"))
    rows.close()
    assert code == 2
    assert [line[:9] for line in said.splitlines()] == ["[reading]", "conjoin: "]
