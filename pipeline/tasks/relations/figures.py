"""Right, said and there of predicted senses."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def counted(
    right: Sequence[Sequence[str]],
    predicted: Sequence[str],
    senses: Sequence[str],
    *,
    strict: bool = False,
) -> npt.NDArray[np.int64]:
    """What was right, said and there of each pair by sense, ``[pairs, senses, 3]``: of which F1 is made.

    A pair counts once for each of its senses. A prediction that is one of them is right for all of them, as
    in the thesis's code; else, and with ``strict`` always, it is right for the very same sense alone.

    Args:
        right: the senses of each pair.
        predicted: what was said of it.
        senses: the groups; others are none.
        strict: as above.
    """
    place = {sense: index for index, sense in enumerate(senses)}
    counts = np.zeros((len(right), len(senses), 3), dtype=np.int64)
    for row, (own, said) in zip(counts, zip(right, predicted, strict=True), strict=True):
        loose = said in own and not strict
        for sense in own:
            answer = sense if loose else said
            if sense in place:
                row[place[sense], 2] += 1
                row[place[sense], 0] += answer == sense
            if answer in place:
                row[place[answer], 1] += 1
    return counts


def f1(counts: npt.NDArray[np.int64]) -> list[float | None]:
    """F1 of each sense, ``[senses, 3]``; None where there is none of it and none was said."""
    return [
        float(2 * right / (said + there)) if said + there else None for right, said, there in counts
    ]
