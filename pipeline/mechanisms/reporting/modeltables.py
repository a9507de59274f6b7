"""The chapter on the language models: what each is, what it read, how well it fills, what it took."""

from collections.abc import Iterator, Sequence

from pipeline.mechanisms.reporting.languagemodels import LanguageModel
from pipeline.mechanisms.reporting.modelcurves import model_gallery
from pipeline.mechanisms.reporting.sections import Chapter, Section
from pipeline.mechanisms.reporting.tables import Row, Table

__all__ = ["language_models"]

_PROBE = ("filled", "category", "length", "sense", "recovered", "echo", "exact")
_POLICIES = {"drop": "left out", "count": "kept"}


def language_models(models: Sequence[LanguageModel]) -> Chapter:
    """Tables and pictures of the language models, and a line for what earlier versions did not keep."""
    if not models:
        return [], ["No language models: models/ has none."]
    trained = [model for model in models if not model.ready]
    tables = [_made(models)]
    if any("texts" in m.card for m in trained):
        tables.append(_read(trained))
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


def _read(models: Sequence[LanguageModel]) -> Table:
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
