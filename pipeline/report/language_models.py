"""The language models of a corpus: what each is, what it read, what its training took and led to.

Their looks at held-out text go to ``language-models.csv``, from which ``dvc plots`` draws them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.cards.models import PretrainCard, PretrainLine, PretrainTiming, ReadyCard
from pipeline.core.documents import read_json
from pipeline.core.families import FAMILY_FACTS, family_of, is_model_name
from pipeline.core.runs import read_records
from pipeline.report.markdown import Table, csv_text, records_table
from pipeline.report.prose import Fact
from pipeline.report.results import generator_name, model_system

_COLUMNS = ("model", "seed", "step", "epoch", "tokens", "loss", "learning_rate", "validation_loss",
            "perplexity")  # fmt: skip

_REMEDY = "remove the model's folder and run `conjoin pretrain` again"


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
    def phrase(self) -> str:
        """What it is called: ``T5 (adapted on twins)``."""
        return generator_name(model_system(self.name, self.card))

    @property
    def adapted(self) -> bool:
        """Whether it learnt from twins, not from corrupted text."""
        return self.card.get("objective") == "twins"

    @property
    def objective(self) -> str:
        """What it learnt from, in words."""
        if self.adapted:
            return "twins of natural coordinations"
        pretraining = FAMILY_FACTS[self.family].pretraining
        return pretraining.hides if pretraining else "unknown"

    @property
    def family(self) -> str:
        """The family that it is of."""
        return family_of(self.name)


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
    order = list(FAMILY_FACTS)
    return sorted(found, key=lambda m: (order.index(m.family), m.name, m.seed))


def _read(path: Path, models: Path) -> LanguageModel | None:
    folder = path.parent
    name, *rest = folder.relative_to(models).parts
    if not is_model_name(name):
        return None
    seed = rest[0].removeprefix("seed-") if rest else "0"
    if path.name == "ready.json":
        ready: ReadyCard = read_json(path, ReadyCard, remedy=_REMEDY)
        return LanguageModel(name, seed, ready["name"], {}, {}, ())
    card: PretrainCard = read_json(path, PretrainCard, remedy=_REMEDY)
    timing = folder / "timing.json"
    about = read_json(timing, PretrainTiming, remedy=_REMEDY) if timing.is_file() else {}
    looks = read_records(folder / "history.jsonl", PretrainLine, "a look of pretraining", _REMEDY)
    return LanguageModel(name, seed, None, card, about, looks)


def model_curves(models: Sequence[LanguageModel]) -> str:
    """CSV text with a row for each look of each model; unknown cells are empty."""
    return csv_text(_COLUMNS, (
        {**look, "model": model.name, "seed": model.seed}
        for model in models
        for look in model.looks
    ))  # fmt: skip


_POLICIES = {"drop": "left out", "count": "kept"}


def model_tables(models: Sequence[LanguageModel]) -> list[Table]:
    """What the models are, read and took; ready ones stand in the first table alone."""
    trained = [model for model in models if not model.ready]
    tables = [_made(models)]
    if any("texts" in m.card for m in trained):
        tables.append(_read_by(trained))
    if trained:
        tables.append(_took(trained))
    return tables


def _made(models: Sequence[LanguageModel]) -> Table:
    records = [
        {
            "Model": _called(model, models),
            "name": model.name,
            "learnt from": "– (ready, used as it is)" if model.ready else model.objective,
            "base": model.ready or model.card.get("base") or "from scratch",
            "parameters": model.card.get("parameters"),
            "vocabulary": model.card.get("vocabulary"),
        }
        for model in models
    ]
    return records_table("What they are", records, names=4)


def _took(models: Sequence[LanguageModel]) -> Table:
    records = [
        {
            "Model": _called(model, models),
            "updates": model.card.get("steps"),
            "tokens read": model.card.get("tokens"),
            "seconds": _rounded(model.timing.get("seconds")),
            "tokens/s": _rounded(model.timing.get("tokens_per_second")),
            **{key: model.timing.get(key) for key in ("device", "processes", "dtype")},
            "perplexity": None
            if (value := model.card.get("perplexity")) is None
            else f"{value:,.1f}",
        }
        for model in models
    ]
    return records_table("What their training took", records, note=Fact("notes.training_took"))


def _read_by(models: Sequence[LanguageModel]) -> Table:
    """Sentences (or twins) kept and refused, and those that hold one of dev or test."""
    records = []
    for model in models:
        texts, overlap = model.card.get("texts") or {}, model.card.get("overlap") or {}
        refused, found = texts.get("refused"), overlap.get("found")
        # null: there was no split to look for, or nothing was looked through, as for twins.
        policy = None if found is None else overlap.get("policy")
        records.append({
            "Model": _called(model, models),
            "counted": "twins" if model.adapted else "sentences",
            "kept": texts.get("kept"),
            "refused": None if refused is None else sum(refused.values()),
            "of dev or test": None if found is None else sum(found.values()),
            "and these were": _POLICIES.get(str(policy), policy),
            "digest of text": str(model.card.get("text_digest") or "–")[:8],
        })  # fmt: skip
    adapted = any(model.adapted for model in models)
    counts = _reasons(models)
    note = Fact("notes.texts_read", twins=adapted, counts=counts)
    return records_table(
        "What they read", records, names=2, note=note if counts or adapted else None
    )


def _reasons(
    models: Sequence[LanguageModel],
) -> list[tuple[list[str], dict[str, int], dict[str, int]]]:
    """Why sentences were refused, and how dev or test was found in them: models with equal counts once."""
    groups: list[tuple[list[str], dict[str, int], dict[str, int]]] = []
    for model in models:
        refused = (model.card.get("texts") or {}).get("refused") or {}
        found = (model.card.get("overlap") or {}).get("found") or {}
        same = next((g for g in groups if g[1:] == (refused, found)), None)
        if same:
            same[0].append(_called(model, models))
        elif refused or found:
            listed = dict(sorted(refused.items())), dict(sorted(found.items()))
            groups.append(([_called(model, models)], *listed))
    return groups


def unkept(models: Sequence[LanguageModel]) -> Iterator[Fact]:
    """What models of earlier versions did not keep."""
    trained = [model for model in models if not model.ready]
    for what, lacking in (
        ("learning curves", [m for m in trained if not m.looks]),
        ("training time", [m for m in trained if not m.timing]),
    ):
        if lacking:
            names = list(dict.fromkeys(_called(model, models) for model in lacking))
            yield Fact("missing.of_models", what=what, models=names)


def _called(model: LanguageModel, models: Sequence[LanguageModel]) -> str:
    seeds = {other.seed for other in models}
    return model.phrase + (f", seed {model.seed}" if len(seeds) > 1 else "")


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
