"""Answers predicted and judged: accuracy, also of questions for the cause and for the effect."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.core.answered import AnsweredInstance
from pipeline.core.corpus_folder import QUESTIONS_FILE
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.questions import (
    CAUSE,
    EFFECT,
    Question,
    question_row,
    question_text,
    read_questions,
)
from pipeline.tasks.protocol import Evaluation, JudgedRows, Row, counts_among
from pipeline.tasks.questions.examples import example_of
from pipeline.tasks.questions.model import QuestionModel


class QuestionEvaluation(Evaluation[Question]):
    """See ``tasks.protocol.Evaluation``; questions of one context are drawn together in resampling."""

    title = "Accuracy (%) of answers"
    figure = "accuracy"
    schema = pa.schema(
        [
            pa.field("question_id", pa.string(), nullable=False),
            pa.field("answer", pa.int32(), nullable=False),
            pa.field("predicted", pa.int32(), nullable=False),
            pa.field("probability", pa.float32(), nullable=False),
        ]
    )
    columns = ("overall",)

    def instances(self, corpus: Path, split: str, limit: int | None) -> list[Question]:
        """The questions of a split."""
        found = list(read_questions(corpus, {split}))[:limit]
        if not found:
            raise InputError(
                f"no question in split {split!r}",
                path=corpus / QUESTIONS_FILE,
                remedy="choose another --split or a greater --limit",
            )
        return found

    def digest(self, instances: Sequence[Question]) -> str:
        """What tells them and their answers from others."""
        return digest_of([question_row(question) for question in instances])

    def documents(self, instances: Sequence[Question]) -> list[str]:
        """Their contexts."""
        return [question.doc_id for question in instances]

    def sizes(self, instances: Sequence[Question]) -> dict[str, int]:
        """How many there are, and by what they ask for where some ask for either."""
        return {name: len(places) for name, places in _columns(instances).items()}

    def rows(
        self, model: QuestionModel, instances: Sequence[Question], batch_tokens: int
    ) -> list[Row]:
        """The most probable choice of each, -1 where the model can say nothing."""
        found = model.answers([example_of(question) for question in instances], batch_tokens)
        return [
            {
                "question_id": question.question_id,
                "answer": question.answer,
                "predicted": answer.example.answer if answer else -1,
                "probability": answer.probability if answer else 0.0,
            }
            for question, answer in zip(instances, found, strict=True)
        ]

    def judged(self, instances: Sequence[Question], rows: Sequence[Row]) -> JudgedRows:
        """The share of right answers; a question without one is wrong."""
        said = np.array([row["predicted"] for row in rows])
        right = said == np.array([question.answer for question in instances])
        counts = np.ones((len(rows), 1, 3), dtype=np.int64)
        counts[:, 0, 0] = right
        return JudgedRows(
            figures={name: float(right[at].mean()) for name, at in _columns(instances).items()},
            criteria={},
            unscored=int((said < 0).sum()),
            counts=counts,
            of_columns=counts_among(counts, _columns(instances)),
        )

    def shown(self, instance: Question) -> AnsweredInstance:
        """The context with what is asked, the choices in brackets, and the right one."""
        return AnsweredInstance(
            name=instance.question_id,
            text=question_text(instance.asks, instance.context, instance.choices),
            right=instance.choices[instance.answer],
            license=instance.license,
        )

    def said(self, instance: Question, row: Row) -> tuple[str, bool]:
        """The choice."""
        predicted = row["predicted"]
        text = instance.choices[predicted] if predicted >= 0 else ""
        return text, predicted == instance.answer


def _columns(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Which questions stand in each column."""
    found = {
        asks: [place for place, question in enumerate(questions) if question.asks == asks]
        for asks in (CAUSE, EFFECT)
    }
    return {"overall": list(range(len(questions)))} | (found if all(found.values()) else {})
