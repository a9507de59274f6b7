"""A writer that keeps what it is told, and asks only for what is not kept."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.models.writers.kept import KeptAnswers
from pipeline.models.writers.protocol import (
    TOO_LONG,
    Answering,
    Prompt,
    Scoring,
    TextScore,
    WrittenAnswer,
    measured,
    question_of,
    text_question_of,
)

_FEWEST = 20
"""Answers that a share is taken of; of fewer it says little."""

_MOST_EMPTY = 0.5
"""Share of answers that may be empty: beyond it the server or the prompt is at fault, not a sentence."""


class EmptyShare:
    """Counts answers, and ends a run most of whose are empty.

    Args:
        what: the name of what is counted, in the plural.
        remedy: what to do where most are empty.
    """

    def __init__(
        self,
        what: str = "completions",
        remedy: str = "look at --model, and at the server's log where there is one",
    ) -> None:
        self._what, self._remedy = what, remedy
        self._all, self._empty, self._reason = 0, 0, ""

    def add(self, *, empty: bool, reason: str = "") -> None:
        """Count an answer.

        Args:
            empty: whether there was nothing in it.
            reason: why, if it is known.
        """
        self._all += 1
        self._empty += empty
        self._reason = reason or self._reason

    def require_few(self, kept: Path | None = None) -> None:
        """Refuse to go on where more than half of the answers, of at least 20, are empty.

        Args:
            kept: the file of answers that a rerun would read again, and refuse again.

        Raises:
            ModelError: so it is.
        """
        if self._all >= _FEWEST and self._empty > _MOST_EMPTY * self._all:
            last = f" (the last: {self._reason})" if self._reason else ""
            again = f": to ask for it again, remove {kept}" if kept else ""
            remedy = self._remedy
            if self._reason == TOO_LONG:
                remedy = "ask for fewer --tokens, or name a --model that reads more"
            raise ModelError(
                f"{self._empty:,} of {self._all:,} {self._what} came back empty{last}",
                remedy=f"{remedy}; what was answered is kept{again}",
            )


class KeepingWriter:
    """See the module.

    Args:
        writer: what is asked for completions.
        kept: where they are looked up, and kept.
        share: counts empty ones, over all units of a run.
    """

    def __init__(self, writer: Answering, kept: KeptAnswers, share: EmptyShare) -> None:
        self._writer, self._kept, self._share = writer, kept, share

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """See ``Writer``; what did not come in a run that ended is asked for again.

        Raises:
            ModelError: of the writer; or most completions are empty, which are asked for again, too.
        """
        writer, kept, share = self._writer, self._kept, self._share
        questions = [question_of(writer.model, writer.sampling, prompt) for prompt in prompts]
        found: dict[str, WrittenAnswer] = {}
        missing: dict[str, Prompt] = {}
        for question, prompt in zip(questions, prompts, strict=True):
            answer = kept.answer(question)
            if answer is None or measured(prompt, answer).text is None:
                missing[question] = prompt
            elif question not in found:
                found[question] = answer
                share.add(empty=answer.empty)
        asked = list(missing)
        with closing(writer.answers(list(missing.values()))) as answers:
            for place, answer in answers:
                question = asked[place]
                found[question] = taken = measured(missing[question], answer)
                kept.add_answer(question, taken)
                share.add(empty=taken.empty, reason=taken.reason)
                try:
                    share.require_few()
                except ModelError:
                    kept.forget_empty()
                    raise
        return [found[question] for question in questions]


class KeepingScorer:
    """The same of scores of texts.

    Args:
        scorer: what is asked for scores.
        kept: where they are looked up, and kept.
        share: counts those that did not come, over all units of a run.
    """

    def __init__(self, scorer: Scoring, kept: KeptAnswers, share: EmptyShare) -> None:
        self._scorer, self._kept, self._share = scorer, kept, share

    def scored(self, texts: Sequence[str]) -> list[TextScore | None]:
        """The score of each text, in their order; None where none came.

        What did not come in a run that ended is asked for again; in this one once, as it is replayed.

        Raises:
            ModelError: of the scorer; or most scores did not come.
        """
        kept = self._kept
        questions = {text: text_question_of(self._scorer.model, text) for text in texts}
        found = {text: kept.score(question) for text, question in questions.items()}
        missing = [
            text
            for text, score in found.items()
            if score is None and not kept.added(questions[text])
        ]
        for _ in range(len(found) - len(missing)):
            self._share.add(empty=False)
        with closing(self._scorer.scores(missing)) as scores:
            for place, score in scores:
                text = missing[place]
                kept.add_score(questions[text], score)
                found[text] = score
                self._share.add(empty=score is None, reason="no log-probabilities")
                self._share.require_few()
        return [found[text] for text in texts]
