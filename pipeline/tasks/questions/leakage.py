"""Event pairs that say what a held-out question says (thesis, section 3.3.3).

What is compared is a question's *base*: its cause and then its effect, one of which is the context and the
other the right choice. An event pair leaks if more than 75 % of a base's words stand in it in their order
(``text.overlap``, which asks more of bases of fewer than eight words), or if its pair of core events is the
base's. The thesis leaves open what is counted: here words without case and punctuation marks.
"""

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.corpus_folder import QUESTIONS_FILE
from pipeline.core.errors import InputError
from pipeline.core.questions import CAUSE, Question, read_questions
from pipeline.core.types import SPLITS
from pipeline.text.natural import find_words
from pipeline.text.overlap import NearRepeats

COPIED = "more than 75 % of the words of a held-out question, in their order"
SAME_EVENTS = "pair of core events of a held-out question"


class HeldOutQuestions:
    """Questions that nothing may be learned of.

    Args:
        questions: held-out ones.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._repeats = NearRepeats([_plain_words([base_of(each)]) for each in questions])
        self._events = {each.events for each in questions} - {None}

    @classmethod
    def read(cls, corpus: Path, splits: Sequence[str]) -> "HeldOutQuestions":
        """The questions of some splits of a corpus.

        Raises:
            InputError: there is no such corpus, it is damaged, or one of the splits has no question.
        """
        found = list(read_questions(corpus))
        for split in splits:
            if all(each.split != split for each in found):
                there = [name for name in SPLITS[1:] if any(each.split == name for each in found)]
                raise InputError(
                    f"no question of split {split}", path=corpus / QUESTIONS_FILE,
                    remedy=f"held-out splits there are: {', '.join(there) or 'none'}",
                )  # fmt: skip
        return cls([each for each in found if each.split in splits])

    def leak(self, words: Sequence[str], events: str | None) -> str | None:
        """Why an event pair says what a held-out question says; None if it does not.

        Args:
            words: of the cause and then of the effect, with the connective that a context has.
            events: its pair of core events, as ``core.questions.pair_of_events`` writes it; None: not known.
        """
        if self._repeats.find(_plain_words(words)):
            return COPIED
        return SAME_EVENTS if events in self._events else None


def base_of(question: Question) -> str:
    """A question's cause and then its effect."""
    parts = [question.context, question.choices[question.answer]]
    return " ".join(parts[::-1] if question.asks == CAUSE else parts)


def _plain_words(texts: Sequence[str]) -> list[str]:
    text = " ".join(texts)
    found = [text[start:end] for start, end in find_words(text).offsets]
    return [word for word in found if any(map(str.isalnum, word))]
