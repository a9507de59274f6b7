"""The endpoint scorer against gather-then-MLP: values, gradients, dropout, half precision."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from pipeline.tasks.coordination import scorer as endpoints
from pipeline.tasks.coordination import scorer as pairs
from pipeline.tasks.coordination.scorer import (
    EndpointScorer,
    Grid,
    Instance,
    keep_masks,
    keep_share,
    pair_scores,
)

INSTANCES: list[Instance] = [(0, 1, 9), (2, 7, 9), (0, 6, 9), (1, 2, 4), (2, 3, 9), (0, 1, 9)]
"""Not in the order of sentences, several in one, one of them twice."""


@pytest.fixture(params=["blocks", "small blocks", "at once"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU's way, with a block for every few pairs as well, and the GPU's."""
    if request.param == "at once":
        monkeypatch.setattr(endpoints, "pair_scores", pairs._at_once)
    elif request.param == "small blocks":
        monkeypatch.setattr(pairs, "_BLOCK", 24)


def gathered(scorer: EndpointScorer, h: Tensor, instance: Instance, mask: Tensor | None) -> Tensor:
    """Eq. 3 as printed: F for every pair, then the MLP; log-probabilities of an instance's pairs."""
    row, k, n = instance
    features = [
        torch.cat([h[row, i] - h[row, k + 1], h[row, j] - h[row, k - 1]])
        for i in range(k)
        for j in range(k + 1, n)
    ]
    units = scorer.first(torch.stack(features)).relu()
    if mask is not None:
        units = units * mask / keep_share(scorer.dropout)
    return scorer.second(units).squeeze(1).log_softmax(0)


def gradients(scorer: EndpointScorer, h: Tensor, scores: Sequence[Tensor]) -> list[Tensor]:
    """Of a loss in which every score has a weight of its own."""
    loss = sum((s.flatten() * torch.arange(s.numel()).cos()).sum() for s in scores)
    assert isinstance(loss, Tensor)
    return list(torch.autograd.grad(loss, [h, *scorer.parameters()]))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
def test_scores_and_gradients_are_those_of_the_mlp(dropout: float) -> None:
    """In float64, with the same dropout masks: all log-probabilities and all gradients agree."""
    torch.manual_seed(0)
    scorer = EndpointScorer(6, 5, dropout).double().train()
    h = torch.randn(3, 9, 6, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(7)
    found = scorer(h, INSTANCES)
    torch.manual_seed(7)
    grids = [Grid(0, k, 0, n - k - 1) for _, k, n in INSTANCES]
    masks: Sequence[Tensor | None] = [None] * len(grids)
    if dropout:
        masks = keep_masks(grids, 5, dropout, h.device)
    expected = [gathered(scorer, h, *both) for both in zip(INSTANCES, masks, strict=True)]
    for one, other, (_, k, n) in zip(found, expected, INSTANCES, strict=True):
        assert one.shape == (k, n - k - 1)
        torch.testing.assert_close(one.flatten(), other)
    for one, other in zip(gradients(scorer, h, found), gradients(scorer, h, expected), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("score", [pair_scores, pairs._at_once])
def test_gradients_by_finite_differences(score: Callable[..., Tensor], masked: bool) -> None:
    """Each gradient of the pairs' scores is the limit of differences, overlapping rows included."""
    torch.manual_seed(1)
    grids = [Grid(0, 3, 1, 2), Grid(1, 1, 0, 3), Grid(2, 2, 2, 1)]
    given = [torch.randn(rows, 4, dtype=torch.float64, requires_grad=True) for rows in (4, 3, 3)]
    weight = torch.randn(4, dtype=torch.float64, requires_grad=True)
    masks = keep_masks(grids, 4, 0.5, torch.device("cpu")) if masked else None
    assert torch.autograd.gradcheck(
        lambda *t: score(*t, grids=grids, masks=masks), (*given, weight)
    )


def test_only_words_that_can_be_an_end_get_gradients() -> None:
    """Words behind k + 1 are no beginnings, words before k - 1 no ends; k is neither."""
    scorer = EndpointScorer(4, 3, 0.0)
    h = torch.randn(1, 8, 4, requires_grad=True)
    scorer(h, [(0, 5, 8)])[0][0, 0].backward()
    assert h.grad is not None
    assert not h.grad[0, 5].any()
    with torch.no_grad():
        moved = h.detach().clone()
        moved[0, 5] += 1
        assert torch.equal(scorer(h, [(0, 5, 8)])[0], scorer(moved, [(0, 5, 8)])[0])


@pytest.mark.parametrize(("dropout", "kept"), [(0.5, 0.5), (0.25, 0.75), (0.1, 0.9), (1 - 1e-9, 0)])
def test_dropout_keeps_its_share(dropout: float, kept: float) -> None:
    """Masks hold 0 and 1 in the right proportion; what is kept is scaled by that very share."""
    torch.manual_seed(0)
    masks = keep_masks([Grid(0, 50, 0, 41)], 64, dropout, torch.device("cpu"))
    assert masks[0].shape == (50 * 41, 64)
    assert set(masks[0].unique().tolist()) <= {0, 1}
    assert masks[0].double().mean().item() == pytest.approx(kept, abs=0.005)
    assert 0 < keep_share(dropout) == pytest.approx(1 - dropout, abs=2**-16)


def test_a_mask_is_the_instance_s_own() -> None:
    """What is batched after an instance does not change its mask, nor do those after it agree."""
    grids = [Grid(0, 3, 0, 3), Grid(0, 3, 0, 3), Grid(0, 2, 0, 1)]
    torch.manual_seed(3)
    alone = [keep_masks([grid], 5, 0.5, torch.device("cpu"))[0] for grid in grids]
    torch.manual_seed(3)
    together = keep_masks(grids, 5, 0.5, torch.device("cpu"))
    assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))
    assert not torch.equal(together[0], together[1])


@pytest.mark.usefixtures("path")
def test_half_precision_ends_with_the_projections() -> None:
    """Under bf16 autocast the log-probabilities are float32 and near, and gradients reach all."""
    torch.manual_seed(0)
    scorer = EndpointScorer(32, 16, 0.5).train()
    h = torch.randn(3, 9, 32, requires_grad=True)
    found: list[Tensor] = []
    for enabled in (False, True):
        torch.manual_seed(7)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            states = h.bfloat16() if enabled else h
            found.append(scorer.log_probabilities(states, INSTANCES))
    assert found[1].dtype == torch.float32
    torch.testing.assert_close(found[1], found[0], atol=0.05, rtol=0)
    assert not torch.equal(found[1], found[0])
    for gradient in torch.autograd.grad(found[1][:, 0].sum(), [h, *scorer.parameters()]):
        assert gradient.dtype == torch.float32
        assert gradient.isfinite().all()


@pytest.mark.usefixtures("path")
def test_scoring_repeats_bit_for_bit() -> None:
    """The same seed gives the same scores and gradients to the bit."""
    scorer = EndpointScorer(16, 8, 0.5).train()
    h = torch.randn(3, 9, 16, requires_grad=True)
    runs = []
    for _ in range(2):
        torch.manual_seed(7)
        scores = scorer(h, INSTANCES)
        runs.append([*scores, *gradients(scorer, h, scores)])
    assert all(torch.equal(one, other) for one, other in zip(*runs, strict=True))
