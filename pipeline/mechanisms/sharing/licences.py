"""SPDX expressions of licences: what they permit, how they are spelt, one for a whole of several parts."""

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.mechanisms.sharing.register import EXCEPTIONS, UNKNOWN, Terms, licence, no_terms

__all__ = ["UNKNOWN", "Terms", "canonical", "combined", "licence_ids", "terms"]

_TOKEN = re.compile(r"[()]|[A-Za-z0-9.+:-]+")
_SIGNS = {"(", ")", "AND", "OR", "WITH"}
_DEEPEST = 32  # brackets; what has more is not read, since the reader calls itself


def terms(expression: str) -> Terms:
    """What an SPDX expression permits: ``A AND B`` what both do, ``A OR B`` what either does.

    Never raises: what cannot be read is not known, and so not redistributable.
    """
    found = _read(expression)
    return found or no_terms(expression, "this is no SPDX expression of licences")


def canonical(expression: str) -> str:
    """The expression as SPDX spells it; identifiers are read in any case. As it is if it is none."""
    if _read(expression) is None:
        return expression
    spelt = (
        t if t in _SIGNS else EXCEPTIONS.get(t.lower()) or licence(t)[0]
        for t in _TOKEN.findall(expression)
    )
    return " ".join(spelt).replace("( ", "(").replace(" )", ")")


def licence_ids(expression: str) -> list[str]:
    """The single licences that an expression names, each once, in their order, as SPDX spells them."""
    words = (w for w in _TOKEN.findall(expression) if w not in _SIGNS)
    return list(dict.fromkeys(licence(w)[0] for w in words if w.lower() not in EXCEPTIONS))


def combined(expressions: Iterable[str]) -> str:
    """One expression for a whole whose parts have these: all of them hold, sorted, each once."""
    parts: set[str] = set()
    for expression in map(canonical, expressions):
        # What AND joins at the top is taken apart, so that no licence is named twice.
        plain = not {"OR", "(", ")"} & set(_TOKEN.findall(expression)) and terms(expression).known
        parts |= set(expression.split(" AND ")) if plain else {expression}
    alone = len(parts) == 1
    return " AND ".join(
        part if alone or " OR " not in part else f"({part})" for part in sorted(parts)
    )


@lru_cache(1024)
def _read(expression: str) -> Terms | None:
    tokens = _TOKEN.findall(expression)
    if "".join(tokens) != "".join(expression.split()) or tokens.count("(") > _DEEPEST:
        return None
    try:
        found = _either(tokens)
    except (ValueError, IndexError):
        return None
    return None if tokens else found


def _either(tokens: list[str]) -> Terms:
    parts = [_both(tokens)]
    while tokens and tokens[0] == "OR":
        del tokens[0]
        parts.append(_both(tokens))
    if len(parts) == 1:
        return parts[0]
    # Whoever hands on chooses the licence that lets him.
    chosen = next((p for p in parts if p.redistributable), None)
    decides = chosen or next((p for p in parts if p.known), parts[0])
    known = chosen is not None or all(p.known for p in parts)
    name = " or ".join(p.name for p in parts)
    return Terms(known, decides.redistributable, name, decides.url, decides.why)


def _both(tokens: list[str]) -> Terms:
    parts = [_one(tokens)]
    while tokens and tokens[0] == "AND":
        del tokens[0]
        parts.append(_one(tokens))
    decides = next((p for p in parts if not p.known), None)
    decides = decides or next((p for p in parts if not p.redistributable), parts[0])
    name = " and ".join(dict.fromkeys(p.name for p in parts))
    known, free = all(p.known for p in parts), all(p.redistributable for p in parts)
    return Terms(known, free, name, decides.url, decides.why)


def _one(tokens: list[str]) -> Terms:
    first = tokens.pop(0)
    if first == "(":
        inner = _either(tokens)
        if tokens.pop(0) != ")":
            raise ValueError
        return inner
    if first in _SIGNS:
        raise ValueError
    if tokens[:1] == ["WITH"]:
        exception = tokens[1]
        del tokens[:2]
        if exception in _SIGNS:
            raise ValueError
        if exception.lower() not in EXCEPTIONS:
            return no_terms(f"{first} WITH {exception}", "conjoin does not know this exception")
    return licence(first)[1]
