"""The annotation audit in tables: what generation's annotations are worth, and what δ does to them.

The annotation audit in pictures: shares of right annotations by label, side by side.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.report.audit import SHARES, Audit, labels_of
from pipeline.report.charts import Key, Pair, dumbbells, key_of
from pipeline.report.markdown import Row, Table
from pipeline.report.results import generator_name, short_name
from pipeline.report.sections import Gallery

_LENGTHS = ("1", "2", "3-4", "5-8", "9+")


def annotation_table(audit: Audit) -> Table:
    """What generation's annotations are worth, a row for each folder of candidates."""
    return Table(
        "Annotations of generation (%)",
        ("Candidates", "Right", "Right, sensible", "Other conjuncts", "Ungrammatical", "Repeats",
         "Distinct", "judged"),
        tuple(
            Row((e["candidates"].name, *(_share(e[s]) for s in SHARES), _count(e["judged"])))
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
        rows.append(Row((entry["candidates"].name, *cells)))
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


_ENOUGH = 10  # judged candidates, below which a share is not drawn
_LEFT_OUT = f"A share of fewer than {_ENOUGH} judged is not drawn."


def generation_gallery(audit: Audit) -> Gallery | None:
    """By label, synchronized against not: a panel for each generator that has both."""
    panels = []
    plain = {
        (made.model, made.context): entry
        for entry in audit.generation
        if (made := entry["candidates"]).model and not made.rest
    }
    models = list(dict.fromkeys(model for model, _ in plain))
    for model in models:
        with_, without = plain.get((model, 0)), plain.get((model, 1))
        if with_ and without:
            about = ("synchronized", "not synchronized")
            colour = key_of(model, models).colour
            name = generator_name(model)
            panels.append(dumbbells(name, _pairs(with_, without), colour, about))
    if not panels:
        return None
    keys = (
        Key("synchronized", "--ink", shape="dot"),
        Key("not synchronized", "--ink", shape="ring"),
    )
    return Gallery(
        panels, keys, f"Share of right annotations, by label of the reference span. {_LEFT_OUT}"
    )


def filter_gallery(audit: Audit, labelled: int, about: str) -> Gallery | None:
    """By label, accepted against rejected: a panel for each system that filters, at one |L|.

    ``about`` is that |L| as it is called in a sentence.
    """
    entries = audit.filtered(labelled)
    systems = [entry["system"] for entry in entries]
    panels = []
    sides = ("of the accepted", "of the rejected")
    for entry in entries:
        pairs = [Pair("all", _drawn(entry["accepted"]), _drawn(entry["rejected"]))]
        for label in labels_of([entry]):
            one = entry["by_label"][label]
            accepted = round(one["acceptance"] * one["judged"])
            pairs.append(Pair(
                label,
                one["accepted_right"] if accepted >= _ENOUGH else None,
                one["rejected_right"] if one["judged"] - accepted >= _ENOUGH else None,
            ))  # fmt: skip
        key = key_of(entry["system"], systems)
        panels.append(dumbbells(short_name(entry["system"]), pairs, key.colour, sides))
    if not panels:
        return None
    keys = (Key("accepted", "--ink", shape="dot"), Key("rejected", "--ink", shape="ring"))
    note = (
        "Share of right annotations in what the filter let in and in what it kept out, "
        f"{about}. {_LEFT_OUT}"
    )
    return Gallery(panels, keys, note)


def _pairs(with_: Mapping[str, Any], without: Mapping[str, Any]) -> list[Pair]:
    pairs = [Pair("all", _drawn(with_), _drawn(without))]
    for label in labels_of([with_, without]):
        found = [entry["by_label"].get(label) for entry in (with_, without)]
        pairs.append(Pair(label, *(_drawn(one) if one else None for one in found)))
    return pairs


def _drawn(group: Mapping[str, Any]) -> float | None:
    """A group's share of right annotations, if enough were judged to draw it."""
    share: float | None = group["right"]
    return share if group["judged"] >= _ENOUGH else None
