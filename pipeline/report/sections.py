"""The parts a report is laid out in, as data: the templates turn them into HTML and Markdown.

Sections' pictures as files of their own, for ``dvc plots`` and for slides.

Such a file stands alone, so the page's CSS variables become colours of the light page.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from pipeline.report.charts import INK, MUTED, PALETTE, Key, Panel
from pipeline.report.examples import Example
from pipeline.report.markdown import Table


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


_WIDTH, _MARGIN, _GAP = 960, 24, 24  # pixels, of the sheet, around it, and between panels
_FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def sheet(title: str, galleries: Sequence[Gallery]) -> str:
    """One SVG document: the title, and below it the galleries with their keys and notes."""
    parts = [_text(title, _MARGIN, 40, 17, weight="600")]
    y = 56.0
    for gallery in galleries:
        drawn, y = _gallery(gallery, y)
        parts += drawn
    svg = "\n".join(parts)
    size = f'width="{_WIDTH}" height="{y:.0f}" viewBox="0 0 {_WIDTH} {y:.0f}"'
    document = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {size} '
        f'font-family="{_FONT}">\n<style>svg text {{ font-family: {_FONT} !important }}</style>\n'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n{svg}\n</svg>\n'
    )
    return re.sub(r"var\((--[\w-]+)\)", lambda match: PALETTE[match[1]][0], document)


def _gallery(gallery: Gallery, y: float) -> tuple[list[str], float]:
    """The elements of a gallery whose top is at ``y``, and where it ends."""
    parts = []
    if gallery.title:
        y += 22
        parts.append(_text(gallery.title, _MARGIN, y, 14, weight="600"))
    if gallery.keys:
        y += 20
        parts += _keys(gallery.keys, y)
    columns = 2 if gallery.wide else 3
    width = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) / columns
    y += 12
    for start in range(0, len(gallery.panels), columns):
        row = gallery.panels[start : start + columns]
        tall = max(width * _ratio(panel) for panel in row)
        for number, panel in enumerate(row):
            x = _MARGIN + number * (width + _GAP)
            own = width * _ratio(panel)
            top = y + 20 + (0 if gallery.wide else tall - own)
            parts.append(_text(panel.title, x, top - 6, 13, weight="600"))
            place = f'<svg x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{own:.1f}" '
            parts.append(panel.svg.replace("<svg ", place, 1))
        y += tall + 20 + _GAP / 2
    for line in textwrap.wrap(gallery.note, 125):
        y += 17
        parts.append(_text(line, _MARGIN, y, 12, colour=MUTED))
    return parts, y + _GAP


def _ratio(panel: Panel) -> float:
    """Height by width of a panel's picture."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', panel.svg)
    return float(box[2]) / float(box[1]) if box else 0.65


def _keys(keys: Sequence[Key], y: float) -> Iterator[str]:
    x = float(_MARGIN)
    for key in keys:
        ink = f"var({key.colour})"
        if key.shape == "line":
            dash = f' stroke-dasharray="{key.dash}"' if key.dash else ""
            yield (
                f'<line x1="{x:.1f}" y1="{y - 4:.1f}" x2="{x + 28:.1f}" y2="{y - 4:.1f}" '
                f'stroke="{ink}" stroke-width="3"{dash}/>'
            )
        else:
            fill = ink if key.shape == "dot" else "none"
            yield (
                f'<circle cx="{x + 14:.1f}" cy="{y - 4:.1f}" r="4.5" stroke="{ink}" stroke-width="2" '
                f'fill="{fill}"/>'
            )
        yield _text(key.name, x + 34, y, 12)
        x += 34 + 7 * len(key.name) + 20


def _text(
    text: str, x: float, y: float, size: int, *, weight: str = "400", colour: str = INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="var({colour})">{escape(text)}</text>'
    )
