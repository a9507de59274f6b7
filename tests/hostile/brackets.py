"""Penn Treebank brackets: depth, balance, marks of PTB.ext, and names of files."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hostile.case import Case, damaged, piping, writing

from pipeline.text.trees import DEEPEST

GOOD = "( (S (NP (DT the) (NN dog)) (VP (VBD ran) (PP (IN to) (NP (NN Rome)))) (. .)) )\n"
_NAME = "p/wsj_0201.mrg"
_COMMAND = ["ingest", "ptb", "p", "--out", "out"]
_ANY = ["ingest", "treebank", "p", "--out", "out"]
_STRICT = [*_ANY, "--strict"]
_EXT = ["ingest", "ptb-ext", "PTB.ext", "--out", "out"]
_SKIPPED, _LINES = 3_914, 47_862  # lines before the first that is read, and lines in all


def _deep(depth: int) -> str:
    return "(NP " * depth + "(NN x)" + ")" * depth + "\n"


def _table() -> Iterator[tuple[str, str | bytes, str]]:
    yield "as it should be", GOOD, "ok"
    yield "over several lines", GOOD.replace(" (VP", "\n\n  (VP"), "ok"
    yield "a byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), "ok"
    yield "ends of lines of Windows", GOOD.replace("\n", "\r\n") * 3, "ok"
    for depth in (50, DEEPEST - 1, DEEPEST, 501, 3_000, 50_000, 170_000):
        yield f"{depth:,} deep", _deep(depth), "ok" if depth < DEEPEST else "refused"
        yield (
            f"{depth:,} deep, of lines",
            _deep(depth).replace(" ", "\n"),
            "ok" if depth < DEEPEST else "refused",
        )
    yield "50,000 deep, never closed", "(NP " * 50_000, "refused"
    yield "50,000 brackets", "(" * 50_000 + ")" * 50_000, "refused"
    yield "50,000 in a row", f"(NP {'(NN x) ' * 50_000})\n", "ok"
    yield "two megabytes", f"(NP {'(NN x) ' * 300_000})\n", "refused"
    yield "two megabytes in a line", "(NN " + "x" * 2**21 + ")\n", "refused"
    yield "two megabytes of blanks", "(NN" + " " * 2**21 + "x)\n", "refused"
    yield "two megabytes, never closed", "(NN x\n" * 400_000, "refused"
    yield (
        "380 deep, over 20,000 words",
        f"{'(NP (NN y) ' * 380}{'(NN x) ' * 20_000}{')' * 380}\n",
        "ok",
    )
    yield "40,000 empty siblings", f"(S (NN a) {'(NP (-NONE- *)) ' * 40_000})\n", "ok"
    # A corpus of so few coordinations has no draws, which is refused in the end.
    yield "10,000 conjuncts", f"(NP (NP (NN a)) {'(CC and) (NP (NN b)) ' * 10_000})\n", "any"
    yield (
        "380 coordinations in each other",
        f"{'(NP (NP (NN a)) (CC and) ' * 380}(NN b){')' * 380}",
        "any",
    )
    yield "8,000 trees in a line", "(S (NN a) (CC and) (NN b))" * 8_000, "any"
    yield "12,000 trees with text between in a line", "(S (NN a)) x " * 12_000, "any"
    yield "100,000 trees of one bracket", "\n(" * 100_000, "refused"
    yield "a word just below a megabyte", f"(NN {'x' * (2**20 - 10)})\n", "ok"
    for text in (
        "(", ")", "()", "(())", "( )", "((NP))", "(NP)", "(NP ())", ")(", "(NN x))", "((NN x)", "x",
        "x (NN y)", "(NN x) y", "(NP (NN x) y)", "(NP y (NN x))", "(S (NP (NN x)) z)", "(NN x y)",
        "( x )", "(-NONE- *)", "(NP (-NONE- *))", "( (NP (-NONE- *)) (VP (-NONE- *)))",
        "((NN x) (NN y)) z", "(NN \0)", "(\0 x)", "\0", "", " \n\n", "#!shell", "(NP (CC and))",
        "(NP (CC and) (CC or))", "(NP (CC))", "(CC (CC and))", "(NP (NN a) (CC (NN b)) (NN c))",
        "(UCP (CC x) (NP (NN y)))",
    ):  # fmt: skip
        yield repr(text), text, "any"
    yield "an empty label", "( ( ( (NN x))))\n", "any"
    yield "not UTF-8", GOOD.encode() + b"(NN caf\xe9)\n", "refused"
    yield "UTF-16", GOOD.encode("utf-16"), "refused"
    yield "characters that end lines", "(NP (NN a\u2028b) (NN c\x0bd) (NN e\x85f))\n", "any"
    yield "characters that steer terminals", "(NP (NN \x1b[2J) (NN \x9b1m) (NN \u202e))\n", "any"
    yield "half of a surrogate pair", b"(NN \xed\xb2\x80)\n", "refused"
    yield "only other sections' trees", b"", "refused"


def _marks() -> Iterator[str]:
    yield "(CC-CC (CC and))"
    yield "(NP-CCP (NN-COORD a) (CC-CC (CC and)) (NN-COORD b))"
    yield "(NP-CCP (NN-COORD a) (CC-CC and or) (NN-COORD b))"
    yield "(NP-CCP (NN-COORD a) (CC-CC (CC and) (CC or)) (NN-COORD b))"
    yield "(NP-CCP (NN-COORD a) (NP (CC-CC (X (CC and)))) (NN-COORD b))"
    yield "(NP-CCP NN-COORD (CC-CC and) (NN-COORD b))"
    yield "(NP"
    yield ""
    yield "x"
    yield "(NN \0)"
    for depth in (DEEPEST + 1, 3_000, 50_000):
        yield _deep(depth).strip()
        yield f"{'(NP-COORD ' * depth}(NN x){')' * depth}"
    yield "(NN " + "x" * 2**21 + ")"
    pair = "(NN-COORD a) (NN-COORD b)"
    # The next line is refused, so that the others need not be read.
    yield f"{'(NP-CCP-COORD ' * 380}{pair * 10_000}{' (NN-COORD c))' * 380}\n)"


def _linking(target: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "p").mkdir()
        writing(f"p/{target}", GOOD)(folder)
        (folder / _NAME).symlink_to(target)

    return make


_LONG = 10_000  # characters


def _of_any_treebank(n: int) -> list[tuple[str, str | bytes, str]]:
    """The table; for a short run every fourth of what is long, which takes the most time."""
    short = [case for case in _table() if len(case[1]) < _LONG]
    long = [case for case in _table() if len(case[1]) >= _LONG]
    return [*short, *long[:: 1 if n > len(short) else 4]]


def cases(n: int, seed: int) -> Iterator[Case]:
    """The table of hostile brackets, and damaged copies of good ones up to ``n`` cases."""
    count = 0
    for name, content, expect in _table():
        count += 1
        yield Case(f"brackets: {name}", _COMMAND, writing(_NAME, content), expect)  # type: ignore[arg-type]
    for name, content, _ in _of_any_treebank(n):
        # A malformed tree is counted, and refused only where nothing else is left.
        for command in (_ANY, _STRICT) if len(content) < _LONG else (_ANY,):
            yield Case(f"brackets of any treebank: {name}", command, writing(_NAME, content), "any")  # type: ignore[arg-type]
    for mark in _marks():
        count += 1
        text = "\n" * _SKIPPED + mark + "\n(NN x)" * (_LINES - _SKIPPED)
        yield Case(f"brackets of PTB.ext: {mark[:60]}", _EXT, writing("PTB.ext", text))
    yield Case("brackets: PTB.ext is short", _EXT, writing("PTB.ext", GOOD))
    yield Case("brackets: PTB.ext is a pipe", _EXT, piping("PTB.ext"))
    yield Case("brackets: PTB.ext is a folder", _EXT, lambda folder: os.mkdir(folder / "PTB.ext"))
    yield Case("brackets: a link out of the folder", _COMMAND, _linking("../else.mrg"))
    yield Case("brackets: a link inside the folder", _COMMAND, _linking("deep/else"), "ok")
    yield Case("brackets: the source is a pipe", _COMMAND, piping("p"))
    name = os.fsdecode(b"p/wsj_0201caf\xe9.mrg")
    yield Case("brackets: a name that is not UTF-8", _COMMAND, writing(name, GOOD))
    folder = os.fsdecode(b"p/caf\xe9/wsj_0201.mrg")
    yield Case("brackets: a folder that is not UTF-8", _COMMAND, writing(folder, GOOD), "ok")
    for number in range(count + 8, n):
        content = damaged(GOOD.encode() * 3, number, seed)
        command = (_COMMAND, _ANY, _STRICT)[number % 3]
        yield Case(f"brackets: damaged {number}", command, writing(_NAME, content), "any")
