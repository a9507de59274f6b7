"""CoNLL-U for `predict`: IDs, columns, lines, and what packs them."""

import atexit
import gzip
import lzma
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tiny
from hostile.case import Case, damaged, piping, writing

from pipeline.tasks.coordination.model import CoordinationPredictor

DIGITS = "9" * 5_000


@cache
def predictor() -> Path:
    """A predictor of random weights, for whoever needs one."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bert = tiny.build(folder / "tiny") / "models/bert"
    CoordinationPredictor.create(str(bert), mlp_hidden=8, dropout=0.0, seed=1).save(
        folder / "predictor"
    )
    return folder / "predictor"


def row(name: str, form: str = "cats", head: str = "0", misc: str = "_") -> str:
    """A line of a word."""
    return f"{name}\t{form}\t_\tNOUN\tNN\t_\t{head}\troot\t_\t{misc}\n"


GOOD = row("1") + row("2", "and", "3") + row("3", "dogs", "1", "SpaceAfter=No") + "\n"


def _table() -> Iterator[tuple[str, str | bytes, str]]:
    yield "as it should be", GOOD, "ok"
    yield "packed", gzip.compress(GOOD.encode()), "ok"
    yield "packed by xz", lzma.compress(GOOD.encode()), "ok"
    yield "a HEAD of 5,000 digits", row("1", head=DIGITS) + row("2", "and", head="-1"), "ok"
    for name in (
        DIGITS, f"1-{DIGITS}", f"0.{DIGITS}", "-1", "0", "2", "1.1.1", "1-", "-", "\u0661", "1e3", "0x1",
        "1 ", "1-0", "2-1", "\0", "", "_", "nan",
    ):  # fmt: skip
        yield f"the ID {name[:20]!r}", row(name) + row("2", "and"), "refused"
    yield "a multiword token to 999,999,999", row("1-999999999") + GOOD, "any"
    yield "IDs that begin anew", row("1") + row("1"), "refused"
    yield "nine columns", GOOD.replace("\t_\n", "\n"), "refused"
    yield "a thousand columns", "1" + "\tx" * 1_000 + "\n", "refused"
    yield "no FORM", row("1", ""), "refused"
    yield "a FORM of blanks", row("1", "  "), "refused"
    yield "a FORM with a NUL", row("1", "a\0b"), "refused"
    yield "a comment inside", row("1") + "# text\n" + row("2"), "refused"
    yield "a comment without words", "# sent_id = x\n\n", "refused"
    yield "comments without end", "# x\n" * 100_000 + GOOD, "ok"
    yield "a sent_id of a megabyte", f"# sent_id = {'x' * (2**20 - 300)}\n" + GOOD, "ok"
    yield "a sentence just below a megabyte", "# x\n" * (2**18 - 100) + GOOD, "ok"
    yield "a sentence of more than a megabyte", "# x\n" * (2**18 + 100) + GOOD, "refused"
    yield "a bomb of comments", gzip.compress(b"#\n" * 2**23), "refused"
    yield "20,000 words", "".join(row(str(n), "and") for n in range(1, 20_000)), "ok"
    yield "more than is allowed", gzip.compress(GOOD.encode() * 2**16), "refused"
    yield "a line of two megabytes", row("1", "x" * 2**21), "refused"
    yield "no end of line", GOOD.strip(), "ok"
    yield "blank lines alone", "\n" * 1_000, "refused"
    yield "nothing", b"", "refused"
    yield "not UTF-8", row("1", "caf\xe9").encode("latin-1"), "refused"
    yield "UTF-16", GOOD.encode("utf-16"), "refused"
    yield "zeros", bytes(5_000), "refused"
    yield "packed and cut off", gzip.compress(GOOD.encode() * 50)[:-12], "refused"
    yield "packed by xz and cut off", lzma.compress(GOOD.encode() * 50)[:-12], "refused"
    yield "a header of gzip alone", b"\x1f\x8b", "refused"
    yield "a header of xz alone", b"\xfd7zXZ\0", "refused"
    yield "garbage after gzip", gzip.compress(GOOD.encode())[:12] + b"garbage" * 9, "refused"
    yield "two megabytes unpacked, without a line", gzip.compress(bytes(2**21)), "refused"
    yield "MISC of a coordination", GOOD.replace("SpaceAfter=No", "Coord=9-9|Coord"), "ok"
    yield "only empty nodes", row("0.1"), "refused"


def cases(n: int, seed: int) -> Iterator[Case]:
    """The table of hostile CoNLL-U, and damaged copies of a good sentence up to ``n`` cases."""
    command = ["predict", str(predictor()), "in.conllu", "--format", "conllu"]
    count = 0
    for name, content, expect in _table():
        count += 1
        limit = ["--largest-unpacked", "2MiB"] if "allowed" in name else []
        yield Case(f"conllu: {name}", [*command, *limit], writing("in.conllu", content), expect)  # type: ignore[arg-type]
    yield Case("conllu: a named pipe", command, piping("in.conllu"))
    yield Case("conllu: a folder", command, lambda folder: (folder / "in.conllu").mkdir())
    for number in range(count + 2, n):
        form = ["conllu", "jsonl"][number % 2]
        content = damaged(GOOD.encode() * 2, number, seed)
        yield Case(
            f"conllu: damaged {number}",
            [*command, "--output", form],
            writing("in.conllu", content),
            "any",
        )
