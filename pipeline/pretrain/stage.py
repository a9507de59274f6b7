"""``conjoin pretrain``: a BERT or a T5 from raw text, one adapted to twins, or a pointer to one."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate import Accelerator
from transformers import PreTrainedModel

from pipeline.core.console import say, table
from pipeline.core.errors import InputError
from pipeline.core.files import atomic_folder, digest_of, read_json, write_json
from pipeline.core.fingerprint import code_digest
from pipeline.executor import launch
from pipeline.executor.checkpoints import Snapshots
from pipeline.models.language_models import load_masked_lm, load_seq2seq_lm
from pipeline.models.loading import READY, identity, locate
from pipeline.pretrain.loop import Course, Probing, accelerator, dtype_of, pretrain, write_history
from pipeline.pretrain.material import (
    Material,
    read_text,
    say_overlap,
    text_material,
    twin_material,
)
from pipeline.pretrain.new_model import new_model
from pipeline.pretrain.probe import build_probe
from pipeline.pretrain.settings import Pretrain

_KEEP = 2  # checkpoints
_FINISHED = "finished.json"
_MAKERS = {
    "corruption": ("new_model", "material", "loop"),
    "twins": ("loop", "material"),
}
"""The modules that weights come from, with all they import; looks at a model change nothing in it."""


def run(settings: Pretrain) -> None:
    """Write ``CORPUS/models/LM/seed-SEED/``: a checkpoint, or ``ready.json`` naming a ready one.

    A run that was killed goes on from its last checkpoint, below ``CORPUS/.pretrain``. A model made
    in one go of the same text, settings and base by the same code is left as it is.

    Raises:
        InputError: there is no training text, or the checkpoint is of another run.
        ModelError: the base model is missing, or lacks a mask token or sentinels.
        SettingsError: the heads do not divide the width.
    """
    out = settings.corpus / "models" / settings.lm / f"seed-{settings.seed}"
    if settings.ready:
        locate(settings.ready, settings.corpus)
        with atomic_folder(out) as folder:
            write_json(folder / READY, {"name": settings.ready})
        say(f"{settings.lm}: {settings.ready} is used as it is")
        return
    work = settings.corpus / ".pretrain" / f"{settings.lm}-seed-{settings.seed}"
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(settings.command_line(), settings.processes, work)
    with launch.working(work, settings.threads) as worker:
        _train(settings, work, out)
    if worker.rank == 0:
        shutil.rmtree(work, ignore_errors=True)


def _train(settings: Pretrain, work: Path, out: Path) -> None:
    device = accelerator(settings.dtype)
    where = locate(settings.base, settings.corpus, settings.seed) if settings.base else None
    base = _load(settings, where) if where else None
    gather: Callable[[], Material]
    if settings.objective == "twins" and base:  # the settings see to a base
        twins = twin_material(settings, base)
        digest, gather = twins.digest, lambda: twins
    else:
        prepared = read_text(settings, work / "text", device)
        digest, gather = prepared.digest, partial(text_material, settings, prepared, base, device)
    about = _about(settings, digest, where)
    circumstances = _circumstances(settings, device)
    if _is_current(out, about, circumstances):
        if device.is_main_process:
            say(f"{out} is already there and current")
        device.wait_for_everyone()
        return
    material = gather()
    if base:
        model = base[0]
    else:
        torch.manual_seed(settings.seed)
        model = new_model(settings, material.tokenizer, material.training)
    course = pretrain(
        model, material.objective, material.training, material.validation,
        settings=settings, device=device, probe=_probe(settings, material),
        snapshots=Snapshots(work / "checkpoints", about, _KEEP), circumstances=circumstances,
    )  # fmt: skip
    if device.is_main_process:
        if course.mixed:  # of two versions or machines: no one way of making it leads here
            circumstances = {"mixed": True}
        _write(out, settings, material, model, course, about, circumstances, device)
        say_overlap(material, settings)
        table(f"{material.unit} to learn from", ("", "count"), material.tally.rows())
        say(
            f"{out}: {model.num_parameters():,} parameters, {course.step:,} updates, "
            f"{course.tokens:,} tokens in {course.seconds:,.0f} s"
        )
    device.wait_for_everyone()


def _load(settings: Pretrain, where: str) -> tuple[PreTrainedModel, Any]:
    return load_masked_lm(where) if settings.family == "bert" else load_seq2seq_lm(where)


def _about(settings: Pretrain, digest: str, where: str | None) -> dict[str, Any]:
    """What makes a run this one and no other: a checkpoint serves only the run that has it alike."""
    return {
        "settings": settings.model_dump(mode="json", exclude=settings.inert()),
        "text": digest,
        "base": identity(where) if where else None,
    }


def _circumstances(settings: Pretrain, device: Accelerator) -> dict[str, Any]:
    """What the last bits depend on besides, and nothing else should."""
    return {
        "code": digest_of(
            [code_digest(f"pipeline.pretrain.{name}") for name in _MAKERS[settings.objective]]
        ),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "processes": device.num_processes,
        "threads": settings.threads,
        "dtype": dtype_of(device),
        "device": launch.describe(device.device),
    }


def _is_current(out: Path, about: dict[str, Any], circumstances: dict[str, Any]) -> bool:
    """Whether the model there is finished and was made of this: hours of work are not done again."""
    try:
        found = read_json(out / _FINISHED)
    except InputError:
        return False
    return bool(found == _finished(out, about, circumstances))


def _finished(folder: Path, about: dict[str, Any], circumstances: dict[str, Any]) -> dict[str, Any]:
    return {"of": digest_of([about, circumstances]), "model": identity(str(folder))}


def _probe(settings: Pretrain, material: Material) -> Probing | None:
    """What a look asks the model, where there is a dev split to ask about."""
    if not settings.probe or not (settings.corpus / "sentences.parquet").is_file():
        return None
    probe = build_probe(settings.corpus, settings.probe, seed=0)
    if probe is None:
        return None

    def read(model: PreTrainedModel) -> dict[str, Any]:
        return probe.measure(settings.family, model, material.tokenizer).to_dict()

    return read


def _write(  # noqa: PLR0917 - a folder has many sides
    out: Path,
    settings: Pretrain,
    material: Material,
    model: PreTrainedModel,
    course: Course,
    about: dict[str, Any],
    circumstances: dict[str, Any],
    device: Accelerator,
) -> None:
    last = course.looks[-1]
    card = {
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
        "probe": last.probe,
        "texts": material.tally.to_dict(),
        "overlap": {
            "policy": settings.held_out,
            "found": None if material.overlap is None else dict(material.overlap),
        },
        "text_digest": material.digest,
    }
    timing = {
        "seconds": round(course.seconds, 1),
        "tokens_per_second": round(course.tokens / max(course.seconds, 1e-9)),
        "device": launch.describe(device.device),
        "processes": device.num_processes,
        "dtype": dtype_of(device),
    }
    with atomic_folder(out) as folder:
        model.save_pretrained(folder)
        material.tokenizer.save_pretrained(folder)
        write_history(folder, course.looks)
        write_json(folder / "pretrain.json", card)
        write_json(folder / "timing.json", timing)
        write_json(folder / _FINISHED, _finished(folder, about, circumstances))
