"""What a model takes for what: the matrix of senses, and its largest cells off the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.core.errors import InputError
from pipeline.core.pairs import Pair
from pipeline.tasks.relations.examples import example_of
from pipeline.tasks.relations.model import RelationModel

Matrix = npt.NDArray[np.int64]
"""How often a pair of a sense (row) was taken for a sense (column), ``[senses, senses]``."""

LEAST_ERRORS = 3
"""Fewer errors in a cell say little of how a model errs."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """A cell off the diagonal: ``errors`` of ``there`` pairs of sense ``true`` taken for ``predicted``."""

    true: str
    predicted: str
    errors: int
    there: int

    @property
    def rate(self) -> float:
        """The share of the sense's pairs."""
        return self.errors / self.there


def confusions(
    right: Sequence[Sequence[str]], predicted: Sequence[str | None], senses: Sequence[str]
) -> Matrix:
    """The matrix of some pairs: one taken for any of its senses is right for all of them.

    Args:
        right: the senses of each pair.
        predicted: what the model says of each; None: nothing, and the pair is left out.
        senses: the rows and columns; others have none.
    """
    place = {sense: index for index, sense in enumerate(senses)}
    counts = np.zeros((len(senses), len(senses)), dtype=np.int64)
    for own, said in zip(right, predicted, strict=True):
        if said not in place:
            continue
        for sense in own:
            if sense in place:
                counts[place[sense], place[sense if said in own else said]] += 1
    return counts


def matrix_of(model: RelationModel, pairs: Sequence[Pair]) -> Matrix:
    """The matrix of what a model says of some pairs, by its senses.

    Raises:
        InputError: a pair has no sense that the model tells: it learned from another corpus.
    """
    for pair in pairs:
        if not set(pair.senses) & set(model.senses):
            raise InputError(
                f"the run's model tells no sense of this pair: {', '.join(pair.senses)}",
                sentence_id=pair.pair_id, remedy="name a run that was trained on this corpus as it is now",
            )  # fmt: skip
    answers = model.answers([example_of(pair) for pair in pairs])
    predicted = [answer.example.senses[0] if answer else None for answer in answers]
    return confusions([pair.senses for pair in pairs], predicted, model.senses)


def largest(
    matrix: Matrix, senses: Sequence[str], k: int, least_errors: int = LEAST_ERRORS
) -> list[Confusion]:
    """The ``k`` cells off the diagonal with the highest share of their row, of those with enough errors.

    Of equal shares the upper row is first, then the lefter column, as the thesis's Table 4.4 has them.
    """
    there = matrix.sum(1)
    cells = [
        (row, column)
        for row, column in np.argwhere(matrix >= max(least_errors, 1)).tolist()
        if row != column
    ]
    cells.sort(key=lambda cell: (-matrix[cell] / there[cell[0]], *cell))
    return [
        Confusion(senses[row], senses[column], int(matrix[row, column]), int(there[row]))
        for row, column in cells[:k]
    ]
