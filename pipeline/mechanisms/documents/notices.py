"""The licence of a release in words: its file LICENSE, and whom the sources must be attributed to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from pipeline.mechanisms.sharing.licences import licence_ids, terms

__all__ = ["Notice", "hub_licence", "licence_file", "notices"]

_HUB = {
    "afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0",
    "cc-by-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "mit", "odbl", "odc-by", "pddl", "unlicense",
}  # fmt: skip
_HUB_OTHERWISE = {"odbl-1.0": "odbl", "odc-by-1.0": "odc-by", "pddl-1.0": "pddl"}
"""The hub names licences as SPDX does, in lower case, but for these."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A source whose name sentence ids begin with.

    Attributes:
        source: what it is, with its reference.
        url: where it can be had.
        attribution: the sentence that its terms ask for, or its authors' wish; empty if there is none.
    """

    source: str
    url: str
    attribution: str = ""


_WSJ = Notice(
    "the Wall Street Journal section of the Penn Treebank 3 (Marcus et al., 1993)",
    "https://catalog.ldc.upenn.edu/LDC99T42",
    "Text (c) 1987-1989 Dow Jones & Company, Inc.; annotation (c) Trustees of the University of "
    "Pennsylvania. Available to licensees of the Linguistic Data Consortium (LDC99T42).",
)
_NOTICES = {
    "world": Notice(
        "the miniature world that comes with conjoin (English-like sentences that a grammar made)",
        "",
        "(c) the conjoin authors, under the Apache License 2.0.",
    ),
    "genia": Notice(
        "the GENIA Treebank v1, abstracts of PubMed (Tateisi et al., 2005)",
        "http://www.geniaproject.org/genia-corpus/treebank",
        "GENIA Treebank: (c) GENIA Project, under CC BY 3.0. Abstracts: from PubMed of the U.S. "
        "National Library of Medicine, each (c) its authors or publisher. conjoin changed the "
        "sentences by inserting text.",
    ),
    "ptb": _WSJ,
    "ptb-ext": Notice(
        "PTB.ext (Ficler and Goldberg, 2016), which annotates coordination in the Penn Treebank",
        "https://github.com/Jess1ca/CoordinationExtPTB",
        _WSJ.attribution,
    ),
    "text": Notice("plain text that whoever made the corpus supplied", ""),
}


def notices(origins: Sequence[str]) -> list[Notice]:
    """The sources that sentence ids begin with; one that conjoin does not know is only named."""
    return [_NOTICES.get(origin, Notice(f"the corpus {origin!r}", "")) for origin in origins]


def hub_licence(expression: str) -> dict[str, str]:
    """What the front matter of a dataset card says of a licence.

    A hub knows single licences by their names in lower case; all else is ``other``, named and linked.
    """
    name = expression.lower()
    name = _HUB_OTHERWISE.get(name, name)
    if name in _HUB:
        return {"license": name}
    slug = re.sub(r"[^a-z0-9.]+", "-", name).strip("-")
    return {"license": "other", "license_name": slug or "unknown", "license_link": "LICENSE"}


def licence_file(manifest: Mapping[str, Any], origins: Sequence[str]) -> str:
    """The file LICENSE of a release: what applies to how many rows, to whom it is owed, the terms."""
    lines = [f"Licence of {manifest['name']} {manifest['version']}: {manifest['license']}", ""]
    lines += ["Each row has the licence of its source sentence in its column `license`."]
    parts: list[str] = []
    for expression, rows in manifest["licenses"].items():
        applied = terms(expression)
        parts += licence_ids(expression)
        lines += ["", f"{expression} ({rows:,} rows): {applied.name}. {_sentence(applied.why)}"]
        lines += [f"  {applied.url}"] if applied.url else []
    lines += ["", "Sources", ""]
    for notice in notices(origins):
        lines += [" ".join(filter(None, (f"- {notice.source}.", notice.attribution, notice.url)))]
    lines += [
        "",
        "Changes: conjoin inserted a coordinator and a text by a language model into each sentence, "
        "and marked the conjuncts. The sources' authors do not endorse this corpus.",
        "",
    ]
    if "Apache-2.0" in parts and (text := _apache()):
        lines += ["-" * 78, "", text]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(clause: str) -> str:
    clause = clause.strip().rstrip(".")
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""


def _apache() -> str:
    """The text of the Apache License: conjoin's own, as it is installed or checked out."""
    try:
        files = [f for f in distribution("conjoin").files or [] if f.name == "LICENSE"]
        found = [Path(str(f.locate())) for f in files]
    except PackageNotFoundError:
        found = []
    found.append(Path(__file__).parents[3] / "LICENSE")
    return next((p.read_text(encoding="utf-8") for p in found if p.is_file()), "")
