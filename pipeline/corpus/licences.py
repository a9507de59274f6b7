"""The licences that corpora of this field have, and whether each permits to hand on the text.

SPDX expressions of several licences are read, spelt as SPDX does, and combined into one for a whole of
several parts. Not legal advice: a licence that is not here counts as unknown, and what is unknown is not
handed on.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

UNKNOWN = "unknown"
"""The licence of rows for which none was named."""

LONGEST = 200
"""Characters of a licence that somebody names: every row has it. The longest expression of known ones that a
corpus of this field has is of 46."""

LONGEST_OF_ROW = 5 * LONGEST
"""Characters of a row's licence, which joins that of its sentence with those of its donors."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a licence, or an expression of several, permits.

    Attributes:
        known: whether it is one that conjoin knows.
        redistributable: whether generated sentences, which contain the source's, may be handed on.
        name: in words.
        urls: where its text is; none if it has none, or is not known. Of an expression those of all its
            licences, in their order.
        why: one clause, why the text may be handed on or not.
    """

    known: bool
    redistributable: bool
    name: str
    urls: tuple[str, ...]
    why: str


def licence(identifier: str) -> tuple[str, Terms]:
    """A licence's name as SPDX spells it, which is read in any case, and what it permits."""
    key = identifier.lower()
    if key in _REGISTER:
        return _REGISTER[key]
    if found := _CC.fullmatch(key):
        return identifier.upper(), _creative_commons(found)
    return identifier, no_terms(identifier, "conjoin does not know this licence")


def no_terms(name: str, why: str) -> Terms:
    """The terms of an unknown licence, with the reason."""
    return Terms(False, False, name or UNKNOWN, (), why)


_CC = re.compile(r"cc-by(-nc)?(-nd|-sa)?-([1-4]\.0|2\.5|2\.1(?=-))(-[a-z]{2,3})?")


def _creative_commons(found: re.Match[str]) -> Terms:
    commercial, form, version, country = (group or "" for group in found.groups())
    kind = f"by{commercial}{form}"
    words = {"by": "Attribution", "nc": "NonCommercial", "nd": "NoDerivatives", "sa": "ShareAlike"}
    name = "-".join(words[part] for part in kind.split("-"))
    place = f"{version}/{country[1:]}/" if country else f"{version}/"
    limits = ["with attribution"]
    limits += ["not for commercial use"] if commercial else []
    limits += ["under the same ShareAlike licence"] if form == "-sa" else []
    free = form != "-nd"
    return Terms(
        known=True,
        redistributable=free,
        name=f"Creative Commons {name} {version}{country.upper().replace('-', ' ')}",
        urls=(f"https://creativecommons.org/licenses/{kind}/{place}",),
        why=f"altered text may be handed on, {', '.join(limits)}"
        if free
        else "altered text must not be handed on, and generated sentences are altered text",
    )


def _spdx(name: str, identifier: str, why: str) -> Terms:
    return Terms(True, True, name, (f"https://spdx.org/licenses/{identifier}.html",), why)


_NOTICE = "text may be handed on with its notice"
_COPYLEFT = "text may be handed on under the same licence"
_FREE = "text is dedicated to the public"
_LDC = Terms(
    True, False, "LDC User Agreement",
    ("https://catalog.ldc.upenn.edu/license/ldc-non-members-agreement.pdf",),
    "neither the text nor anything that contains it may go to who is not its licensee",
)  # fmt: skip
_PUBMED = Terms(
    True, False, "terms of PubMed", ("https://pubmed.ncbi.nlm.nih.gov/disclaimer/",),
    "abstracts belong to their authors and publishers, and PubMed grants no right to hand them on",
)  # fmt: skip

_SPDX = (
    ("Apache License 2.0", "Apache-2.0", _NOTICE),
    ("MIT License", "MIT", _NOTICE),
    ("BSD 2-Clause License", "BSD-2-Clause", _NOTICE),
    ("BSD 3-Clause License", "BSD-3-Clause", _NOTICE),
    ("ISC License", "ISC", _NOTICE),
    ("Public Domain Dedication and License 1.0", "PDDL-1.0", _FREE),
    ("The Unlicense", "Unlicense", _FREE),
    ("Open Data Commons Attribution License 1.0", "ODC-By-1.0", _NOTICE),
    ("Open Database License 1.0", "ODbL-1.0", _COPYLEFT),
    ("Mozilla Public License 2.0", "MPL-2.0", _COPYLEFT),
    ("CDLA Permissive 1.0", "CDLA-Permissive-1.0", _NOTICE),
    ("CDLA Permissive 2.0", "CDLA-Permissive-2.0", _NOTICE),
    ("CDLA Sharing 1.0", "CDLA-Sharing-1.0", _COPYLEFT),
)
_GNU = (
    ("GPL", "General Public License", ("2.0", "3.0")),
    ("LGPL", "Lesser General Public License", ("2.1", "3.0")),
    ("AGPL", "Affero General Public License", ("3.0",)),
    ("GFDL", "Free Documentation License", ("1.2", "1.3")),
)
_CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"
_LICENCES = {
    **{identifier: _spdx(name, identifier, why) for name, identifier, why in _SPDX},
    **{
        f"{kind}-{version}{suffix}": _spdx(
            f"GNU {words} {version}", f"{kind}-{version}{suffix or '-only'}", _COPYLEFT
        )
        for kind, words, versions in _GNU
        for version in versions
        for suffix in ("", "-only", "-or-later")
    },
    "CC0-1.0": Terms(True, True, "CC0 1.0", (_CC0,), _FREE),
    "LDC-User-Agreement": _LDC,
    "LicenseRef-LDC-User-Agreement": _LDC,
    "LicenseRef-PubMed": _PUBMED,
    UNKNOWN: no_terms(UNKNOWN, "nobody has named a licence"),
}
_REGISTER = {identifier.lower(): (identifier, found) for identifier, found in _LICENCES.items()}

EXCEPTIONS = {
    name.lower(): name
    for name in (
        "Bison-exception-2.2", "Classpath-exception-2.0", "Font-exception-2.0", "GCC-exception-2.0",
        "GCC-exception-3.1", "Linux-syscall-note", "LLVM-exception",
    )
}  # fmt: skip
"""Exceptions that may stand behind WITH, by their names in lower case: they permit more, never less."""


_TOKEN = re.compile(r"[()]|[A-Za-z0-9.+:-]+")
_SIGNS = {"(", ")", "AND", "OR", "WITH"}
_DEEPEST = 32  # brackets; what has more is not read, since the reader calls itself


@lru_cache(1024)
def terms(expression: str) -> Terms:
    """What an SPDX expression permits: ``A AND B`` what both do, ``A OR B`` what either does.

    Never raises: what cannot be read is not known, and so not redistributable.
    """
    read = _read(expression)
    if read is None:
        return no_terms(expression, "this is no SPDX expression of licences")
    return _terms(read)


def canonical(expression: str) -> str:
    """The expression as SPDX spells it; identifiers are read in any case. Other text is returned as it is."""
    if _read(expression) is None:
        return expression
    spelt = (
        t if t in _SIGNS else EXCEPTIONS.get(t.lower()) or licence(t)[0]
        for t in _TOKEN.findall(expression)
    )
    return " ".join(spelt).replace("( ", "(").replace(" )", ")")


def is_expression(text: str) -> bool:
    """Whether a text reads as an SPDX expression of licences, known or not."""
    return _read(text) is not None


def licence_ids(expression: str) -> list[str]:
    """The single licences that an expression names, each once, in their order, as SPDX spells them."""
    words = (w for w in _TOKEN.findall(expression) if w not in _SIGNS)
    return list(dict.fromkeys(licence(w)[0] for w in words if w.lower() not in EXCEPTIONS))


def names_several(expression: str) -> bool:
    """Whether an expression joins licences with AND or OR."""
    joined = {"AND", "OR"} & set(_TOKEN.findall(expression))
    return bool(joined) and _read(expression) is not None


def combined(expressions: Iterable[str]) -> str:
    """One expression that joins several with AND, sorted, each once."""
    parts: set[str] = set()
    for expression in map(canonical, expressions):
        # What AND joins at the top is taken apart, so that no licence is named twice.
        plain = not {"OR", "(", ")"} & set(_TOKEN.findall(expression)) and is_expression(expression)
        parts |= set(expression.split(" AND ")) if plain else {expression}
    alone = len(parts) == 1
    return " AND ".join(
        part if alone or " OR " not in part else f"({part})" for part in sorted(parts)
    )


def permits(expression: str, named: Set[str]) -> bool:
    """Whether an expression is satisfied by some licences: all of ``A AND B``, one of ``A OR B``.

    Args:
        expression: of a row. What is no expression is satisfied by its own name alone.
        named: licences as ``licence`` spells them. A known exception behind WITH permits more, never less;
            another is only permitted with its licence, as ``canonical`` spells both.
    """
    read = _read(expression)
    return expression in named if read is None else _held(read, named)


def relaxes(new: str, old: str) -> bool:
    """Whether an expression leaves out a duty that another one, of known licences, lays on who has the text.

    ``unknown`` lays none on anybody, since whoever knows a licence may still name it.
    """
    before, after = _read(old), _read(new)
    if before is None or after is None or not terms(old).known:
        return False
    if new != UNKNOWN and not terms(new).redistributable:
        return False  # what is not handed on at all is as safe as can be
    return not _duties(before) <= _duties(after)


def excludes_itself(expression: str) -> bool:
    """Whether one text under all licences of ``A AND B`` would break one of them.

    ShareAlike and copyleft licences want the whole under themselves: two kinds of them cannot both have it,
    nor can one that permits trade where another part forbids it. Whole corpora of several texts may be under
    such licences; a sentence that joins words of two may not.
    """
    read = _read(expression)
    if not isinstance(read, _Joined) or read.word != "AND":
        return False
    laid = [(part, _duties(part)) for part in read.parts if isinstance(part, _Single)]
    alike = {_kind(part) for part, duties in laid if _SHARED_ALIKE in duties}
    no_trade = any(_NO_TRADE in duties for _, duties in laid)
    return len(alike) > 1 or bool(alike and no_trade and "CC-BY-NC-SA" not in alike)


def _kind(part: "_Single") -> str:
    """A licence without its version: later ones of a kind take text of earlier ones."""
    return re.sub(r"-\d.*", "", licence(part.identifier)[0])


@dataclass(frozen=True, slots=True)
class _Single:
    """A licence as it is written, and the exception behind WITH."""

    identifier: str
    exception: str | None


@dataclass(frozen=True, slots=True)
class _Joined:
    """Two or more expressions with AND, or with OR, between them."""

    word: str
    parts: "tuple[_Expression, ...]"


_Expression = _Single | _Joined


@lru_cache(1024)
def _read(expression: str) -> _Expression | None:
    """An expression taken apart; None if it is none."""
    tokens = _TOKEN.findall(expression)
    if "".join(tokens) != "".join(expression.split()) or tokens.count("(") > _DEEPEST:
        return None
    try:
        found = _parse(tokens, "OR", "AND")
    except (ValueError, IndexError):
        return None
    return None if tokens else found


def _parse(tokens: list[str], *words: str) -> _Expression:
    """Take an expression from the front; of the words that may join its parts the first binds least."""
    if not words:
        return _parse_single(tokens)
    word, *tighter = words
    parts: list[_Expression] = []
    while not parts or (tokens and tokens[0] == word):
        del tokens[: bool(parts)]
        found = _parse(tokens, *tighter)
        # What parentheses join by the same word is joined by it.
        inner = found.parts if isinstance(found, _Joined) and found.word == word else (found,)
        parts += inner
    return parts[0] if len(parts) == 1 else _Joined(word, tuple(parts))


def _parse_single(tokens: list[str]) -> _Expression:
    first = tokens.pop(0)
    if first == "(":
        inner = _parse(tokens, "OR", "AND")
        if tokens.pop(0) != ")":
            raise ValueError
        return inner
    exception = None
    if tokens[:1] == ["WITH"]:
        exception = tokens[1]
        del tokens[:2]
    if first in _SIGNS or exception in _SIGNS:
        raise ValueError
    return _Single(first, exception)


_WITHHELD, _NO_TRADE, _SHARED_ALIKE = "not handed on", "not for commercial use", "shared alike"
_CREDITED = "with attribution or notice"


def _duties(read: _Expression) -> frozenset[str]:
    """What an expression lays on who has the text: of A AND B what either does, of A OR B what both do."""
    if isinstance(read, _Joined):
        parts = [_duties(part) for part in read.parts]
        both = frozenset.union if read.word == "AND" else frozenset.intersection
        return both(*parts)
    spelt, found = licence(read.identifier)
    kinds = spelt.split("-")
    duties = {
        _WITHHELD: found.known and not found.redistributable,
        _NO_TRADE: "NC" in kinds,
        _SHARED_ALIKE: "SA" in kinds or found.why == _COPYLEFT,
        _CREDITED: found.known and found.why != _FREE,
    }
    return frozenset(duty for duty, laid in duties.items() if laid)


def _held(read: _Expression, named: Set[str]) -> bool:
    if isinstance(read, _Joined):
        held = (_held(part, named) for part in read.parts)
        return all(held) if read.word == "AND" else any(held)
    spelt = licence(read.identifier)[0]
    if read.exception is None:
        return spelt in named
    known = EXCEPTIONS.get(read.exception.lower())
    if known is not None and spelt in named:
        return True
    return f"{spelt} WITH {known or licence(read.exception)[0]}" in named


def _terms(read: _Expression) -> Terms:
    if isinstance(read, _Joined):
        parts = [_terms(part) for part in read.parts]
        return _terms_of_all(parts) if read.word == "AND" else _terms_of_any(parts)
    if read.exception is not None and read.exception.lower() not in EXCEPTIONS:
        name = f"{read.identifier} WITH {read.exception}"
        return no_terms(name, "conjoin does not know this exception")
    return licence(read.identifier)[1]


def _terms_of_any(parts: Sequence[Terms]) -> Terms:
    # With OR, the distributor may choose the licence that permits it.
    chosen = next((p for p in parts if p.redistributable), None)
    decides = chosen or next((p for p in parts if p.known), parts[0])
    known = chosen is not None or all(p.known for p in parts)
    name = " or ".join(p.name for p in parts)
    return Terms(known, decides.redistributable, name, _urls(parts), decides.why)


def _terms_of_all(parts: Sequence[Terms]) -> Terms:
    decides = next((p for p in parts if not p.known), None)
    decides = decides or next((p for p in parts if not p.redistributable), parts[0])
    name = " and ".join(dict.fromkeys(p.name for p in parts))
    known, free = all(p.known for p in parts), all(p.redistributable for p in parts)
    # Of several that permit it all the terms hold; what one says and another says with more is said once.
    reasons = dict.fromkeys(p.why for p in parts)
    every = [why for why in reasons if not any(o != why and o.startswith(why) for o in reasons)]
    return Terms(known, free, name, _urls(parts), "; ".join(every) if free else decides.why)


def _urls(parts: Iterable[Terms]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(url for part in parts for url in part.urls))
