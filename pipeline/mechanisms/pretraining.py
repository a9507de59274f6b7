"""The training loop of a masked LM or a text-infilling LM."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.ground.console import Meter
from pipeline.ground.errors import ModelError
from pipeline.mechanisms.corruption import IGNORED
from pipeline.mechanisms.decay import decay_groups
from pipeline.mechanisms.heads import logits_at
from pipeline.mechanisms.lmbatches import Batch, Objective, Text, steps_of
from pipeline.settings.pretrain import Pretrain

__all__ = ["Outcome", "accelerator", "pretrain"]

_WEIGHT_DECAY, _CLIP, _BETAS = 0.01, 1.0, (0.9, 0.98)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How training went.

    ``tokens`` counts the tokens the model saw, padding and targets left out; ``loss`` is the mean
    over the last tenth of the steps, in nats per predicted token; ``validation_loss`` the same on
    held-out sentences (None without any).
    """

    steps: int
    tokens: int
    parameters: int
    loss: float
    validation_loss: float | None


def accelerator() -> Accelerator:
    """The processes and devices training runs on.

    Raises:
        ModelError: accelerate does not see the processes it was started with (on a machine
            without a GPU it takes every one for the only one unless told to use the CPU).
    """
    found = Accelerator(cpu=not torch.cuda.is_available())
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
    training: Sequence[Text],
    validation: Sequence[Text],
    *,
    settings: Pretrain,
    device: Accelerator,
) -> Outcome:
    """Train ``model`` in place.

    Each update sees one batch however many processes share it; losses are weighted by predicted
    tokens, so the gradient does not depend on how the batch is split.

    Raises:
        ModelError: the loss is no longer a number.
    """
    torch.manual_seed(settings.seed)
    model.train()
    optimizer = torch.optim.AdamW(
        decay_groups(model, _WEIGHT_DECAY), lr=settings.learning_rate, betas=_BETAS, fused=True
    )
    wrapped, optimizer = device.prepare(model, optimizer)
    # The schedule is not handed to accelerate, which would step it once per process.
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _ramp(settings))
    batches = steps_of(
        objective, training,
        batch_size=settings.batch_size, steps=settings.steps, seed=settings.seed,
    )  # fmt: skip
    tokens, losses = 0, []
    with Meter(f"pretrain {settings.lm}", settings.steps) as meter:
        for step, whole in enumerate(batches, 1):
            tokens += int(whole["attention_mask"].sum())
            predicted = _predicted(whole)
            batch = _own_part(whole, device)
            loss = _loss_sum(wrapped, batch, model) / predicted
            device.backward(loss * device.num_processes)
            device.clip_grad_norm_(wrapped.parameters(), _CLIP)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            losses.append(float(device.reduce(loss.detach())))
            if not math.isfinite(losses[-1]):
                raise ModelError(
                    f"the loss is {losses[-1]} at step {step}", remedy="lower the learning rate"
                )
            meter.advance(note=f"loss {float(np.mean(losses[-50:])):.3f}")
    tail = max(1, settings.steps // 10)
    return Outcome(
        steps=settings.steps,
        tokens=tokens,
        parameters=model.num_parameters(),
        loss=round(float(np.mean(losses[-tail:])), 4),
        validation_loss=_evaluate(model, objective, validation, settings, device),
    )


def _own_part(batch: Batch, device: Accelerator) -> Batch:
    """This process's sequences of a batch; where there are too few, one without labels."""
    rank, world = device.process_index, device.num_processes
    part = {name: value[rank::world] for name, value in batch.items()}
    if not len(part["labels"]):
        part = {name: value[:1] for name, value in batch.items()}
        part["labels"] = torch.full_like(part["labels"], IGNORED)
    return {name: value.to(device.device) for name, value in part.items()}


def _ramp(settings: Pretrain) -> Callable[[int], float]:
    """Linear warm-up, then linear decay to zero at the last step."""
    warm = max(1, round(settings.warmup * settings.steps))

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return (settings.steps - step) / max(1, settings.steps - warm)

    return factor


@torch.inference_mode()
def _evaluate(
    model: PreTrainedModel,
    objective: Objective,
    texts: Sequence[Text],
    settings: Pretrain,
    device: Accelerator,
) -> float | None:
    """Mean loss over one epoch of held-out text, the same on every process."""
    if not texts:
        return None
    model.eval()  # type: ignore[no-untyped-call]
    count = max(1, math.ceil(len(texts) / settings.batch_size))
    total, predicted = 0.0, 0
    held: Iterable[Batch] = steps_of(
        objective, texts, batch_size=settings.batch_size, steps=count, seed=0
    )
    for batch in held:
        moved = {name: value.to(device.device) for name, value in batch.items()}
        total += float(_loss_sum(model, moved, model))
        predicted += _predicted(batch)
    return round(total / predicted, 4)
