"""The training loop of a masked LM or a text-infilling LM.

What an update sees, its corruption and its dropout are pure functions of (seed, step), so the step is
also the position in the text and the state of all chance: a run that is taken up from a checkpoint
makes the same updates as one that was never interrupted.
"""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.ground.console import Meter, say
from pipeline.ground.errors import ModelError
from pipeline.mechanisms.corruption import IGNORED
from pipeline.mechanisms.decay import decay_groups
from pipeline.mechanisms.heads import logits_at
from pipeline.mechanisms.lmbatches import Batch, Objective, steps_of
from pipeline.mechanisms.lmjournal import Look, look_table, looks_of, perplexity
from pipeline.mechanisms.snapshots import Snapshots
from pipeline.settings.pretrain import Pretrain

__all__ = ["Course", "accelerator", "pretrain"]

_WEIGHT_DECAY, _CLIP, _BETAS = 0.01, 1.0, (0.9, 0.98)

Probing = Callable[[PreTrainedModel], dict[str, float]]


@dataclass(slots=True)
class Course:
    """How far training is: what a checkpoint keeps beside weights and optimizer.

    ``tokens`` counts the tokens the model saw, padding and targets left out; ``losses`` are those of
    the updates since the last look; ``seconds`` is the time spent in training, looks included.
    """

    step: int = 0
    epoch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """What JSON can hold of it; the looks are a checkpoint's rows."""
        return {
            "step": self.step, "epoch": self.epoch, "tokens": self.tokens,
            "seconds": self.seconds, "losses": self.losses,
        }  # fmt: skip


def accelerator(dtype: str = "float32") -> Accelerator:
    """The processes and devices training runs on.

    Args:
        dtype: of the arithmetic; ``auto`` is bfloat16 on a GPU that has it.

    Raises:
        ModelError: accelerate does not see the processes it was started with (on a machine
            without a GPU it takes every one for the only one unless told to use the CPU).
    """
    if dtype == "auto":
        able = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
        dtype = "bfloat16" if able else "float32"
    found = Accelerator(
        cpu=not torch.cuda.is_available(),
        mixed_precision="bf16" if dtype == "bfloat16" else "no",
    )
    expected = int(os.environ.get("WORLD_SIZE", "1"))
    if found.num_processes != expected:
        raise ModelError(f"{found.num_processes} processes at work where {expected} were started")
    return found


def _loss_sum(model: nn.Module, batch: Batch, bare: PreTrainedModel) -> Tensor:
    """Sum of the cross-entropy over the labelled positions, in nats.

    The head runs at those positions only: over a vocabulary it costs more than a small model does.
    ``bare`` is the model itself, ``model`` what accelerate wrapped it in.
    """
    labels = batch["labels"]
    labelled = labels != IGNORED
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    if bare.config.is_encoder_decoder:
        # With labels the model would compute all logits, and a loss of its own.
        inputs["decoder_input_ids"] = bare.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
        last = bare.get_decoder()  # type: ignore[no-untyped-call]
    else:
        last = bare.base_model
    logits = logits_at(model, last, labelled, inputs)
    return nn.functional.cross_entropy(logits.float(), labels[labelled], reduction="sum")


def _predicted(batch: Batch) -> int:
    return int((batch["labels"] != IGNORED).sum())


def pretrain(
    model: PreTrainedModel,
    objective: Objective,
    training: Sequence[Any],
    validation: Sequence[Any],
    *,
    settings: Pretrain,
    device: Accelerator,
    snapshots: Snapshots | None = None,
    code: str = "",
    probe: Probing | None = None,
) -> Course:
    """Train ``model`` in place, from the newest checkpoint if there is one.

    Each update sees one batch however many processes share it; losses are weighted by predicted
    tokens, so the gradient does not depend on how the batch is split.

    Args:
        model: with its initial weights.
        objective: what is hidden of the text.
        training: what ``objective`` makes its batches of.
        validation: the same, held out.
        settings: of the stage.
        device: the processes and devices.
        snapshots: where checkpoints are kept; None: nowhere.
        code: digest of the program. A checkpoint of another is used, for hours may be in it, but the
            run is then not the one that an uninterrupted one would have been, and this is said.
        probe: what a look reads beside the validation loss, or None.

    Raises:
        ModelError: the loss is no longer a number.
        InputError: the checkpoint there is of another run, or cannot be written.
    """
    model.train()
    optimizer = torch.optim.AdamW(
        decay_groups(model, _WEIGHT_DECAY), lr=settings.learning_rate, betas=_BETAS, fused=True
    )
    wrapped, optimizer = device.prepare(model, optimizer)
    course = _taken_up(snapshots, code, model, optimizer, device)
    begun = time.monotonic() - course.seconds
    rate = _Rate(course.tokens)
    batches = steps_of(
        objective, training, batch_size=settings.batch_size, steps=settings.steps,
        seed=settings.seed, first=course.step,
    )  # fmt: skip
    with Meter(f"pretrain {settings.lm}", settings.steps, first=course.step) as meter:
        for course.epoch, whole in batches:
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * _ramp(settings, course.step)
            # Each process its own dropout, and none that depends on earlier updates.
            seed = np.random.SeedSequence([settings.seed, 3, course.step, device.process_index])
            torch.manual_seed(int(seed.generate_state(1)[0]))
            course.tokens += int(whole["attention_mask"].sum())
            loss = _loss_sum(wrapped, _own_part(whole, device), model) / _predicted(whole)
            device.backward(loss * device.num_processes)
            device.clip_grad_norm_(wrapped.parameters(), _CLIP)
            optimizer.step()
            optimizer.zero_grad()
            course.step += 1
            course.losses.append(float(device.reduce(loss.detach())))
            if not math.isfinite(course.losses[-1]):
                raise ModelError(
                    f"the loss is {course.losses[-1]} at step {course.step}",
                    remedy="lower the learning rate",
                )
            note = f"loss {float(np.mean(course.losses[-50:])):.3f}, {rate(course.tokens):,.0f} tokens/s"
            meter.advance(note=note)
            if course.step % settings.eval_every == 0 or course.step == settings.steps:
                _look(course, model, objective, validation, settings, device, probe)
            course.seconds = time.monotonic() - begun
            if snapshots and course.step % settings.checkpoint_every == 0:
                _keep(snapshots, course, code, model, optimizer, device)
    return course


def _taken_up(
    snapshots: Snapshots | None,
    code: str,
    model: PreTrainedModel,
    optimizer: Any,
    device: Accelerator,
) -> Course:
    """The course so far, with weights and optimizer as they were; a new one where there is none."""
    found = snapshots.latest(device.device) if snapshots else None
    for fault in snapshots.damaged if snapshots and device.is_main_process else ():
        say(f"checkpoint set aside: {fault}")
    if found is None:
        return Course()
    tensors, facts, rows = found
    model.load_state_dict(tensors["model"])
    optimizer.load_state_dict(tensors["optimizer"])
    other = facts.pop("code") != code
    if device.is_main_process:
        changed = ", by another version of the code: not the same run as without a break"
        say(f"taken up at step {facts['step']:,}{changed if other else ''}")
    return Course(**facts, looks=looks_of(rows))


def _keep(
    snapshots: Snapshots,
    course: Course,
    code: str,
    model: PreTrainedModel,
    optimizer: Any,
    device: Accelerator,
) -> None:
    if device.is_main_process:
        tensors = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        snapshots.write(
            course.step, (tensors, {**course.facts(), "code": code}, look_table(course.looks))
        )
    device.wait_for_everyone()


def _look(
    course: Course,
    model: PreTrainedModel,
    objective: Objective,
    validation: Sequence[Any],
    settings: Pretrain,
    device: Accelerator,
    probe: Probing | None,
) -> None:
    """Add a look at held-out text; the losses since the last one are spent."""
    loss = _evaluate(model, objective, validation, settings, device)
    look = Look(
        step=course.step,
        epoch=course.epoch,
        tokens=course.tokens,
        loss=round(float(np.mean(course.losses)), 4),
        learning_rate=settings.learning_rate * _ramp(settings, course.step - 1),
        validation_loss=loss,
        perplexity=perplexity(loss),
        probe=probe(model) if probe else None,
    )
    course.looks.append(look)
    course.losses.clear()
    if device.is_main_process:
        say(look.line(settings.steps))


class _Rate:
    """Tokens per second of this process's life, for the display."""

    def __init__(self, first: int) -> None:
        self._first, self._begun = first, time.monotonic()

    def __call__(self, tokens: int) -> float:
        return (tokens - self._first) / max(time.monotonic() - self._begun, 1e-9)


def _own_part(batch: Batch, device: Accelerator) -> Batch:
    """This process's sequences of a batch; where there are too few, one without labels."""
    rank, world = device.process_index, device.num_processes
    part = {name: value[rank::world] for name, value in batch.items()}
    if not len(part["labels"]):
        part = {name: value[:1] for name, value in batch.items()}
        part["labels"] = torch.full_like(part["labels"], IGNORED)
    return {name: value.to(device.device) for name, value in part.items()}


def _ramp(settings: Pretrain, step: int) -> float:
    """Linear warm-up, then linear decay to zero at the last step, as a share of the peak rate."""
    warm = max(1, round(settings.warmup * settings.steps))
    if step < warm:
        return (step + 1) / warm
    return (settings.steps - step) / max(1, settings.steps - warm)


@contextmanager
def _evaluating(model: PreTrainedModel) -> Any:
    model.eval()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        model.train()


@torch.inference_mode()
def _evaluate(
    model: PreTrainedModel,
    objective: Objective,
    texts: Sequence[Any],
    settings: Pretrain,
    device: Accelerator,
) -> float | None:
    """Mean loss over one epoch of held-out text, the same on every process."""
    if not texts:
        return None
    count = max(1, math.ceil(len(texts) / settings.batch_size))
    total, predicted = 0.0, 0
    with _evaluating(model), device.autocast():
        for _, batch in steps_of(
            objective, texts, batch_size=settings.batch_size, steps=count, seed=0
        ):
            moved = {name: value.to(device.device) for name, value in batch.items()}
            total += float(_loss_sum(model, moved, model))
            predicted += _predicted(batch)
    return round(total / predicted, 4)
