"""Where in its sentence each word of a question stands, and the words that stand there.

A clause is words in a row of a sentence, of which the first may have lost its capital (``text.clauses``). A
pair of core events names words of one sentence, too, but as heads and stems and beside names of roles: its
form has the number of a word in the place of each.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.files import digest_of
from pipeline.text.clauses import clause_text
from pipeline.text.stems import stem

_OWN = frozenset({"not", "passive", "be", "subject", "object", "indirect", "complement", "to", "→"})
"""Words that core events have beside those of the sentence (``tasks/questions/events.py``)."""

_PIECE = re.compile(r"[^\s(),]+")
_NUMBER = re.compile(r"\{(0|[1-9][0-9]{0,5})([lps]?)\}")
_BESIDE = re.compile(r"[\s(),]")


def _lower(word: str) -> str:
    return word.lower()


def _straight(word: str) -> str:
    return word.lower().replace("’", "'")


def _stem(word: str) -> str:
    return stem(_straight(word))


_FORMS: Mapping[str, Callable[[str], str]] = {"": str, "l": _lower, "p": _straight, "s": _stem}
"""What a word of the sentence may have become: by the letter after its number, the first that fits."""


@dataclass(frozen=True, slots=True)
class ClausePlace:
    """A clause as a stand-off release has it.

    Attributes:
        sentence_id: of its sentence.
        start: the first of its words there.
        end: the word after the last.
        lowered: whether the first word loses its capital.
        digest: of the words of the sentence.
    """

    sentence_id: str
    start: int
    end: int
    lowered: bool
    digest: str

    @property
    def span(self) -> dict[str, Any]:
        """The value of a column."""
        return {"sentence_id": self.sentence_id, "start": self.start, "end": self.end}


def sentence_digest(words: Sequence[str]) -> str:
    """16 hex digits that tell the words of a sentence from others."""
    return digest_of(list(words))[:16]


def place_of_clause(
    sentence_id: str, clause: Sequence[str], sentence: Sequence[str], *, lowered: bool
) -> ClausePlace | None:
    """Where a clause stands in its sentence; None: its words do not stand there in a row."""
    length = len(clause)
    for start in range(len(sentence) - length + 1):
        if tuple(sentence[start : start + length]) == tuple(clause):
            digest = sentence_digest(sentence)
            return ClausePlace(sentence_id, start, start + length, lowered, digest)
    return None


def in_order(clause: Sequence[str], sentence: Sequence[str]) -> bool:
    """Whether the words of a clause stand in a sentence one after the other, whatever is between them."""
    rest = iter(sentence)
    return all(word in rest for word in clause)


def text_at(place: Mapping[str, Any], sentence: Sequence[str], *, lowered: bool) -> str | None:
    """The text of a clause from its sentence; None: the sentence is shorter."""
    start, end = place["start"], place["end"]
    if not 0 <= start < end <= len(sentence):
        return None
    return clause_text(sentence[start:end], lowered=lowered)


def places_of_events(events: str, sentence: Sequence[str]) -> str | None:
    """A pair of core events with numbers in the place of the sentence's words.

    Returns:
        Such as ``{4s}(subject {3}, object {6}) → {9s}(subject {8})``; None: a word is none of the sentence.
    """
    known = dict[str, str]()
    for letter, form in reversed(list(_FORMS.items())):
        for number in reversed(range(len(sentence))):
            known[form(sentence[number])] = f"{{{number}{letter}}}"
    pieces = set(_PIECE.findall(events))
    if not pieces <= _OWN | known.keys():
        return None
    return _PIECE.sub(lambda found: known.get(found[0], found[0]), events)


def is_form_of_events(text: str) -> bool:
    """Whether a text is what ``places_of_events`` may give, which has no word of a sentence."""
    return all(piece in _OWN or _NUMBER.fullmatch(piece) for piece in _BESIDE.split(text) if piece)


def events_at(form: str, sentence: Sequence[str]) -> str | None:
    """The pair of core events again; None: the sentence is shorter."""
    numbers = [int(found[1]) for found in _NUMBER.finditer(form)]
    if any(number >= len(sentence) for number in numbers):
        return None
    return _NUMBER.sub(lambda found: _FORMS[found[2]](sentence[int(found[1])]), form)
