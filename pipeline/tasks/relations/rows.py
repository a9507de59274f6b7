"""What training reads of rows of synthetic pairs."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.pairs import SYNTHETIC
from pipeline.core.words import is_without_control
from pipeline.tasks.protocol import Drawn
from pipeline.tasks.relations.examples import PairExample

_READ = ("candidate_id", "sentence_id", "label", "arg1", "arg2")


class RelationRows:
    """A synthetic pair: the arguments and the sense that they were written for (``CandidateRows``)."""

    columns = pa.schema([SYNTHETIC.field(name) for name in _READ])
    kept = pa.schema([(name, pa.string()) for name in _READ if name != "sentence_id"])

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        """Nothing is null or has a control character, and both arguments have words."""
        for name in self.columns.names:
            for number, value in enumerate(batch.column(name).to_pylist()):
                if value is None or not value.strip():
                    fault = f"no {name}"
                elif not is_without_control(value):
                    fault = f"a control character in its {name}"
                else:
                    continue
                raise InputError(
                    f"row {first + number:,} has {fault}", path=place,
                    remedy="make the candidates again with `conjoin synthesize`",
                )  # fmt: skip

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """64 bits of id, label and arguments of each row."""
        rows = zip(*(batch.column(name).to_pylist() for name in self.kept.names), strict=True)
        whole = b"".join(blake2b("\x1e".join(row).encode(), digest_size=8).digest() for row in rows)
        return np.frombuffer(whole, dtype=">u8").astype(np.uint64)

    def drawn(self, row: Mapping[str, Any]) -> Drawn[PairExample]:
        """The pair; its size is the words of Arg2, which is what was written."""
        first, second = (tuple(row[name].split()) for name in ("arg1", "arg2"))
        example = PairExample(first + second, len(first), (row["label"],))
        return Drawn(row["candidate_id"], row["label"], len(second), 0, example)
