"""What people decided of the coordinators of a corpus: a file of lines that only grows.

A line draws sentences, decides something, or undoes the last decision that stands (``core/cards/decisions``).
What has been decided follows from the lines alone, so a process that is killed loses nothing that it said it
had. The file has no text: it names sentences by their ids, and a digest tells whether their words are still
the same.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.core.cards.decisions import By, DecidedLine, DrawnLine, UndoneLine
from pipeline.core.documents import check_form, parse_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.structures import fault_of_sentence, linking
from pipeline.core.types import COORDINATORS, UNLABELLED, Coordination, Span

FIRST = '{"drawn": '
"""How the first line of such a file begins."""


@dataclass(frozen=True, slots=True)
class DrawnToAnnotate:
    """Sentences to be annotated.

    Attributes:
        ids: theirs, in their order.
        corpus: its name.
        by: how they were chosen.
        seed: of the draw.
    """

    ids: tuple[str, ...]
    corpus: str
    by: By
    seed: int


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """What somebody decided.

    Attributes:
        sentence_id: of which sentence.
        words: ``words_digest`` of its words.
        coordinator: of which structure; None: the sentence is set aside.
        conjuncts: the structure's; none: the coordinator joins nothing.
        seconds: that it took.
    """

    sentence_id: str
    words: str
    coordinator: int | None = None
    conjuncts: tuple[Span, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Undone:
    """That the last decision that stands is taken back: of this sentence and coordinator."""

    sentence_id: str
    coordinator: int | None


Event = DrawnToAnnotate | DecisionMade | Undone


@dataclass(frozen=True, slots=True)
class Decided:
    """All that stands: what was drawn, and the decisions in their order; ``lines`` are those of decisions."""

    drawn: tuple[str, ...] = ()
    decisions: tuple[DecisionMade, ...] = ()
    lines: tuple[int, ...] = field(default=(), compare=False)

    def after(self, event: Event, line: int = 0) -> "Decided":
        """What stands after an event.

        Args:
            event: the next one.
            line: of the file, where it stands.

        Raises:
            InputError: it undoes what is not the last decision, draws a sentence twice, or decides what was
                not drawn or is decided.
        """
        match event:
            case DrawnToAnnotate():
                if again := set(event.ids).intersection(self.drawn):
                    raise InputError("drawn twice", sentence_id=min(again), remedy=_REMEDY)
                return replace(self, drawn=(*self.drawn, *event.ids))
            case Undone():
                last = self.decisions[-1] if self.decisions else None
                if last is None or _place(last) != _place(event):
                    raise InputError(
                        "not the last decision is undone",
                        sentence_id=event.sentence_id, remedy=_REMEDY,
                    )  # fmt: skip
                return replace(self, decisions=self.decisions[:-1], lines=self.lines[:-1])
            case DecisionMade():
                known = self.of(event.sentence_id)
                if event.sentence_id not in self.drawn:
                    raise InputError(
                        "decided, but not drawn", sentence_id=event.sentence_id, remedy=_REMEDY
                    )
                if event.coordinator in known or None in known:
                    raise InputError(
                        "decided already", sentence_id=event.sentence_id, remedy="undo it first"
                    )
                return replace(self, decisions=(*self.decisions, event), lines=(*self.lines, line))

    def of(self, sentence_id: str) -> dict[int | None, DecisionMade]:
        """The decisions of a sentence, by coordinator; None: that it is set aside."""
        return {d.coordinator: d for d in self.decisions if d.sentence_id == sentence_id}


_REMEDY = "put back the file as `conjoin annotate` wrote it"


def _place(event: DecisionMade | Undone) -> tuple[str, int | None]:
    return event.sentence_id, event.coordinator


def words_digest(words: Sequence[str]) -> str:
    """What tells the words of a sentence from others: 12 hex digits."""
    return digest_of(list(words))[:12]


def to_ask(words: Sequence[str], coordinators: AbstractSet[str] = COORDINATORS) -> list[int]:
    """The coordinators of a sentence that may join something: a word stands on either side."""
    return [k for k in range(1, len(words) - 1) if words[k].lower() in coordinators]


def fault_of_decision(
    words: Sequence[str], decision: DecisionMade, coordinators: AbstractSet[str] = COORDINATORS
) -> str | None:
    """Why a decision is none on a sentence with these words, whatever else is decided there; or None."""
    if decision.words != words_digest(words):
        return "other words than the corpus has of this sentence were decided on"
    k = decision.coordinator
    if k is None:
        return None
    if k not in to_ask(words, coordinators):
        return f"word {k} of {len(words)} is no coordinator between words"
    structure = Coordination(k, words[k], UNLABELLED, decision.conjuncts)
    return fault_of_sentence(words, [structure]) if decision.conjuncts else None


def undecided(
    words: Sequence[str],
    decisions: Mapping[int | None, DecisionMade],
    coordinators: AbstractSet[str] = COORDINATORS,
) -> list[int]:
    """Those of them of which nothing is known yet, in order.

    Nothing is asked of a coordinator that links other conjuncts of a structure ("a *and* b *and* c"), nor of
    a sentence that is set aside.
    """
    if None in decisions:
        return []
    known = {k for each in decisions.values() for k in linking(words, each.conjuncts, coordinators)}
    return [k for k in to_ask(words, coordinators) if k not in known and k not in decisions]


def structures_of(
    words: Sequence[str], decisions: Iterable[DecisionMade]
) -> tuple[Coordination, ...]:
    """The structures that were decided on in a sentence, by their coordinators; nobody said their labels."""
    found = [
        Coordination(each.coordinator, words[each.coordinator], UNLABELLED, each.conjuncts)
        for each in decisions
        if each.coordinator is not None and each.conjuncts
    ]
    return tuple(sorted(found, key=lambda each: each.coordinator))


def line_of(event: Event) -> str:
    """An event as a line of the file, with its end."""
    document: DrawnLine | DecidedLine | UndoneLine
    match event:
        case DrawnToAnnotate():
            document = {
                "drawn": list(event.ids), "corpus": event.corpus, "by": event.by, "seed": event.seed,
            }  # fmt: skip
        case Undone():
            document = {"undone": event.sentence_id}
            if event.coordinator is not None:
                document["coordinator"] = event.coordinator
        case DecisionMade():
            document = {"sentence_id": event.sentence_id, "words": event.words}
            if event.coordinator is not None:
                document["coordinator"] = event.coordinator
                document["conjuncts"] = [[span.start, span.end] for span in event.conjuncts]
            document["seconds"] = event.seconds
    return json.dumps(document, ensure_ascii=False) + "\n"


def event_of(text: str, path: Path, line: int) -> Event:
    """The event of a line.

    Raises:
        InputError: it is none, with file and line.
    """
    document: dict[str, Any] = parse_json(text, path=path, line=line, remedy=_REMEDY)
    form = DrawnLine if "drawn" in document else UndoneLine if "undone" in document else DecidedLine
    check_form(document, form, path=path, line=line, remedy=_REMEDY)
    if form is DrawnLine:
        return DrawnToAnnotate(
            tuple(document["drawn"]), *(document[k] for k in ("corpus", "by", "seed"))
        )
    coordinator = document.get("coordinator")
    if form is UndoneLine:
        return Undone(document["undone"], coordinator)
    spans = document.get("conjuncts", [])
    if any(len(span) != 2 for span in spans):
        raise InputError(
            "a conjunct is a first word and the one behind its last", path=path, line=line,
            remedy=_REMEDY,
        )  # fmt: skip
    return DecisionMade(
        document["sentence_id"], document["words"], coordinator,
        tuple(Span(*span) for span in spans), float(document.get("seconds", 0)),
    )  # fmt: skip


def read_decided(lines: Iterable[tuple[int, str]], path: Path) -> Decided:
    """What stands after some lines of a file, with their numbers.

    Raises:
        InputError: a line is no event, or cannot follow what is before it.
    """
    found = Decided()
    for number, text in lines:
        event = event_of(text, path, number)
        try:
            found = found.after(event, number)
        except InputError as error:
            raise InputError(
                error.what, path=path, line=number,
                sentence_id=getattr(event, "sentence_id", None), remedy=_REMEDY,
            ) from error  # fmt: skip
    return found
