"""Algorithm 1 of the paper: training with generation and filtering (§4).

The names and line numbers are the paper's:

     1: train M on L                                      9:       B ← B ∪ {(x', y')}
     2: repeat                                           10:     end if
     3:   B ← {}                                         11:     k ← k + 1
     4:   k ← 0                                          12:   end while
     5:   while |B| < K and k < K_max do                 13:   B ← B ∪ SAMPLE(L, N_batch - K)
     6:     x ← SAMPLE(U, 1)                             14:   update M on B
     7:     (x', y') ← G(x)                              15: until convergence
     8:     if CALCSCORE((x', y'), M) ≥ δ then           16: return M

Lines 6 and 7 are one: G has run beforehand, and U is drawn together with what G made of it. Which
draw stands where is a pure function of the step, so nothing but M (and what line 8 remembers, if its
rule is not δ: see ``acceptance``) carries over from one to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.tasks.protocol import Drawn, Example
from pipeline.train.acceptance import Acceptance
from pipeline.train.stream import CandidateStream, LabelledStream

# ruff: noqa: N803, N806 - the paper's own capitals: L, U, M, B, K, K_max, N_batch


@dataclass(frozen=True, slots=True)
class Constants:
    """N_batch, K (≤ N_batch) and K_max; and how many updates line 1 takes. δ is in the rule."""

    N_batch: int
    K: int
    K_max: int
    warm_steps: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What CalcScore says of a candidate.

    ``example`` is what the model would learn from it: (x', y'), or (x', y'') in self-training, where
    the boundary is the predictor's own. ``score`` is its probability, NaN where nobody asked for it;
    ``reason``, if any, is why it has none, and then the score is -inf, which no rule accepts. ``best``:
    no other boundary of the coordinator is more probable. ``share``: the probability over that of the most
    probable one, NaN where nobody asked, 0 where there is none.
    """

    example: Example
    score: float
    reason: str | None = None
    best: bool = False
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate of a turn of the while loop: the verdict, and whether line 9 was reached.

    ``turn`` is the turn's k: candidates that stand in the same words have the same, and become one example.
    """

    drawn: Drawn[Any]
    verdict: Verdict
    accepted: bool
    turn: int


class TrainableModel(Protocol):
    """M with what it takes to train it: see ``learner.Learner``."""

    @property
    def step(self) -> int:
        """Updates done."""

    @property
    def converged(self) -> bool:
        """Line 15: steps are used up, or validation has stopped improving."""

    def calc_score(self, candidates: Sequence[Drawn[Any]]) -> list[Verdict]:
        """Line 8, for several candidates at once; the weights do not change."""

    def update(self, B: Sequence[Any], sampled: Sequence[Any], trials: Sequence[Trial]) -> None:
        """Line 14, on B ∪ ``sampled`` of L; of ``trials``, all that were examined, B are the accepted."""


def inspect(
    U: CandidateStream, M: TrainableModel, constants: Constants, rule: Acceptance, first: int
) -> list[Trial]:
    """Lines 3-12: draw and score until K examples are accepted or K_max draws have been examined.

    A draw is a sentence x' with a candidate or, of natural text, several: each structure is believed or
    not by itself, and those believed are one example.

    Scoring runs in rounds of min(K - |B|, K_max - k): as many as the loop would examine even if all
    of them were accepted. So exactly the candidates are examined, in exactly the order and with
    exactly the outcome, of the loop that takes one at a time, in fewer passes through the encoder
    (given equal scores; encoded beside others, a sentence's differs in its last digits).

    Args:
        U: the candidates.
        M: the model, which does not change meanwhile.
        constants: K and K_max.
        rule: which scores are believed, such as those ≥ δ.
        first: number of this step's first draw from U.

    Returns:
        All that were examined, in order; B is those accepted.
    """
    trials: list[Trial] = []
    B: list[Any] = []  # 3
    k = 0  # 4
    while len(B) < constants.K and k < constants.K_max:  # 5
        round_size = min(constants.K - len(B), constants.K_max - k)
        turns = [U.together(first + k + ahead) for ahead in range(round_size)]  # 6, 7
        verdicts = iter(M.calc_score([drawn for turn in turns for drawn in turn]))
        for turn in turns:
            own = []
            for drawn in turn:
                verdict = next(verdicts)
                accepted = rule.accepts(
                    drawn.label, verdict.score, best=verdict.best, share=verdict.share
                )  # 8
                own.append(Trial(drawn, verdict, accepted, k))
            B += accepted_examples(own)  # 9
            trials += own
            k += 1  # 11
    return trials


def accepted_examples(trials: Sequence[Trial]) -> list[Any]:
    """B: what was accepted, the structures of a turn as one example."""
    turns: dict[int, list[Any]] = {}
    for trial in trials:
        if trial.accepted:
            turns.setdefault(trial.turn, []).append(trial.verdict.example)
    return [examples[0].joined(examples[1:]) for examples in turns.values()]


def algorithm1(
    M: TrainableModel,
    L: LabelledStream,
    U: CandidateStream | None,
    constants: Constants,
    rule: Acceptance,
    *,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Train M in place until it has converged, from whatever step it has reached.

    Without U this is the baseline: line 1 goes on to the end. If fewer than K candidates are
    accepted the batch is that much smaller: line 13 always adds N_batch - K (of a ``AugmentedStream`` each
    with its variant, so that the batch grows by as many). ``after`` is called
    after every update, when M and the rule hold all there is to know of the run.
    """
    N_batch, K, warm = constants.N_batch, constants.K, constants.warm_steps
    while not M.converged:
        step = M.step
        if U is None or step < warm:
            M.update([], L.sample(step * N_batch, N_batch), [])  # 1
        else:
            since = step - warm
            trials = inspect(U, M, constants, rule, since * constants.K_max)  # 3-12
            B = accepted_examples(trials)
            sampled = L.sample(warm * N_batch + since * (N_batch - K), N_batch - K)
            M.update(B, sampled, trials)  # 13, 14
        after()
