"""What differs from the paper, for the corpus at hand."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.core.candidates import HARVESTED
from pipeline.core.corpus_folder import INGEST_RECORD, ingest_card
from pipeline.core.families import FAMILY_FACTS, papers_families
from pipeline.core.runs import Run
from pipeline.report.language_models import read_models
from pipeline.report.prose import Fact
from pipeline.report.provenance import candidate_folders, ranked
from pipeline.report.results import (
    full_method,
    generator_name,
    is_ours,
    is_papers_method,
    read_generation,
    short_name,
    system_key,
)

_ENCODER = "bert-base-cased"
_NAMES = {
    "steps": "updates", "warm_steps": "updates on L alone", "eval_every": "updates between validations",
    "n_batch": "N_batch", "k": "K", "k_max": "K_max", "delta": "δ",
    "select": "weights kept", "weight": "λ",
}  # fmt: skip
_ELSEWHERE = {"candidates", "mode", "labelled", "seed", "encoder", "threads"}
"""Settings of a run that name things, or that other sentences are about."""

_ALIKE = ("n_batch", "k", "k_max", "delta")


def differences(corpus: Path, runs: Sequence[Run]) -> list[Fact]:
    """Each thing that this corpus does otherwise than the paper."""
    return [
        *_corpus(corpus),
        *_models(corpus),
        *_chosen(corpus),
        *_encoder(runs),
        *_finite(runs),
        *_training(runs),
        *_own(runs),
    ]


def _corpus(corpus: Path) -> Iterator[Fact]:
    card = ingest_card(corpus)
    sentences = card.get("splits", {}).get("train", {}).get("sentences")
    if card.get("reader") == "world":
        yield Fact("differences.grammar", sentences=sentences)
    elif (corpus / INGEST_RECORD).is_file() and card.get("reader") != "text":
        yield Fact("differences.treebank", sentences=sentences)


def _models(corpus: Path) -> Iterator[Fact]:
    """How the generators came to be, where that is not the paper's way; one model of each name."""
    models = {model.name: model for model in reversed(read_models(corpus))}
    for name in ranked(models, papers_families()):
        model, family = models[name], FAMILY_FACTS.get(name)
        ready, paper = (family and family.paper) or ("", "")
        base = model.card.get("base")
        if model.adapted:
            yield Fact("differences.adapted", model=model.phrase, base=base)
        elif paper and not model.ready:
            yield Fact(
                "differences.trained",
                model=model.phrase,
                base=base,
                sentences=(model.card.get("texts") or {}).get("kept"),
                parameters=model.card.get("parameters"),
                paper=paper,
            )
        elif paper and model.ready and not model.ready.endswith(ready):
            yield Fact("differences.ready", model=model.phrase, ready=model.ready, paper=paper)


def _chosen(corpus: Path) -> Iterator[Fact]:
    """Which folders have fills that no model wrote."""
    made = [read_generation(corpus, name) for name in candidate_folders(corpus)]
    generations = sorted(made, key=lambda generation: generation.key)
    if attested := [g.name for g in generations if g.fills == "attested"]:
        yield Fact("differences.attested", names=attested)
    if harvested := [g.name for g in generations if g.fills == HARVESTED]:
        yield Fact("differences.harvested", names=harvested)


def _encoder(runs: Sequence[Run]) -> Iterator[Fact]:
    used = sorted({str(run.card["settings"]["encoder"]) for run in runs
                   if "encoder" in run.card.get("settings", {})})  # fmt: skip
    if not all(name.endswith(_ENCODER) for name in used):
        yield Fact("differences.encoder", used=used)


def _finite(runs: Sequence[Run]) -> Iterator[Fact]:
    """Generation comes first here, so a long training meets candidates again."""
    cards = [run.card for run in runs if run.mode == "filter"]
    known = [c for c in cards if isinstance(c.get("candidates"), int) and c["candidates"]]
    if known:
        yield Fact(
            "differences.finite",
            seen=sum(int(c.get("seen") or 0) for c in known) / len(known),
            candidates=sum(c["candidates"] for c in known) / len(known),
        )


def _training(runs: Sequence[Run]) -> Iterator[Fact]:
    """Settings of training that are not the paper's, as each run records them."""
    filtering = [run for run in runs if run.mode == "filter" and is_papers_method(run.system)]
    papers: dict[str, Any] = {}
    for run in filtering:
        papers |= dict(run.card.get("paper", {}).get("unlike", ()))
    used = _settings(filtering)
    unlike = [
        (_name(key), sorted(used[key]), _value(paper))
        for key, paper in papers.items()
        if key in used and key not in _ELSEWHERE
    ]
    alike = dict.fromkeys(
        key for run in filtering for key in run.card.get("paper", {}).get("alike", ())
    )
    same = [
        (_name(key), sorted(used[key]))
        for key in alike
        if key in used and key in _ALIKE and key not in papers
    ]
    if unlike or same:
        yield Fact("differences.training", unlike=unlike, same=same)


def _own(runs: Sequence[Run]) -> Iterator[Fact]:
    """What this project's own variations, which the paper lacks, do otherwise than their generator."""
    systems = sorted({run.system for run in runs}, key=system_key)
    for system in filter(is_ours, systems):
        full = full_method(system, systems)
        own, plain = (_settings([r for r in runs if r.system == name]) for name in (system, full))
        changed = [
            (_name(key), sorted(own[key]))
            for key in own
            if key not in _ELSEWHERE and key in plain and own[key] != plain[key]
        ]
        if changed:
            yield Fact(
                "differences.own",
                system=short_name(system),
                generator=generator_name(system),
                changed=changed,
            )


def _settings(runs: Iterable[Run]) -> dict[str, set[str]]:
    """All values that some runs had of each setting."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for key, value in run.card.get("settings", {}).items():
            found.setdefault(key, set()).add(_value(value))
    return found


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def _value(value: object) -> str:
    if value is None:
        return "unset"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
