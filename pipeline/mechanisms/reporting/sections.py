"""The parts a report is laid out in, as data: the templates turn them into HTML and Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.mechanisms.reporting.drawing import Key, Panel
from pipeline.mechanisms.reporting.examples import Example
from pipeline.mechanisms.reporting.tables import Table

__all__ = ["Chapter", "ExampleList", "Gallery", "Section"]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Panels that belong together: ``keys`` explain marks and lines, ``note`` stands below.

    ``title`` is for one of several galleries of a section.
    ``wide`` panels are pairs that fill the page; the others stand in as many columns as fit.
    """

    panels: Sequence[Panel]
    keys: Sequence[Key] = ()
    note: str = ""
    wide: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, in this order: words, pictures, tables, facts, named facts.

    A ``folded`` section opens on demand: it is long, and few will want it. The pictures of a section
    with a ``name`` are also written to a file of that name.
    """

    title: str
    words: Sequence[str] = ()
    galleries: Sequence[Gallery] = ()
    tables: Sequence[Table] = ()
    facts: Sequence[str] = ()
    named: Sequence[tuple[str, str]] = ()
    folded: bool = False
    name: str = ""


Chapter = tuple[list[Section], list[str]]
"""Sections in their order, and a sentence for each thing that is not there and why."""


@dataclass(frozen=True, slots=True)
class ExampleList:
    """What one system accepted and rejected; ``folded`` lists open on demand.

    ``judged`` says how much of it people found sensible; empty where nobody was asked.
    """

    title: str
    accepted: Sequence[Example] = field(repr=False)
    rejected: Sequence[Example] = field(repr=False)
    folded: bool = False
    judged: str = ""
