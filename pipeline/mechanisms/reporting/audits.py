"""The annotation audit in tables and pictures: which annotations are right, and what δ does to them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.ground.coordination import REFERENCE_LABELS
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.ground.schema import VERDICTS, read_rows
from pipeline.mechanisms.reporting.drawing import Key, key_of
from pipeline.mechanisms.reporting.dumbbells import Pair, dumbbells
from pipeline.mechanisms.reporting.sections import Gallery
from pipeline.mechanisms.reporting.systems import (
    GENERATORS,
    candidates_name,
    short_name,
    system_key,
)
from pipeline.mechanisms.reporting.tables import Row, Table

__all__ = [
    "Audit",
    "annotation_table",
    "filter_gallery",
    "filter_label_table",
    "filter_table",
    "generation_gallery",
    "length_table",
    "read_audit",
    "read_verdicts",
]

_LENGTHS = ("1", "2", "3-4", "5-8", "9+")
_REMEDY = "run `conjoin audit` again"


@dataclass(frozen=True, slots=True)
class Audit:
    """``audit/audit.json`` of a corpus made by a grammar; docs/schema.md names the keys.

    ``generation`` stands in the order of generators, ``filter`` by |L| and then as in Table 3.
    """

    generation: tuple[Mapping[str, Any], ...]
    filter: tuple[Mapping[str, Any], ...]

    def of_candidates(self, folder: str) -> Mapping[str, Any] | None:
        """The entry of one folder of candidates, such as ``bert-sync``."""
        return next((e for e in self.generation if e["candidates"] == folder), None)

    def filtered(self, labelled: int) -> list[Mapping[str, Any]]:
        """The entries of ``filter`` at one |L|."""
        return [entry for entry in self.filter if entry["labelled"] == labelled]


def read_audit(corpus: Path) -> tuple[Audit | None, str]:
    """The audit of a corpus, or None and why there is none.

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
        generation = sorted(document["generation"], key=lambda e: _folder_key(e["candidates"]))
        filtered = sorted(
            document["filter"], key=lambda e: (e["labelled"], system_key(e["system"]))
        )
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


def annotation_table(audit: Audit) -> Table:
    """What generation's annotations are worth, a row for each folder of candidates."""
    shares = ("right", "sensible", "other", "ungrammatical", "repeats", "distinct")
    return Table(
        "Annotations of generation (%)",
        ("Candidates", "Right", "Right, sensible", "Other conjuncts", "Ungrammatical", "Repeats",
         "Distinct", "judged"),
        tuple(
            Row((candidates_name(e["candidates"]), *(_share(e[s]) for s in shares), _count(e["judged"])))
            for e in audit.generation
        ),
        note="Right: some reading of the sentence has exactly these conjuncts. Sensible: and that "
        "reading joins only what goes together. Other conjuncts: it has readings, but none with "
        "these. Repeats: the fill shares a content word with the reference. Distinct: fills unlike "
        "any other of the sample.",
    )  # fmt: skip


def length_table(audit: Audit) -> Table:
    """Share of right annotations by words in the fill, a row for each folder of candidates."""
    found = {length for e in audit.generation for length in e["by_fill_length"]}
    lengths = [length for length in _LENGTHS if length in found]
    rows = []
    for entry in audit.generation:
        cells = []
        for length in lengths:
            one = entry["by_fill_length"].get(length)
            cells.append(f"{_share(one['right'])} ({_count(one['judged'])})" if one else "–")
        rows.append(Row((candidates_name(entry["candidates"]), *cells)))
    heads = [f"{length} word{'' if length == '1' else 's'}" for length in lengths]
    return Table(
        "Right annotations (%) by length of the fill",
        ("Candidates", *(head.replace("-", "–") for head in heads)),
        tuple(rows),
        note="How many were judged, in brackets.",
    )


def filter_table(audit: Audit) -> Table | None:
    """What the filter accepted and rejected, and how much of it was right; None without runs."""
    if not audit.filter:
        return None
    rows = [
        Row(
            (
                str(entry["labelled"]),
                short_name(entry["system"]),
                *(
                    text
                    for side in ("accepted", "rejected")
                    for text in (
                        _count(entry[side]["judged"]),
                        _share(entry[side]["right"]),
                        _share(entry[side]["sensible"]),
                    )
                ),
            ),
            begins=number == 0 or audit.filter[number - 1]["labelled"] != entry["labelled"],
        )
        for number, entry in enumerate(audit.filter)
    ]
    return Table(
        "The filter: accepted against rejected",
        (
            "|L|",
            "Model",
            "accepted",
            "right, %",
            "sensible, %",
            "rejected",
            "right, %",
            "sensible, %",
        ),
        tuple(rows),
        names=2,
        note="A sample of the candidates that training examined, seeds pooled. With self-training "
        "the boundaries judged are the predictor's own.",
    )


def filter_label_table(audit: Audit, labelled: int) -> Table | None:
    """By label at one |L|: the share accepted, and what was right among accepted and rejected."""
    entries = audit.filtered(labelled)
    if not entries:
        return None
    rows = []
    for label in _labels(entries):
        cells = [label]
        for entry in entries:
            one = entry["by_label"].get(label)
            keys = ("acceptance", "accepted_right", "rejected_right")
            cells += [_share(one[key]) if one else "–" for key in keys]
        rows.append(Row(tuple(cells)))
    heads = [
        head
        for entry in entries
        for head in (
            f"{short_name(entry['system'])}: accepted",
            "right of these",
            "right of rejected",
        )
    ]
    return Table(
        f"The filter by label (%), {labelled} labelled sentences", ("Label", *heads), tuple(rows)
    )


def generation_gallery(audit: Audit) -> Gallery | None:
    """By label, synchronized against not: a panel for each generator that has both."""
    panels = []
    for generator, name in GENERATORS.items():
        with_, without = (audit.of_candidates(f"{generator}-{c}") for c in ("sync", "no-sync"))
        if with_ and without:
            about = ("synchronized", "not synchronized")
            colour = key_of(generator).colour
            panels.append(dumbbells(name, _pairs(with_, without), colour, about))
    if not panels:
        return None
    keys = (
        Key("synchronized", "--ink", shape="dot"),
        Key("not synchronized", "--ink", shape="ring"),
    )
    return Gallery(panels, keys, "Share of right annotations, by label of the reference span.")


def filter_gallery(audit: Audit, labelled: int) -> Gallery | None:
    """By label, accepted against rejected: a panel for each system that filters, at one |L|."""
    entries = audit.filtered(labelled)
    systems = [entry["system"] for entry in entries]
    panels = []
    for entry in entries:
        pairs = [Pair("all", entry["accepted"]["right"], entry["rejected"]["right"])]
        for label in _labels([entry]):
            one = entry["by_label"][label]
            pairs.append(Pair(label, one["accepted_right"], one["rejected_right"]))
        key = key_of(entry["system"], systems)
        about = ("of the accepted", "of the rejected")
        panels.append(dumbbells(short_name(entry["system"]), pairs, key.colour, about))
    if not panels:
        return None
    keys = (Key("accepted", "--ink", shape="dot"), Key("rejected", "--ink", shape="ring"))
    return Gallery(
        panels, keys, f"What δ let in and what it kept out, {labelled} labelled sentences."
    )


def _pairs(with_: Mapping[str, Any], without: Mapping[str, Any]) -> list[Pair]:
    pairs = [Pair("all", with_["right"], without["right"])]
    for label in _labels([with_, without]):
        found = [entry["by_label"].get(label, {}).get("right") for entry in (with_, without)]
        pairs.append(Pair(label, *found))
    return pairs


def _labels(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    found = {label for entry in entries for label in entry["by_label"]}
    return [label for label in (*REFERENCE_LABELS, *sorted(found - set(REFERENCE_LABELS)))
            if label in found]  # fmt: skip


def _folder_key(folder: str) -> tuple[int, bool, str]:
    order: Sequence[str] = list(GENERATORS)
    generator = folder.partition("-")[0]
    known = generator in order
    return order.index(generator) if known else len(order), "no-sync" in folder, folder


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _count(count: int) -> str:
    return f"{count:,}"
