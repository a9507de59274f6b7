"""How much a generated example counts in the loss against the labelled ones."""

from collections.abc import Sequence

from pipeline.tasks.protocol import Example


def loss_shares(
    generated: Sequence[Example], labelled: Sequence[Example], factor: float | None
) -> list[float] | None:
    """What an instance of each example counts in the loss of a batch, which is Σ share · nll.

    With a factor λ: mean over labelled instances + λ · mean over generated ones; a term without
    instances is 0. Without: one mean over all instances of the batch (the paper).

    Args:
        generated: those of B.
        labelled: SAMPLE(L, N_batch - K).
        factor: λ, or None.

    Returns:
        Shares of the generated and then of the labelled examples; None where all are one over the
        number of instances.
    """
    if not generated or factor is None:
        return None
    theirs, ours = (sum(e.instances for e in part) for part in (generated, labelled))
    return [factor / theirs for _ in generated] + [1 / ours for _ in labelled]
