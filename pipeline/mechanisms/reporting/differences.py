"""What differs from the paper, in sentences true of the corpus at hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.ground.files import read_json
from pipeline.mechanisms.reporting.languagemodels import read_models
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import (
    GENERATORS,
    VARIATIONS,
    generator_name,
    parts_of,
    short_name,
    system_key,
)
from pipeline.settings.train import Train

__all__ = ["differences"]

_PAPERS = {"bert": ("bert-large-cased", "BERT-large-cased"), "t5": ("t5-large", "T5-large")}
_ENCODER = "bert-base-cased"
_NAMES = {
    "steps": "updates", "warm_steps": "updates on L alone", "eval_every": "updates between validations",
    "n_batch": "N_batch", "k": "K", "k_max": "K_max", "delta": "δ",
}  # fmt: skip
_UNTOLD = {
    "corpus",
    "candidates",
    "mode",
    "system",
    "labelled",
    "seed",
    "encoder",
    "threads",
    "out",
}
"""Settings of ``train`` that name things, or that other sentences tell of."""

_ALIKE = ("n_batch", "k", "k_max", "delta")


def differences(corpus: Path, runs: Sequence[Run]) -> list[str]:
    """One sentence or two for each thing that this corpus does otherwise than the paper."""
    facts = [
        _corpus(corpus),
        *_models(corpus),
        _encoder(runs),
        _finite(runs),
        _training(runs),
        *_own(runs),
    ]
    return [fact for fact in facts if fact]


def _corpus(corpus: Path) -> str:
    path = corpus / "ingest.json"
    if not path.is_file():
        return ""
    card = read_json(path)
    train = card.get("splits", {}).get("train", {}).get("sentences")
    size = f"{train:,} training sentences" if train else "its training sentences"
    if card.get("reader") == "world":
        return (
            f"The corpus is an artificial grammar’s English, {size} of it, not newspaper text: that is "
            "what makes an exact audit possible. Its sentences are simpler than the paper’s, so no "
            "accuracy here compares with one there; what compares is the order of the systems."
        )
    if card.get("reader") == "text":
        return ""
    return (
        f"The corpus has {size}; the paper uses the Penn Treebank (39,832) and GENIA (14,326), with "
        "250 and 500 labelled sentences and five runs."
    )


def _models(corpus: Path) -> list[str]:
    """How the generators came to be, where that is not the paper's way."""
    facts, told = [], set[str]()
    for generator, (ready, name) in _PAPERS.items():
        paths = sorted((corpus / "models" / generator).glob("**/pretrain.json"))
        if paths:
            facts.append(_trained(GENERATORS[generator], name, read_json(paths[0])))
        for path in sorted((corpus / "models" / generator).glob("**/ready.json"))[:1]:
            used = str(read_json(path).get("name", "unknown"))
            if not used.endswith(ready):
                facts.append(f"{GENERATORS[generator]} is {used}; the paper’s generator is {name}.")
    for model in read_models(corpus):
        if model.card.get("objective") == "twins" and model.name not in told:
            told.add(model.name)
            facts.append(
                f"{generator_name(model.name)}, which the paper does not have, goes on from "
                f"{model.card.get('base')} with twins of natural coordinations."
            )
    return facts


def _trained(generator: str, name: str, card: Mapping[str, Any]) -> str:
    texts = card.get("texts", {}).get("kept")
    size = f", {card['parameters']:,} parameters" if isinstance(card.get("parameters"), int) else ""
    origin = f"continued from {card['base']}" if card.get("base") else "trained here from scratch"
    on = f" on {texts:,} sentences" if texts else ""
    return (
        f"{generator} was {origin}{on}{size}; the paper’s generator is {name}, which has hundreds of "
        "millions of parameters and has read billions of words."
    )


def _encoder(runs: Sequence[Run]) -> str:
    used = sorted({str(run.card["settings"]["encoder"]) for run in runs
                   if "encoder" in run.card.get("settings", {})})  # fmt: skip
    if not used or all(name.endswith(_ENCODER) for name in used):
        return ""
    if used == ["models/bert"]:
        return "The predictor’s encoder is that same BERT; the paper’s is BERT-base-cased."
    return f"The predictor’s encoder is {', '.join(used)}; the paper’s is BERT-base-cased."


def _finite(runs: Sequence[Run]) -> str:
    """Generation comes first here, so a long training meets candidates again."""
    cards = [run.card for run in runs if run.mode == "filter"]
    known = [c for c in cards if isinstance(c.get("candidates"), int) and c["candidates"]]
    if not known:
        return ""
    pool = sum(c["candidates"] for c in known) / len(known)
    seen = sum(int(c.get("seen") or 0) for c in known) / len(known)
    return (
        "Candidates are generated before training, not during it, so U is finite: a run that filters "
        f"examined {seen:,.0f} on average out of {pool:,.0f} different ones."
    )


def _training(runs: Sequence[Run]) -> str:
    """Settings of training that are not the paper's, which are the defaults of ``train``."""
    cards = [
        r.card.get("settings", {}) for r in runs if r.mode == "filter" and r.system in GENERATORS
    ]
    other, same = [], []
    for key, field in Train.model_fields.items():
        used = {_value(card[key]) for card in cards if key in card}
        if key in _UNTOLD or not used:
            continue
        name, paper = _name(key), _value(field.default)
        if used != {paper}:
            other.append(f"{name} {', '.join(sorted(used))} (paper: {paper})")
        elif key in _ALIKE:
            same.append(f"{name} = {paper}")
    told = f"Training differs in {'; '.join(other)}. " if other else ""
    return f"{told}As in the paper: {', '.join(same)}." if same else told.strip()


def _own(runs: Sequence[Run]) -> list[str]:
    """What this project's own variations, which the paper lacks, do otherwise than their generator."""
    facts = []
    for system in sorted({run.system for run in runs}, key=system_key):
        generator, variation = parts_of(system) or ("", None)
        if variation is None or variation in VARIATIONS:
            continue
        own, plain = (_settings(runs, name) for name in (system, generator))
        changed = [
            f"{_name(key)} {', '.join(sorted(own[key]))}"
            for key in own
            if key not in _UNTOLD and key in plain and own[key] != plain[key]
        ]
        if changed:
            facts.append(
                f"{short_name(system)}, which the paper does not have, differs from "
                f"{generator_name(generator)} in {'; '.join(changed)}."
            )
    return facts


def _settings(runs: Sequence[Run], system: str) -> dict[str, set[str]]:
    """All values that the runs of a system had of each setting."""
    found: dict[str, set[str]] = {}
    for run in runs:
        if run.system == system:
            for key, value in run.card.get("settings", {}).items():
                found.setdefault(key, set()).add(_value(value))
    return found


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def _value(value: object) -> str:
    if value is None:
        return "unset"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
