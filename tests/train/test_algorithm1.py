"""Algorithm 1 against a hand-run trace and the loop that takes one candidate at a time."""
# ruff: noqa: D102, N803, N806 - the fakes have their protocols' docstrings; names are the paper's

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import tiny
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.types import Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.protocol import Drawn
from pipeline.train.acceptance import Acceptance, Agreement, BestShare, Delta
from pipeline.train.algorithm1 import (
    Constants,
    Trial,
    Verdict,
    accepted_examples,
    algorithm1,
    inspect,
)
from pipeline.train.stream import LabelledStream

WORDS = ("a", "and", "b")


def drawn(index: int) -> Drawn[CoordinationExample]:
    label = "NP" if index % 3 else "VP"
    return tiny.drawn_of(f"c{index}", label, (*WORDS, str(index)), 1, Span(0, 3), 1)


class FakeU:
    """U whose draw number n is candidate cn."""

    def sample(self, index: int) -> Drawn[CoordinationExample]:
        return drawn(index)

    def together(self, index: int) -> list[Drawn[CoordinationExample]]:
        return [self.sample(index)]


class FakeL:
    """L whose example at position n carries n."""

    def sample(self, position: int, count: int) -> list[CoordinationExample]:
        return [
            CoordinationExample(("l", str(n)), (1,), (Span(0, 3),))
            for n in range(position, position + count)
        ]


class FakeM:
    """A model with a fixed score for each candidate that notes what it is asked."""

    def __init__(self, scores: Sequence[float], steps: int = 0) -> None:
        self.scores, self.steps = scores, steps
        self.rounds: list[list[str]] = []
        self.batches: list[list[str]] = []
        self.examined: list[list[str]] = []

    @property
    def step(self) -> int:
        """Updates done."""
        return len(self.batches)

    @property
    def converged(self) -> bool:
        return len(self.batches) == self.steps

    def calc_score(self, candidates: Sequence[Drawn]) -> list[Verdict]:
        self.rounds.append([c.candidate_id for c in candidates])
        return [
            Verdict(
                c.example,
                self.scores[int(c.candidate_id[1:])],
            )
            for c in candidates
        ]

    def update(
        self,
        B: Sequence[CoordinationExample],
        sampled: Sequence[CoordinationExample],
        trials: Sequence[Trial],
    ) -> None:
        batch = [*B, *sampled]
        self.batches.append([example.words[0][0] + example.words[-1] for example in batch])
        self.examined.append([trial.drawn.candidate_id for trial in trials])


def one_at_a_time(
    scores: Sequence[float], constants: Constants, rule: Acceptance, first: int
) -> list[tuple[str, bool]]:
    """Lines 3-12 as they are printed in the paper."""
    accepted, k, examined = 0, 0, []
    while accepted < constants.K and k < constants.K_max:
        verdict = rule.accepts(drawn(first + k).label, scores[first + k])
        accepted += verdict
        examined.append((f"c{first + k}", verdict))
        k += 1
    return examined


def test_hand_run_trace() -> None:
    """K = 3, K_max = 6, δ = 0.7: rounds of 3, 2, 1 examine six and accept c1, c3 (δ itself) and c5."""
    M = FakeM([0.1, 0.9, 0.69, 0.7, 0.2, 0.8, 0.99])
    trials = inspect(FakeU(), M, Constants(8, 3, 6, 0), Delta(0.7), 0)
    assert M.rounds == [["c0", "c1", "c2"], ["c3", "c4"], ["c5"]]
    assert [t.accepted for t in trials] == [False, True, False, True, False, True]
    assert [t.drawn.candidate_id for t in trials] == ["c0", "c1", "c2", "c3", "c4", "c5"]


def test_trace_ends_at_k_max() -> None:
    """With K_max = 5 the last round is cut to what is left of the trials, and B stays short."""
    M = FakeM([0.1, 0.2, 0.3, 0.9, 0.0, 0.9])
    trials = inspect(FakeU(), M, Constants(8, 3, 5, 0), Delta(0.7), 0)
    assert M.rounds == [["c0", "c1", "c2"], ["c3", "c4"]]
    assert [t.drawn.candidate_id for t in trials if t.accepted] == ["c3"]


def test_trace_ends_when_b_is_full() -> None:
    """Nothing is examined beyond the K-th acceptance."""
    M = FakeM([0.9, 0.9, 0.9, 0.9])
    assert len(inspect(FakeU(), M, Constants(8, 2, 4, 0), Delta(0.7), 0)) == 2
    assert M.rounds == [["c0", "c1"]]


SCORES = st.lists(st.sampled_from([0.0, 0.3, 0.7, 1.0, -float("inf")]), min_size=48, max_size=48)


@given(
    scores=SCORES,
    K=st.integers(0, 8),
    K_max=st.integers(0, 20),
    rule=st.sampled_from(
        [lambda d=d: Delta(d) for d in (0.0, 0.3, 0.7, 1.0)]
        + [lambda s=s, w=w: BestShare(s, w) for s in (0.2, 0.5, 1.0) for w in (1, 3, 200)]
    ),
    first=st.integers(0, 4),
)
def test_rounds_equal_the_sequential_loop(
    scores: list[float], K: int, K_max: int, rule: Callable[[], Acceptance], first: int
) -> None:
    """Rounds examine and accept, step after step, exactly what the one-at-a-time loop does."""
    constants = Constants(16, K, K_max, 0)
    one, other = rule(), rule()
    for begin in (first, first + 20):
        trials = inspect(FakeU(), FakeM(scores), constants, one, begin)
        examined = [(t.drawn.candidate_id, t.accepted) for t in trials]
        assert examined == one_at_a_time(scores, constants, other, begin)


def test_best_share_by_hand() -> None:
    """Share 0.5, window 4: accepted if fewer than half of the last four of its label are above."""
    rule = BestShare(0.5, 4)
    scores = [0.5, 0.4, 0.6, 0.5, 0.45, 0.4, 0.4, 0.4]
    # windows: .5 | .5 .4 | .5 .4 .6 | .5 .4 .6 .5 | .4 .6 .5 .45 | .6 .5 .45 .4 | .5 .45 .4 .4 | ...
    expected = [True, False, True, True, False, False, False, True]
    assert [rule.accepts("NP", score) for score in scores] == expected


def test_scores_equal_but_for_rounding_rank_alike() -> None:
    """The same candidate again, scored in a batch of another shape, has the better rank of the two."""
    rule, again = BestShare(0.5, 2), 0.004628812
    assert rule.accepts("NP", again)
    assert rule.accepts("NP", again * (1 - 1e-6))
    assert not rule.accepts("NP", again * (1 - 1e-3))


def test_best_share_learns_every_label_at_the_same_rate() -> None:
    """A label whose scores are all low is accepted as often as one whose scores are high."""
    rule, random = BestShare(0.3), Random(0)
    taken: Counter[str] = Counter()
    for _ in range(2000):
        taken["NP"] += rule.accepts("NP", 0.7 + 0.3 * random.random())
        taken["VP"] += rule.accepts("VP", 0.1 * random.random())
    assert all(0.25 < taken[label] / 2000 < 0.35 for label in ("NP", "VP"))


def test_best_share_of_what_cannot_be_scored() -> None:
    """-inf is refused even with share 1 and does not count among the recent scores."""
    rule = BestShare(1.0)
    scores = [0.2, -float("inf"), 0.0, 0.1]
    assert [rule.accepts("NP", score) for score in scores] == [True, False, True, True]
    half = BestShare(0.5)
    assert [half.accepts("NP", score) for score in (-float("inf"), 0.9, -float("inf"), 0.1)] == [
        False, True, False, False,
    ]  # fmt: skip


def test_impossible_candidates_are_never_accepted() -> None:
    """Without filtering (δ = 0) all are accepted but those that cannot be scored."""
    trials = inspect(
        FakeU(), FakeM([0.0, -float("inf"), 0.0]), Constants(4, 2, 3, 0), Delta(0.0), 0
    )
    assert [t.accepted for t in trials] == [True, False, True]


def test_whole_algorithm_on_paper() -> None:
    """Line 1 takes N_batch from L, then each batch has B and N_batch - K of L, never more."""
    M = FakeM([0.9, 0.1, 0.9] + [0.1] * 3 + [0.9] * 3, steps=5)
    algorithm1(M, FakeL(), FakeU(), Constants(4, 2, 3, warm_steps=2), Delta(0.7))
    assert M.batches == [
        ["l0", "l1", "l2", "l3"],
        ["l4", "l5", "l6", "l7"],
        ["a0", "a2", "l8", "l9"],  # c0 and c2 accepted of c0, c1, c2
        ["l10", "l11"],  # none accepted: the batch is smaller
        ["a6", "a7", "l12", "l13"],  # full after two: c8 is not examined
    ]
    assert M.examined == [[], [], ["c0", "c1", "c2"], ["c3", "c4", "c5"], ["c6", "c7"]]


def test_baseline_takes_all_from_l() -> None:
    """Without U every batch is N_batch labelled examples, whatever warm_steps says."""
    M = FakeM([], steps=3)
    algorithm1(M, FakeL(), None, Constants(4, 2, 3, warm_steps=1), Delta(0.7))
    assert [len(batch) for batch in M.batches] == [4, 4, 4]
    assert [name for batch in M.batches for name in batch] == [f"l{n}" for n in range(12)]


def test_labelled_epochs_cover_l_once_each() -> None:
    """Each epoch is a permutation of L, in an order of its own, and a function of the position."""
    examples = [CoordinationExample((str(n),), (), ()) for n in range(10)]
    order = [e.words[0] for e in LabelledStream(examples, 5).sample(0, 30)]
    epochs = [order[:10], order[10:20], order[20:]]
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    L = LabelledStream(examples, 5)
    assert [e.words[0] for e in L.sample(17, 6)] == order[17:23]
    assert [e.words[0] for e in L.sample(3, 4)] == order[3:7]


class SureM(FakeM):
    """The same, for which the boundary is the best of every second candidate."""

    def calc_score(self, candidates: Sequence[Drawn]) -> list[Verdict]:
        return [
            replace(verdict, best=int(candidate.candidate_id[1:]) % 2 == 1)
            for candidate, verdict in zip(candidates, super().calc_score(candidates), strict=True)
        ]


def test_agreement_asks_for_the_best_boundary_and_not_for_its_score() -> None:
    """Line 8 hands the verdict on: c1, c3 and c5 are believed however improbable; δ looks at the score."""
    M = SureM([0.9, 0.01, 0.9, 0.02, 0.9, 0.03, 0.9])
    trials = inspect(FakeU(), M, Constants(8, 3, 6, 0), Agreement(), 0)
    assert [t.drawn.candidate_id for t in trials if t.accepted] == ["c1", "c3", "c5"]
    trials = inspect(FakeU(), M, Constants(8, 3, 6, 0), Delta(0.7), 0)
    assert [t.drawn.candidate_id for t in trials if t.accepted] == ["c0", "c2", "c4"]
    assert not Agreement().accepts("NP", -float("inf"))


class Natural(FakeU):
    """U whose every draw holds two structures of the same words."""

    def together(self, index: int) -> list[Drawn[CoordinationExample]]:
        words = ("a", "and", "b", "or", "c", str(index))
        spans = ((1, Span(0, 3)), (3, Span(2, 5)))
        return [
            tiny.drawn_of(f"c{2 * index + n}", "NP", words, k, x, 1)
            for n, (k, x) in enumerate(spans)
        ]


def test_structures_of_one_sentence_are_judged_apart_and_learned_as_one_example() -> None:
    """A turn is a draw; of the first both structures are believed, of the next one, of the third none."""
    M = FakeM([0.9, 0.8, 0.1, 0.9, 0.2, 0.3, 0.9, 0.9])
    trials = inspect(Natural(), M, Constants(4, 3, 4, 0), Delta(0.7), 0)
    assert [(t.drawn.candidate_id, t.accepted, t.turn) for t in trials] == [
        ("c0", True, 0), ("c1", True, 0), ("c2", False, 1), ("c3", True, 1),
        ("c4", False, 2), ("c5", False, 2), ("c6", True, 3), ("c7", True, 3),
    ]  # fmt: skip
    B = accepted_examples(trials)
    assert [example.coordinators for example in B] == [(1, 3), (3,), (1, 3)]
    assert B[0].extents == (Span(0, 3), Span(2, 5))
