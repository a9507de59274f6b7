"""What every export format has in common: what it is given, what it may refuse, and how it is asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nltk.tree import Tree

from pipeline.core.claims import Listed
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination
from pipeline.text.dependencies import DependencyTree

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence to be written: a candidate, or a sentence of a treebank with its gold coordinations.

    Attributes:
        name: its id.
        words: its words.
        structures: its coordinations, by position of the coordinator; a candidate has one.
        license: its licence.
        columns: all its columns, spans as pairs ``(start, end)``; donors have one under ``span``.
        tree: its tree, if the format asks for one or the rows have it.
        no_tree: why there is none.
        tags: part-of-speech tags of the words, where they are known.
        heads: its dependency tree, if the format takes it and the corpus has one.
        no_heads: why there is none, though the corpus has dependency trees; empty: it has not.
        unannotated: why nothing is known of its coordinations, which are then no gold; empty: they are.
    """

    name: str
    words: Sequence[str]
    structures: tuple[Coordination, ...]
    license: str
    columns: Mapping[str, Any]
    tree: Tree | None = None
    no_tree: str = ""
    tags: Sequence[str] | None = None
    heads: DependencyTree | None = None
    no_heads: str = ""
    unannotated: str = ""


class Unwritable(ValueError):  # noqa: N818 - it says what a sentence is, and is no failure
    """A sentence that a format cannot hold; the reason is its text."""


class Format(Protocol):
    """A format that sentences can be written in.

    Attributes:
        trees: whether it needs the tree of each.
        dependencies: whether it takes dependency trees where the corpus has them.
        caution: what its user must know before training on it, if it has no dependencies; empty: nothing.
        folder: whether it is a folder, and not one file.
    """

    @property
    def trees(self) -> bool: ...  # noqa: D102 - an attribute

    @property
    def dependencies(self) -> bool: ...  # noqa: D102 - an attribute

    @property
    def caution(self) -> str: ...  # noqa: D102 - an attribute

    @property
    def folder(self) -> bool: ...  # noqa: D102 - an attribute

    def require_writer(self) -> None:
        """Check that what writes the format is installed.

        Raises:
            InputError: it is not.
        """

    def earlier(self, out: Path, formats: "Iterable[Format]") -> Listed:
        """The files of what begins as an earlier export at ``out``; None where none does.

        Args:
            out: a file that is not empty, or a folder.
            formats: those in which it may be.
        """

    def write(self, out: Path, items: Iterable[Item], tally: Tally) -> None:
        """Write the sentences that it can hold, and count the others with the reason."""


def written(items: Iterable[Item], write: Callable[[Item], _T], tally: Tally) -> Iterator[_T]:
    """What is written of each sentence; those without annotation, and ``Unwritable`` ones, are counted."""
    for item in items:
        if item.unannotated:
            tally.refuse(item.unannotated)
            continue
        try:
            yield write(item)
            tally.keep()
        except Unwritable as reason:
            tally.refuse(str(reason))


def require_plain(words: Iterable[str], among: str, what: str) -> None:
    """Check that no word has one of some characters, and that each has another than these.

    Raises:
        Unwritable: one has.
    """
    if any(not word.strip() or set(among) & set(word) for word in words):
        raise Unwritable(what)


def is_value(label: str) -> bool:
    """Whether a label can be a value among others on a line, in CoNLL-U's MISC and in brat."""
    return bool(label) and not any(c.isspace() or c in "|=," for c in label)


def donors_of(item: Item) -> list[Mapping[str, Any]]:
    """Where the fills were taken from, in the order of the conjuncts."""
    row = item.columns
    return [*(row["middle_donors"] or ()), row["donor"]] if row.get("donor") else []
