"""The language models of a corpus, as the report reads them back from ``models/``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.mechanisms.reporting.records import read_records
from pipeline.mechanisms.reporting.systems import generator_name
from pipeline.settings.models import Family, family_of, is_model_name

__all__ = ["PROBE", "LanguageModel", "read_models"]

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
    def phrase(self) -> str:
        """What it is called: ``T5 (adapted on twins)``."""
        return generator_name(self.name)

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
