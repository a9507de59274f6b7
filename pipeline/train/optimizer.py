"""One update of a predictor: AdamW with linear decay, clipping, and dropout seeded by the step."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.core.errors import ModelError
from pipeline.models.optim import decay_groups, seed_draws
from pipeline.tasks.coordination.brackets import Bracketed, Brackets
from pipeline.tasks.protocol import Model
from pipeline.train.distributed import ProcessGroup
from pipeline.train.settings import TrainSettings

_FOR_DROPOUT = 3  # apart from the streams of the same seed in stream.py


@dataclass(frozen=True, slots=True)
class Schedule:
    """The numbers of §5.1, with the names of ``settings.train``."""

    steps: int
    warm_steps: int
    learning_rate: float
    weight_decay: float
    clip: float
    eval_every: int
    patience: int
    seed: int
    encoder_rate: float
    brackets: float | None = None
    warm_up: float = 0.0

    def rate(self, step: int) -> float:
        """The learning rate of an update, from 0: it grows linearly for a share of them, then falls to 0."""
        growing = round(self.warm_up * self.steps)
        if step < growing:
            return self.learning_rate * (step + 1) / growing
        return self.learning_rate * (1 - (step - growing) / (self.steps - growing))

    @classmethod
    def of(cls, settings: TrainSettings) -> Self:
        """Those of a run."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})


class Optimizer:
    """The optimizer of a predictor.

    AdamW; the learning rate falls linearly to 0 over ``steps``, after any warm-up; matrices decay,
    biases and layer norms do not (the paper does not say). The encoder's rate is ``encoder_rate``
    times the scorer's; at 0 it is frozen. Dropout masks are a pure function of (seed, step), and of the
    rank in a group, so that nothing but the optimizer's moments carries over from one update to the next.

    With a head for brackets, the schedule's ``brackets`` (λ) times the mean of its loss over the sentences
    that it learns from is added; its weights are learned like the scorer's.

    Args:
        predictor: the weights.
        schedule: the numbers.
        seed: of the dropout masks.
        group: the processes that share the work; unset: this process alone.
        bracketed: the predictor with a head that learns brackets beside it; unset: nothing does.
    """

    def __init__(
        self,
        predictor: Model[Any],
        schedule: Schedule,
        seed: int,
        group: ProcessGroup | None = None,
        *,
        bracketed: Bracketed | None = None,
    ) -> None:
        self._predictor, self._schedule, self._seed = predictor, schedule, seed
        self._bracketed = bracketed
        self._model = bracketed or predictor
        self._group = group or ProcessGroup(0, 1, predictor.device)
        if schedule.encoder_rate == 0:
            # So it costs no gradient, which would else count in the norm that is clipped.
            predictor.encoder.requires_grad_(requires_grad=False)
        self._loss = self._group.wrap(self._model)
        parts = [(predictor.encoder, schedule.encoder_rate), (predictor.head, 1.0)]
        if bracketed is not None:
            parts.append((bracketed.head, 1.0))
        groups = [
            group | {"factor": factor}
            for part, factor in parts
            for group in decay_groups(part, schedule.weight_decay)
        ]
        self._adamw = torch.optim.AdamW(groups, lr=schedule.learning_rate, fused=True)

    @property
    def state(self) -> dict[str, Any]:
        """The optimizer's moments."""
        return self._adamw.state_dict()

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a ``state``."""
        self._adamw.load_state_dict(state)

    def update(
        self,
        batch: Sequence[Any],
        step: int,
        shares: Sequence[float] | None = None,
        brackets: Sequence[Brackets | None] | None = None,
    ) -> float:
        """Learn from a batch, not empty, as update number ``step`` (from 0).

        Args:
            batch: the examples.
            step: updates done before.
            shares: what an instance of each example counts in the loss (``weighting.loss_shares``);
                unset: one over the number of instances.
            brackets: the constituents of each example, for the head; None of those that it does not learn
                from.

        Returns:
            The loss before the update: the instances' negative log-probabilities, summed by their
            shares; without shares their mean; and with a head λ times its own.

        Raises:
            ModelError: the loss or its gradient is not a number.
        """
        schedule = self._schedule
        for weights in self._adamw.param_groups:
            weights["lr"] = schedule.rate(step) * weights["factor"]
        group = self._group
        seed = np.random.SeedSequence([self._seed, _FOR_DROPOUT, step, group.rank])
        seed_draws(int(seed.generate_state(1)[0]), self._predictor.device)
        self._model.train()
        self._adamw.zero_grad()
        own, scale = group.share(batch), None if shares is None else group.share(shares)
        # DDP wants a gradient from every process, even if a small batch leaves one nothing to do.
        given = own or batch[:1], scale or (shares and shares[:1])
        beside: Tensor | None = None
        with group.autocast():
            if self._bracketed is None:
                loss = self._loss(*given) * bool(own)
            else:
                known = group.share(brackets or [None] * len(batch)) or [None]
                loss, beside = (part * bool(own) for part in self._loss(*given, known))
        if shares is None:
            loss = loss / sum(example.instances for example in batch)
        if beside is not None and schedule.brackets:
            count = sum(each is not None for each in brackets or ())
            loss = loss + schedule.brackets * beside / max(count, 1)
        # DDP averages gradients over the group; times their number that is the batch's gradient.
        (loss * group.world).backward()
        loss = group.total(loss.detach())
        norm = nn.utils.clip_grad_norm_(self._model.parameters(), schedule.clip)
        if not (loss.isfinite() and norm.isfinite()):
            figures = f"the loss is {float(loss):g}, its gradient's norm {float(norm):g}"
            raise ModelError(
                f"at step {step + 1} {figures}",
                remedy="lower the learning rate, or check the encoder's weights",
            )
        self._adamw.step()
        self._model.eval()
        return float(loss)
