"""The constituents of L as a task beside its coordinations: what a tree knows that boundaries do not say.

From the words' representations h, which the encoder has computed for the coordinations, a head tells of every
span of two words and more whether it is a constituent of the gold tree:

    SCORE(i, j) = MLP([h_i; h_j])          i < j, the first word and the last

Its MLP is of the scorer's form (one hidden layer, ReLU, dropout; ``scorer``), so words are
projected once and pairs are only added. The head teaches the encoder and is no part of the predictor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from pipeline.core.errors import InputError
from pipeline.core.types import Sentence, Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.scorer import (
    Grid,
    TwoWordMLP,
    keep_masks,
    keep_share,
    pair_scores,
)
from pipeline.text.trees import constituents, parse_tree

_FOR_BRACKETS = 5  # apart from the other streams of the same seed in stream.py, optimizer.py

Brackets = frozenset[Span]
"""The constituents of a tree of two words and more, whatever their labels."""


def brackets_of(sentence: Sentence) -> Brackets:
    """The constituents of a sentence that has a tree, the whole of it among them.

    Raises:
        InputError: the tree is none, or not of the sentence's words.
    """
    tree = parse_tree(sentence.tree or "")
    if len(tree.leaves()) != len(sentence.words):
        raise InputError(
            f"a tree of {len(tree.leaves())} words for a sentence of {len(sentence.words)}",
            sentence_id=sentence.sentence_id, remedy="mend the corpus and ingest it again",
        )  # fmt: skip
    return frozenset(each.span for each in constituents(tree) if len(each.span) > 1)


class BracketHead(TwoWordMLP):
    """A ``TwoWordMLP`` over the first and the last word of a span."""

    def forward(self, h: Tensor, sentences: Sequence[tuple[int, int, Brackets]]) -> Tensor:
        """Binary cross-entropy, summed over some sentences (those that stand there twice count twice).

        That of a sentence is the mean of two means: over its constituents and over all other spans.

        Args:
            h: word representations ``[sentences, words, width]``.
            sentences: the row in h, the number of words and the constituents of each; at least one.

        Returns:
            A scalar, with its gradient.
        """
        places = [row * h.shape[1] + np.arange(n) for row, n, _ in sentences]
        index = torch.from_numpy(np.concatenate(places)).to(h.device)
        words = F.embedding(index, h.flatten(0, 1))
        begin, end = self.first.weight.chunk(2, dim=1)
        wide = torch.promote_types(h.dtype, self.first.weight.dtype)
        begins, ends = F.linear(words, begin).to(wide), F.linear(words, end).to(wide)
        grids, at = list[Grid](), 0
        for _, n, _ in sentences:
            grids.append(Grid(at, n, at, n))
            at += n
        # As in the scorer: sums, and what is made of them, are not in half precision.
        with torch.autocast(h.device.type, enabled=False):
            weight, masks = self.second.weight[0], None
            if self.training and self.dropout:
                masks = keep_masks(grids, len(weight), self.dropout, h.device)
                weight = weight / keep_share(self.dropout)
            shifts = self.first.bias.repeat(len(grids), 1)
            scores = pair_scores(begins, ends, shifts, weight, grids=grids, masks=masks)
            scores = scores + self.second.bias
            targets = [_targets(n, brackets) for _, n, brackets in sentences]
            gold, shares = (
                torch.from_numpy(np.concatenate(part)).to(h.device)
                for part in zip(*targets, strict=True)
            )
            return F.binary_cross_entropy_with_logits(scores, gold, shares, reduction="sum")


def _targets(n: int, brackets: Brackets) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs of n words, first words slowest: whether they bound a constituent, and their share.

    The shares of constituents add up to a half, and so do those of other spans; where there is only one of
    the two kinds, to one. Pairs that are no span of two words and more have none.
    """
    gold = np.zeros((n, n), np.float32)
    for span in brackets:
        gold[span.start, span.end - 1] = 1
    spans = np.triu(np.ones((n, n), np.float32), 1)
    kinds = [part for part in (gold, spans - gold) if part.any()]
    shares = sum(part / part.sum() / len(kinds) for part in kinds)
    return gold.ravel(), np.asarray(shares, np.float32).ravel()


class Bracketed(nn.Module):
    """A predictor and the head that learns beside it.

    Args:
        predictor: whose words the head looks at.
        head: the head, on the predictor's device.
    """

    def __init__(self, predictor: CoordinationPredictor, head: BracketHead) -> None:
        super().__init__()
        self.predictor, self.head = predictor, head

    def forward(
        self,
        examples: Sequence[CoordinationExample],
        weights: Sequence[float] | None,
        brackets: Sequence[Brackets | None],
    ) -> tuple[Tensor, Tensor]:
        """The loss of the coordinations (``CoordinationPredictor.forward``) and that of the brackets.

        Args:
            examples: the batch.
            weights: what an instance of each counts.
            brackets: the constituents of each; None of those that the head does not learn from.
        """
        loss, h, rows = self.predictor.loss_and_words(examples, weights)
        known = [
            (row, len(example.words), each)
            for row, example, each in zip(rows, examples, brackets, strict=True)
            if each is not None
        ]
        if known:
            return loss, self.head(h, known)
        # DDP wants a gradient of all weights from every process.
        return loss, sum((p.sum() * 0 for p in self.head.parameters()), loss.new_zeros(()))


@dataclass(frozen=True, slots=True)
class BracketTask:
    """What a run learns of brackets.

    Attributes:
        bracketed: the predictor with a head.
        known: the constituents of L's sentences, by their words.
    """

    bracketed: Bracketed
    known: Mapping[tuple[str, ...], Brackets]

    @classmethod
    def of(
        cls, predictor: CoordinationPredictor, seed: int, sentences: Sequence[Sentence]
    ) -> "BracketTask":
        """A fresh head of the sizes of the predictor's scorer, drawn with ``seed``, and its material.

        Args:
            predictor: whose encoder is to learn.
            seed: of the run.
            sentences: L; those without a tree teach nothing. Of several with the same words the first
                does.

        Raises:
            InputError: a tree is not of its sentence's words.
        """
        state = np.random.SeedSequence([seed, _FOR_BRACKETS]).generate_state(1)
        width: int = predictor.config.hidden_size
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(state[0]))
            head = BracketHead(width, predictor.mlp_hidden, predictor.dropout)
        known: dict[tuple[str, ...], Brackets] = {}
        for sentence in sentences:
            if sentence.tree is not None and sentence.words not in known:
                known[sentence.words] = brackets_of(sentence)
        return cls(Bracketed(predictor, head.to(predictor.device)), known)

    @property
    def head(self) -> BracketHead:
        """The head."""
        return self.bracketed.head

    def beside(
        self, generated: Sequence[CoordinationExample], labelled: Sequence[CoordinationExample]
    ) -> list[Brackets | None]:
        """The constituents of each example of a batch: of labelled ones, but not of their variants."""
        own = [None if e.variant else self.known.get(e.words) for e in labelled]
        return [*[None] * len(generated), *own]
