"""The annotation audit in pictures: shares of right annotations by label, side by side."""

from collections.abc import Mapping
from typing import Any

from pipeline.mechanisms.reporting.audits import Audit, labels_of
from pipeline.mechanisms.reporting.drawing import Key, key_of
from pipeline.mechanisms.reporting.dumbbells import Pair, dumbbells
from pipeline.mechanisms.reporting.sections import Gallery
from pipeline.mechanisms.reporting.systems import candidates_parts, generator_name, short_name

__all__ = ["filter_gallery", "generation_gallery"]

_ENOUGH = 10  # judged candidates, below which a share is not drawn
_LEFT_OUT = f"A share of fewer than {_ENOUGH} judged is not drawn."


def generation_gallery(audit: Audit) -> Gallery | None:
    """By label, synchronized against not: a panel for each generator that has both."""
    panels = []
    told = [parts for e in audit.generation if (parts := candidates_parts(e["candidates"]))]
    models = list(dict.fromkeys(model for model, _, _ in told))
    for model in models:
        with_, without = (audit.of_candidates(f"{model}-{c}") for c in ("sync", "no-sync"))
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
