"""Evaluated instances in words, with what each run said of them: for people to read."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.core.parquet import read_rows, write_rows

_ANSWER = pa.struct(
    [
        pa.field("system", pa.string(), nullable=False),
        pa.field("labelled", pa.int64(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("is_right", pa.bool_(), nullable=False),
    ]
)
ANSWERED = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("right", pa.string(), nullable=False),
        pa.field("license", pa.string(), nullable=False),
        pa.field("answers", pa.list_(pa.field("element", _ANSWER, nullable=False)), nullable=False),
    ]
)
"""The columns of ``ANSWERS_FILE``."""

ANSWERS_FILE = "answers.parquet"
"""In the folder of an evaluation."""


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What one run said.

    Attributes:
        system: the run's.
        labelled: its |L|.
        seed: its seed.
        text: the answer in words; "": none.
        is_right: whether the figure that systems are compared by counts it as right.
    """

    system: str
    labelled: int
    seed: int
    text: str
    is_right: bool


@dataclass(frozen=True, slots=True)
class AnsweredInstance:
    """An instance.

    Attributes:
        name: no other of the corpus has it.
        text: what is asked, with the words in question in brackets.
        right: the right answer in words.
        license: of the text.
        answers: of every run.
    """

    name: str
    text: str
    right: str
    license: str
    answers: tuple[RunAnswer, ...] = ()


def write_answered(path: Path, instances: Iterable[AnsweredInstance]) -> None:
    """Write the file.

    Raises:
        InputError: it cannot be written.
    """
    write_rows(path, ANSWERED, map(asdict, instances))


def read_answered(path: Path) -> Iterator[AnsweredInstance]:
    """The instances of a file, in order.

    Raises:
        InputError: it is missing, or not as ``evaluate`` wrote it.
    """
    for row in read_rows(path, ANSWERED):
        yield AnsweredInstance(
            **(row | {"answers": tuple(RunAnswer(**each) for each in row["answers"])})
        )
