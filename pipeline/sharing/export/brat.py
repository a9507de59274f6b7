"""brat's stand-off form, https://brat.nlplab.org/standoff.html, in a folder.

``T`` lines are stretches of text with character offsets, an ``E`` line is a coordination whose trigger is the
coordinator and whose arguments are the conjuncts, an ``A`` line its label, a ``#`` line a note.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from pipeline.core.claims import Listed
from pipeline.core.tally import Tally
from pipeline.core.types import REFERENCE_LABELS
from pipeline.sharing.export.protocol import (
    Format,
    Item,
    Unwritable,
    donors_of,
    is_value,
    written,
)

CONFIGURATION = "annotation.conf"
_MARK = "# Written by conjoin export."
_SUFFIXES = (".txt", ".ann")
_SENTENCES = 100  # of a document: what brat shows without delay


class Brat:
    """A folder of documents of a hundred sentences, each on a line, with stand-off annotations."""

    trees, caution = False, ""
    folder = True

    def require_writer(self) -> None:
        """See ``Format``: Python is enough."""

    def earlier(self, out: Path, formats: Iterable[Format]) -> Listed:
        """See ``Format``: a configuration that was written here, and the documents from 0 on."""
        del formats  # no other is a folder
        mark = out / CONFIGURATION
        if not mark.is_file() or not mark.read_text("utf-8", "replace").startswith(_MARK):
            return None
        listed = [CONFIGURATION]
        for number in count():
            pair = [_document(number, suffix) for suffix in _SUFFIXES]
            if not all((out / name).is_file() for name in pair):
                return listed
            listed += pair
        raise AssertionError  # there is no end to numbers

    def write(self, out: Path, items: Iterable[Item], tally: Tally) -> None:
        """See ``Format``."""
        labels = dict.fromkeys(REFERENCE_LABELS)
        kept, number = written(items, _for_brat, tally), 0
        while part := list(islice(kept, _SENTENCES)):
            text: list[str] = []
            notes: list[str] = []
            base, stretches, events = 0, count(1), count(1)
            for item in part:
                sentence = " ".join(item.words)
                notes += _annotations(item, base, stretches, events)
                text.append(f"{sentence}\n")
                base += len(sentence) + 1
                labels |= dict.fromkeys(each.label for each in item.structures)
            for suffix, lines in zip(_SUFFIXES, (text, notes), strict=True):
                path = out / _document(number, suffix)
                path.write_text("".join(lines), encoding="utf-8", newline="\n")
            number += 1
        (out / CONFIGURATION).write_text(_configuration(labels), encoding="utf-8")


def _document(number: int, suffix: str) -> str:
    return f"candidates-{number:05d}{suffix}"


def _for_brat(item: Item) -> Item:
    if any(set(word) & set("\t\n\r") for word in item.words):
        raise Unwritable("a word with a tab or line end")
    if not all(is_value(each.label) for each in item.structures):
        raise Unwritable("a label that brat cannot have")
    return item


def _annotations(
    item: Item, base: int, stretches: Iterator[int], events: Iterator[int]
) -> Iterator[str]:
    """The lines of a sentence that begins at a character of its document.

    Args:
        item: the sentence.
        base: the character.
        stretches: numbers for its stretches of text.
        events: numbers for its events.
    """
    begins, at = [], base
    for word in item.words:
        begins.append(at)
        at += len(word) + 1

    def stretch(start: int, end: int) -> str:
        text = " ".join(item.words[start:end])
        return f"{begins[start]} {begins[start] + len(text)}\t{text}\n"

    for structure in item.structures:
        k, event = structure.coordinator, next(events)
        trigger = f"T{next(stretches)}"
        yield f"{trigger}\tCoordination {stretch(k, k + 1)}"
        names: list[str] = []
        for span in structure.conjuncts:
            names.append(f"T{next(stretches)}")
            yield f"{names[-1]}\tConjunct {stretch(span.start, span.end)}"
        arguments = " ".join(
            f"{role}:{name}" for role, name in zip(_roles(names), names, strict=True)
        )
        yield f"E{event}\tCoordination:{trigger} {arguments}\n"
        yield f"A{event}\tLabel E{event} {structure.label}\n"
        yield f"#{event}\tAnnotatorNotes E{event}\t{_origin(item)}\n"


def _roles(names: Sequence[str]) -> Iterator[str]:
    return (f"Conjunct{number if number > 1 else ''}" for number in range(1, len(names) + 1))


def _origin(item: Item) -> str:
    origin = f"sentence {item.name}, {item.license}"
    if "candidate_id" in item.columns:
        origin = f"candidate {item.name} of {item.columns['sentence_id']}, {item.license}"
    for donor in donors_of(item):
        start, end = donor["span"]
        origin += f", fill from {donor['sentence_id']} [{start}, {end})"
    return " ".join(origin.split())


def _configuration(labels: Iterable[str]) -> str:
    return f"""{_MARK}
[entities]
Conjunct

[relations]

[events]
Coordination\tConjunct+:Conjunct

[attributes]
Label\tArg:<EVENT>, Value:{"|".join(labels)}
"""


BRAT = Brat()
