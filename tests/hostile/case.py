"""A hostile input, the command that reads it, and what came of it.

Cases are run in this process: imports cost more than the commands. A command must take its input or refuse
it in one line; whatever else it does is a defect.
"""

import importlib
import io
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import typer

from pipeline import cli
from pipeline.cli import COMMANDS, main

LIMIT = 10
"""Seconds that a command may work, or wait for nothing; other processes may have the machine meanwhile."""

Kind = Literal["ok", "refused", "traceback", "hang", "wrong"]


@dataclass(frozen=True)
class Case:
    """An input and what must come of it.

    Attributes:
        name: says what is hostile about it.
        command: arguments of ``conjoin``; relative paths are in the case's folder.
        make: writes the input into that folder.
        expect: ``ok``, ``refused``, or ``any`` of the two, where nobody need know which.
    """

    name: str
    command: list[str]
    make: Callable[[Path], None]
    expect: Literal["ok", "refused", "any"] = "refused"


@dataclass(frozen=True)
class Outcome:
    """What came of a case, and what the command said on standard error, or the traceback."""

    kind: Kind
    said: str


class Hang(BaseException):
    """A command takes longer than it may; no handler of errors catches this."""


def run_all(cases: Iterable[Case], folder: Path) -> tuple[Counter[str], list[str]]:
    """Run cases, each in a folder of its own.

    Returns:
        How many came out as what, and a line or more about each that is a defect.
    """
    counts: Counter[str] = Counter()
    defects: list[str] = []
    # Typer makes all commands anew for each call, which takes longer than refusing one.
    with patch.object(cli, "app", typer.main.get_command(cli.app)):
        for number, case in enumerate(cases):
            outcome = run(case, folder / str(number))
            counts[outcome.kind] += 1
            if outcome.kind not in ("ok", "refused"):
                defects.append(f"{case.name}: {outcome.kind}: {outcome.said[-1000:]}")
    return counts, defects


def run(case: Case, folder: Path) -> Outcome:
    """Make a case's input in an empty folder and run its command there."""
    folder.mkdir(parents=True)
    case.make(folder)
    # An import belongs to no case.
    importlib.import_module(COMMANDS[case.command[0]][1])
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    before = sys.argv, Path.cwd()
    try:
        os.chdir(folder)
        sys.argv = ["conjoin", *case.command]
        with _limited(), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as exit_:
        code = exit_.code or 0
    except Hang:
        return Outcome("hang", err.getvalue())
    except BaseException:
        return Outcome("traceback", traceback.format_exc())
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
    return Outcome(_kind(case, code, err.getvalue()), err.getvalue())


def _kind(case: Case, code: object, said: str) -> Kind:
    if code == 0:
        return "wrong" if case.expect == "refused" else "ok"
    # Lines of progress may go before the one line; the last resort's begins with "unexpected".
    messages = [line for line in said.splitlines() if line.startswith("conjoin: ")]
    resort = "Traceback" in said or any(
        line.startswith("conjoin: unexpected ") for line in messages
    )
    whole = said.splitlines()[-1:] == messages and not resort
    # What violates its rules is listed on standard output.
    listed = code == 1 and case.command[0] == "validate" and not (messages or resort)
    # A word where a number is due is refused by typer, in a frame of its own.
    usage = code == 2 and "Usage: " in said and "Invalid value for" in said
    if not (listed or usage) and (code != 2 or not whole):
        return "traceback"
    return "wrong" if case.expect == "ok" else "refused"


@contextmanager
def _limited() -> Iterator[None]:
    begun = last = time.process_time()

    def stop(*_: object) -> None:
        nonlocal last
        worked, last = time.process_time() - last, time.process_time()
        if worked < 0.005 or last - begun > LIMIT:
            raise Hang
        signal.alarm(LIMIT)

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def writing(name: str, content: str | bytes) -> Callable[[Path], None]:
    """What writes one file."""

    def make(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def piping(name: str) -> Callable[[Path], None]:
    """What makes a named pipe, which nobody writes to."""
    return lambda folder: os.mkfifo(folder / name)


def damaged(data: bytes, number: int, seed: int) -> bytes:
    """A copy with a few bytes changed, cut out, doubled, put in or cut off; a function of the numbers."""
    draw = random.Random(f"{seed}/{number}")
    content = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 2, 8, 64])
        match draw.randrange(6):
            case 0:
                content[place : place + length] = draw.randbytes(length)
            case 1:
                del content[place : place + length]
            case 2:
                content[place:place] = content[place : place + length]
            case 3:
                content[place:place] = draw.choice(_PIECES)
            case 4 if place < len(content):
                content[place] ^= 1 << draw.randrange(8)
            case 5 if draw.random() < 0.3:
                del content[place:]
            case _:
                pass
    return bytes(content)


_PIECES = [
    b"\0", b"(", b")", b"((((", b"))))", b"\t", b"\n", b"\n\n", b"\r", b"<", b">", b"&", b"&x;", b'"', b"'",
    b"<!--", b"]]>", b"\xff", b"\xc3", b"\xed\xb2\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"9" * 40, b"-",
    b".", b"\x1f\x8b", b"\xfd7zXZ\0", b"CC-CC", b"-COORD", b"-NONE-", b"\x1b[2J", b"\x85", b"#", b"_",
]  # fmt: skip
