"""The parts a report is laid out in, and how they become HTML, Markdown and files of pictures."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape as escape_xml

from markupsafe import Markup, escape

from pipeline.core.markdown import code_span, plain
from pipeline.report.charts import INK, MUTED, PALETTE, Panel
from pipeline.report.markdown import Table, markdown
from pipeline.report.prose import Fact, templates

VERDICTS = {
    "right": ("✓", "right"),
    "odd": ("✓", "right but odd"),
    "other": ("✗", "other conjuncts"),
    "ungrammatical": ("✗", "ungrammatical"),
}
"""The oracle's verdicts as a sign and in words, because not everybody can tell the colours apart.

``odd`` is right, but joins what does not go together.
"""


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate, as one run judged it at one step where a run did.

    ``pieces`` are the bracketed text before, in and after the reference span. ``verdict`` is the
    oracle's: a key of ``VERDICTS``, or None where there is no oracle. ``sensible`` is a person's, with
    a ``note``; None where nobody judged. ``license`` is that of the text.
    """

    candidate_id: str
    label: str
    pieces: tuple[str, str, str]
    license: str
    probability: float | None = None
    accepted: bool | None = None
    step: int | None = None
    seed: int = 0
    verdict: str | None = None
    sensible: bool | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The sentence with brackets around the conjuncts."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class ExampleList:
    """What one system accepted and rejected, or what was ``drawn`` of one folder of candidates.

    ``folded`` lists open on demand. ``judged`` says how much of it people found sensible; None where
    nobody was asked.
    """

    title: str
    accepted: Sequence[ShownCandidate] = field(repr=False, default=())
    rejected: Sequence[ShownCandidate] = field(repr=False, default=())
    folded: bool = False
    judged: Fact | None = None
    drawn: Sequence[ShownCandidate] = field(repr=False, default=())

    @property
    def has_long_labels(self) -> bool:
        """Whether a label needs more room than a constituent's: a sense does."""
        shown = (*self.accepted, *self.rejected, *self.drawn)
        return any(len(each.label) > 8 for each in shown)

    @property
    def groups(self) -> list[tuple[str, Sequence[ShownCandidate]]]:
        """The examples with what they are called."""
        if self.drawn:
            return [("drawn", self.drawn)]
        return [("accepted", self.accepted), ("rejected", self.rejected)]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An instance with what is right.

    ``answers`` has of each system its name, what it answered, and whether all of that is right.
    """

    name: str
    text: str
    right: str
    answers: Sequence[tuple[str, str, bool]]


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, in the order of the fields; it opens on demand.

    ``wide`` panels are pairs that fill the page, the others stand in as many columns as fit; ``note``
    stands below them. The panels of a section with a ``name`` are also written to a file of that name.
    """

    title: str
    words: Sequence[Fact] = ()
    panels: Sequence[Panel] = ()
    note: Fact | None = None
    tables: Sequence[Table] = ()
    facts: Sequence[Fact] = ()
    named: Sequence[tuple[str, str | Fact]] = ()
    examples: Sequence[ExampleList] = ()
    answers: Sequence[ShownAnswer] = ()
    wide: bool = False
    name: str = ""

    @property
    def has_text(self) -> bool:
        """Whether there is something to it besides pictures."""
        return any((self.tables, self.facts, self.named, self.examples, self.answers))


@dataclass(frozen=True, slots=True)
class Chapter:
    """Sections that the page's contents call by one ``name``."""

    name: str
    sections: Sequence[Section]

    @property
    def has_text(self) -> bool:
        """Whether a section has something to it besides pictures."""
        return any(section.has_text for section in self.sections)

    @property
    def anchors(self) -> list[str]:
        """Where links find each section: ``sizes-of-l``, ``sizes-of-l-2``."""
        anchor = "-".join(re.findall(r"[a-z]+", self.name.lower()))
        return [anchor + (f"-{n}" if n > 1 else "") for n in range(1, len(self.sections) + 1)]


Part = Section | Fact
"""A section, or that something is not there and why."""


def render(name: str, context: Mapping[str, Any]) -> str:
    """``report.md`` or ``report.html`` from its template below ``pipeline/resources/report``."""
    environment = templates(html=name.endswith(".html"))
    environment.filters.update(
        markdown=markdown, code=code_span, plain=plain, svg=Markup, figure=_figure
    )
    environment.globals["say"] = Fact
    text = environment.get_template(f"{name}.jinja").render(
        palette=PALETTE, verdicts=VERDICTS, **context
    )
    # Absent parts leave blank lines behind.
    return re.sub(r"\n{3,}", "\n\n", text)


def _figure(cell: str) -> Markup:
    """A cell whose deviation, or text in brackets, is printed smaller than its figure."""
    parts = re.fullmatch(r"(\S+) (± \S+|\(.*\))", cell)
    return Markup("{} <small>{}</small>").format(*parts.groups()) if parts else escape(cell)


_WIDTH, _MARGIN, _GAP = 960, 24, 24  # pixels, of a picture file, around it, and between panels
_TITLE_LETTER, _TITLE_LINE = 7.3, 17  # pixels, of a panel's title
_FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"


_BEGIN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
_STYLE = f"<style>svg text {{ font-family: {_FONT} !important }}</style>"


def is_picture(path: Path) -> bool:
    """Whether a file is the picture of a section of a report, of whatever corpus."""
    with path.open("rb") as file:
        head = file.read(2000)
    return head.startswith(_BEGIN.encode()) and _STYLE.encode() in head


def picture(section: Section) -> str:
    """A section's title, panels and note as one SVG document that stands alone.

    The page's CSS variables become colours of the light page.
    """
    parts = [_text(section.title, _MARGIN, 40, 17, weight="600")]
    columns = 2 if section.wide else 3
    width = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) / columns
    y = 68.0
    for start in range(0, len(section.panels), columns):
        row = section.panels[start : start + columns]
        titles = [textwrap.wrap(panel.title, int(width / _TITLE_LETTER)) for panel in row]
        y += _TITLE_LINE * (max(map(len, titles)) - 1)
        for number, (panel, title) in enumerate(zip(row, titles, strict=True)):
            x = _MARGIN + number * (width + _GAP)
            for above, words in enumerate(reversed(title)):
                parts.append(_text(words, x, y + 14 - _TITLE_LINE * above, 13, weight="600"))
            place = f'x="{x:.1f}" y="{y + 20:.1f}" width="{width:.1f}" '
            height = f'height="{width * _ratio(panel):.1f}" '
            parts.append(panel.svg.replace("<svg ", f"<svg {place}{height}", 1))
        y += width * max(_ratio(panel) for panel in row) + 20 + _GAP / 2
    for line in textwrap.wrap(str(section.note or ""), 125):
        y += 17
        parts.append(_text(line, _MARGIN, y, 12, colour=MUTED))
    y += _GAP
    svg = "\n".join(parts)
    size = f'width="{_WIDTH}" height="{y:.0f}" viewBox="0 0 {_WIDTH} {y:.0f}"'
    document = (
        f'{_BEGIN}{size} font-family="{_FONT}">\n{_STYLE}\n'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n{svg}\n</svg>\n'
    )
    return re.sub(r"var\((--[\w-]+)\)", lambda match: PALETTE[match[1]][0], document)


def _ratio(panel: Panel) -> float:
    """Height by width of a panel's chart."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', panel.svg)
    return float(box[2]) / float(box[1]) if box else 0.65


def _text(
    text: str, x: float, y: float, size: int, *, weight: str = "400", colour: str = INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="var({colour})">{escape_xml(text)}</text>'
    )
