"""The annotation audit: what generation's annotations are worth, and what the filter makes of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from pipeline.core.cards.audit import AuditCard, NoAuditCard
from pipeline.core.documents import check_form, read_json
from pipeline.core.markdown import number, percent
from pipeline.core.parquet import read_rows
from pipeline.core.runs import System
from pipeline.core.schema import VERDICTS
from pipeline.core.types import REFERENCE_LABELS
from pipeline.report.markdown import Table, TableRow
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics, read_generation, short_name, system_key

_SHARES = {
    "grammar": {
        "right": "Right", "sensible": "Right, sensible", "other": "Other conjuncts",
        "ungrammatical": "Ungrammatical", "repeats": "Repeats", "distinct": "Distinct",
    },
    "treebank": {"right": "Right", "other": "Other conjuncts", "distinct": "Distinct"},
}  # fmt: skip
"""What each judge says of a folder of candidates, as fractions of the judged, and the heads of columns."""

_LENGTHS = ("1", "2", "3-4", "5-8", "9+")
_ENOUGH = 20  # judged candidates, below which nothing is said of how two shares differ
_REMEDY = "run `conjoin audit` again"


@dataclass(frozen=True, slots=True)
class Audit:
    """``audit/audit.json`` where something could be judged; docs/schema.md names the keys.

    ``generation`` stands in the order of generators, its ``candidates`` a ``Generation``; ``filter``
    by |L| and then as in Table 3, its ``system`` a ``System``.
    """

    generation: tuple[Mapping[str, Any], ...]
    filter: tuple[Mapping[str, Any], ...]
    judge: str = "grammar"

    def filtered(self, labelled: int) -> list[Mapping[str, Any]]:
        """The entries of ``filter`` at one |L| where anything was rejected: δ = 0 is no filter."""
        return [e for e in self.filter if e["labelled"] == labelled and e["rejected"]["judged"]]


def read_audit(corpus: Path, systems: Iterable[System] = ()) -> tuple[Audit | None, Fact | None]:
    """The audit of a corpus, or None and that there is none, and why.

    Args:
        corpus: its folder.
        systems: those that are known with their fields.

    Raises:
        InputError: the file is not what ``audit`` writes.
    """
    path = corpus / "audit" / "audit.json"
    if not path.is_file():
        return None, Fact("missing.audit")
    document = read_json(path, remedy=_REMEDY)
    if document.get("oracle") is False:
        check_form(document, NoAuditCard, path=path, remedy=_REMEDY)
        return None, Fact("missing.judge")
    check_form(document, AuditCard, path=path, remedy=_REMEDY)
    known = {str(system): system for system in systems}
    generation = [
        {**entry, "candidates": read_generation(corpus, entry["candidates"])}
        for entry in document["generation"]
    ]
    generation.sort(key=lambda e: e["candidates"].key)
    filtered = [
        {**entry, "system": known.get(entry["system"], System(entry["system"]))}
        for entry in document["filter"]
    ]
    filtered.sort(key=lambda e: (e["labelled"], system_key(e["system"])))
    return Audit(tuple(generation), tuple(filtered), document.get("judge", "grammar")), None


def read_verdicts(corpus: Path) -> dict[tuple[Path, str], str]:
    """(folder, candidate id) → the oracle's verdict: its kind, and ``odd`` if right but not sensible.

    Raises:
        InputError: the file is damaged or of another schema.
    """
    path = corpus / "audit" / "verdicts.parquet"
    if not path.is_file():
        return {}
    return {
        (corpus / row["folder"], row["candidate_id"]): (
            "odd" if row["kind"] == "right" and not row["sensible"] else row["kind"]
        )
        for row in read_rows(path, VERDICTS)
    }


def _labels(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """All labels of some entries: those that a reference span may have, then others by name."""
    found = {label for entry in entries for label in entry["by_label"]}
    known = [label for label in REFERENCE_LABELS if label in found]
    return [*known, *sorted(found - set(known))]


def annotation_table(audit: Audit) -> Table:
    """What generation's annotations are worth, a row for each folder of candidates."""
    return Table(
        "Annotations of generation (%)",
        ("Candidates", *_SHARES[audit.judge].values(), "judged"),
        tuple(
            TableRow((e["candidates"].name, *(_share(e[s]) for s in _SHARES[audit.judge]),
                 number(e["judged"])))
            for e in audit.generation
        ),
        note=Fact("notes.audit", judge=audit.judge),
    )  # fmt: skip


def length_table(audit: Audit) -> Table:
    """Share of right annotations by words in the fill, a row for each folder of candidates."""
    known = {length for e in audit.generation for length in e["by_fill_length"]}
    lengths = [length for length in _LENGTHS if length in known]
    heads = {n: f"{n} word{'' if n == '1' else 's'}".replace("-", "–") for n in lengths}
    return _right(audit, "length of the fill", "by_fill_length", heads)


def label_table(audit: Audit) -> Table:
    """Share of right annotations by label of the reference span, for each folder of candidates."""
    labels = _labels(audit.generation)
    title = "label of the reference span"
    return _right(audit, title, "by_label", dict(zip(labels, labels, strict=True)))


def _right(audit: Audit, title: str, field: str, heads: Mapping[str, str]) -> Table:
    rows = []
    for entry in audit.generation:
        found = (entry[field].get(name) for name in heads)
        cells = (f"{_share(o['right'])} ({number(o['judged'])})" if o else "–" for o in found)
        rows.append(TableRow((entry["candidates"].name, *cells)))
    columns = ("Candidates", *heads.values())
    return Table(f"Right annotations (%) by {title}", columns, tuple(rows),
                 note=Fact("notes.judged"))  # fmt: skip


def filter_table(audit: Audit, metrics: Metrics) -> Table | None:
    """What the filter accepted and rejected, and how much of it was right; None without runs."""
    rows: list[TableRow] = []
    sides = ["right", "sensible"] if audit.judge == "grammar" else ["right"]
    for entry in audit.filter:
        size, cells = metrics.label(entry["labelled"]), []
        for side in (entry["accepted"], entry["rejected"]):
            cells += [number(side["judged"]), *(_share(side[name]) for name in sides)]
        begins = not rows or rows[-1].cells[0] != size
        rows.append(
            TableRow((size, short_name(entry["system"]), *cells, _cleans(entry)), begins=begins)
        )
    if not rows:
        return None
    return Table(
        "The filter: accepted against rejected",
        ("|L|", "Model", *(head for side in ("accepted", "rejected")
                           for head in (side, *(f"{name}, %" for name in sides))), "cleans"),
        tuple(rows),
        names=2,
        note=Fact("notes.filter", enough=_ENOUGH),
    )  # fmt: skip


def _cleans(entry: Mapping[str, Any]) -> str:
    """Whether more is right among the accepted, by two standard errors of the difference at least."""
    sides = entry["accepted"], entry["rejected"]
    if not sides[1]["judged"]:
        return "–"
    if min(side["judged"] for side in sides) < _ENOUGH:
        return "open"
    error = sqrt(sum(side["right"] * (1 - side["right"]) / side["judged"] for side in sides))
    difference = sides[0]["right"] - sides[1]["right"]
    if abs(difference) <= 2 * error:
        return "open"
    return "yes" if difference > 0 else "no"


def filter_label_table(audit: Audit, labelled: int, about: str) -> Table | None:
    """By label at one |L|, called ``about``: the share accepted, and what of each half was right."""
    rows = []
    for entry in audit.filtered(labelled):
        for count, label in enumerate(_labels([entry])):
            one = entry["by_label"][label]
            keys = ("acceptance", "accepted_right", "rejected_right")
            cells = [short_name(entry["system"]), label, number(one["judged"])]
            rows.append(TableRow((*cells, *(_share(one[key]) for key in keys)), begins=count == 0))
    if not rows:
        return None
    return Table(
        f"The filter by label (%), {about}",
        ("Model", "Label", "judged", "accepted", "right of accepted", "right of rejected"),
        tuple(rows),
        names=2,
    )


def _share(share: float | None) -> str:
    return percent(share, digits=1)
