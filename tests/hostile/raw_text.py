"""Plain text for `ingest` and `pretrain`: packing, bombs, lines without end, names of files."""

import gzip
import lzma
import os
from collections.abc import Iterator
from pathlib import Path

from hostile.case import Case, damaged, piping, writing

GOOD = "The old man saw a small dog near the harbor.\n" * 3
_COMMAND = ["ingest", "text", "t", "--out", "out", "--largest-unpacked", "8MiB"]


def _table() -> Iterator[tuple[str, str, str | bytes, str]]:
    packed, by_xz = gzip.compress(GOOD.encode()), lzma.compress(GOOD.encode())
    yield "as it should be", "a.txt", GOOD, "ok"
    yield "packed", "a.txt.gz", packed, "ok"
    yield "packed by xz", "a.txt.xz", by_xz, "ok"
    yield "packed twice in a row", "a.txt.gz", packed * 2, "ok"
    yield "packed by xz twice in a row", "a.txt.xz", by_xz * 2, "ok"
    yield "a byte order mark", "a.txt", b"\xef\xbb\xbf" + GOOD.encode(), "ok"
    yield "a bomb of gzip", "a.txt.gz", gzip.compress(b"the dog\n" * (2 * 2**20), 9), "refused"
    yield "a bomb of xz", "a.txt.xz", lzma.compress(b"the dog\n" * (2 * 2**20)), "refused"
    yield "a bomb of blank lines", "a.txt.gz", gzip.compress(b"\n" * (16 * 2**20), 9), "refused"
    for share in (0.02, 0.2, 0.5, 0.8, 0.99):
        yield (
            f"gzip cut off at {share:.0%}",
            "a.txt.gz",
            packed[: int(len(packed) * share)],
            "refused",
        )
        yield f"xz cut off at {share:.0%}", "a.txt.xz", by_xz[: int(len(by_xz) * share)], "refused"
    yield "gzip of the wrong checksum", "a.txt.gz", packed[:-8] + b"abcd" + packed[-4:], "refused"
    yield "gzip of the wrong length", "a.txt.gz", packed[:-4] + b"abcd", "refused"
    yield "gzip of another method", "a.txt.gz", packed[:2] + b"\7" + packed[3:], "refused"
    yield "garbage in gzip", "a.txt.gz", packed[:14] + b"\xff" * 30, "refused"
    yield "garbage in xz", "a.txt.xz", by_xz[:30] + b"\xff" * 30 + by_xz[60:], "refused"
    yield "xz that is gzip", "a.txt.xz", packed, "refused"
    yield "gzip that is text", "a.txt.gz", GOOD, "refused"
    yield "gzip of nothing", "a.txt.gz", gzip.compress(b""), "refused"
    yield "gzip that is empty", "a.txt.gz", b"", "refused"
    yield "nothing", "a.txt", b"", "refused"
    yield "blanks", "a.txt", " \n\t\n\u2003\n", "refused"
    yield "a NUL", "a.txt", GOOD + "a\0b\n", "refused"
    yield "zeros", "a.txt", bytes(100_000), "refused"
    yield "not UTF-8", "a.txt", GOOD.encode() + b"caf\xe9\n", "refused"
    yield "half of a surrogate pair", "a.txt", b"a \xed\xb2\x80 b\n", "refused"
    yield "UTF-16", "a.txt", GOOD.encode("utf-16"), "refused"
    yield "UTF-16 without its mark", "a.txt", GOOD.encode("utf-16-le"), "refused"
    yield "a line of two megabytes", "a.txt", "the dog " * 2**18, "refused"
    yield "a word of two megabytes", "a.txt", "x" * 2**21, "refused"
    yield "a line just below a megabyte", "a.txt", "the dog " * (2**17 - 1), "ok"
    yield "a word of 100,000 letters", "a.txt", "x" * 100_000, "any"
    for mark in "'\"().,-/`$%&":
        yield f"20,000 times {mark}", "a.txt", mark * 20_000, "any"
    yield "2,000 lines", "a.txt", "The dog.\n" * 2_000, "ok"
    yield "ends of lines of old Macs", "a.txt", GOOD.replace("\n", "\r"), "ok"
    yield "characters that steer terminals", "a.txt", "a \x1b[2J b \u202e c\n", "any"
    yield "only marks", "a.txt", "``''\n--\n...\n", "any"
    yield "letters with 1,000 accents", "a.txt", "a" + "\u0301" * 1_000 + " b\n", "ok"


def _names() -> Iterator[Case]:
    yield Case("text: a named pipe", _COMMAND, piping("t"))
    yield Case("text: no source", _COMMAND, lambda _: None)
    yield Case(
        "text: a name that is not UTF-8", _COMMAND, writing(os.fsdecode(b"t/caf\xe9.txt"), GOOD)
    )

    def odd(folder: Path, what: str) -> None:
        (folder / "t").mkdir()
        path = folder / "t/a.txt"
        match what:
            case "pipe":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "link":
                path.symlink_to("nowhere")
            case "circle":
                path.symlink_to("a.txt")
            case "link out":
                writing("else.txt", GOOD)(folder)
                path.symlink_to("../else.txt")
            case "link to a file of the system":
                path.symlink_to("/etc/passwd")

    for what in ("pipe", "folder", "link", "circle", "link out", "link to a file of the system"):
        yield Case(
            f"text: a {what} in the folder", _COMMAND, lambda folder, what=what: odd(folder, what)
        )
    for size in ("0MiB", "-1GiB", "x", "1e9GiB", "9999999999GiB", "1 KiB", "", "1GiB\n"):
        command = [*_COMMAND[:-1], size]
        yield Case(f"text: --largest-unpacked {size!r}", command, writing("t/a.txt", GOOD), "any")
    for size in ("9" * 5_000, "\u0665\u0665", "5.0", "-5", "", "full "):
        command = [*_COMMAND, "--labelled", size]
        yield Case(f"text: --labelled {size[:9]!r}", command, writing("t/a.txt", GOOD), "any")


def _pretrain(name: str, content: str | bytes, *more: str) -> Case:
    def make(folder: Path) -> None:
        writing("corpus/text.txt", GOOD)(folder)
        if name == "pipe":
            os.mkfifo(folder / name)
        else:
            writing(name, content)(folder)

    command = ["pretrain", "corpus", "--texts", name, "--steps", "1", *more]
    return Case(f"pretrain: {name}, {content[:20]!r}", command, make)


def _texts() -> Iterator[Case]:
    packed, lines = gzip.compress(GOOD.encode()), ("--segment", "line")
    yield _pretrain("pipe", "")
    yield _pretrain(
        "a.txt.gz", gzip.compress(b"the dog\n" * 2**19), "--largest-unpacked", "2MiB", *lines
    )
    yield _pretrain(
        "a.txt.xz", lzma.compress(b"the dog\n" * 2**19), "--largest-unpacked", "2MiB", *lines
    )
    yield _pretrain("a.txt.gz", packed[:-9])
    yield _pretrain("a.txt.gz", packed[:14] + b"\xff" * 30)
    yield _pretrain("a.txt", "a\0b\n")
    yield _pretrain("a.txt", b"caf\xe9\n")
    yield _pretrain("a.txt", "")
    yield _pretrain("a.txt", "x" * (17 * 2**20))
    yield _pretrain(os.fsdecode(b"t/caf\xe9.txt"), "", *lines)


def cases(n: int, seed: int) -> Iterator[Case]:
    """The table of hostile texts, and damaged copies of good ones up to ``n`` cases."""
    count = 0
    for name, file, content, expect in _table():
        count += 1
        yield Case(f"text: {name}", _COMMAND, writing(f"t/{file}", content), expect)  # type: ignore[arg-type]
    for case in (*_names(), *_texts()):
        count += 1
        yield case
    kinds = {"a.txt": bytes, "a.txt.gz": gzip.compress, "a.txt.xz": lzma.compress}
    for number in range(count, n):
        file = list(kinds)[number % 3]
        content = damaged(kinds[file](GOOD.encode()), number, seed)
        segment = ["line", "punkt"][number % 2]
        command = [*_COMMAND, "--segment", segment]
        yield Case(f"text: damaged {number}", command, writing(f"t/{file}", content), "any")
