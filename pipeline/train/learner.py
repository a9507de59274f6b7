"""M as it is trained: updates, CalcScore, validation (§5.1).

Beside the model stands the acceptance log: every candidate that Algorithm 1 examined, with its score
and whether it was accepted, for ``scored.parquet``, ``history.jsonl`` and the progress display.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.core.cards.runs import RunLine
from pipeline.core.schema import scored_schema
from pipeline.core.tally import Tally
from pipeline.tasks.coordination.brackets import BracketTask
from pipeline.tasks.protocol import Drawn, Model, Opinion
from pipeline.train.algorithm1 import Trial, Verdict
from pipeline.train.distributed import ProcessGroup
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.selection import BestAccuracy, WeightSelection
from pipeline.train.validation import validate
from pipeline.train.weighting import loss_shares

_BATCH = 4096  # rows that are kept as dictionaries before they become columns, a tenth of the size
_LONG = 10  # fills of so many words and more are counted together


class AcceptanceLog:
    """The record of every candidate examined.

    Args:
        answers: columns that say what the answer to a candidate was (``Task.answer_columns``).

    Attributes:
        tally: candidates scored, and those that could not be, with the reason.
        seen: candidates examined so far.
        accepted: those of them that were accepted.
        barren: steps since one was accepted, or since the first was examined.
        highest: the highest probability in those ``barren`` steps; 0 if there is none.
    """

    def __init__(self, answers: Sequence[pa.Field]) -> None:
        self._schema = scored_schema(answers)
        self.tally = Tally()
        self.seen = self.accepted = self.barren = 0
        self.highest = 0.0
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[dict[str, Any]] = []
        self._distinct: set[str] = set()
        self._recent = _no_counts()

    @property
    def distinct(self) -> int:
        """How many different candidates were examined."""
        return len(self._distinct)

    def record(self, step: int, trials: Sequence[Trial]) -> None:
        """Note the trials of update number ``step`` (from 1)."""
        for trial in trials:
            self._note(step, trial)
        if any(trial.accepted for trial in trials):
            self.barren, self.highest = 0, 0.0
        elif trials:
            self.barren += 1
            self.highest = max(self.highest, *(trial.verdict.score for trial in trials))
        if len(self._rows) >= _BATCH:
            self._pack()

    def _note(self, step: int, trial: Trial) -> None:
        drawn, verdict = trial.drawn, trial.verdict
        if verdict.reason is None:
            self.tally.keep()
        else:
            self.tally.refuse(verdict.reason)
        self.seen += 1
        self.accepted += trial.accepted
        self._distinct.add(drawn.candidate_id)
        length = str(drawn.size) if drawn.size < _LONG else f"{_LONG}+"
        for name, value in (("acceptance", drawn.label), ("acceptance_by_length", length)):
            counts = self._recent[name].setdefault(value, [0, 0])
            counts[0] += trial.accepted
            counts[1] += 1
        self._rows.append(
            {
                "step": step,
                "candidate_id": drawn.candidate_id,
                "label": drawn.label,
                **verdict.example.row,
                "probability": None if math.isnan(verdict.score) else max(verdict.score, 0.0),
                "accepted": trial.accepted,
            }
        )

    def acceptance(self) -> dict[str, dict[str, list[int]]]:
        """Acceptance since the last call: by label, and by the number of words of the fill.

        Returns:
            ``acceptance`` and ``acceptance_by_length``, each ``{value: [accepted, seen]}``.
        """
        recent, self._recent = self._recent, _no_counts()
        return {name: dict(sorted(found.items(), key=_rank)) for name, found in recent.items()}

    def _pack(self) -> None:
        if self._rows:
            self._batches.append(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def table(self) -> pa.Table:
        """All trials as a table of ``core.schema.scored_schema``, in the order of examination.

        A candidate that cannot be scored has probability 0, one that nobody asked about none; in
        self-training the boundary is the predictor's.
        """
        self._pack()
        return pa.Table.from_batches(self._batches, schema=self._schema)

    @property
    def state(self) -> dict[str, Any]:
        """What ``restore`` needs beside ``table()``; JSON can hold it."""
        return {
            "tally": self.tally.to_dict(),
            "seen": self.seen,
            "accepted": self.accepted,
            "barren": self.barren,
            "highest": self.highest,
            "recent": self._recent,
        }

    def restore(self, state: Mapping[str, Any], table: pa.Table) -> None:
        """Go on from a ``state`` and its ``table``."""
        self.tally = Tally.from_dict(state["tally"])
        self.seen, self.accepted = state["seen"], state["accepted"]
        self.barren, self.highest = state["barren"], state["highest"]
        self._recent = state["recent"]
        self._batches, self._rows = table.to_batches(), []
        self._distinct = set(table["candidate_id"].to_pylist())


def _no_counts() -> dict[str, dict[str, list[int]]]:
    return {"acceptance": {}, "acceptance_by_length": {}}


def _rank(item: tuple[str, list[int]]) -> tuple[int, str]:
    """Lengths by number, labels by name."""
    number = item[0].rstrip("+")
    return (int(number) if number.isdigit() else 0, item[0])


_BARREN = 1000  # steps without an accepted candidate after which something must be wrong


class Learner:
    """The model M of Algorithm 1 with its optimizer, its log and the weights chosen so far.

    Args:
        predictor: the weights.
        validation: sentences to choose the weights by.
        schedule: the numbers.
        answers: columns of the log that say what the answer to a candidate was.
        group: the processes that share the work; unset: this process alone.
        selection: which weights become the predictor; unset: those of the best accuracy.
        weight: λ: the loss is the mean over labelled instances + λ · the mean over generated ones;
            None: one mean over both.
        brackets: what is learned of L's constituents beside them; unset: nothing.
        self_train: learn the predictor's own boundary of a candidate instead of the generated one.
        scores: whether anything depends on the candidates' scores; else none is computed.
        corpus: how many candidates there are, to tell which share of them was used.
        figure: the task's name of what validation gives.
        notify: called after every update with (updates done, a short note).
        warn: called with what a person should look at.

    Attributes:
        step: updates done.
        history: one dictionary per validation, as in ``history.jsonl``.
        selection: the rule, with what it has chosen so far.
        log: the candidates examined.
    """

    def __init__(
        self,
        predictor: Model[Any],
        validation: Sequence[Any],
        schedule: Schedule,
        *,
        answers: Sequence[pa.Field] = (),
        group: ProcessGroup | None = None,
        selection: WeightSelection | None = None,
        weight: float | None = None,
        brackets: BracketTask | None = None,
        self_train: bool = False,
        scores: bool = True,
        corpus: int = 0,
        figure: str = "figure",
        notify: Callable[[int, str], None] = lambda done, note: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.predictor, self.validation, self.schedule = predictor, validation, schedule
        self.log = AcceptanceLog(answers)
        self.step = 0
        self.selection = selection or BestAccuracy(schedule)
        self.history: list[RunLine] = []
        self._group = group or ProcessGroup(0, 1, predictor.device)
        self._self_train, self._notify = self_train, notify
        self._scores = scores
        self._corpus, self._warn, self._figure = corpus, warn, figure
        self._losses: list[float] = []
        self._recent: deque[float] = deque(maxlen=20)
        self._weight = weight
        self._brackets, bracketed = brackets, brackets.bracketed if brackets else None
        self._optimizer = Optimizer(
            predictor, schedule, schedule.seed, self._group, bracketed=bracketed
        )

    @property
    def converged(self) -> bool:
        """Line 15: all steps are done, or ``patience`` steps passed without improvement."""
        return self.selection.stalled or self.step >= self.schedule.steps

    def calc_score(self, candidates: Sequence[Drawn[Any]]) -> list[Verdict]:
        """Line 8: the probability of each candidate's structure, without dropout or gradient.

        NaN where nothing depends on it: a pass through the encoder less.
        """
        with self._group.autocast():
            own = self._verdicts(self._group.share(candidates))
        return self._group.collect(own, len(candidates))

    def _verdicts(self, candidates: Sequence[Drawn[Any]]) -> list[Verdict]:
        examples = [drawn.example for drawn in candidates]
        reasons: list[str | None] = [None] * len(examples)
        opinions: list[Opinion | None]
        if not self._scores:
            reasons = self.predictor.obstacles(examples)
            unasked = Opinion(math.nan, math.nan, best=False)
            opinions = [None if reason else unasked for reason in reasons]
        elif self._self_train:
            own = self.predictor.answers(examples)
            examples = [a.example if a else e for a, e in zip(own, examples, strict=True)]
            opinions = [Opinion(a.probability, 1.0, best=True) if a else None for a in own]
        else:
            opinions = self.predictor.opinions(examples)
        if None in opinions and not any(reasons):
            reasons = self.predictor.obstacles(examples)
        return [
            Verdict(
                example,
                -float("inf") if opinion is None else opinion.probability,
                reason,
                best=opinion is not None and opinion.best,
                share=0.0 if opinion is None else opinion.share,
            )
            for example, opinion, reason in zip(examples, opinions, reasons, strict=True)
        ]

    def update(
        self,
        B: Sequence[Any],  # noqa: N803 - the paper's name
        sampled: Sequence[Any],
        trials: Sequence[Trial],
    ) -> None:
        """Line 14, and validation when it is due. An empty batch changes no weight.

        Args:
            B: the generated examples accepted (with λ = 0 they are not learned from).
            sampled: the labelled ones.
            trials: the candidates examined, in order.

        Raises:
            ModelError: the loss or its gradient is not a number.
        """
        if self._weight == 0:
            B = []  # noqa: N806
        if batch := [*B, *sampled]:
            shares = loss_shares(B, sampled, self._weight)
            brackets = self._brackets.beside(B, sampled) if self._brackets else None
            self._losses.append(self._optimizer.update(batch, self.step, shares, brackets))
            self._recent.append(self._losses[-1])
        self.step += 1
        self.log.record(self.step, trials)
        if self.log.barren and self.log.barren % _BARREN == 0:
            self._warn_of_drought()
        if self.step % self.schedule.eval_every == 0 or self.step == self.schedule.steps:
            self._validate()
        self._notify(self.step, self._note())

    def _validate(self) -> None:
        with self._group.autocast():
            self.predictor.settle(self.validation)
            found = validate(self.predictor, self.validation, self._group)
        self.selection.look(self.step, found, self.predictor)
        recent = self.log.acceptance()
        self.history.append(
            {
                "step": self.step,
                "loss": sum(self._losses) / len(self._losses) if self._losses else None,
                "validation_accuracy": found.accuracy,
                "validation_loss": found.loss,
                "seen": self.log.seen,
                "accepted": self.log.accepted,
                "distinct": self.log.distinct,
                "acceptance": recent["acceptance"],
                "acceptance_by_length": recent["acceptance_by_length"],
            }
        )
        self._losses.clear()

    def _note(self) -> str:
        loss = f"{sum(self._recent) / len(self._recent):.3f}" if self._recent else "…"
        valid = f"{self.history[-1]['validation_accuracy']:.3f}" if self.history else "…"
        note, log = f"loss {loss}  valid {valid}", self.log
        if log.seen:
            note += f"  accepted {log.accepted / log.seen:.0%} of {log.seen:,} seen"
        if log.seen and self._corpus:
            share, times = log.distinct / self._corpus, log.seen / log.distinct
            note += f" ({share:.0%} of the corpus, {times:.1f} times each)"
        return note

    def _warn_of_drought(self) -> None:
        valid = f"{self.history[-1]['validation_accuracy']:.3f}" if self.history else "not known"
        self._warn(
            f"step {self.step}: no candidate was accepted in the last {self.log.barren:,} steps; "
            f"the highest probability was {self.log.highest:.4g} and validation {self._figure} is {valid}. "
            "Look at δ (--delta, or --accept relative, quantile or agree), at --warm-steps if that "
            "is low, and at the candidates themselves (conjoin report)"
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Any], pa.Table]:
        """All that a run is made of after ``step`` updates.

        Returns:
            Tensors in nested dictionaries and lists; what JSON can hold; and the log's rows.
        """
        tensors = {
            "predictor": dict(self.predictor.state_dict()),
            "optimizer": self._optimizer.state,
            "selection": self.selection.tensors,
            **({"brackets": dict(self._brackets.head.state_dict())} if self._brackets else {}),
        }
        facts = {
            "step": self.step,
            "selection": self.selection.state,
            # As text: a JSON writer may sort the keys, and the run's file keeps their order.
            "history": [json.dumps(entry) for entry in self.history],
            "losses": self._losses,
            "recent": list(self._recent),
            "log": self.log.state,
        }
        return tensors, facts, self.log.table()

    def restore(self, tensors: dict[str, Any], facts: Mapping[str, Any], rows: pa.Table) -> None:
        """Go on from a ``state`` as if there had been no interruption, bit for bit on a CPU."""
        self.predictor.load_state_dict(tensors["predictor"])
        self._optimizer.restore(tensors["optimizer"])
        if self._brackets:
            self._brackets.head.load_state_dict(tensors["brackets"])
        self.step = facts["step"]
        self.selection.restore(tensors["selection"], facts["selection"])
        self.history = [json.loads(entry) for entry in facts["history"]]
        self._losses = list(facts["losses"])
        self._recent.extend(facts["recent"])
        self.log.restore(facts["log"], rows)

    def finish(self) -> None:
        """Give the predictor the weights that were chosen, and settle what is chosen after them.

        Weights that were never validated are so now.
        """
        self.predictor.load_state_dict(self.selection.weights)
        self.predictor.eval()
        with self._group.autocast():
            self.predictor.settle(self.validation)
        if not self.selection.validates:
            with self._group.autocast():
                self.selection.found = validate(self.predictor, self.validation, self._group)
