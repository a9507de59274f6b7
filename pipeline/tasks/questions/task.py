"""Questions as a task: which choice a context brings about, or what did so (the discourse thesis, §2.4)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from pipeline.core.annotation import LABELLED, VALIDATION, Annotation, Part, joined
from pipeline.core.corpora import QUESTIONS
from pipeline.core.corpus_folder import QUESTIONS_FILE, corpus_name
from pipeline.core.draws import draw_name, held_out, read_drawn
from pipeline.core.questions import Question, read_questions
from pipeline.tasks.protocol import HeadSettings, Learnable, Task
from pipeline.tasks.questions.evaluation import QuestionEvaluation
from pipeline.tasks.questions.examples import QuestionExample, example_of
from pipeline.tasks.questions.model import QuestionModel
from pipeline.tasks.questions.rows import QuestionRows


class QuestionTask(Task[QuestionExample]):
    """See ``tasks.protocol.Task``; a source is a question that people wrote."""

    name = QUESTIONS
    options = frozenset({"choices_only"})
    augmentations = {}  # noqa: RUF012 - none of its own
    answer_columns = (pa.field("answer", pa.int32(), nullable=False),)
    rows = QuestionRows()
    evaluation = QuestionEvaluation()

    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[list[Question], list[Question]]:
        """The questions of L, and of the validation set."""
        known = {question.question_id: question for question in read_questions(corpus, {"train"})}
        return read_drawn(
            corpus, seed, labelled, known, of=QUESTIONS_FILE, what="training question"
        )

    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        """The answers of L and of its validation set."""
        own, watched = self.draw(corpus, seed, labelled)
        name, draw = corpus_name(corpus), draw_name(seed, labelled)

        def part(
            kind: Literal["labelled", "validation"], questions: Sequence[Question],
            use: Literal["learned", "chosen"],
        ) -> Part:  # fmt: skip
            count = len(questions)
            return Part(
                corpus=name, part=kind, draw=draw, use=use, sentences=count, questions=count
            )

        return joined([part(LABELLED, own, "learned"), part(VALIDATION, watched, "chosen")])

    def examples(
        self, sources: Sequence[Question], model: QuestionModel
    ) -> Learnable[QuestionExample]:
        """Each question is an example of one instance."""
        found = Learnable.of(model, [example_of(question) for question in sources])
        cut = sum(bool(model.pairs.cut(model.sides(example))) for example in found.learned)
        notes = {f"questions cut to {model.pairs.longest} subwords": cut} if cut else {}
        return replace(found, notes=notes)

    def labels(self, source: Question) -> AbstractSet[str]:
        """None: a candidate's label is a connective."""
        return frozenset()

    def protected(self, source: Question) -> frozenset[int]:
        """No word of the context, whose words alone change, says where the answer is."""
        return frozenset()

    def held_out(self, corpus: Path) -> frozenset[str]:
        """Questions."""
        return held_out(corpus, QUESTIONS_FILE, "question_id")

    def create(self, where: str, settings: HeadSettings, seed: int) -> QuestionModel:
        """An encoder with a fresh linear layer."""
        return QuestionModel.create(
            where,
            seed=seed,
            choices_only=settings.choices_only,
            encoder_dropout=settings.encoder_dropout,
        )

    def load(self, folder: Path) -> QuestionModel:
        """The model of a folder."""
        return QuestionModel.load(folder)
