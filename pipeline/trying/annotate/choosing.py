"""Which sentences of a corpus are annotated next."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from pipeline.core.decisions import to_ask
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence, is_undecided

NO_COORDINATOR = "without a coordinator between words"
OTHER_SPLIT = "of another split"
TWICE = "with the same words as another"
ANNOTATED = "annotated in the corpus"


def to_annotate(sentences: Iterable[Sentence], split: str, tally: Tally) -> list[Sentence]:
    """The sentences that may be drawn.

    Those that nobody has annotated; where all are, as in a treebank, all: what it says is not shown.

    Args:
        sentences: of a corpus.
        split: of which split.
        tally: counts the others, with the reason.
    """
    found: dict[tuple[str, ...], Sentence] = {}
    for each in sentences:
        if each.split != split:
            tally.refuse(OTHER_SPLIT)
        elif not to_ask(each.words, each.coordinators):
            tally.refuse(NO_COORDINATOR)
        elif each.words in found:
            tally.refuse(TWICE)
        else:
            found[each.words] = each
    silent = [each for each in found.values() if is_undecided(each)]
    if silent:
        tally.refuse(ANNOTATED, len(found) - len(silent))
    chosen = silent or list(found.values())
    tally.keep(len(chosen))
    return chosen


def in_random_order(ids: Iterable[str], seed: int) -> list[str]:
    """The ids in an order that is a pure function of the seed and of each of them."""
    return sorted(ids, key=lambda each: hashlib.sha256(f"annotate/{seed}/{each}".encode()).digest())


def next_drawn(
    ids: Sequence[str], size: int, seed: int, before: Collection[str], sure: Mapping[str, float]
) -> list[str]:
    """The sentences that a draw adds to those drawn ``before``, up to ``size`` in all.

    Args:
        ids: that may be drawn.
        size: of all draws together.
        seed: of the order of those that nothing is known of.
        before: ids.
        sure: how sure a predictor is of a boundary that a parser denies, by id; these come first.
    """
    order = in_random_order((each for each in ids if each not in before), seed)
    order.sort(key=lambda each: -sure.get(each, -1.0))
    return order[: max(0, size - len(before))]
