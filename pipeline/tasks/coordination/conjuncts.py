"""All conjuncts of a structure: its outer boundary, cut where a second, small scorer says one ends.

Eq. 3 finds the outer boundary, and nothing here changes it. Between its ends stand *places*: runs of
commas, semicolons, dashes and coordinators ("A **,** B **, but** C and D"). The place of the coordinator
itself always parts two conjuncts; at every other one a binary decision says whether a conjunct ends there,
as inner boundaries are scored beside the outer ones by Teranishi et al. (2019):

    P(a conjunct ends at t | k) = σ(MLP([h_t; h_k]))          t: the first word of the place

- h are the words' representations that Eq. 3 reads, as they are when its weights have been chosen: the scorer
  learns after them, from values without a gradient and with random numbers of its own, so that encoder,
  endpoint scorer and all that is said of outer boundaries stay as they were, bit for bit.
- It learns from the places within the gold structures of L, and within accepted candidates: one is positive
  if no word of it is in a conjunct. Of two conjuncts all are negative, of three and more mostly not.
- A predictor that learned no such scorer (one of an earlier version, or of an L without any place) gives two
  conjuncts, one on either side of the coordinator.

The parts are cut so: at an end, the words of the place belong to no conjunct; at the coordinator, neither do
separators directly next to it. All else between the ends does, as treebanks annotate: *both*, *either*,
*neither* and modifiers that all share ("old [men] and [women]", "[bone] and [muscle] cells") lie outside the
outer boundary, which is the endpoint scorer's to find; an adverb after the coordinator ("and *then* left"),
which treebanks leave out, is taken in.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name

from pipeline.core.structures import places
from pipeline.core.types import COORDINATORS, Span
from pipeline.models.optim import decay_groups
from pipeline.tasks.coordination.scorer import TwoWordMLP

_FOR_ENDS = (
    6  # apart from the other streams of the same seed in brackets.py, optimizer.py, stream.py
)

STEPS, PLACES, RATE, DECAY = 500, 64, 1e-3, 0.01
"""Updates, places in each, the first learning rate (it falls linearly to 0) and AdamW's weight decay."""


def is_end(place: Span, conjuncts: Sequence[Span]) -> bool:
    """Whether a place within a structure parts two of its conjuncts: no word of it is in one."""
    return all(place.end <= each.start or each.end <= place.start for each in conjuncts)


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    """Places of which it is known whether a conjunct ends there.

    Attributes:
        words: what the scorer reads of each, ``[places, 2 · width]``.
        ends: 1 where a conjunct ends, else 0, ``[places]``.
    """

    words: Tensor
    ends: Tensor

    def __len__(self) -> int:
        return len(self.ends)


class EndScorer(TwoWordMLP):
    """A ``TwoWordMLP`` over the first word of a place and the coordinator."""

    def forward(self, words: Tensor) -> Tensor:
        """The logit of an end at each place, ``[places]``.

        Args:
            words: as ``read`` gives them, ``[places, 2 · width]``.
        """
        hidden = F.dropout(F.relu(self.first(words)), self.dropout, self.training)
        scores: Tensor = self.second(hidden)[:, 0]
        return scores

    def ends(self, h: Tensor, coordinator: int, found: Sequence[Span]) -> list[Span]:
        """Those places of a structure at which a conjunct ends more probably than not.

        Args:
            h: the representations of a sentence's words, ``[words, width]``.
            coordinator: the structure's.
            found: its places.
        """
        if not found:
            return []
        logits = self(read(h, coordinator, found)).tolist()
        return [place for place, logit in zip(found, logits, strict=True) if logit > 0]


def read(h: Tensor, coordinator: int, found: Sequence[Span]) -> Tensor:
    """What the scorer reads of each place of a structure: [h_t; h_k], ``[places, 2 · width]``."""
    own = h[torch.tensor([place.start for place in found], device=h.device)]
    return torch.cat([own, h[coordinator].expand_as(own)], dim=1)


def learned_ends(
    labelled: KnownPlaces, generated: KnownPlaces, *, hidden: int, dropout: float, seed: int
) -> EndScorer:
    """A scorer that has learned from places, on the CPU.

    An update takes half of its places from L and half from candidates, or all from the one that has any: so
    many candidates do not outvote what people annotated. The global stream of random numbers stays where it
    is.

    Args:
        labelled: of L; of both together at least one.
        generated: of candidates, with the same width.
        hidden: units of its hidden layer.
        dropout: of its hidden units.
        seed: of its first weights, of its masks and of the places of each update.
    """
    state = np.random.SeedSequence([seed, _FOR_ENDS])
    draw = np.random.default_rng(state)
    groups = [group for group in (labelled, generated) if len(group)]
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.default_generator.manual_seed(int(state.generate_state(1)[0]))
        scorer = EndScorer(groups[0].words.shape[1] // 2, hidden, dropout).train()
        adamw = torch.optim.AdamW(decay_groups(scorer, DECAY), lr=RATE, fused=True)
        for step in range(STEPS):
            for weights in adamw.param_groups:
                weights["lr"] = RATE * (1 - step / STEPS)
            adamw.zero_grad()
            torch.autograd.backward(_loss(scorer, groups, draw))
            adamw.step()
    return scorer.eval()


def _loss(scorer: EndScorer, groups: Sequence[KnownPlaces], draw: np.random.Generator) -> Tensor:
    """Binary cross-entropy, the mean over places drawn with replacement, from each group as many."""
    drawn = [
        (group, torch.from_numpy(draw.integers(len(group), size=PLACES // len(groups))))
        for group in groups
    ]
    words = torch.cat([group.words[index] for group, index in drawn])
    ends = torch.cat([group.ends[index] for group, index in drawn])
    return F.binary_cross_entropy_with_logits(scorer(words), ends)


Known = tuple[int, Sequence[Span], list[Span]]
"""A structure to learn from: its coordinator, its conjuncts and its places, at least one."""


def known_structures(
    words: Sequence[str],
    coordinators: Sequence[int],
    conjuncts: Sequence[Sequence[Span]],
    known: AbstractSet[str] = COORDINATORS,
) -> Iterator[Known]:
    """Yield those structures of a sentence whose conjuncts are known and that have a place.

    Args:
        words: of the sentence.
        coordinators: the word indices of the structures'.
        conjuncts: theirs.
        known: words that count as coordinators.
    """
    for coordinator, spans in zip(coordinators, conjuncts, strict=True):
        if found := places(words, coordinator, Span(spans[0].start, spans[-1].end), known):
            yield coordinator, spans, found
