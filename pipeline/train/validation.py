"""What the validation sentences say of a predictor: how often it is right, and how sure of the truth."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.types import Span
from pipeline.tasks.coordination.examples import Example, instances, obstacle
from pipeline.tasks.coordination.model import Predictor
from pipeline.train.distributed import ProcessGroup


@dataclass(frozen=True, slots=True)
class Validation:
    """One look at the validation sentences.

    Attributes:
        accuracy: share of coordinators whose outer boundary is predicted exactly, in [0, 1]; an
            instance that the predictor cannot score counts as wrong.
        loss: mean negative log-likelihood (natural logarithm) of the annotated structures that can be
            scored. The others have no likelihood under any weights, so they are left out of the mean;
            None where none can be scored.
    """

    accuracy: float
    loss: float | None


def validate(
    predictor: Predictor, examples: Sequence[Example], group: ProcessGroup | None = None
) -> Validation:
    """Accuracy and loss from one pass over the sentences, which a group shares."""
    group = group or ProcessGroup(0, 1, predictor.device)
    words, ks, gold = instances(group.share(examples))
    right, scored, loss = 0, 0, 0.0
    for index, scores in predictor.distributions(words, ks):
        i, b = divmod(int(scores.argmax()), scores.shape[1])
        extent, k = gold[index], ks[index]
        right += extent == Span(i, k + 2 + b)
        if obstacle(words[index], k, extent) is None:
            scored += 1
            loss -= float(scores[extent.start, extent.end - 2 - k])
    parts = group.collect([(right, scored, loss)], group.world)
    rights, counts, losses = zip(*parts, strict=True)
    total = sum(len(example.coordinators) for example in examples)
    return Validation(sum(rights) / total, sum(losses) / sum(counts) if sum(counts) else None)
