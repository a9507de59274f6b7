"""States that are kept of an encoder that stays as it is: as many as fit, and of no other encoder."""

import torch
from torch import nn

from pipeline.models.known_states import KnownStates, stays_as_it_is


def test_those_nobody_asked_for_the_longest_go_first() -> None:
    """Counted in bytes, whatever the sentences' lengths."""
    known = KnownStates(limit=40)  # ten numbers
    for name, numbers in (("a", 4), ("b", 4)):
        known.put(name, torch.ones(numbers))
    assert known.get("a") is not None
    known.put("c", torch.ones(2))
    assert [known.get(name) is not None for name in "abc"] == [True, True, True]
    known.get("a")
    known.put("d", torch.ones(1))
    assert [known.get(name) is not None for name in "abcd"] == [True, False, True, True]
    known.put("e", torch.ones(11))
    assert [known.get(name) is not None for name in "acde"] == [False] * 4


def test_one_that_learns_or_drops_out_does_not_stay() -> None:
    """Dropout counts where it drops something, and only in training."""
    encoder = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1))
    assert not stays_as_it_is(encoder.eval())
    encoder.requires_grad_(requires_grad=False)
    assert stays_as_it_is(encoder)
    assert not stays_as_it_is(encoder.train())
    encoder[1].p = 0.0
    assert stays_as_it_is(encoder)
    encoder[0].weight.requires_grad_()
    assert not stays_as_it_is(encoder)
