"""What training reads of rows of questions that ``ask`` made."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.questions import PSEUDO_QUESTIONS
from pipeline.core.words import is_without_control
from pipeline.tasks.protocol import Drawn
from pipeline.tasks.questions.examples import QuestionExample, example_from

_READ = ("candidate_id", "sentence_id", "label", "context", "choices", "answer")


class QuestionRows:
    """A question made of an event pair: its label is the pair's connective (``CandidateRows``)."""

    columns = pa.schema([PSEUDO_QUESTIONS.field(name) for name in _READ])
    kept = pa.schema(
        [
            ("candidate_id", pa.string()), ("label", pa.string()), ("context", pa.string()),
            ("choices", pa.list_(pa.string())), ("answer", pa.int32()),
        ]
    )  # fmt: skip

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        """All text has words and no control character; choices differ, and the answer is one of them."""
        for number, row in enumerate(batch.select(_READ).to_pylist(), first):
            if fault := _fault(row):
                raise InputError(
                    f"row {number:,} has {fault}", path=place,
                    remedy="make the questions again with `conjoin ask`",
                )  # fmt: skip

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """64 bits of id, label, context, choices and answer of each row."""
        rows = batch.select(self.kept.names).to_pylist()
        flat = (
            (row["candidate_id"], row["label"], row["context"], str(row["answer"]), *row["choices"])
            for row in rows
        )
        whole = b"".join(blake2b("\x1e".join(row).encode(), digest_size=8).digest() for row in flat)
        return np.frombuffer(whole, dtype=">u8").astype(np.uint64)

    def drawn(self, row: Mapping[str, Any]) -> Drawn[QuestionExample]:
        """The question, which asks for the effect; its size is the words of the right choice."""
        example = example_from(row["context"], row["choices"], row["answer"])
        size = len(example.choices[example.answer])
        return Drawn(row["candidate_id"], row["label"], size, 0, example)


def _fault(row: Mapping[str, Any]) -> str | None:
    """What is wrong with a row, or None."""
    choices, answer = row["choices"], row["answer"]
    if choices is None or len(choices) < 2:
        return "fewer than two choices"
    if answer is None or not 0 <= answer < len(choices):
        return f"the answer {answer} of {len(choices)} choices"
    texts = [(name, row[name]) for name in _READ if name not in ("choices", "answer")]
    for name, value in (*texts, *(("choice", each) for each in choices)):
        if value is None or not value.strip():
            return f"no {name}"
        if not is_without_control(value):
            return f"a control character in its {name}"
    return "two choices alike" if len(set(choices)) < len(choices) else None
