"""Candidates of arguments: nobody makes any, so variants are all that training adds to L."""

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.tasks.arguments.examples import ArgumentExample
from pipeline.tasks.protocol import Drawn


class NoRows:
    """Refuses whatever is offered as candidates (``CandidateRows``)."""

    columns = pa.schema(
        [
            pa.field(name, pa.string(), nullable=False)
            for name in ("candidate_id", "sentence_id", "label")
        ]
    )
    kept = pa.schema([(name, pa.string()) for name in ("candidate_id", "label")])

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        """There are no such candidates.

        Raises:
            InputError: always.
        """
        self._refuse(place)

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """As ``check``."""
        return self._refuse()

    def drawn(self, row: Mapping[str, Any]) -> Drawn[ArgumentExample]:
        """As ``check``."""
        return self._refuse()

    def _refuse(self, place: str | None = None) -> NoReturn:
        raise InputError(
            "a corpus of arguments learns from no candidates", path=place,
            remedy="say --mode baseline, with --augment copy, mask or fill",
        )  # fmt: skip
