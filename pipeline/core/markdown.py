"""Markdown of text that is data: nothing that a corpus or a model wrote is taken for markup."""

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

    Integers get thousands separators, other numbers two decimals, None a dash.
    """
    head = [f"| {' | '.join(columns)} |"]
    head.append("|" + "|".join("---" if i < names else "--:" for i in range(len(columns))) + "|")
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".replace("-", "−")
    # Even in code a bar ends the cell, unless it is escaped; what is escaped already stays so.
    return re.sub(r"(?<!\\)\|", r"\\|", str(value))


def code_span(text: str) -> str:
    """Text as Markdown code, in which nothing is markup; the fence outruns any backticks inside."""
    longest = max((len(list(run)) for tick, run in groupby(text) if tick == "`"), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"
