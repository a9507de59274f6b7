"""Licence and citation of a release: LICENSE, CITATION.cff and BibTeX.

LICENSE names whom the sources must be attributed to; the citations name the corpus and the paper.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.corpora import CORPORA, SourceNotice
from pipeline.corpus.coordinators import is_english
from pipeline.corpus.licences import canonical, licence_ids, terms
from pipeline.release.method_text import attested, harvested, method, said

_HUB = {
    "afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0",
    "cc-by-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0",
    "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "mit", "odbl", "odc-by", "pddl", "unlicense",
}  # fmt: skip
_HUB_OTHERWISE = {"odbl-1.0": "odbl", "odc-by-1.0": "odc-by", "pddl-1.0": "pddl"}
"""The hub names licences as SPDX does, in lower case, but for these."""


def readers_of(manifest: Mapping[str, Any], origins: Sequence[str]) -> dict[str, str]:
    """The reader of each source that sentence ids begin with; where it is not recorded, the name itself."""
    recorded = {each["corpus"]: each.get("reader") for each in manifest.get("sources", ())}
    return {origin: recorded.get(origin) or origin for origin in origins}


def notices(manifest: Mapping[str, Any], origins: Sequence[str]) -> list[SourceNotice]:
    """The sources that sentence ids begin with; one that conjoin does not know is only named."""
    found = []
    for origin, reader in readers_of(manifest, origins).items():
        notice = (
            CORPORA[reader].notice if reader in CORPORA else SourceNotice(f"the corpus {origin!r}")
        )
        if reader in CORPORA and reader != origin:
            notice = replace(notice, source=f"{origin!r}, {notice.source}")
        found.append(notice)
    return found


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


_INSERTED = {
    (False, False): "a text by a language model",
    (False, True): "words of another sentence",
    (True, True): "a text by a language model or words of another sentence",
}


def _changes(manifest: Mapping[str, Any]) -> str:
    """What was done to the source's sentences."""
    kinds, natural = attested(manifest), harvested(manifest)
    if natural == {True}:
        return "marked the conjuncts of a coordination in each sentence"
    inserted = _INSERTED[len(kinds) > 1, True in kinds]
    each = "each sentence that was not harvested" if True in natural else "each sentence"
    return f"inserted a coordinator and {inserted} into {each}, and marked the conjuncts"


_OF_A_ROW = (
    "Each row has the licence of its source sentence, and of the sentence that its second conjunct "
    "was taken from if it was, in its column `license`."
)


def licence_file(
    manifest: Mapping[str, Any],
    origins: Sequence[str],
    of_a_row: str = _OF_A_ROW,
    changes: str | None = None,
) -> str:
    """The file LICENSE of a release: what applies to how many rows, to whom it is owed, the terms.

    Args:
        manifest: of the release.
        origins: what ids begin with.
        of_a_row: a sentence on what a row's licence is of.
        changes: what conjoin did to the source; unset: what it does to sentences.
    """
    lines = [f"Licence of {manifest['name']} {manifest['version']}: {manifest['license']}", ""]
    lines += [of_a_row]
    parts: list[str] = []
    for expression, rows in manifest["licenses"].items():
        applied = terms(expression)
        parts += licence_ids(expression)
        lines += ["", f"{expression} ({rows:,} rows): {applied.name}. {_sentence(applied.why)}"]
        lines += [f"  {url}" for url in applied.urls]
    lines += ["", "Sources", ""]
    for notice in notices(manifest, origins):
        lines += [" ".join(filter(None, (f"- {notice.source}.", notice.attribution, notice.url)))]
    lines += [
        "",
        f"Changes: conjoin {changes or _changes(manifest)}. The sources' authors do not endorse this corpus.",
        "",
    ]
    if "Apache-2.0" in parts and (text := apache()):
        lines += ["-" * 78, "", text]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(clause: str) -> str:
    clause = clause.strip().rstrip(".")
    return f"{clause[:1].upper()}{clause[1:]}." if clause else ""


def apache() -> str:
    """The text of the Apache License: conjoin's own, as it is installed or checked out."""
    try:
        files = [f for f in distribution("conjoin").files or [] if f.name == "LICENSE"]
        found = [Path(str(f.locate())) for f in files]
    except PackageNotFoundError:
        found = []
    found.append(Path(__file__).parents[2] / "LICENSE")
    return next((p.read_text(encoding="utf-8") for p in found if p.is_file()), "")


_CC = re.compile(r"CC0-1\.0|CC-BY(-NC)?(-SA|-ND)?-(1\.0|2\.0|2\.5|3\.0|4\.0)")
_MAKER = "conjoin"  # cited as the author where the release has none


def creators(manifest: Mapping[str, Any]) -> list[str]:
    """The names to cite for the corpus; ``conjoin`` where the release has no author."""
    return [str(name) for name in manifest["authors"]] or [_MAKER]


def citation_file(manifest: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> str:
    """``CITATION.cff`` 1.2.0 of a release.

    A name written ``Family, Given`` is a person's; any other is left in one piece, because nothing
    tells which of its words is the family name. ``license`` is there only if it is one licence: a list
    would mean that one may choose, and part of an expression says less than applies. ``about`` is what it
    says of candidates of another task than coordination.
    """
    cff: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this corpus, please cite it and the paper that its method is from.",
        "type": "dataset",
        "title": manifest["name"],
        "version": manifest["version"],
        "authors": [_author(name) for name in creators(manifest)],
        "abstract": f"{'English sentences' if is_english(manifest) else 'Sentences'} with one coordinate "
        f"structure marked in each, generated by {method(manifest)}, with the boundaries of the conjuncts.",
        "keywords": ["coordination", "synthetic data", "text-infilling"],
        "identifiers": [
            {
                "type": "other",
                "value": manifest["digests"]["train"],
                "description": "row digest of the rows to train on",
            }
        ],
    }
    if licence := _spdx_id(manifest["license"]):
        cff["license"] = licence
    if manifest["url"]:
        cff["url"] = manifest["url"]
    if about is None:
        cff["references"] = [said("paper")]
        if True in attested(manifest):
            cff["references"].append(said("substitution"))
    else:
        cff |= about
    return str(yaml.safe_dump(cff, sort_keys=False, allow_unicode=True, width=100))


def bibtex(manifest: Mapping[str, Any]) -> str:
    """The BibTeX entry of a release. It has no year: a release bears no date."""
    key = re.sub(r"[^a-z0-9]+", "-", manifest["name"].lower()).strip("-") or "corpus"
    fields = {
        "title": f"{{{tex(manifest['name'])}}}",  # doubled braces keep its capitals
        "author": " and ".join(tex(n) if "," in n else f"{{{tex(n)}}}" for n in creators(manifest)),
        "version": tex(manifest["version"]),
        "note": f"Row digest {manifest['digests']['train']}",
    }
    if manifest["url"]:
        fields["url"] = manifest["url"].replace("{", "%7B").replace("}", "%7D")
    lines = ",\n".join(f"  {name:<9} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}\n}}"


def _spdx_id(expression: str) -> str | None:
    """A known licence as SPDX spells it; None for an expression of several, or one of its own."""
    found, spelt = terms(expression), canonical(expression)
    if licence_ids(expression) != [spelt] or not found.known or not found.urls:
        return None
    known = found.urls[0].startswith("https://spdx.org/licenses/") or _CC.fullmatch(spelt)
    return spelt if known else None


def _author(name: str) -> dict[str, str]:
    family, comma, given = (part.strip() for part in name.partition(","))
    return {"family-names": family, "given-names": given} if comma and given else {"name": name}


def tex(text: str) -> str:
    """Text as a field of BibTeX has it."""
    text = re.sub(r"[{}\\\s]+", " ", text).strip()
    return re.sub(r"([&%$#_])", r"\\\1", text)
