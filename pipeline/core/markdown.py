"""Markdown of text that is data, and figures as tables print them.

Nothing in such text is markup, whatever a corpus or a model wrote.
"""

import re
from collections.abc import Sequence
from itertools import groupby

_SIGNS = re.compile(r"([\\`*_{}\[\]<>|~#$])")


def plain(text: object) -> str:
    """Text in which no sign is markup, on one line."""
    escaped = _SIGNS.sub(r"\\\1", " ".join(str(text).split()))
    return escaped.replace("&", "&amp;").replace("\\<", "&lt;").replace("\\>", "&gt;")


def code(text: object) -> str:
    """Text as code, on one line; empty text as a dash, for there is no empty code."""
    line = " ".join(str(text).split())
    return code_span(line) if line else "–"


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
