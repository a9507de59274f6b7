"""What ``ingest`` has read, before anything is written: alike for sentences and for argument pairs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from pipeline.core.cards.ingest import IngestCard
from pipeline.core.console import say, table
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import USUAL_SPLITS
from pipeline.core.words import is_without_control


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Rows that go into a file of the corpus folder.

    Attributes:
        name: the file's.
        schema: its columns.
        rows: makes them.
        metadata: of its footer.
    """

    name: str
    schema: pa.Schema
    rows: Callable[[], Iterator[Mapping[str, Any]]]
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ReadRows:
    """What was read.

    Attributes:
        called: what is counted, drawn and compared: a row of the first file, in the singular.
        count: how many of those there are.
        files: of the corpus folder, with their rows.
        lines: makes the raw text that language models may learn from, a sentence a line.
        drawable: ids of the training rows that L may be drawn of.
        drawn_of: what those are, in the plural.
        nothing_drawn: why there may be none.
        card: counts, for ``ingest.json``.
        show: prints them.
        twice: ids of what stands in another split and, word for word, in the training split.
    """

    called: str
    count: int
    files: Sequence[ReadFile]
    lines: Callable[[], Iterator[str]]
    drawable: Sequence[str]
    drawn_of: str
    nothing_drawn: str
    card: IngestCard
    show: Callable[[], None]
    twice: Sequence[str]


class _Named(Protocol):
    @property
    def sentence_id(self) -> str: ...


S = TypeVar("S", bound=_Named)


def without_control(
    called: str, sources: Iterable[S], text_of: Callable[[S], str], tally: Tally, *, strict: bool
) -> Iterator[S]:
    """The sources whose text has no control character; the others are counted.

    Args:
        called: what a source is, in the singular.
        sources: that the tally already has as kept.
        text_of: all text of a source.
        tally: what was kept and refused.
        strict: the first of the others is an error instead.

    Raises:
        InputError: there is one, with ``strict``.
    """
    for source in sources:
        if is_without_control(text_of(source)):
            yield source
            continue
        reason = f"{called} with a control character"
        if strict:
            raise InputError(
                reason, sentence_id=source.sentence_id,
                remedy="mend or remove it, or go without --strict",
            )  # fmt: skip
        tally.keep(-1)  # by its reader it was
        tally.refuse(reason, place=source.sentence_id)


class ReadItem(NamedTuple):
    """Something that is in a split.

    Attributes:
        id: its own.
        split: where it is.
        words: all that models read of it.
        asked: whether something is measured on it, or would be.
    """

    id: str
    split: str
    words: object
    asked: bool = True


def held_out_in_training(read: Iterable[ReadItem]) -> list[str]:
    """Ids of what is measured outside the training split and stands in it word for word."""
    every = list(read)
    learnt = {each.words for each in every if each.split == "train"}
    return [e.id for e in every if e.split != "train" and e.asked and e.words in learnt]


def tell_tallies(tallies: Mapping[str, Tally]) -> None:
    """Print what was kept and refused, by what it was read of, and the first places of each reason."""
    for title, tally in tallies.items():
        if tally.seen:
            table(title, ("", "count"), tally.rows())
        for reason, _ in tally.rows():
            for place in tally.places.get(reason, ()):
                say(f"{reason}: {place}")


def tell_empty(sizes: Mapping[str, int]) -> None:
    """Warn of usual splits that have nothing to be measured on."""
    for name in USUAL_SPLITS[1:]:
        if not sizes[name]:
            say(f"warning: the {name} split is empty, so nothing can be measured on it")
