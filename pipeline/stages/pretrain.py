"""``conjoin pretrain``: a BERT or a T5 from raw text, one adapted to twins, or a pointer to one."""

import shutil
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel

from pipeline.ground.closure import code_digest
from pipeline.ground.console import say, table
from pipeline.ground.files import atomic_folder, digest_of, read_json, write_json
from pipeline.mechanisms import workers
from pipeline.mechanisms.checkpoints import READY, identity, locate
from pipeline.mechanisms.embeddings import embed_by_cooccurrence
from pipeline.mechanisms.initialisation import new_bert, new_t5
from pipeline.mechanisms.languagemodels import load_masked_lm, load_seq2seq_lm
from pipeline.mechanisms.lmjournal import write_history
from pipeline.mechanisms.material import Material, gather
from pipeline.mechanisms.pretraining import Course, Probing, accelerator, pretrain
from pipeline.mechanisms.probe import build_probe
from pipeline.mechanisms.rawtext.store import TokenIds
from pipeline.mechanisms.snapshots import Snapshots
from pipeline.settings.pretrain import Pretrain

__all__ = ["run"]

_KEEP = 2  # checkpoints
_MAKERS = tuple(
    f"pipeline.mechanisms.{name}"
    for name in ("embeddings", "initialisation", "material", "pretraining")
)
"""What the weights come from; looks at them change nothing."""


def run(settings: Pretrain) -> None:
    """Write ``CORPUS/models/LM/seed-SEED/``: a checkpoint, or ``ready.json`` naming a ready one.

    A run that was killed goes on from its last checkpoint, below ``CORPUS/.pretrain``; a model that
    was made of the same by the same code is left as it is.

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
    if settings.processes > 1 and not workers.in_launch():
        workers.launch(settings.command_line(), settings.processes, work)
    with workers.working(work, settings.threads) as worker:
        _train(settings, work, out)
    if worker.rank == 0:
        shutil.rmtree(work, ignore_errors=True)


def _train(settings: Pretrain, work: Path, out: Path) -> None:
    device = accelerator(settings.dtype)
    base = locate(settings.base, settings.corpus, settings.seed) if settings.base else None
    torch.manual_seed(settings.seed)
    continued = _load(settings, base) if base else None
    material = gather(settings, work / "text", continued, device)
    about, code = (
        _about(settings, material, base),
        digest_of([code_digest(module) for module in _MAKERS]),
    )
    made_of = {**about, "code": code}
    if _is_current(out, made_of):
        say(f"{out} is already there and current")
        return
    model = continued[0] if continued else _new(settings, material)
    snapshots = Snapshots(work / "checkpoints", about, _KEEP)
    course = pretrain(
        model, material.objective, material.training, material.validation,
        settings=settings, device=device, snapshots=snapshots, code=code,
        probe=_probe(settings, material),
    )  # fmt: skip
    if device.is_main_process:
        card = _card(settings, material, course, model) | {"made_of": made_of}
        with atomic_folder(out) as folder:
            model.save_pretrained(folder)
            material.tokenizer.save_pretrained(folder)
            write_history(folder, course.looks)
            write_json(folder / "pretrain.json", card)
            write_json(folder / "timing.json", _timing(settings, course, device.device))
        _tell(out, card, course, material)
    device.wait_for_everyone()


def _is_current(out: Path, made_of: dict[str, Any]) -> bool:
    """Whether the model there is finished and was made of this: hours of work are not done again."""
    card = out / "pretrain.json"
    return card.is_file() and bool(read_json(card).get("made_of") == made_of)


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


def _load(settings: Pretrain, base: str) -> tuple[PreTrainedModel, Any]:
    return load_masked_lm(base) if settings.family == "bert" else load_seq2seq_lm(base)


def _new(settings: Pretrain, material: Material) -> PreTrainedModel:
    new = new_bert if settings.family == "bert" else new_t5
    model = new(settings, material.tokenizer)
    ids = TokenIds(material.training)
    embed_by_cooccurrence(model.get_input_embeddings(), ids, settings.seed)
    return model


def _about(settings: Pretrain, material: Material, base: str | None) -> dict[str, Any]:
    """Everything the weights depend on: a checkpoint serves only the run that has it alike."""
    apart = {"corpus", "processes", "checkpoint_every", "texts"}
    return {
        "settings": settings.model_dump(mode="json", exclude=apart),
        "text": material.digest,
        "base": identity(base) if base else None,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }


def _card(
    settings: Pretrain, material: Material, course: Course, model: PreTrainedModel
) -> dict[str, Any]:
    last = course.looks[-1]
    return {
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
        "overlap": {"policy": settings.held_out, "found": dict(material.overlap)},
        "text_digest": material.digest,
    }


def _timing(settings: Pretrain, course: Course, device: torch.device) -> dict[str, Any]:
    return {
        "seconds": round(course.seconds, 1),
        "tokens_per_second": round(course.tokens / max(course.seconds, 1e-9)),
        "device": workers.describe(device),
        "processes": settings.processes,
        "dtype": settings.dtype,
    }


def _tell(out: Path, card: dict[str, Any], course: Course, material: Material) -> None:
    table("sentences of raw text", ("", "count"), material.tally.rows())
    say(
        f"{out}: {card['parameters']:,} parameters, {course.step:,} updates, "
        f"{course.tokens:,} tokens in {course.seconds:,.0f} s"
    )
