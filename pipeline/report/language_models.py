"""The language models of a corpus, as the report reads them back from ``models/``.

The chapter on the language models: what each is, what it read, how well it fills, what it took.

The language models over training in pictures, and as a flat table: fill probe and perplexity.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import read_json
from pipeline.core.runs import System, read_records
from pipeline.core.settings import Family, family_of, is_model_name
from pipeline.report.charts import Key, Line, Panel, Points, key_of, line_chart
from pipeline.report.markdown import Row, Table
from pipeline.report.results import GENERATORS, generator_name, model_system
from pipeline.report.sections import Chapter, Gallery, Section

PROBE = ("recovered", "category", "length", "sense", "echo", "exact", "filled")
"""Shares of a fill probe: fractions of its ``n`` coordinations; earlier versions had no ``echo``."""

_REMEDY = "remove the model's folder and run `conjoin pretrain` again"
_FAMILIES = {"bert": 0, "t5": 1}


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """One folder ``models/NAME/seed-K``.

    ``ready`` names the ready model that is used as it is; then ``card`` (pretrain.json), ``timing``
    (timing.json) and ``looks`` (history.jsonl, a record for each look at held-out text) are empty.
    Models that earlier versions trained have a card alone.
    """

    name: str
    seed: str
    ready: str | None
    card: Mapping[str, Any] = field(repr=False)
    timing: Mapping[str, Any] = field(repr=False)
    looks: tuple[Mapping[str, Any], ...] = field(repr=False)

    @property
    def system(self) -> System:
        """What it is as a generator."""
        return model_system(self.name, self.card)

    @property
    def phrase(self) -> str:
        """What it is called: ``T5 (adapted on twins)``."""
        return generator_name(self.system)

    @property
    def adapted(self) -> bool:
        """Whether it learnt from twins, not from corrupted text."""
        return self.card.get("objective") == "twins"

    @property
    def objective(self) -> str:
        """What it learnt from, in words."""
        if self.adapted:
            return "twins of natural coordinations"
        return "masked words" if self.family == "bert" else "corrupted spans"

    @property
    def family(self) -> Family:
        """The family that it is of."""
        return family_of(self.name)

    @property
    def probe(self) -> Mapping[str, Any]:
        """Its fill probe at the end; empty where there is none."""
        return self.card.get("probe") or {}


def read_models(corpus: Path) -> list[LanguageModel]:
    """Every language model of a corpus: BERTs, then T5s, the one called like its family first.

    Raises:
        InputError: a file is malformed.
    """
    cards = [
        path
        for form in ("*/pretrain.json", "*/ready.json", "*/*/pretrain.json", "*/*/ready.json")
        for path in sorted((corpus / "models").glob(form))
    ]
    found = [model for path in cards if (model := _read(path, corpus / "models"))]
    return sorted(found, key=lambda m: (_FAMILIES[m.family], m.name, m.seed))


def _read(path: Path, models: Path) -> LanguageModel | None:
    folder = path.parent
    name, *rest = folder.relative_to(models).parts
    if not is_model_name(name):
        return None
    seed = rest[0].removeprefix("seed-") if rest else "0"
    card = read_json(path)
    timing = folder / "timing.json"
    about = read_json(timing) if timing.is_file() else {}
    if not isinstance(card, dict) or not isinstance(about, dict):
        raise InputError("not the card of a language model", path=path, remedy=_REMEDY)
    if path.name == "ready.json":
        return LanguageModel(name, seed, str(card.get("name", "unknown")), {}, {}, ())
    looks = read_records(folder / "history.jsonl", _look, "a look of pretraining", _REMEDY)
    return LanguageModel(name, seed, None, card, about, looks)


def _look(record: Mapping[str, Any]) -> dict[str, Any]:
    probe = record.get("probe") or {}
    shares = {key: float(probe[key]) for key in PROBE if probe.get(key) is not None}
    told = {"tokens": int(record["tokens"]), "step": int(record["step"])}
    return {**record, **told, "probe": shares, "n": probe.get("n")}


_DRAWN = ("recovered", "category", "length", "sense")
_COLUMNS = ("model", "seed", "step", "epoch", "tokens", "loss", "learning_rate", "validation_loss",
            "perplexity", "probed", *PROBE)  # fmt: skip


def model_gallery(models: Sequence[LanguageModel]) -> Gallery | None:
    """Probe and perplexity over the tokens read, one line for each model; None without histories."""
    told = [model for model in models if model.looks]
    names = list(dict.fromkeys(m.system for m in told))
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
        f"Perplexity: {GENERATORS[family]}, {objective}"
        + (f", vocabulary of {vocabulary}" if kinds[family, objective] > 1 else ""): alike
        for (family, objective, vocabulary), alike in groups.items()
    }


def _panel(
    title: str,
    models: Sequence[LanguageModel],
    curves: Sequence[Points],
    limits: tuple[float, float] | None,
    names: Sequence[System],
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
        Line([(tokens / scale, value) for tokens, value in curve], _key(model.system, names))
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


def _key(name: System, names: Sequence[System]) -> Key:
    return replace(key_of(name, names), dash="")


_PROBE = ("filled", "category", "length", "sense", "recovered", "echo", "exact")
_POLICIES = {"drop": "left out", "count": "kept"}


def language_models(models: Sequence[LanguageModel]) -> Chapter:
    """Tables and pictures of the language models, and a line for what earlier versions did not keep."""
    if not models:
        return [], ["No language models: models/ has none."]
    trained = [model for model in models if not model.ready]
    tables = [_made(models)]
    if any("texts" in m.card for m in trained):
        tables.append(_cells(trained))
    if trained:
        tables.append(_took(trained))
    if any(m.card.get("perplexity") is not None or m.probe for m in trained):
        tables.append(_judged(trained))
    gallery = model_gallery(trained)
    section = Section(
        "Language models", (), [gallery] if gallery else [], tables, name="language-models"
    )
    return [section], list(_missing(trained))


def _made(models: Sequence[LanguageModel]) -> Table:
    rows = [
        (
            _called(model, models), model.name,
            "– (ready, used as it is)" if model.ready else model.objective,
            str(model.ready or model.card.get("base") or "from scratch"),
            *(_count(model.card.get(key)) for key in ("parameters", "vocabulary")),
        )
        for model in models
    ]  # fmt: skip
    return Table(
        "What they are",
        ("Model", "name", "learnt from", "base", "parameters", "vocabulary"),
        tuple(Row(row) for row in rows),
        names=4,
        repeats=True,
    )


def _took(models: Sequence[LanguageModel]) -> Table:
    rows = [
        (
            _called(model, models),
            *(_count(model.card.get(key)) for key in ("steps", "tokens")),
            *(_count(model.timing.get(key)) for key in ("seconds", "tokens_per_second")),
            *(str(model.timing.get(key, "–")) for key in ("device", "processes", "dtype")),
        )
        for model in models
    ]
    return Table(
        "What their training took",
        ("Model", "updates", "tokens read", "seconds", "tokens/s", "device", "processes", "dtype"),
        tuple(Row(row) for row in rows),
        note="Tokens read: over all epochs; of a continued model those since its base.",
    )


def _cells(models: Sequence[LanguageModel]) -> Table:
    """Sentences (or twins) kept and refused, and those that hold one of dev or test."""
    rows = []
    for model in models:
        texts, overlap = model.card.get("texts") or {}, model.card.get("overlap") or {}
        refused, found = texts.get("refused"), overlap.get("found")
        # null: there was no split to look for, or nothing was looked through, as for twins.
        policy = "–" if found is None else str(overlap.get("policy", "–"))
        rows.append((
            _called(model, models), "twins" if model.adapted else "sentences", _count(texts.get("kept")),
            *(_count(None if counts is None else sum(counts.values())) for counts in (refused, found)),
            _POLICIES.get(policy, policy), str(model.card.get("text_digest") or "–")[:8],
        ))  # fmt: skip
    adapted = any(model.adapted for model in models)
    twins = ["Twins: two for each coordinator of the parsed sentences."] if adapted else []
    sought = "Of dev or test: raw sentences that hold one of these splits; a dash: not looked for."
    return Table(
        "What they read",
        (
            "Model",
            "counted",
            "kept",
            "refused",
            "of dev or test",
            "and these were",
            "digest of text",
        ),
        tuple(Row(row) for row in rows),
        names=2,
        repeats=True,
        note=" ".join([*twins, sought, *_reasons(models)]),
    )


def _reasons(models: Sequence[LanguageModel]) -> list[str]:
    """Why sentences were refused, and how dev or test was found in them; said once for equal counts."""
    told: dict[str, list[str]] = {}
    for model in models:
        parts = []
        for what, counts in (
            ("refused", (model.card.get("texts") or {}).get("refused")),
            ("of dev or test", (model.card.get("overlap") or {}).get("found")),
        ):
            if counts:
                parts.append(
                    f"{what}: " + ", ".join(f"{k} {v:,}" for k, v in sorted(counts.items()))
                )
        if parts:
            told.setdefault("; ".join(parts), []).append(_called(model, models))
    return [f"{', '.join(names)}: {text}." for text, names in told.items()]


def _judged(models: Sequence[LanguageModel]) -> Table:
    names = [name for name in _PROBE if name != "echo" or any("echo" in m.probe for m in models)]
    rows = []
    for model in models:
        value = model.card.get("perplexity")
        shares = (model.probe.get(key) for key in names)
        rows.append((
            _called(model, models), "–" if value is None else f"{value:,.1f}",
            _count(model.probe.get("n")),
            *("–" if share is None else f"{100 * share:.1f}" for share in shares),
        ))  # fmt: skip
    return Table(
        "How well they fill",
        ("Model", "perplexity", "probed", *(f"{name}, %" for name in names)),
        tuple(Row(row) for row in rows),
        note="Perplexity on what was held out, of the hidden tokens: it compares models of one objective, "
        "family and vocabulary only. The fill probe hides a conjunct of natural coordinations of the "
        "dev split in both twins. Filled: something usable came back; category, length, sense: it is "
        "like the hidden conjunct in that; recovered: in all three"
        + (
            ""
            if "echo" not in names
            else " and no echo; echo: it mostly says the other conjunct again"
        )
        + "; exact: it is the conjunct itself.",
    )


def _missing(models: Sequence[LanguageModel]) -> Iterator[str]:
    for what, lacking in (
        ("learning curves", [m for m in models if not m.looks]),
        ("training time", [m for m in models if not m.timing]),
        ("fill probe", [m for m in models if not m.probe]),
    ):
        if lacking:
            named = ", ".join(dict.fromkeys(_called(m, models) for m in lacking))
            yield f"No {what} of these language models, which did not keep it: {named}."


def _called(model: LanguageModel, models: Sequence[LanguageModel]) -> str:
    seeds = {other.seed for other in models}
    return model.phrase + (f", seed {model.seed}" if len(seeds) > 1 else "")


def _count(value: object) -> str:
    """A number with separators; a dash for what was not kept."""
    return f"{value:,.0f}" if isinstance(value, int | float) else "–"
