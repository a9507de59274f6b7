"""``conjoin pretrain``: a BERT or a T5 from raw text, one adapted to twins, or a pointer to one."""

import json
import math
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch
from accelerate import Accelerator
from transformers import PreTrainedModel

from pipeline.core.annotation import Annotation, Part, as_json, joined
from pipeline.core.cards.models import PretrainCard, PretrainTiming, ReadyCard
from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import COORDINATED_FOLDER, annotation_of_trees
from pipeline.core.disk import disk_faults
from pipeline.core.errors import InputError
from pipeline.core.files import LOCK, WORKERS, FileFacts, write_json, write_text
from pipeline.core.fingerprint import Fingerprint, Output, versions_of
from pipeline.executor import launch
from pipeline.executor.checkpoints import TrainingCheckpoints
from pipeline.infill.families.known import FAMILIES, check_ready, load_base
from pipeline.models.annotated import CARD, annotation_of_model
from pipeline.models.checkpoint_files import RECORD
from pipeline.models.loading import READY, identity, locate
from pipeline.models.masked_head import set_frequencies
from pipeline.pretrain.loop import Course, accelerator, dtype_of, pretrain
from pipeline.pretrain.material import (
    PretrainingMaterial,
    read_text,
    say_overlap,
    text_material,
    twin_material,
)
from pipeline.pretrain.new_model import new_model
from pipeline.pretrain.raw_text import clear_prepared
from pipeline.pretrain.recipes import RECIPES
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.token_store import clear_store, lengths_of
from pipeline.text.word_vectors import token_counts

ALGORITHM = 2  # 2: held-out sentences are found where gonna or Japanese is written as one
"""Raise it when a code change changes the weights made from the same settings, text and base: a
finished model is then trained again. A checkpoint is still used, and the run counts as ``mixed``."""

_KEEP = 2  # checkpoints


def run(settings: PretrainSettings) -> None:
    """Write ``CORPUS/models/LM/seed-SEED/``: a checkpoint, or ``ready.json`` naming a ready one.

    A run that was killed goes on from its last checkpoint, below ``CORPUS/.pretrain``. A model made
    in one go that has the same fingerprint is left as it is.

    Raises:
        InputError: there is no training text, the checkpoint is of another run, or a ready model is
            to take the place of a trained one.
        ModelError: the base or ready model is missing, it lacks a mask token or sentinels, or a base has no
            head where none can be learnt.
        SettingsError: the heads do not divide the width.
    """
    out = settings.corpus / "models" / settings.lm / f"seed-{settings.seed}"
    if settings.ready:
        _require_untrained(out)
        alone = check_ready(settings.family, locate(settings.ready, settings.corpus))
        with appearing(_claim(settings, out)) as folder:
            ready: ReadyCard = {"name": settings.ready}
            write_json(folder / READY, ready)
        kind = (
            ", an encoder without a head: for predictors and parsers, not for fills"
            if alone
            else ""
        )
        say(f"{settings.lm}: {settings.ready} is used as it is{kind}")
        return
    _claim(settings, out).check()
    work = settings.corpus / ".pretrain" / f"{settings.lm}-seed-{settings.seed}"
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(settings.command_line(), settings.processes, work)
    with launch.working(work, settings.threads) as worker:
        trained = _train(settings, work, out)
    if worker.rank == 0:
        _clear(work, checkpoints=trained)


def _clear(work: Path, *, checkpoints: bool) -> None:
    """Remove what a training that ended worked with; files that it did not make stay.

    Args:
        work: its folder.
        checkpoints: whether these are its own; else another run may go on from them.
    """
    if checkpoints:
        TrainingCheckpoints(work / "checkpoints", Fingerprint(), _KEEP).clear()
    shutil.rmtree(
        work / "text" / "tokenizer", ignore_errors=True
    )  # made whole, as a folder of its own
    clear_store(work / "text")
    clear_prepared(work / "text")
    for name in (LOCK, WORKERS):
        (work / name).unlink(missing_ok=True)
    with suppress(OSError):
        work.rmdir()


def _claim(settings: PretrainSettings, out: Path) -> Claim:
    named = settings.ready or settings.base
    where = Path(locate(named, settings.corpus, settings.seed)) if named else None
    inputs = [where] if where is not None and where.is_dir() else []
    return Claim(out, "pretrain", [*inputs, *settings.texts], _earlier)


def _earlier(out: Path) -> Listed:
    """The files of a model that was trained here, or of the name of a ready one; None where neither is."""
    if (out / READY).is_file():
        return {READY}
    try:
        record = Output(out, out / RECORD, Fingerprint()).read()
    except InputError:
        return None
    return {*record.files, RECORD, CARD, "history.jsonl", "timing.json"} if record else None


def _require_untrained(out: Path) -> None:
    """Refuse a folder of trained weights, which may have cost hours, where a name is to be written."""
    if (out / RECORD).exists() or any(out.glob("*.safetensors")):
        raise InputError(
            "a trained model is here, which --ready would take the place of",
            path=out, remedy="remove it first, or give this one another --lm, such as bert-hub",
        )  # fmt: skip


def _train(settings: PretrainSettings, work: Path, out: Path) -> bool:
    """Whether it trained: a model that is current stays."""
    device = accelerator(settings.dtype)
    where = locate(settings.base, settings.corpus, settings.seed) if settings.base else None
    base, new_head = load_base(settings.family, where) if where else (None, False)
    gather: Callable[[], PretrainingMaterial]
    if settings.objective == "twins" and base:  # the settings see to a base
        if new_head:  # twins are too few to learn one from
            raise FAMILIES[settings.family].role.no_head(base[0], str(where))
        twins = twin_material(settings, base)
        digest, gather = twins.digest, lambda: twins
    else:
        prepared = read_text(settings, work / "text", device)
        digest, gather = prepared.digest, partial(text_material, settings, prepared, base, device)
    fingerprint = _fingerprint(settings, digest, where, device)
    # A model that took hours is not trained again.
    if Output(out, out / RECORD, fingerprint).state().kind == "current":
        if device.is_main_process:
            say(f"{out} is already there and current")
        device.wait_for_everyone()
        return False
    material = gather()
    if base:
        model = base[0]
        if new_head:
            _begin_bias(model, material, str(where), device)
    else:
        torch.manual_seed(settings.seed)
        make = RECIPES[settings.family].new_model
        model = new_model(make, settings, material.tokenizer, material.training)
    # A checkpoint may hold hours of work: one of another machine, library or algorithm is used, too.
    same_run = replace(fingerprint, algorithm=0, versions={}, machine={})
    course = pretrain(
        model, material.objective, material.training, material.validation,
        settings=settings, device=device,
        checkpoints=TrainingCheckpoints(work / "checkpoints", same_run, _KEEP), made_by=fingerprint.to_dict(),
        body_share=_body_share(settings, new_head),
    )  # fmt: skip
    if device.is_main_process:
        if course.mixed:  # of two versions or machines: no run in one go makes it
            fingerprint = replace(fingerprint, machine={"mixed": True})
        _write(out, settings, material, model, course, fingerprint, device)
        say_overlap(material, settings)
        table(f"{material.unit} to learn from", ("", "count"), material.tally.rows())
        say(
            f"{out}: {model.num_parameters():,} parameters, {course.step:,} updates, "
            f"{course.tokens:,} tokens in {course.seconds:,.0f} s"
        )
    device.wait_for_everyone()
    return True


def _begin_bias(
    model: PreTrainedModel, material: PretrainingMaterial, where: str, device: Accelerator
) -> None:
    """Begin a new head at the frequencies of the training text's tokens."""
    counts = token_counts(
        material.training, lengths_of(material.training), int(model.config.vocab_size)
    )
    loss = set_frequencies(model, torch.from_numpy(counts))
    if device.is_main_process:
        say(
            f"{where} has no head of a masked LM and is given one; frequencies of tokens alone make a "
            f"loss of {loss:.3f}, a perplexity of {math.exp(loss):,.1f}"
        )


_NEW_HEAD_SHARE = 0.2
"""Of a new head's learning rate: what the pretrained rest has, which must not be lost meanwhile."""


def _body_share(settings: PretrainSettings, new_head: bool) -> float:
    """The learning rate of all but the head as a share of the head's."""
    if "body_learning_rate" not in settings.inert() and settings.body_learning_rate:
        return settings.body_learning_rate / settings.learning_rate
    return _NEW_HEAD_SHARE if new_head else 1.0


def _fingerprint(
    settings: PretrainSettings, digest: str, where: str | None, device: Accelerator
) -> Fingerprint:
    """What the weights depend on; on ``machine`` only their last bits should depend."""
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=settings.inert()),
        inputs={"text": digest},
        model=identity(where) if where else None,
        algorithm=ALGORITHM,
        versions=versions_of("torch", "transformers"),
        machine={
            "processes": device.num_processes,
            "threads": settings.threads,
            "dtype": dtype_of(device),
            "device": launch.describe(device.device),
        },
    )


def _annotation(settings: PretrainSettings) -> Annotation:
    """What people had annotated for the model: for twins, what the parser of their trees learned from."""
    parts: list[Part] = []
    if settings.base:
        parts += annotation_of_model(locate(settings.base, settings.corpus, settings.seed))
    if settings.objective == "twins":
        parts += annotation_of_trees(settings.corpus / COORDINATED_FOLDER)
    return joined(parts)


def _write(  # noqa: PLR0917 - a folder has many sides
    out: Path,
    settings: PretrainSettings,
    material: PretrainingMaterial,
    model: PreTrainedModel,
    course: Course,
    fingerprint: Fingerprint,
    device: Accelerator,
) -> None:
    last = course.looks[-1]
    card: PretrainCard = {
        "lm": settings.lm,
        "family": settings.family,
        "objective": settings.objective,
        "base": settings.base,
        "vocabulary": len(material.tokenizer),
        "parameters": model.num_parameters(),
        "steps": course.step,
        "tokens": course.tokens,
        "loss": last.loss,
        "validation_loss": last.validation_loss,
        "perplexity": last.perplexity,
        "texts": material.tally.to_dict(),
        "overlap": {
            "policy": settings.held_out,
            "found": None if material.overlap is None else dict(material.overlap),
        },
        "text_digest": material.digest,
        "annotation": as_json(_annotation(settings)),
    }
    timing: PretrainTiming = {
        "seconds": round(course.seconds, 1),
        "tokens_per_second": round(course.tokens / max(course.seconds, 1e-9)),
        "device": launch.describe(device.device),
        "processes": device.num_processes,
        "dtype": dtype_of(device),
    }
    with appearing(_claim(settings, out)) as folder:
        with disk_faults(folder):
            model.save_pretrained(folder)
            material.tokenizer.save_pretrained(folder)
        model_files = {p.name: FileFacts.of(p) for p in sorted(folder.iterdir())}
        history = "".join(f"{json.dumps(asdict(look))}\n" for look in course.looks)
        write_text(folder / "history.jsonl", history)
        write_json(folder / CARD, card)
        write_json(folder / "timing.json", timing)
        Output(folder, folder / RECORD, fingerprint).finish(model_files, {})
