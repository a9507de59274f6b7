"""The training loop of a masked LM or a text-infilling LM, and what its looks at held-out text found.

The batch of an update, its corruption and its dropout are pure functions of (seed, step), so the step
is also the position in the text and the state of all random numbers: a run resumed from a checkpoint
makes the same updates as one that was never interrupted.
"""

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.core.console import Meter, say
from pipeline.core.device import keep_few_kernels, warn_of_slow_bf16
from pipeline.core.errors import ModelError
from pipeline.core.fingerprint import differences
from pipeline.executor.checkpoints import TrainingCheckpoints
from pipeline.models.language_models import logits_at
from pipeline.models.optim import decay_groups
from pipeline.pretrain.batches import Batch, Objective, epoch_of, steps_of
from pipeline.pretrain.corruption import IGNORED
from pipeline.pretrain.settings import PretrainSettings


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a model after ``step`` updates.

    ``tokens`` counts those the model saw, padding and targets left out; ``loss`` is the mean over the
    updates since the last look and ``validation_loss`` that on held-out text (None without any), both
    in nats per predicted token; ``perplexity`` is its exponential.
    """

    step: int
    epoch: int
    tokens: int
    loss: float
    learning_rate: float
    validation_loss: float | None
    perplexity: float | None

    def line(self, of: int) -> str:
        """One line for the display."""
        parts = [
            f"step {self.step:,} of {of:,}",
            f"{self.tokens:,} tokens",
            f"loss {self.loss:.3f}",
        ]
        if self.perplexity is not None:
            parts.append(f"held-out perplexity {self.perplexity:.1f}")
        return " · ".join(parts)


_WEIGHT_DECAY, _CLIP, _BETAS = 0.01, 1.0, (0.9, 0.98)


@dataclass(slots=True)
class Course:
    """How far training is: what a checkpoint keeps beside weights and optimizer.

    ``tokens`` counts as in ``Look``; ``losses`` are those of the updates since the last look;
    ``seconds`` is the time spent in training, looks included; ``mixed`` says that parts of it were
    made by another version, or on another machine, than the rest.
    """

    step: int = 0
    epoch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    mixed: bool = False
    losses: list[float] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)


def accelerator(dtype: str = "float32") -> Accelerator:
    """The processes and devices training runs on.

    Args:
        dtype: of the arithmetic; ``auto`` is bfloat16 on a GPU that has it.

    Raises:
        ModelError: accelerate does not see the processes it was started with (on a machine
            without a GPU it takes every one for the only one unless it is made to use the CPU).
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
    if found.mixed_precision == "bf16":
        keep_few_kernels()
        if found.is_main_process:
            warn_of_slow_bf16(found.device)
    return found


def dtype_of(device: Accelerator) -> str:
    """The number format of the arithmetic; weights and optimizer are float32 in either."""
    return "bfloat16" if device.mixed_precision == "bf16" else "float32"


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
    settings: PretrainSettings,
    device: Accelerator,
    checkpoints: TrainingCheckpoints | None = None,
    made_by: Mapping[str, Any] | None = None,
    body_share: float = 1.0,
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
        checkpoints: where checkpoints are kept; None: nowhere.
        made_by: algorithm, versions, device, processes and the like. A checkpoint made by others is
            still used, since it may hold hours of work; the run then differs from an uninterrupted
            one, which is reported and kept as ``mixed``.
        body_share: learning rate of all but a masked LM's head, as a share of the head's.

    Raises:
        ModelError: the loss is no longer a number.
        InputError: the checkpoint there is of another run, or cannot be written.
    """
    run = _PretrainingRun(model, objective, settings, device, body_share)
    if checkpoints:
        run.take_up(checkpoints, made_by or {})
    course = run.course
    begun = time.monotonic() - course.seconds
    first, started = course.tokens, time.monotonic()
    batches = steps_of(
        objective, training, batch_size=settings.batch_size, steps=settings.steps,
        seed=settings.seed, first=course.step,
    )  # fmt: skip
    with Meter(f"pretrain {settings.lm}", settings.steps, first=course.step) as meter:
        for course.epoch, batch in batches:
            run.update(batch)
            loss = float(np.mean(course.losses[-50:]))
            rate = (course.tokens - first) / max(time.monotonic() - started, 1e-9)
            meter.advance(note=f"loss {loss:.3f}, {rate:,.0f} tokens/s")
            if course.step % settings.eval_every == 0 or course.step == settings.steps:
                run.look(validation)
            course.seconds = time.monotonic() - begun
            if checkpoints and course.step % settings.checkpoint_every == 0:
                run.keep(checkpoints, made_by or {})
    return course


def _groups(model: PreTrainedModel, body_share: float) -> list[dict[str, Any]]:
    """Parameters for AdamW; those of body and head apart, with their ``share``, if it is not 1."""
    groups = decay_groups(model, _WEIGHT_DECAY)
    if body_share == 1.0:
        return groups
    # An output layer tied to the embeddings is the body's.
    body = {id(weight) for weight in model.base_model.parameters()}
    return [
        {
            **group,
            "params": [each for each in group["params"] if (id(each) in body) is inside],
            "share": body_share if inside else 1.0,
        }
        for group in groups
        for inside in (True, False)
    ]


class _PretrainingRun:
    """A model in training: its optimizer, and how far it is."""

    def __init__(
        self,
        model: PreTrainedModel,
        objective: Objective,
        settings: PretrainSettings,
        device: Accelerator,
        body_share: float,
    ) -> None:
        self._model, self._objective = model, objective
        self._settings, self._device = settings, device
        self.course = Course()
        model.train()
        groups = _groups(model, body_share)
        optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=_BETAS, fused=True)
        self._wrapped, self._optimizer = device.prepare(model, optimizer)

    def take_up(self, checkpoints: TrainingCheckpoints, made_by: Mapping[str, Any]) -> None:
        """Weights, optimizer and course of the newest checkpoint that is whole, if there is one."""
        found = checkpoints.latest(self._device.device)
        for fault in checkpoints.damaged if self._device.is_main_process else ():
            say(f"checkpoint set aside: {fault}")
        if found is None:
            return
        tensors, facts, _ = found
        with checkpoints.taken_up():
            self._model.load_state_dict(tensors["model"])
            self._optimizer.load_state_dict(tensors["optimizer"])
            other = differences(facts.pop("made_by"), made_by)
            looks = [
                Look(**{name: value for name, value in each.items() if name != "probe"})
                for each in facts.pop("looks")  # which had a fill probe in earlier versions
            ]
            self.course = Course(**facts, looks=looks)
        self.course.mixed |= bool(other)
        if self._device.is_main_process:
            said = f": not the same run as without a break ({other})" if other else ""
            say(f"taken up at step {self.course.step:,}{said}")

    def keep(self, checkpoints: TrainingCheckpoints, made_by: Mapping[str, Any]) -> None:
        """Write a checkpoint."""
        if self._device.is_main_process:
            tensors = {
                "model": self._model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
            }
            facts = {**asdict(self.course), "made_by": dict(made_by)}
            checkpoints.write(self.course.step, (tensors, facts, pa.table({})))
        self._device.wait_for_everyone()

    def update(self, whole: Batch) -> None:
        """One step of the optimizer on a batch that all processes share."""
        course, device = self.course, self._device
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate(course.step) * group.get("share", 1.0)
        # Each process has its own dropout, which does not depend on earlier updates.
        entropy = [self._settings.seed, 3, course.step, device.process_index]
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
        part = _own_part(whole, device)
        loss = _loss_sum(self._wrapped, part, self._model) / _predicted(whole)
        device.backward(loss * device.num_processes)
        device.clip_grad_norm_(self._wrapped.parameters(), _CLIP)
        self._optimizer.step()
        self._optimizer.zero_grad()
        course.step += 1
        course.tokens += int(whole["attention_mask"].sum())
        course.losses.append(float(device.reduce(loss.detach())))
        if not math.isfinite(course.losses[-1]):
            raise ModelError(
                f"the loss is {course.losses[-1]} at step {course.step}",
                remedy="lower the learning rate",
            )

    def look(self, validation: Sequence[Any]) -> None:
        """Add a look at held-out text, and begin a new list of losses."""
        course = self.course
        loss = self._evaluate(validation)
        look = Look(
            step=course.step,
            epoch=course.epoch,
            tokens=course.tokens,
            loss=round(float(np.mean(course.losses)), 4),
            learning_rate=self._rate(course.step - 1),
            validation_loss=loss,
            perplexity=None if loss is None else round(math.exp(min(loss, 50.0)), 3),
        )
        course.looks.append(look)
        course.losses.clear()
        if self._device.is_main_process:
            say(look.line(self._settings.steps))

    def _rate(self, step: int) -> float:
        """The learning rate: linear warm-up, then linear decay to zero after the last step."""
        settings = self._settings
        warm = max(1, round(settings.warmup * settings.steps))
        if step < warm:
            return settings.learning_rate * ((step + 1) / warm)
        return settings.learning_rate * ((settings.steps - step) / max(1, settings.steps - warm))

    @torch.inference_mode()
    def _evaluate(self, texts: Sequence[Any]) -> float | None:
        """Mean loss over one epoch of held-out text, the same on every process."""
        if not texts:
            return None
        total, predicted = 0.0, 0
        self._model.eval()  # type: ignore[no-untyped-call]
        for batch in epoch_of(self._objective, texts, self._settings.batch_size):
            moved = {name: value.to(self._device.device) for name, value in batch.items()}
            with self._device.autocast():
                total += float(_loss_sum(self._model, moved, self._model))
            predicted += _predicted(batch)
        self._model.train()
        return round(total / predicted, 4)


def _own_part(batch: Batch, device: Accelerator) -> Batch:
    """This process's sequences of a batch; where there are too few, one without labels."""
    rank, world = device.process_index, device.num_processes
    part = {name: value[rank::world] for name, value in batch.items()}
    if not len(part["labels"]):
        part = {name: value[:1] for name, value in batch.items()}
        part["labels"] = torch.full_like(part["labels"], IGNORED)
    return {name: value.to(device.device) for name, value in part.items()}
