"""The annotation audit as the report reads it: shares of right annotations, and verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import read_json
from pipeline.core.parquet import read_rows
from pipeline.core.runs import System
from pipeline.core.schema import VERDICTS
from pipeline.core.types import REFERENCE_LABELS
from pipeline.report.results import read_generation, system_key

SHARES = ("right", "sensible", "other", "ungrammatical", "repeats", "distinct")
"""What is told of each folder of candidates, as fractions of the judged."""

_REMEDY = "run `conjoin audit` again"


@dataclass(frozen=True, slots=True)
class Audit:
    """``audit/audit.json`` of a corpus made by a grammar; docs/schema.md names the keys.

    ``generation`` stands in the order of generators, its ``candidates`` a ``Generation``; ``filter``
    by |L| and then as in Table 3, its ``system`` a ``System``.
    """

    generation: tuple[Mapping[str, Any], ...]
    filter: tuple[Mapping[str, Any], ...]

    def filtered(self, labelled: int) -> list[Mapping[str, Any]]:
        """The entries of ``filter`` at one |L| where anything was rejected: δ = 0 is no filter."""
        return [e for e in self.filter if e["labelled"] == labelled and e["rejected"]["judged"]]


def read_audit(corpus: Path, systems: Iterable[System] = ()) -> tuple[Audit | None, str]:
    """The audit of a corpus, or None and why there is none.

    Args:
        corpus: its folder.
        systems: those that are known with their fields.

    Raises:
        InputError: the file is not what ``audit`` writes.
    """
    path = corpus / "audit" / "audit.json"
    if not path.is_file():
        return None, "audit/audit.json is not there"
    document = read_json(path)
    try:
        if not document["oracle"]:
            return None, "no grammar made this corpus, so nothing knows which annotations are right"
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
        for entry in generation:
            _need(entry, (*SHARES, "judged", "by_label", "by_fill_length"))
        for entry in filtered:
            _need(entry, ("accepted", "rejected", "by_label"))
    except (KeyError, TypeError) as error:
        raise InputError(
            f"not what `conjoin audit` writes: {error!r}", path=path, remedy=_REMEDY
        ) from error
    return Audit(tuple(generation), tuple(filtered)), ""


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


def labels_of(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """All labels of some entries: those that a reference span may have, then others by name."""
    found = {label for entry in entries for label in entry["by_label"]}
    known = [label for label in REFERENCE_LABELS if label in found]
    return [*known, *sorted(found - set(known))]


def _need(entry: Mapping[str, Any], keys: Sequence[str]) -> None:
    missing = [key for key in keys if key not in entry]
    if missing:
        raise KeyError(*missing)
