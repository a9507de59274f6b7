"""The language models over training in pictures, and as a flat table: fill probe and perplexity."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pipeline.mechanisms.reporting.drawing import Key, Panel, key_of
from pipeline.mechanisms.reporting.languagemodels import PROBE, LanguageModel
from pipeline.mechanisms.reporting.lines import Line, Points, line_chart
from pipeline.mechanisms.reporting.sections import Gallery
from pipeline.mechanisms.reporting.systems import generator_name

__all__ = ["model_curves", "model_gallery"]

_DRAWN = ("recovered", "category", "length", "sense")
_COLUMNS = ("model", "seed", "step", "epoch", "tokens", "loss", "learning_rate", "validation_loss",
            "perplexity", "probed", *PROBE)  # fmt: skip


def model_gallery(models: Sequence[LanguageModel]) -> Gallery | None:
    """Probe and perplexity over the tokens read, one line for each model; None without histories."""
    told = [model for model in models if model.looks]
    names = list(dict.fromkeys(m.name for m in told))
    panels: list[Panel] = []
    shares = [100 * r["probe"][s] for m in told for r in m.looks for s in _DRAWN if s in r["probe"]]
    limits = (0.0, min(100.0, 1.1 * max(shares, default=0.0)) or 1.0)  # of all four panels
    for share in _DRAWN:
        curves = [
            [(r["tokens"], 100 * r["probe"][share]) for r in m.looks if share in r["probe"]]
            for m in told
        ]
        panels += _panel(f"Fill probe: {share}", told, curves, limits, names)
    for title, alike in _comparable(told).items():
        curves = [
            [(r["tokens"], float(r["perplexity"])) for r in m.looks if r.get("perplexity")]
            for m in alike
        ]
        panels += _panel(title, alike, curves, None, names)
    if not panels:
        return None
    note = (
        "Over the tokens read so far, which for a continued model begin at 0 again; one line for each "
        "seed. Recovered: right in category, length and sense. Perplexity stands on a logarithmic scale, "
        "in a picture for each objective, family and vocabulary, between which it does not compare."
    )
    return Gallery(panels, [_key(name, names) for name in names], note)


def model_curves(models: Sequence[LanguageModel]) -> str:
    """CSV text with a row for each look of each model; shares are fractions, unknown cells empty."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for model in models:
        for record in model.looks:
            about = {"model": model.name, "seed": model.seed, "probed": record["n"]}
            row = {**record, **record["probe"], **about}
            writer.writerow({column: row.get(column) for column in _COLUMNS})
    return buffer.getvalue()


def _comparable(models: Sequence[LanguageModel]) -> dict[str, list[LanguageModel]]:
    """Models whose perplexities compare, by the title of their picture."""
    groups: dict[tuple[str, str, object], list[LanguageModel]] = {}
    for model in models:
        alike = model.family, model.objective, model.card.get("vocabulary")
        groups.setdefault(alike, []).append(model)
    kinds = Counter((family, objective) for family, objective, _ in groups)
    return {
        f"Perplexity: {generator_name(family)}, {objective}"
        + (f", vocabulary of {vocabulary}" if kinds[family, objective] > 1 else ""): alike
        for (family, objective, vocabulary), alike in groups.items()
    }


def _panel(
    title: str,
    models: Sequence[LanguageModel],
    curves: Sequence[Points],
    limits: tuple[float, float] | None,
    names: Sequence[str],
) -> list[Panel]:
    """No panel without points; without limits the upright axis is logarithmic and fits the values.

    ``names`` are the models of all panels, which have their colours by them.
    """
    drawn = [(model, curve) for model, curve in zip(models, curves, strict=True) if curve]
    if not drawn:
        return []
    last = max(tokens for _, curve in drawn for tokens, _ in curve)
    scale, unit = (1e6, "million tokens") if last >= 2e6 else (1e3, "thousand tokens")
    lines = [
        Line([(tokens / scale, value) for tokens, value in curve], _key(model.name, names))
        for model, curve in drawn
    ]
    values = [value for _, curve in drawn for _, value in curve]
    svg = line_chart(
        lines,
        "of the probed, %" if limits else "",
        (0, last / scale),
        limits or (0.8 * min(values), 1.25 * max(values)),
        name=title,
        x_label=unit,
        logarithmic=limits is None,
    )
    ends = "; ".join(f"{model.phrase} ends at {curve[-1][1]:.0f}" for model, curve in drawn)
    return [Panel(title, f"{title} over tokens read: {ends}", svg)]


def _key(name: str, names: Sequence[str]) -> Key:
    return replace(key_of(name, names), dash="")
