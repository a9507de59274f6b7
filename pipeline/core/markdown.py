"""Markdown of text that is data, and figures as tables print them.

Nothing in such text is markup, nor steers a terminal, whatever a corpus or a model wrote.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from pipeline.core import console

_SIGNS = re.compile(r"([\\`*_{}\[\]<>|~#$])")


def plain(text: object) -> str:
    """Text in which no sign is markup, on one line."""
    escaped = _SIGNS.sub(r"\\\1", _line(text))
    return escaped.replace("&", "&amp;").replace("\\<", "&lt;").replace("\\>", "&gt;")


def code(text: object) -> str:
    """Text as code, on one line; empty text as a dash, for there is no empty code."""
    line = _line(text)
    return code_span(line) if line else "–"


def _line(text: object) -> str:
    """Text on one line, in which what would steer a terminal is shown instead."""
    return console.plain(" ".join(str(text).split()))


_LONGEST = (
    4_000  # characters of a text that documents show: a command that names many folders has fewer
)


def printable(value: Any) -> Any:
    """A JSON-ready value as documents show it: its texts, keys too, on one line each, none without end."""
    if isinstance(value, str):
        line = console.one_line(value)
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
    if isinstance(value, Mapping):
        return {printable(key): printable(each) for key, each in value.items()}
    return list(map(printable, value)) if isinstance(value, list | tuple) else value


def command(text: str) -> str:
    """A command as a block of code shows it, on one line; as a comment if it is not one of conjoin's.

    Whoever reads it may run it, and a line of backticks would end the block.
    """
    line = _line(text)
    return line if all(map(_is_own, line.split(" && "))) else f"# {line}"


def _is_own(line: str) -> bool:
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation that does not end
        return False
    return words[:1] == ["conjoin"] and shlex.join(words) == line


def grid(columns: Sequence[str], rows: Sequence[Sequence[object]], names: int = 1) -> str:
    """A pipe table of cells that are Markdown: the first ``names`` columns left, the others right.

    Cells that are no text are written by :func:`number`.
    """
    head = [f"| {' | '.join(columns)} |"]
    head.append("|" + "|".join("---" if i < names else "--:" for i in range(len(columns))) + "|")
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: object) -> str:
    # Even in code a bar ends the cell, unless it is escaped; what is escaped already stays so.
    return re.sub(r"(?<!\\)\|", r"\\|", number(value))


def number(value: object) -> str:
    """A value as tables show it: thousands separators, two decimals, a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.2f}".replace("-", "−") if isinstance(value, float) else str(value)


def percent(share: float | None, sd: float | None = None, *, digits: int = 2) -> str:
    """A fraction as per cent, ``68.68 ± 1.51``; a dash where it is undefined."""
    if share is None:
        return "–"
    return f"{100 * share:.{digits}f}" + ("" if sd is None else f" ± {100 * sd:.{digits}f}")


def points(difference: float, digits: int = 2) -> str:
    """A difference of two fractions in percentage points, always with its sign: ``−1.20``."""
    return f"{100 * difference:+.{digits}f}".replace("-", "−")


def code_span(text: str) -> str:
    """Text as Markdown code, in which nothing is markup; the fence outruns any backticks inside."""
    longest = max((len(list(run)) for tick, run in groupby(text) if tick == "`"), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"
