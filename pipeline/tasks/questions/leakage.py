"""Event pairs that say what a held-out question says (thesis, section 3.3.3).

What is compared is a question's *base*: its cause and then its effect, one of which is the context and the
other the right choice. An event pair leaks if more than 75 % of a base's words stand in it in their order
(``text.overlap``, which asks more of bases of fewer than eight words), or if its events are the base's core
events. The thesis leaves open what is counted: here words without case and punctuation marks; and an event
that has a core event's predicate, negation and arguments is that one, whatever else it has, for which
arguments are core is a matter of each text and its settings.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.corpus_folder import QUESTIONS_FILE
from pipeline.core.errors import InputError
from pipeline.core.questions import ARROW, CAUSE, Question, read_questions
from pipeline.core.types import SPLITS
from pipeline.tasks.questions.events import Event, Predicates, event_from, predicates_of
from pipeline.tasks.questions.frames import deep
from pipeline.tasks.questions.pairs import EventPair
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
        self._texts = {each.events for each in questions if each.events is not None}
        self._events: dict[Predicates, list[_Events]] = defaultdict(list)
        for text in self._texts:
            if events := _events_from(text):
                self._events[predicates_of(*events)].append(events)

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

    def leak(
        self, words: Sequence[str], events: str | None, pair: EventPair | None = None
    ) -> str | None:
        """Why an event pair says what a held-out question says; None if it does not.

        Args:
            words: of the cause and then of the effect, with the connective that a context has.
            events: its pair of core events, as ``core.questions.pair_of_events`` writes it; None: not known.
            pair: it, with all arguments of its events; None: not known.
        """
        if self._repeats.find(_plain_words(words)):
            return COPIED
        if events in self._texts:
            return SAME_EVENTS
        said = [_events_from(events)] if events else []
        said += [(deep(pair.former_event), deep(pair.latter_event))] if pair else []
        return SAME_EVENTS if any(each and self._is_held_out(each) for each in said) else None

    def _is_held_out(self, said: "_Events") -> bool:
        return any(
            all(
                set(core.arguments) <= set(event.arguments)
                for core, event in zip(held_out, said, strict=True)
            )
            for held_out in self._events.get(predicates_of(*said), ())
        )


_Events = tuple[Event, Event]


def _events_from(text: str) -> _Events | None:
    """The pair of core events that was written so; None: words, or what this version does not write."""
    former, _, latter = text.partition(ARROW)
    events = event_from(former), event_from(latter)
    return None if events[0] is None or events[1] is None else (events[0], events[1])


def base_of(question: Question) -> str:
    """A question's cause and then its effect."""
    parts = [question.context, question.choices[question.answer]]
    return " ".join(parts[::-1] if question.asks == CAUSE else parts)


def _plain_words(texts: Sequence[str]) -> list[str]:
    text = " ".join(texts)
    found = [text[start:end] for start, end in find_words(text).offsets]
    return [word for word in found if any(map(str.isalnum, word))]
