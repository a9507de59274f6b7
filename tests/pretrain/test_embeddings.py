"""Initial embeddings from co-occurrence."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from pipeline.pretrain.new_model import embed_by_cooccurrence
from pipeline.pretrain.token_store import SelectedTexts, Text, lengths_of
from pipeline.text import word_vectors

VOCABULARY = 12


def _texts(*ids: Iterable[int]) -> list[Text]:
    arrays = [np.array(list(each), dtype=np.int64) for each in ids]
    return [Text(each, np.ones(len(each), dtype=bool)) for each in arrays]


def cooccurrences(texts: Sequence[Text], *given: Any, **options: Any) -> Any:
    return word_vectors.cooccurrences(texts, lengths_of(texts), *given, **options)


def ppmi_svd(texts: Sequence[Text], *given: Any, **options: Any) -> torch.Tensor:
    return word_vectors.ppmi_svd(texts, lengths_of(texts), *given, **options)


# Tokens 1 and 2 stand in the same places, 3 and 4 in others; 5-9 are their company; 10, 11 unseen.
TEXTS = 5 * _texts([5, 1, 6, 7], [5, 2, 6, 7], [8, 3, 9], [8, 4, 9, 9], [5, 1, 6], [8, 4, 9])


def test_pairs_are_weighted_by_inverse_distance() -> None:
    """Counted by hand: (5, 1) next to each other, (5, 6) two apart, (5, 7) three apart."""
    first, second, weight = cooccurrences(_texts([5, 1, 6, 7], [5, 1]), VOCABULARY)
    found = dict(zip(zip(first.tolist(), second.tolist(), strict=True), weight, strict=True))
    assert found == {
        (5, 1): 2.0, (5, 6): 0.5, (5, 7): 1 / 3, (1, 6): 1.0, (1, 7): 0.5, (6, 7): 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("block", [1, 7, 100, 10**6])
def test_counts_have_the_bits_of_one_long_sum(block: int) -> None:
    """Blocks of any size give what adding every weight in order of distance gives."""
    rng = np.random.default_rng(3)
    texts = [rng.integers(5, size=n) for n in (0, 1, 2, 3, 400, 5, 900, 4)]
    sums: dict[tuple[int, int], float] = {}
    for distance in range(1, 5):
        for ids in texts:
            for pair in zip(ids[:-distance].tolist(), ids[distance:].tolist(), strict=True):
                sums[pair] = sums.get(pair, 0.0) + 1.0 / distance
    first, second, weight = cooccurrences(_texts(*texts), 5, block=block)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == sorted(sums)
    assert weight.tolist() == [sums[pair] for pair in sorted(sums)]


def test_of_many_tokens_evenly_spaced_sentences_count() -> None:
    """With room for half of the tokens every other sentence counts; with enough room all do."""
    texts = _texts(*([i, i + 1] for i in range(10)))
    assert cooccurrences(texts, 12, most=10)[0].tolist() == [0, 2, 4, 6, 8]
    assert cooccurrences(texts, 12, most=20)[0].tolist() == list(range(10))
    assert cooccurrences([], 12)[0].tolist() == []


def test_ids_of_stored_text_count_as_if_they_were_a_list() -> None:
    """A view of texts gives the same pairs, and the texts left out are never looked at."""
    rng = np.random.default_rng(3)
    texts = [Text(rng.integers(0, 9, 7), np.ones(7, dtype=bool)) for _ in range(40)]
    plain = cooccurrences(texts, 9, most=70)
    looked: list[int] = []

    class Watched(SelectedTexts):
        def __getitem__(self, index: int) -> Text:  # type: ignore[override]
            looked.append(index)
            return super().__getitem__(index)

    viewed = cooccurrences(Watched(texts, range(40)), 9, most=70)
    assert all((a == b).all() for a, b in zip(plain, viewed, strict=True))
    assert len(looked) == 10


def test_memory_is_that_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a block and one sentence are counted at once, and all are counted."""
    sizes: list[int] = []
    counted = word_vectors._counted

    def watched(texts: list[NDArray[np.int64]], vocabulary: int) -> Any:
        sizes.append(sum(map(len, texts)))
        return counted(texts, vocabulary)

    monkeypatch.setattr(word_vectors, "_counted", watched)
    cooccurrences(_texts(range(7)) * 100, 12, block=50)
    assert sum(sizes) == 700
    assert max(sizes) < 50 + 7


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
