"""Licences of corpora: what an SPDX expression permits, as far as handing on the text goes.

A register of the licences that corpora of this field have, not legal advice: a licence that is not in
it counts as unknown, and what is unknown is not handed on.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["UNKNOWN", "Terms", "combined", "licence_ids", "terms"]

UNKNOWN = "unknown"
"""What rows say whose licence nobody named."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a licence, or an expression of several, permits.

    Attributes:
        known: whether it is one that conjoin knows.
        redistributable: whether generated sentences, which contain the source's, may be handed on.
        name: in words.
        url: its text; None if it has none, or is not known. Of an expression that of the licence that
            decides.
        why: one clause, why the text may be handed on or not.
    """

    known: bool
    redistributable: bool
    name: str
    url: str | None
    why: str


def terms(expression: str) -> Terms:
    """What an SPDX expression permits: ``A AND B`` what both do, ``A OR B`` what either does.

    Never raises: what cannot be read is not known, and so not redistributable.
    """
    return _terms(expression)


@lru_cache(1024)
def _terms(expression: str) -> Terms:
    tokens = _TOKEN.findall(expression)
    try:
        if "".join(tokens) != "".join(expression.split()):
            raise ValueError
        found = _either(tokens)
        if tokens:
            raise ValueError
    except (ValueError, IndexError, RecursionError):  # the last: brackets without end
        return _no_terms(expression, "this is no SPDX expression of licences")
    return found


def licence_ids(expression: str) -> list[str]:
    """The single licences that an expression names, each once, in their order."""
    words = (w for w in _TOKEN.findall(expression) if w not in _SIGNS)
    return list(dict.fromkeys(words))


def combined(expressions: Iterable[str]) -> str:
    """One expression for a whole whose parts have these: all of them hold, sorted, each once."""
    parts: set[str] = set()
    for expression in expressions:
        # What AND joins at the top is taken apart, so that no licence is named twice.
        plain = not {"OR", "(", ")"} & set(_TOKEN.findall(expression)) and terms(expression).known
        parts |= set(expression.split(" AND ")) if plain else {expression}
    alone = len(parts) == 1
    return " AND ".join(
        part if alone or " OR " not in part else f"({part})" for part in sorted(parts)
    )


_TOKEN = re.compile(r"[()]|[A-Za-z0-9.+:-]+")
_SIGNS = {"(", ")", "AND", "OR", "WITH"}


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
    if tokens[:1] == ["WITH"]:  # an exception only ever permits more
        del tokens[:2]
    return _licence(first)


def _licence(identifier: str) -> Terms:
    key = identifier.lower()
    if key in _REGISTER:
        return _REGISTER[key]
    if found := _CC.fullmatch(key):
        return _creative_commons(found)
    return _no_terms(identifier, "conjoin does not know this licence")


def _no_terms(name: str, why: str) -> Terms:
    return Terms(False, False, name or UNKNOWN, None, why)


_CC = re.compile(r"cc-by(-nc)?(-nd|-sa)?-([1-4]\.[05])(-[a-z]{2,3})?")


def _creative_commons(found: re.Match[str]) -> Terms:
    commercial, form, version, country = (group or "" for group in found.groups())
    kind = f"by{commercial}{form}"
    words = {"by": "Attribution", "nc": "NonCommercial", "nd": "NoDerivatives", "sa": "ShareAlike"}
    name = "-".join(words[part] for part in kind.split("-"))
    place = f"{version}/{country[1:]}/" if country else f"{version}/"
    limits = ["with attribution"]
    limits += ["not for commercial use"] if commercial else []
    limits += ["under the same licence"] if form == "-sa" else []
    free = form != "-nd"
    return Terms(
        known=True,
        redistributable=free,
        name=f"Creative Commons {name} {version}{country.upper().replace('-', ' ')}",
        url=f"https://creativecommons.org/licenses/{kind}/{place}",
        why=f"altered text may be handed on, {', '.join(limits)}"
        if free
        else "altered text must not be handed on, and generated sentences are altered text",
    )


def _spdx(name: str, identifier: str, why: str) -> Terms:
    return Terms(True, True, name, f"https://spdx.org/licenses/{identifier}.html", why)


_NOTICE = "text may be handed on with its notice"
_COPYLEFT = "text may be handed on under the same licence"
_FREE = "text is dedicated to the public"
_LDC = Terms(
    True, False, "LDC User Agreement", "https://catalog.ldc.upenn.edu/license/ldc-non-members-agreement.pdf",
    "neither the text nor anything that contains it may go to who is not its licensee",
)  # fmt: skip
_PUBMED = Terms(
    True, False, "terms of PubMed", "https://pubmed.ncbi.nlm.nih.gov/disclaimer/",
    "abstracts belong to their authors and publishers, and PubMed grants no right to hand them on",
)  # fmt: skip

_REGISTER: dict[str, Terms] = {
    "apache-2.0": _spdx("Apache License 2.0", "Apache-2.0", _NOTICE),
    "mit": _spdx("MIT License", "MIT", _NOTICE),
    "bsd-2-clause": _spdx("BSD 2-Clause License", "BSD-2-Clause", _NOTICE),
    "bsd-3-clause": _spdx("BSD 3-Clause License", "BSD-3-Clause", _NOTICE),
    "isc": _spdx("ISC License", "ISC", _NOTICE),
    "cc0-1.0": Terms(
        True, True, "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/", _FREE
    ),
    "pddl-1.0": _spdx("Public Domain Dedication and License 1.0", "PDDL-1.0", _FREE),
    "unlicense": _spdx("The Unlicense", "Unlicense", _FREE),
    "odc-by-1.0": _spdx("Open Data Commons Attribution License 1.0", "ODC-By-1.0", _NOTICE),
    "odbl-1.0": _spdx("Open Database License 1.0", "ODbL-1.0", _COPYLEFT),
    "mpl-2.0": _spdx("Mozilla Public License 2.0", "MPL-2.0", _COPYLEFT),
    "cdla-permissive-1.0": _spdx("CDLA Permissive 1.0", "CDLA-Permissive-1.0", _NOTICE),
    "cdla-permissive-2.0": _spdx("CDLA Permissive 2.0", "CDLA-Permissive-2.0", _NOTICE),
    "cdla-sharing-1.0": _spdx("CDLA Sharing 1.0", "CDLA-Sharing-1.0", _COPYLEFT),
    **{
        f"{kind}-{version}{suffix}".lower(): _spdx(
            f"GNU {words} {version}", f"{kind}-{version}{suffix or '-only'}", _COPYLEFT
        )
        for kind, words, versions in (
            ("GPL", "General Public License", ("2.0", "3.0")),
            ("LGPL", "Lesser General Public License", ("2.1", "3.0")),
            ("AGPL", "Affero General Public License", ("3.0",)),
            ("GFDL", "Free Documentation License", ("1.2", "1.3")),
        )
        for version in versions
        for suffix in ("", "-only", "-or-later")
    },
    "ldc-user-agreement": _LDC,
    "licenseref-ldc-user-agreement": _LDC,
    "licenseref-pubmed": _PUBMED,
    UNKNOWN: _no_terms(UNKNOWN, "nobody has named a licence"),
}
