"""Sentences of similar length go through the encoder together, and nothing else changes."""

from itertools import product
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models import words as encoding
from pipeline.models.words import pass_cost, represent, similar
from pipeline.tasks.coordination.model import CoordinationPredictor


def cost(groups: list[list[int]], lengths: list[int], overhead: int) -> int:
    return sum(len(g) * max(lengths[i] for i in g) + overhead for g in groups)


@given(lengths=st.lists(st.integers(1, 9), max_size=6), overhead=st.integers(0, 12))
def test_groups_are_the_cheapest_cut(lengths: list[int], overhead: int) -> None:
    """Every sentence is in one group, and no way to cut the sorted batch costs less."""
    groups = similar(lengths, overhead)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for cuts in product([False, True], repeat=max(0, len(lengths) - 1)):
        other = [order[:1]] if order else []
        for index, cut in zip(order[1:], cuts, strict=True):
            other = [*other, [index]] if cut else [*other[:-1], [*other[-1], index]]
        assert cost(groups, lengths, overhead) <= cost(other, lengths, overhead)


def test_one_group_keeps_its_order() -> None:
    """Where padding is cheaper than another pass the batch stays as it is."""
    assert similar([5, 3, 4], 100) == [[0, 1, 2]]
    assert similar([5, 3, 5], 1) == [[1], [0, 2]]


def test_a_small_encoder_takes_fewer_passes() -> None:
    """What a pass costs beside its tokens is bert-base's weights, a small encoder's calls."""
    assert [pass_cost(768, learning=learning) for learning in (False, True)] == [41, 81]
    batch = [8, 9, 10, 14, 17, 17, 20, 26] * 2
    assert len(similar(batch, pass_cost(768, learning=False))) == 3
    assert len(similar(batch, pass_cost(64, learning=False))) == 1


def test_groups_change_no_word(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass for all, or one for each length: the same h and gradients but for rounding."""
    model = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.0, seed=1).eval()
    batch = model.encoding.encode([("man", "and", *["dog"] * count) for count in (9, 2, 5, 9)])
    passes: list[int] = []
    model.encoder.register_forward_hook(lambda _, __, output: passes.append(len(output[0])))
    found = []
    for overhead in (0, 1000):
        monkeypatch.setattr(encoding, "pass_cost", lambda width, learning, cost=overhead: cost)
        model.zero_grad()
        h = represent(model.encoder, model.encoding, batch, model.device)
        words = torch.cat([row[: len(each.last)] for row, each in zip(h, batch, strict=True)])
        (words * torch.arange(words.numel()).view_as(words).cos()).sum().backward()
        gradients = [p.grad for p in model.encoder.parameters() if p.grad is not None]
        found.append([words.detach(), *gradients])
    assert passes == [1, 1, 2, 4]
    assert len(found[0]) == len(found[1]) > 20
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
