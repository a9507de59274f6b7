"""``conjoin train``: one run of Algorithm 1, from a draw of L and a folder of candidates."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pipeline.ground.console import Meter, say, table
from pipeline.ground.coordination import Sentence
from pipeline.ground.errors import InputError, SettingsError
from pipeline.ground.files import read_json, write_json, write_text
from pipeline.ground.parquet import write_rows
from pipeline.ground.schema import SCORED, read_sentences
from pipeline.ground.tally import Tally
from pipeline.mechanisms.acceptance import BestShare, Delta
from pipeline.mechanisms.algorithm1 import Acceptance, Constants, algorithm1
from pipeline.mechanisms.checkpoints import locate
from pipeline.mechanisms.descent import Schedule
from pipeline.mechanisms.encoding import Example
from pipeline.mechanisms.jury import Jury, fit_temperature, held_out_judges
from pipeline.mechanisms.predictor import Predictor, best_device
from pipeline.mechanisms.stream import CandidateStream, LabelledStream
from pipeline.mechanisms.training import Learner, learnable
from pipeline.settings.train import Train

__all__ = ["run"]


def run(settings: Train) -> None:
    """Train a predictor and write its run folder.

    Raises:
        InputError: the draw, the sentences or the candidates are missing, empty or inconsistent.
        ModelError: the encoder cannot be loaded, or the loss is not a number.
    """
    begun = time.monotonic()
    system = settings.system or settings.mode
    if "/" in system or system.startswith("."):
        raise SettingsError(f"system = {system!r} names a folder, so no '/' and no leading '.'")
    name = f"runs/{system}/{settings.labelled}/seed-{settings.seed}"
    out = settings.out or settings.corpus / name
    device = _prepare(settings.threads)
    labelled, validation = _draw(settings)
    _check_writable(out)
    predictor = _fresh(settings, settings.seed, device)
    learned, _, tally = learnable(labelled, predictor)
    _, measured, tally_validation = learnable(validation, predictor)
    draw_path = _draw_path(settings)
    if not learned:
        raise InputError("no labelled sentence can be learned from", path=draw_path)
    if not measured:
        raise InputError("no coordination in the validation sentences", path=draw_path)
    if settings.judges > len(learned):
        raise SettingsError(f"judges must not exceed |L|, was {settings.judges} > {len(learned)}")
    candidates = None
    if settings.mode != "baseline" and settings.candidates is not None:
        candidates = CandidateStream(str(settings.candidates), settings.seed)
    with Meter(f"train {system} {settings.labelled} seed {settings.seed}", settings.steps) as meter:
        learner = Learner(
            predictor, measured, _schedule(settings),
            self_train=settings.mode == "self-train", notify=meter.at,
            convene=lambda model: _jury(settings, model, learned, measured),
        )  # fmt: skip
        algorithm1(
            learner, LabelledStream(learned, settings.seed), candidates,
            Constants(settings.n_batch, settings.k, settings.k_max, settings.warm_steps),
            _rule(settings),
        )  # fmt: skip
    excluded = {
        "labelled": tally,
        "validation": tally_validation,
        "candidates": learner.journal.tally,
    }
    _write(out, learner)
    write_json(out / "timing.json", {"seconds": time.monotonic() - begun})
    write_json(
        out / "run.json",
        {
            "system": system,
            "mode": settings.mode,
            "labelled": settings.labelled,
            "seed": settings.seed,
            "settings": _recorded(settings),
            "best_step": learner.best_step,
            "best_validation_accuracy": learner.best_accuracy,
            "steps": learner.step,
            "seen": learner.journal.seen,
            "accepted": learner.journal.accepted,
            "distinct": learner.journal.distinct,
            "candidates": len(candidates) if candidates else 0,
            "temperature": learner.jury.temperature if learner.jury else None,
            "excluded": {what: tally.to_dict() for what, tally in excluded.items()},
        },
    )
    _tell(system, settings, learner, excluded)


def _check_writable(out: Path) -> None:
    # Now, not after hours of training.
    try:
        out.mkdir(parents=True, exist_ok=True)
        writable = os.access(out, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise InputError("cannot write here", path=out, remedy="name another --out")


def _prepare(threads: int) -> torch.device:
    torch.set_num_threads(threads)
    device = best_device()
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    return device


def _draw_path(settings: Train) -> Path:
    return settings.corpus / "draws" / f"seed-{settings.seed}" / f"{settings.labelled}.json"


def _draw(settings: Train) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of L and of the validation set, in the order of the draw."""
    path = _draw_path(settings)
    draw = read_json(
        path,
        remedy=f"run `conjoin ingest` with --labelled {settings.labelled} --seeds {settings.seed}",
    )
    try:
        wanted: list[list[str]] = [list(draw["labelled"]), list(draw["validation"])]
    except (KeyError, TypeError) as error:
        raise InputError("not a draw of L", path=path, remedy="run `conjoin ingest`") from error
    ids = {sentence_id for part in wanted for sentence_id in part}
    source = settings.corpus / "sentences.parquet"
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in ids)}
    for sentence_id in sorted(ids):
        if sentence_id not in found or found[sentence_id].split != "train":
            raise InputError(
                "the draw names a sentence that is not in the training split",
                path=path, sentence_id=sentence_id, remedy="run `conjoin ingest` again",
            )  # fmt: skip
    labelled, validation = ([found[i] for i in part] for part in wanted)
    return labelled, validation


def _fresh(settings: Train, seed: int, device: torch.device) -> Predictor:
    where = locate(settings.encoder, settings.corpus, settings.seed)
    return Predictor.create(
        where,
        mlp_hidden=settings.mlp_hidden,
        dropout=settings.dropout,
        seed=seed,
        encoder_dropout=settings.encoder_dropout,
    ).to(device)


def _rule(settings: Train) -> Acceptance:
    if settings.mode == "no-filter":
        return Delta(0.0)
    return BestShare(settings.share) if settings.accept == "quantile" else Delta(settings.delta)


def _jury(
    settings: Train, model: Predictor, learned: Sequence[Example], measured: Sequence[Example]
) -> Jury:
    """Who scores candidates, once line 1 is done."""
    judges: list[Predictor] = []
    if settings.judges > 1:
        judges = held_out_judges(
            settings.judges, learned, settings.n_batch, _schedule(settings),
            lambda seed: _fresh(settings, seed, model.device),
        )  # fmt: skip
    temperature = settings.fixed_temperature
    if temperature is None:
        temperature = fit_temperature(model, measured)
    return Jury(model, judges, temperature)


def _schedule(settings: Train) -> Schedule:
    return Schedule(**{name: getattr(settings, name) for name in Schedule.__dataclass_fields__})


def _recorded(settings: Train) -> dict[str, Any]:
    """The settings that make a difference, without machine paths."""
    kept = settings.model_dump(mode="json", exclude={"corpus", "out", "system", "candidates"})
    folder = settings.candidates
    if folder is not None and settings.mode != "baseline":
        inside = folder.is_relative_to(settings.corpus)
        kept["candidates"] = str(folder.relative_to(settings.corpus) if inside else folder.name)
    return kept


def _write(out: Path, learner: Learner) -> None:
    # run.json is written last and marks a complete run, so an older one must not vouch for this.
    (out / "run.json").unlink(missing_ok=True)
    learner.restore_best().save(out / "predictor")
    lines = [json.dumps(entry, ensure_ascii=False) for entry in learner.history]
    write_text(out / "history.jsonl", "".join(f"{line}\n" for line in lines))
    write_rows(out / "scored.parquet", SCORED, learner.journal.rows)


def _tell(system: str, settings: Train, learner: Learner, excluded: dict[str, Tally]) -> None:
    refused: Sequence[tuple[str, str, int]] = [
        (what, reason, count)
        for what, tally in excluded.items()
        for reason, count in tally.rows()[1:]
    ]
    if refused:
        table("Left out of training", ["set", "reason", "count"], refused)
    journal = learner.journal
    say(
        f"{system}, |L| = {settings.labelled}, seed {settings.seed}: best validation accuracy "
        f"{learner.best_accuracy:.4f} at step {learner.best_step} of {learner.step}; "
        f"accepted {journal.accepted:,} of {journal.seen:,} candidates seen"
    )
