"""How a command ends that met a problem: in one line on standard error, whatever the problem was.

What a user can put right (``ConjoinError``, files that cannot be opened or read, too little memory) ends
with exit code 2. Anything else is a defect of conjoin: then the line says so and where the traceback lies,
and the exit code is 70, which BSD's ``sysexits.h`` calls ``EX_SOFTWARE``. With ``conjoin --debug``, or
``CONJOIN_DEBUG=1`` in the environment, which reaches worker processes too, the traceback is shown besides.
"""

import os
import select
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pipeline.core.console import end_meters, forsake, one_line, plain, unread
from pipeline.core.errors import ConjoinError, SettingsError
from pipeline.core.files import output_fault

DEBUG = "CONJOIN_DEBUG"
"""Environment variable: anything but empty or 0 shows tracebacks."""

FOR_THE_USER, DEFECT, INTERRUPTED, NO_READER, STOPPED = 2, 70, 130, 141, 143
"""Exit codes; the last three are 128 and the signal's number: SIGINT, SIGPIPE and SIGTERM."""

_LONGEST = 300  # characters of an exception's own words


class _Signals:
    """SIGINT and SIGTERM as a command has them: both end it as Ctrl-C does, so that temporary files go.

    A library can make another exception of what they raise (DuckDB's queries do), so which one came is
    written down here.
    """

    came: int | None = None

    def raised(self, number: int, _: object) -> None:
        """What is called when one comes."""
        self.came = number
        raise KeyboardInterrupt

    def end(self, error: BaseException) -> None:
        """End the command for the one that came, if one did."""
        came, self.came = self.came, None  # said once, though commands stand inside one another
        if came == signal.SIGTERM:  # which batch systems send
            _end("stopped; what is finished is kept", STOPPED, error)
        if came == signal.SIGINT or isinstance(error, KeyboardInterrupt):
            _end("interrupted; what is finished is kept", INTERRUPTED, error)


_SIGNALS = _Signals()


@contextmanager
def ending_in_one_line() -> Iterator[None]:
    """Run the block as a command's whole work: what it raises becomes one line and an exit code.

    Raises:
        SystemExit: it did not succeed.
    """
    _keep_numbers()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown escaped; it is no reason to stop.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    with _signals_watched(), _said_in_one_line():
        yield


@contextmanager
def _said_in_one_line() -> Iterator[None]:
    try:
        # The next file that is opened would get its number, and what is printed.
        if sys.stdout is None:
            raise SettingsError(
                "standard output is closed", remedy="send it to a file or to /dev/null"
            )
        yield
        sys.stdout.flush()
        # A worker that ended so would have the launcher stop the others; the launcher ends so instead.
        if unread() and "WORLD_SIZE" not in os.environ:
            sys.exit(NO_READER)
    except BrokenPipeError as error:
        if have_readers(sys.stdout, sys.stderr):  # another pipe's other end has gone
            _end(str(error), FOR_THE_USER, error)
        forsake(sys.stdout)  # Python would complain at the very end of what is in the buffer
        sys.exit(NO_READER)  # `conjoin … | head` has read enough
    except KeyboardInterrupt as error:
        _SIGNALS.end(error)
    except SystemExit as error:
        if error.code:
            _SIGNALS.end(error)
        raise
    except (ConjoinError, OSError, UnicodeDecodeError) as error:
        _SIGNALS.end(error)
        # Files that cannot be opened or read are for the user to put right as well.
        _end(" ".join(str(output_fault(error) or _of_a_file(error)).split()), FOR_THE_USER, error)
    except Exception as error:
        _SIGNALS.end(error)
        if is_short_of_memory(error):
            said = f"out of memory: {_words(error)}; {_MORE_MEMORY}"
            _end(said, FOR_THE_USER, error)
        _end(f"unexpected {_words(error)}; {_PLEASE} {_kept(error)}", DEFECT, error)


@contextmanager
def _signals_watched() -> Iterator[None]:
    """Have SIGINT and SIGTERM noted, where nobody else has said what they are to do.

    Workers of a launch end at once: they may wait for one another, and the launcher sees to what they share.
    """
    if "WORLD_SIZE" in os.environ or threading.current_thread() is not threading.main_thread():
        yield
        return
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    ours = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    for number in ours:
        _SIGNALS.came = None
        signal.signal(number, _SIGNALS.raised)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, usual[number])


_PLEASE = "this is a defect of conjoin, please report it;"
_MORE_MEMORY = (
    "give smaller batches, fewer processes or a machine with more; what is finished is kept"
)


def is_short_of_memory(error: Exception) -> bool:
    """Whether Python, NumPy, Arrow or torch (of which only the name is known here) asked in vain."""
    names = {kind.__name__ for kind in type(error).__mro__}
    # A CPU's allocator says "can't", the system "Cannot".
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or "allocate memory" in str(error)


def _of_a_file(error: BaseException) -> BaseException | str:
    """What the system says of a file: which one it is, what is wrong with it, what to do."""
    if not isinstance(error, OSError) or error.filename is None or not error.strerror:
        return error
    name = error.filename if error.filename2 is None else error.filename2
    return f"{name!r}: {error.strerror}; look at it, and run the same command again"


def _words(error: BaseException) -> str:
    """The exception's type, and its first words on one line."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # an exception that cannot be said must not hide behind another
        said = ""
    if len(said) > _LONGEST:
        said = f"{said[:_LONGEST]} …"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _kept(error: BaseException) -> str:
    """Where the traceback is: a new file in the folder for temporary files, which TMPDIR names."""
    text = "".join(traceback.format_exception(error))
    head = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, process {os.getpid()}: {sys.argv}\n\n"
    try:
        begun = f"conjoin-{datetime.now(UTC):%Y%m%d-%H%M%S}-"
        handle, name = tempfile.mkstemp(prefix=begun, suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError as failure:
        sys.stderr.write(plain(text))
        return f"the traceback is above, for no file could be written ({_words(failure)})"
    return f"the traceback is in {Path(name)}"


def _end(said: str, code: int, error: BaseException) -> None:
    with suppress(OSError):  # a terminal that has gone
        end_meters()
        if os.environ.get(DEBUG, "") not in {"", "0"}:
            sys.stderr.write(plain("".join(traceback.format_exception(error))))
        print(f"conjoin: {one_line(said)}", file=sys.stderr, flush=True)
    sys.exit(code)


def have_readers(*streams: IO[str]) -> bool:
    """Whether somebody can still read what is written to some streams of this process."""
    gone = select.poll()
    for stream in streams:
        with suppress(OSError, ValueError):  # no file behind it
            gone.register(stream.fileno(), 0)
    return not any(event & (select.POLLERR | select.POLLHUP) for _, event in gone.poll(0))


def _keep_numbers() -> None:
    """Give standard input and standard error that are closed nothing to read and nowhere to write.

    The next file that is opened would get their numbers, and a library's complaint would stand in it.
    """
    for number, stream in ((0, sys.stdin), (2, sys.stderr)):
        if stream is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
    if sys.stderr is None:  # what is printed to no file goes to standard output
        sys.stderr = os.fdopen(2, "w", encoding="utf-8")
