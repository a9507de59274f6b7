"""Initial embeddings from co-occurrence."""

import numpy as np
import torch
from torch import nn

from pipeline.mechanisms.embeddings import cooccurrences, embed_by_cooccurrence, ppmi_svd

VOCABULARY = 12
# Tokens 1 and 2 stand in the same places, 3 and 4 in others; 5-9 are their company; 10, 11 unseen.
TEXTS = [
    np.array(text, dtype=np.int64)
    for text in ([5, 1, 6, 7], [5, 2, 6, 7], [8, 3, 9], [8, 4, 9, 9], [5, 1, 6], [8, 4, 9])
] * 5


def test_pairs_are_weighted_by_inverse_distance() -> None:
    """Counted by hand: (5, 1) next to each other, (5, 6) two apart, (5, 7) three apart."""
    first, second, weight = cooccurrences([np.array([5, 1, 6, 7]), np.array([5, 1])], VOCABULARY)
    found = dict(zip(zip(first.tolist(), second.tolist(), strict=True), weight, strict=True))
    assert found == {
        (5, 1): 2.0, (5, 6): 0.5, (5, 7): 1 / 3, (1, 6): 1.0, (1, 7): 0.5, (6, 7): 1.0,
    }  # fmt: skip


def test_tokens_of_like_distribution_are_alike() -> None:
    """Tokens that stand in the same places get nearly the same vector; others do not."""
    vectors = nn.functional.normalize(ppmi_svd(TEXTS, VOCABULARY, 4, seed=0), dim=1)
    alike = vectors @ vectors.T
    assert alike[1, 2] > 0.95
    assert alike[3, 4] > 0.95
    assert alike[1, 3].abs() < 0.5


def test_vectors_have_unit_variance_and_unseen_tokens_none() -> None:
    """Every token that occurs has length √width; the others are zero."""
    vectors = ppmi_svd(TEXTS, VOCABULARY, 4, seed=0)
    lengths = vectors.norm(dim=1)
    assert torch.allclose(lengths[1:10], torch.full((9,), 2.0), atol=1e-5)
    assert not lengths[[0, 10, 11]].any()


def test_equal_seeds_give_equal_vectors_and_leave_chance_alone() -> None:
    """The randomized SVD is seeded and does not move torch's global generator."""
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one = ppmi_svd(TEXTS, VOCABULARY, 4, seed=3)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, ppmi_svd(TEXTS, VOCABULARY, 4, seed=3))


def test_embedding_keeps_its_scale_and_its_unseen_rows() -> None:
    """Seen rows are replaced at the scale they were drawn with; unseen rows stay random."""
    torch.manual_seed(0)
    embedding = nn.Embedding(VOCABULARY, 4)
    with torch.no_grad():
        embedding.weight.mul_(0.1)
    before = embedding.weight.detach().clone()
    embed_by_cooccurrence(embedding, TEXTS, seed=0)
    after = embedding.weight.detach()
    assert torch.equal(after[[0, 10, 11]], before[[0, 10, 11]])
    lengths = after[1:10].norm(dim=1)
    assert torch.allclose(lengths, torch.full((9,), float(before.std()) * 2), rtol=1e-4)
