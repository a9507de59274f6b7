"""Questions that ``conjoin ask`` made of event pairs, as a corpus of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.candidates import candidate_shards
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST, column_names, read_rows
from pipeline.core.questions import PSEUDO_QUESTIONS, Question
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS
from pipeline.corpus.layout import find_shards
from pipeline.ingest.readers.question_lines import of_context, unusable

_AGAIN = "make them again with `conjoin ask`"


def read_asked(source: Path, tally: Tally, *, strict: bool = False) -> Iterator[Question]:
    """Yield the questions of a folder of candidates, or of a release, each in the split that its row names.

    Ids are ``asked/`` and the row's ``candidate_id``.

    Args:
        source: the folder.
        tally: counts what is kept, and questions with two choices alike or without words.
        strict: such a question is an error instead.

    Raises:
        InputError: ``ask`` did not finish there, it is a stand-off release, a file has other columns, or a
            row an answer that is no choice's, or a split that there is not.
    """
    shards = candidate_shards(source)
    if not shards or not (source / MANIFEST).is_file():
        raise InputError(
            "no questions of `conjoin ask` here",
            path=source,
            remedy="name a folder that it finished",
        )
    if find_shards(source).kind == "stand-off":
        raise InputError(
            "a stand-off release: its questions have no words", path=source,
            remedy="rebuild it with `conjoin rehydrate` first",
        )  # fmt: skip
    for path in shards:
        for number, row in enumerate(_rows(path)):
            question = Question(
                question_id=f"asked/{row['candidate_id']}", doc_id=of_context(row["context"]),
                split=row["split"], asks="effect", context=row["context"], choices=tuple(row["choices"]),
                answer=row["answer"], events=row["events"], agreement=None, license=row["license"],
            )  # fmt: skip
            fault = None
            if question.split not in SPLITS:
                fault = f"a split that there is not: {question.split[:40]!r}"
            elif not 0 <= question.answer < len(question.choices):
                fault = f"answer {question.answer} of {len(question.choices)} choices"
            reason = unusable(question)
            if fault or (reason and strict):
                raise InputError(f"row {number:,} has {fault or reason}", path=path, remedy=_AGAIN)
            if reason:
                tally.refuse(reason, place=f"{path}: row {number:,}")
                continue
            tally.keep()
            yield question


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file; those of a release name their run, too."""
    released = "generation" in column_names(path)
    return read_rows(path, PSEUDO_QUESTIONS.append(_RUN) if released else PSEUDO_QUESTIONS)


_RUN = pa.field("generation", pa.string(), nullable=False)
