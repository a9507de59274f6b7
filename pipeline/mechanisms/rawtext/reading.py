"""Sentences of raw text, one after the other: files of any size, in the memory of a paragraph."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from pipeline.ground.console import Meter
from pipeline.ground.errors import InputError
from pipeline.ground.tally import Tally
from pipeline.mechanisms.lines import Lines, open_lines
from pipeline.mechanisms.segmenting import (
    PUNKT_SAMPLE,
    Segmenter,
    guarded,
    learn_punkt,
    text_files,
)

__all__ = ["BLANK", "read_sentences", "split_paragraph"]

BLANK = "blank line"
"""The reason under which lines of whitespace are counted."""

_LONGEST = 1 << 24  # bytes of a line: a whole book may stand on one
_PIECE = 100_000  # characters of a paragraph that are cut into sentences at once
_AHEAD = 1_000  # lines that tell whether blank lines stand between paragraphs
_OFTEN = 1_000  # lines between two looks at the clock


def read_sentences(
    places: Sequence[Path], segment: Literal["line", "punkt"], tally: Tally | None = None
) -> Iterator[str]:
    """Yield the sentences of files, and of folders of .txt, .txt.gz and .txt.xz files.

    Args:
        places: files (packed or not, which their first bytes tell) and folders.
        segment: ``line``: one sentence per line. ``punkt``: a line is a paragraph, unless blank
            lines among a file's first thousand show that its paragraphs run over lines. Punkt
            learns its abbreviations from the first five million characters.
        tally: counts the lines of whitespace that are skipped.

    Raises:
        InputError: a missing or empty file, a folder without text, a file that is not UTF-8 or
            damaged, a line of more than 16 MiB, or a paragraph that nltk gives up on.
    """
    files = [path for place in places for _, path in text_files(place)]
    counts = Tally() if tally is None else tally
    cut = learn_punkt(map(_beginning, files)) if segment == "punkt" and files else None
    sizes = [path.stat().st_size for path in files]
    before = 0
    with Meter("read text (bytes)", sum(sizes)) as meter:
        for path, size in zip(files, sizes, strict=True):
            with open_lines(path, _LONGEST) as lines:
                yield from _sentences(lines, cut, counts, meter, before)
            before += size
            meter.at(before)


def _beginning(path: Path) -> str:
    found: list[str] = []
    length = 0
    with open_lines(path, _LONGEST) as lines:
        for _, line in lines:
            found.append(line)
            length += len(line) + 1
            if length >= PUNKT_SAMPLE:
                break
    return "\n".join(found)


def _sentences(
    lines: Lines, cut: Segmenter | None, tally: Tally, meter: Meter, before: int
) -> Iterator[str]:
    """The sentences of a file; ``before`` bytes were read of others."""
    wrapped = cut is not None and _is_wrapped(lines)
    paragraph: list[str] = []
    length = 0
    empty = True
    for number, line in lines:
        if number % _OFTEN == 0:
            meter.at(before + lines.position)
        text = line.strip()
        empty = empty and not text
        if not text:
            tally.refuse(BLANK)
        elif cut is None:
            yield text
        else:
            paragraph.append(text)
            length += len(text) + 1
        if cut is None or not paragraph or (wrapped and text and length < _PIECE):
            continue
        *done, rest = split_paragraph(" ".join(paragraph), cut, lines.name)
        # Of a paragraph that goes on, the last sentence may as well.
        paragraph = [rest] if wrapped and text and len(rest) < _PIECE else []
        length = len(rest) if paragraph else 0
        yield from done if paragraph else [*done, rest]
    if cut is not None and paragraph:
        yield from split_paragraph(" ".join(paragraph), cut, lines.name)
    if empty:
        raise InputError("the file is empty", path=lines.name, remedy="remove it or fill it")


def _is_wrapped(lines: Lines) -> bool:
    """Whether a blank line stands between others at the beginning of a file."""
    shown = "".join(" t"[bool(line.strip())] for line in islice(lines.peek(), _AHEAD))
    return " " in shown.strip()


def split_paragraph(text: str, cut: Segmenter, name: str, piece: int = _PIECE) -> list[str]:
    """Sentences of a paragraph of any length: at least one, if it has any text.

    Punkt takes more than its share of memory, so it sees ``piece`` characters at a time; the last
    sentence of a piece goes into the next, and so is cut where the whole paragraph would be.
    """
    found: list[str] = []
    rest, begin = "", 0
    while begin + piece < len(text):
        space = text.rfind(" ", begin, begin + piece)
        end = space + 1 if space >= 0 else begin + piece
        rest += text[begin:end]
        begin = end
        if not rest.strip():
            continue
        # The piece may end where a sentence does, which only what follows would show.
        *done, rest = guarded(cut, rest, name)
        found += done
        if len(rest) > piece:
            found.append(rest)
            rest = ""
        elif space >= 0:
            rest += " "
    rest += text[begin:]
    return [*found, *guarded(cut, rest, name)] if rest.strip() else found
