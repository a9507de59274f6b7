"""The annotation audit in tables: what generation's annotations are worth, and what δ does to them."""

from collections.abc import Callable

from pipeline.mechanisms.reporting.audits import SHARES, Audit, labels_of
from pipeline.mechanisms.reporting.systems import candidates_name, short_name
from pipeline.mechanisms.reporting.tables import Row, Table

__all__ = ["annotation_table", "filter_label_table", "filter_table", "length_table"]

_LENGTHS = ("1", "2", "3-4", "5-8", "9+")


def annotation_table(audit: Audit) -> Table:
    """What generation's annotations are worth, a row for each folder of candidates."""
    return Table(
        "Annotations of generation (%)",
        ("Candidates", "Right", "Right, sensible", "Other conjuncts", "Ungrammatical", "Repeats",
         "Distinct", "judged"),
        tuple(
            Row((candidates_name(e["candidates"]), *(_share(e[s]) for s in SHARES), _count(e["judged"])))
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


def filter_table(audit: Audit, label: Callable[[int], str] = str) -> Table | None:
    """What the filter accepted and rejected, and how much of it was right; None without runs.

    ``label`` names an |L|.
    """
    if not audit.filter:
        return None
    rows = [
        Row(
            (
                label(entry["labelled"]),
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


def filter_label_table(audit: Audit, labelled: int, about: str) -> Table | None:
    """By label at one |L|, called ``about``: the share accepted, and what of each half was right."""
    rows = []
    for entry in audit.filtered(labelled):
        for number, label in enumerate(labels_of([entry])):
            one = entry["by_label"][label]
            keys = ("acceptance", "accepted_right", "rejected_right")
            cells = [short_name(entry["system"]), label, _count(one["judged"])]
            rows.append(Row((*cells, *(_share(one[key]) for key in keys)), begins=number == 0))
    if not rows:
        return None
    return Table(
        f"The filter by label (%), {about}",
        ("Model", "Label", "judged", "accepted", "right of accepted", "right of rejected"),
        tuple(rows),
        names=2,
    )


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _count(count: int) -> str:
    return f"{count:,}"
