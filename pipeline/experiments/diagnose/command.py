"""``conjoin diagnose``: where a run's predictor fails, estimated by held-out folds of L.

Every sentence of L is judged by a predictor that was trained as the run was, on the other folds. A cell
is a label, a bucket of length, a coordinator (with its preconjunction) and a number of conjuncts; what
is wanted of it is its share of the errors, smoothed, as few cells of a small L have more than some
structures:

- of a cell's margins (all of its label, of its length, …): r_d = (errors + m·r) / (structures + m), where
  r is the share of errors in all of L;
- expected of the cell: p = r · Π r_d / r, at most 1;
- its rate: (errors + m·p) / (structures + m);
- its share: structures · rate, divided by the sum of that over all cells.

``docs/generation.md`` says what ``generate --targets`` makes of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from math import fsum, prod
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from pipeline.core.annotation import as_json, joined, place_name, recorded
from pipeline.core.buckets import bucket_of, deciles
from pipeline.core.cards.runs import RunCard
from pipeline.core.cards.targets import DiagnosedRun, Diagnosis, TargetsFile
from pipeline.core.claims import Claim, Listed, mark_of
from pipeline.core.console import say, table
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import (
    corpus_around,
    inputs_in,
    require_coordination,
    task_name,
)
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.draws import annotation_of_draw, read_draw
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import folder_lock, sweep, write_json
from pipeline.core.settings import flag_of
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.experiments.diagnose.confusions import find_confusions
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.generate.structures import structure_in
from pipeline.generate.targets import FORMAT
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.run_folder import earlier_run
from pipeline.train.settings import TrainSettings

TARGETS = "targets.json"

_OF_COORDINATION = ("folds", "smoothing", "candidates", "resume")
_OF_RELATIONS = ("cells", "least_errors", "threads")
"""Options that one task alone has."""


def run(settings: DiagnoseSettings) -> None:
    """Train a predictor for each fold, judge the fold by it, write ``targets.json`` and print a table.

    Of relations the run's own predictor is judged, on its validation pairs (``confusions``).

    A fold whose predictor is finished and current is not trained again.

    Raises:
        InputError: there is no such run, draw or candidates, or L is too small for the folds.
        SettingsError, ModelError: as ``train``.
    """
    card: RunCard = read_json(
        settings.run / "run.json", RunCard, remedy="name a folder that `conjoin train` finished"
    )
    corpus = corpus_around(settings.run.absolute())
    if corpus is None:
        raise InputError(
            "no corpus folder around this run", path=settings.run,
            remedy="name a run that lies where `conjoin train` wrote it",
        )  # fmt: skip
    of_relations = task_name(corpus) == RELATIONS
    for name in _OF_COORDINATION if of_relations else _OF_RELATIONS:
        if getattr(settings, name) != DiagnoseSettings.model_fields[name].default:
            raise SettingsError(
                f"a corpus of {task_name(corpus)} has no --{flag_of(name)}: leave it out"
            )
    if of_relations:
        find_confusions(settings, card, corpus)
        return
    require_coordination(corpus, "diagnose")
    draw = str(card.get("draw", card["labelled"]))
    labelled, _ = read_draw(corpus, card["seed"], draw)
    if not any(sentence.evaluable for sentence in labelled):
        raise InputError(
            "L has no coordination", path=settings.run, remedy="name a run of another draw"
        )
    if "begun_with" in card:  # whose encoder has learned from every fold
        raise InputError(
            "its encoder is that of another predictor of L, which has seen every fold",
            path=settings.run, remedy="name the run whose predictor it began with",
        )  # fmt: skip
    if len(labelled) < settings.folds:
        raise InputError(
            f"L has {len(labelled)} sentences for {settings.folds} folds",
            path=settings.run, remedy="say a smaller --folds",
        )  # fmt: skip
    if settings.candidates is not None and card["mode"] == "baseline":
        raise InputError(
            "a baseline learns from no candidates",
            path=settings.run,
            remedy="leave out --candidates",
        )
    out = settings.out or corpus / f"diagnosis/{card['system']}-{draw}-{card['seed']}"
    about: DiagnosedRun = {"system": card["system"], "draw": draw, "seed": card["seed"]}
    inputs = [*inputs_in(corpus), settings.run]
    if settings.candidates is not None and Path(settings.candidates).exists():
        inputs.append(Path(settings.candidates))
    claim = Claim(out, "diagnose", inputs, partial(_earlier, about=about), parts=[TARGETS])
    claim.check()
    with folder_lock(out):
        claim.take()
        _diagnose(settings, card, corpus, labelled, out, about)


def _diagnose(  # noqa: PLR0917 - called once, in the order of what was found
    settings: DiagnoseSettings,
    card: RunCard,
    corpus: Path,
    labelled: Sequence[Sentence],
    out: Path,
    about: DiagnosedRun,
) -> None:
    sweep(out / TARGETS)
    wrong = dict[tuple[str, int], bool]()
    for number, fold in enumerate(folds_of(labelled, settings.folds, card["seed"]), 1):
        folder = out / f"fold-{number}-of-{settings.folds}"
        say(f"fold {number} of {settings.folds}: {len(fold)} sentences held out")
        given = settings_of(card, corpus, folder, settings.candidates)
        given = given.model_copy(update={"resume": settings.resume})
        train.run(given, frozenset(each.sentence_id for each in fold))
        wrong |= _errors(folder, fold, given.threads)
    document = targets_of(labelled, wrong, settings.smoothing)
    own = annotation_of_draw(corpus, about["seed"], about["draw"])
    parts = joined([*own, *recorded(card, place_name(settings.run))])
    targets: TargetsFile = {
        "format": FORMAT,
        "run": {**about, "folds": settings.folds},
        **document,
        "annotation": as_json(parts),
    }
    write_json(out / TARGETS, targets)
    show(document)
    say(f"written: {out / TARGETS}")


def _earlier(out: Path, about: Mapping[str, Any]) -> Listed:
    """The targets of the same run, which are made anew, finished or not; None where there are none.

    Raises:
        InputError: they are of another run.
    """
    path, own = out / TARGETS, mark_of(out, "diagnose") is not None
    if path.is_file():
        try:
            known = read_json(path, TargetsFile).get("run")
        except InputError:
            return None
        if known is not None and {name: known.get(name) for name in about} != about:
            raise InputError(
                "the targets of another run are here", path=path, remedy="choose another --out"
            )
        own |= known is not None
    # Earlier versions left no mark; the folds say that they are runs.
    own |= any(map(earlier_run, out.glob("fold-*-of-*")))
    return [TARGETS] if own else None


def folds_of(labelled: Sequence[Sentence], count: int, seed: int) -> list[list[Sentence]]:
    """The sentences in folds whose sizes differ by one at most, drawn by the seed and their ids."""

    def key(sentence: Sentence) -> str:
        return sha256(f"{seed}\0{sentence.sentence_id}\0fold".encode()).hexdigest()

    order = sorted(labelled, key=key)
    return [order[number::count] for number in range(count)]


def settings_of(
    card: Mapping[str, Any], corpus: Path, out: Path, candidates: str | None
) -> TrainSettings:
    """The settings that a run was made with, for a run of one process that goes on where it stopped.

    Args:
        card: the run's ``run.json``.
        corpus: its corpus folder.
        out: where the new run goes.
        candidates: in the place of those that the card names; None: those in the corpus.

    Raises:
        InputError: the card has other settings than this version, or its candidates are not there.
    """
    settings = card.get("settings", {})
    kept = {k: v for k, v in settings.items() if k not in train.GONE or v != train.GONE[k]}
    named = kept.pop("candidates", None)
    if card["mode"] != "baseline" and named:
        own = corpus / str(named)
        if candidates is None and not own.is_dir():
            raise InputError(
                "the run's candidates are not in the corpus", path=own,
                remedy="name them with --candidates",
            )  # fmt: skip
        kept["candidates"] = candidates or str(own)
    ours = {"corpus": corpus, "out": out, "resume": True, "processes": 1, "system": card["system"]}
    try:
        return TrainSettings(**{**kept, **ours})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}", path=out,
            remedy="another version of conjoin made the run: train it again",
        ) from error  # fmt: skip


def _errors(folder: Path, fold: Sequence[Sentence], threads: int) -> dict[tuple[str, int], bool]:
    """Of each evaluable structure, by sentence and coordinator, whether the predictor is wrong."""
    torch.set_num_threads(threads)
    predictor = CoordinationPredictor.load(folder / "predictor").to(best_device())
    every = [(s, c) for s in fold for c in s.evaluable]
    found = predictor.predict([s.words for s, _ in every], [c.coordinator for _, c in every])
    return {
        (s.sentence_id, c.coordinator): one is None or one.span != Span(c.start, c.end)
        for (s, c), one in zip(every, found, strict=True)
    }


def targets_of(
    labelled: Sequence[Sentence], wrong: Mapping[tuple[str, int], bool], smoothing: float
) -> Diagnosis:
    """What ``targets.json`` says: edges, commas and cells.

    Args:
        labelled: the sentences of L.
        wrong: as of ``_errors``, of all folds.
        smoothing: m, how many structures what is expected of a cell counts as.
    """
    every = [(s, c) for s in labelled for c in s.evaluable]
    edges = deciles([c.end - c.start for _, c in every])
    kinds = [_kind(s, c, edges) for s, c in every]
    errors = [wrong[s.sentence_id, c.coordinator] for s, c in every]
    cells, bad = Counter(kinds), Counter(k for k, e in zip(kinds, errors, strict=True) if e)
    margins = [[Counter[Any](), Counter[Any]()] for _ in range(4)]
    for kind, error in zip(kinds, errors, strict=True):
        for (seen, failed), part in zip(margins, kind, strict=True):
            seen[part] += 1
            failed[part] += error
    whole = sum(errors) / len(every)

    def rate(kind: tuple[Any, ...]) -> float:
        if not whole:
            return 0.0
        parts = (
            (failed[part] + smoothing * whole) / (seen[part] + smoothing) / whole
            for (seen, failed), part in zip(margins, kind, strict=True)
        )
        expected = min(1.0, whole * prod(parts))
        return (bad[kind] + smoothing * expected) / (cells[kind] + smoothing)

    mass = {kind: count * rate(kind) for kind, count in cells.items()}
    total = fsum(mass.values())
    long = [structure_in(s, c).comma for s, c in every if len(c.conjuncts) > 2]
    return {
        "smoothing": smoothing,
        "edges": edges,
        "commas": sum(long) / len(long) if long else 0.0,
        "structures": len(every),
        "errors": sum(errors),
        "cells": [
            {
                "label": label,
                "length": length,
                "coordinator": words.split()[-1],
                "preconjunction": words.split()[0] if " " in words else None,
                "conjuncts": conjuncts,
                "structures": cells[label, length, words, conjuncts],
                "errors": bad[label, length, words, conjuncts],
                "share": round(mass[label, length, words, conjuncts] / total, 9) if total else 0.0,
            }
            for label, length, words, conjuncts in sorted(cells)
        ],
    }


def _kind(
    sentence: Sentence, coordination: Coordination, edges: Sequence[int]
) -> tuple[str, int, str, int]:
    structure = structure_in(sentence, coordination)
    words = " ".join(filter(None, (structure.preconjunction, structure.coordinator)))
    length = bucket_of(edges, coordination.end - coordination.start)
    return coordination.label, length, words, structure.conjuncts


def show(document: Mapping[str, Any]) -> None:
    """Print structures, errors and shares by each of the four."""
    edges = document["edges"]
    rows = []
    for name in ("label", "length", "coordinator", "conjuncts"):
        groups: dict[Any, list[Mapping[str, Any]]] = {}
        for cell in document["cells"]:
            value = cell[name]
            if name == "coordinator":
                value = cell["preconjunction"] or "", value
            groups.setdefault(value, []).append(cell)
        for value, cells in sorted(groups.items()):
            structures, errors = (sum(c[key] for c in cells) for key in ("structures", "errors"))
            rows.append((
                name, _shown(name, value, edges), f"{structures:,}", f"{errors:,}",
                f"{errors / structures:.1%}", f"{fsum(c['share'] for c in cells):.1%}",
            ))  # fmt: skip
    table(
        f"{document['errors']:,} errors in {document['structures']:,} structures of L, held out",
        ("by", "value", "structures", "errors", "rate", "target"), rows,
    )  # fmt: skip


def _shown(name: str, value: Any, edges: Sequence[int]) -> str:
    """A value as the table shows it."""
    if name == "coordinator":
        return " … ".join(filter(None, value))
    if name != "length":
        return f"{value} or more" if value == 4 else str(value)
    low = edges[value - 1] + 1 if value else 1
    return f"{low}-{edges[value]} words" if value < len(edges) else f"{low} words or more"
