"""The candidates that a run accepted last, drawn again, for what is learned after the weights.

Draws are a pure function of the step (``algorithm1``), and the acceptance log says which of them were
believed: so nothing has to be kept while the run goes on.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.train.algorithm1 import Constants
from pipeline.train.stream import CandidateStream

MOST = 4096
"""Different candidates: of the last updates, when the model was best, and no hours of encoding."""


def last_accepted(U: CandidateStream, log: pa.Table, constants: Constants) -> list[Any]:  # noqa: N803
    """The examples of accepted candidates, the last ones first, each once, at most ``MOST``.

    Args:
        U: the candidates that the run drew from.
        log: the run's, of ``core.schema.scored_schema``.
        constants: the run's.
    """
    accepted = log.filter(log["accepted"])
    believed: dict[int, set[str]] = {}
    for step, one in zip(
        *(accepted[name].to_pylist() for name in ("step", "candidate_id")), strict=True
    ):
        believed.setdefault(step, set()).add(one)
    found: dict[str, Any] = {}
    for step in sorted(believed, reverse=True):
        for drawn in _examined(U, step, constants):
            if drawn.candidate_id in believed[step]:
                found.setdefault(drawn.candidate_id, drawn.example)
        if len(found) >= MOST:
            break
    return list(found.values())[:MOST]


def _examined(U: CandidateStream, step: int, constants: Constants) -> Iterator[Any]:  # noqa: N803
    """The candidates that update number ``step``, from 1, may have examined."""
    first = (step - 1 - constants.warm_steps) * constants.K_max
    for turn in range(constants.K_max):
        yield from U.together(first + turn)
