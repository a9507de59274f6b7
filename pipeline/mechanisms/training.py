"""M as it is trained: updates, CalcScore, validation, early stopping, the best weights (§5.1)."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from pipeline.ground.coordination import Sentence, Span
from pipeline.ground.tally import Tally
from pipeline.mechanisms.algorithm1 import Trial, Verdict
from pipeline.mechanisms.averaging import Average
from pipeline.mechanisms.descent import Descent, Schedule
from pipeline.mechanisms.encoding import Example, instances
from pipeline.mechanisms.journal import Journal
from pipeline.mechanisms.jury import Jury
from pipeline.mechanisms.predictor import Predictor
from pipeline.mechanisms.stream import Drawn

__all__ = ["Learner", "learnable", "validation_accuracy"]


class Learner:
    """The model M of Algorithm 1 with its optimizer, journal and best weights so far.

    Args:
        predictor: the weights.
        validation: sentences to choose the best step by.
        schedule: the numbers.
        self_train: learn the predictor's own boundary of a candidate instead of the generated one.
        convene: makes the jury of CalcScore of M's weights, when it is first asked (after line 1).
        notify: called after every update with (updates done, a short note).

    Attributes:
        step: updates done.
        history: one dictionary per validation, as in ``history.jsonl``.
        best_step: the step of the best validation accuracy; the earliest of equals.
        best_accuracy: that accuracy, in [0, 1].
        journal: the candidates examined.
        judged: the weights that score, are validated and saved: the average if ``average`` is set.
        jury: who scores candidates; None until the first.
    """

    def __init__(
        self,
        predictor: Predictor,
        validation: Sequence[Example],
        schedule: Schedule,
        *,
        self_train: bool = False,
        convene: Callable[[Predictor], Jury] = Jury,
        notify: Callable[[int, str], None] = lambda done, note: None,
    ) -> None:
        self.predictor, self.validation, self.schedule = predictor, validation, schedule
        self.journal = Journal()
        self.step = self.best_step = 0
        self.best_accuracy = -1.0
        self.history: list[dict[str, Any]] = []
        self.jury: Jury | None = None
        self._self_train, self._convene, self._notify = self_train, convene, notify
        self._losses: list[float] = []
        self._recent: deque[float] = deque(maxlen=20)
        self._best: dict[str, Tensor] = {}
        self._stalled = False
        self._descent = Descent(predictor, schedule, schedule.seed)
        self._average = (
            Average(predictor, schedule.average, predictor.encoding) if schedule.average else None
        )
        self.judged = self._average.model if self._average else predictor

    @property
    def converged(self) -> bool:
        """Line 15: all steps are done, or ``patience`` steps passed without improvement.

        Steps within ``warm_steps`` are not counted as passed (§5.1: "for 1,000 steps after the
        initial 1,000 steps").
        """
        return self._stalled or self.step >= self.schedule.steps

    def calc_score(self, candidates: Sequence[Drawn]) -> list[Verdict]:
        """Line 8: the probability of each candidate's structure, without dropout or gradient."""
        words = [drawn.words for drawn in candidates]
        ks = [drawn.coordinator for drawn in candidates]
        extents = [drawn.extent for drawn in candidates]
        if self.jury is None:
            self.jury = self._convene(self.judged)
        scores: list[float | None]
        if self._self_train:
            found = self.jury.predict(words, ks)
            extents = [p.span if p else e for p, e in zip(found, extents, strict=True)]
            scores = [p.probability if p else None for p in found]
        else:
            scores = self.jury.probability(words, ks, extents)
        reasons: list[str | None] = [None] * len(words)
        if None in scores:
            reasons = self.predictor.obstacles(words, ks, extents)
        return [
            Verdict(
                Example(words[m], (ks[m],), (extents[m],)),
                -float("inf") if score is None else score,
                reasons[m],
            )
            for m, score in enumerate(scores)
        ]

    def update(self, batch: Sequence[Example], trials: Sequence[Trial]) -> None:
        """Line 14, and validation when it is due. An empty batch changes no weight.

        Raises:
            ModelError: the loss or its gradient is not a number.
        """
        if batch:
            self._losses.append(self._descent.update(batch, self.step))
            self._recent.append(self._losses[-1])
            if self._average:
                self._average.update()
        self.step += 1
        self.journal.record(self.step, trials)
        if self.step % self.schedule.eval_every == 0 or self.step == self.schedule.steps:
            self._validate()
        self._notify(self.step, self._note())

    def _validate(self) -> None:
        accuracy = validation_accuracy(self.judged, self.validation)
        if accuracy > self.best_accuracy:
            self.best_step, self.best_accuracy = self.step, accuracy
            weights = self.judged.state_dict()
            self._best = {name: value.cpu().clone() for name, value in weights.items()}
        self.history.append(
            {
                "step": self.step,
                "loss": sum(self._losses) / len(self._losses) if self._losses else None,
                "validation_accuracy": accuracy,
                "seen": self.journal.seen,
                "accepted": self.journal.accepted,
                "acceptance": self.journal.acceptance(),
            }
        )
        self._losses.clear()
        passed = self.step - max(self.best_step, self.schedule.warm_steps)
        self._stalled = passed >= self.schedule.patience

    def _note(self) -> str:
        loss = f"{sum(self._recent) / len(self._recent):.3f}" if self._recent else "…"
        valid = f"{self.history[-1]['validation_accuracy']:.3f}" if self.history else "…"
        accepted = f"{self.journal.accepted}/{self.journal.seen}"
        return f"loss {loss}  valid {valid}  accepted {accepted}"

    def restore_best(self) -> Predictor:
        """The predictor with the weights of ``best_step``."""
        self.predictor.load_state_dict(self._best)
        return self.predictor.eval()


def learnable(
    sentences: Sequence[Sentence], predictor: Predictor
) -> tuple[list[Example], list[Example], Tally]:
    """The evaluable coordinations of sentences as examples.

    Returns:
        The examples to learn from, with only what the predictor can score; the same sentences with
        everything in them, to be measured on; and the instances kept and refused.
    """
    learned, measured, tally = [], [], Tally()
    for sentence in sentences:
        found = [c for c in sentence.coordinations if c.is_evaluable]
        ks = [c.coordinator for c in found]
        extents = [Span(c.start, c.end) for c in found]
        reasons = predictor.obstacles([sentence.words] * len(found), ks, extents)
        kept = [m for m, reason in enumerate(reasons) if reason is None]
        tally.keep(len(kept))
        for reason in reasons:
            if reason is not None:
                tally.refuse(reason)
        if found:
            measured.append(Example(sentence.words, tuple(ks), tuple(extents)))
        if kept:
            chosen = tuple(ks[m] for m in kept), tuple(extents[m] for m in kept)
            learned.append(Example(sentence.words, *chosen))
    return learned, measured, tally


def validation_accuracy(predictor: Predictor, examples: Sequence[Example]) -> float:
    """Share of coordinators whose outer boundary is predicted exactly, in [0, 1].

    An instance that the predictor cannot score counts as wrong.
    """
    words, ks, gold = instances(examples)
    found = predictor.predict(words, ks)
    return sum(p is not None and p.span == g for p, g in zip(found, gold, strict=True)) / len(gold)
