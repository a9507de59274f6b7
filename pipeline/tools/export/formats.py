"""The formats of ``conjoin export``: JSON lines, CoNLL-U and PTB.ext brackets in a file, brat in a folder.

A text format is a function from a candidate to its text and a line in ``FORMATS``; what the format cannot
hold is refused with a reason. brat's is that of https://brat.nlplab.org/standoff.html: ``T`` lines are
stretches of text with character offsets, an ``E`` line is a coordination whose trigger is the coordinator
and whose arguments are the conjuncts, an ``A`` line its label, a ``#`` line a note.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pipeline.core.errors import InputError
from pipeline.core.files import atomic, atomic_folder
from pipeline.core.tally import Tally
from pipeline.core.types import REFERENCE_LABELS
from pipeline.text.conllu import with_comments, with_misc
from pipeline.text.trees import base_label, unescape

_T = TypeVar("_T")

Row = Mapping[str, Any]
"""A candidate as its columns, with spans as pairs ``(start, end)``; donors have one under ``span``."""


class Unwritable(ValueError):  # noqa: N818 - it says what a row is, and is no failure
    """A candidate that a format cannot hold; the reason is its text."""


class Format(Protocol):
    """A format that candidates can be written in."""

    def check(self, out: Path) -> None:
        """Check that an export may replace what is at ``out``: nothing, or an earlier export.

        Raises:
            InputError: it is something else.
        """

    def opened(self, out: Path, /) -> AbstractContextManager[Path]:
        """A temporary file or folder that takes the place of ``out`` if nothing is raised."""

    def write(self, out: Path, rows: Iterable[Row], tally: Tally) -> None:
        """Write the candidates that it can hold, and count the others with the reason."""


def _written(rows: Iterable[Row], write: Callable[[Row], _T], tally: Tally) -> Iterator[_T]:
    """What is written of each row; rows that are ``Unwritable`` are counted."""
    for row in rows:
        try:
            yield write(row)
            tally.keep()
        except Unwritable as reason:
            tally.refuse(str(reason))


@dataclass(frozen=True, slots=True)
class Text:
    """One file that has the text of each candidate.

    Attributes:
        text: of a candidate.
        first: what every such file begins with, by which an earlier export is known.
    """

    text: Callable[[Row], str]
    first: str

    opened = staticmethod(atomic)

    def check(self, out: Path) -> None:
        """See ``Format``: no folder, and no file but an empty one or an export in any text format."""
        if out.is_dir():
            raise InputError("this is a folder", path=out, remedy="name a file in it")
        if out.exists() and not _is_text_export(out):
            raise InputError(
                "this file is no earlier export", path=out,
                remedy="choose another --out, or remove it yourself",
            )  # fmt: skip

    def write(self, out: Path, rows: Iterable[Row], tally: Tally) -> None:
        """See ``Format``."""
        with out.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_written(rows, self.text, tally))


def _is_text_export(path: Path) -> bool:
    if not path.is_file():  # a pipe, a device
        return False
    firsts = [each.first.encode() for each in FORMATS.values() if isinstance(each, Text)]
    with path.open("rb") as file:
        begin = file.read(max(map(len, firsts)))
    return not begin or begin.startswith(tuple(firsts))


def jsonl(row: Row) -> str:
    """One object on one line: every column, spans as ``[start, end]``, scores that are no number null."""
    finite = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
    return json.dumps(finite, ensure_ascii=False) + "\n"


def conllu(row: Row) -> str:
    """A sentence in CoNLL-U with the structure in MISC of its coordinator.

    ``Coord=3-7`` are the IDs of the structure's first and last word, as ``conjoin predict`` writes
    them; beside it stand the conjuncts and the label.

    Raises:
        Unwritable: a word has a tab, a line end or nothing but spaces; the label cannot be a value.
    """
    words, spans = row["words"], row["conjuncts"]
    if not is_value(row["label"]):
        raise Unwritable("a label that CoNLL-U cannot have")
    if any(not word.strip() or set("\t\n\r") & set(word) for word in words):
        raise Unwritable("a word with a tab or line end, or without characters")
    lines = [f"{number}\t{word}" + "\t_" * 8 for number, word in enumerate(words, 1)]
    structure = {
        "Coord": f"{spans[0][0] + 1}-{spans[-1][1]}",
        "CoordConjuncts": ",".join(f"{start + 1}-{end}" for start, end in spans),
        "CoordLabel": row["label"],
    }
    lines = with_misc(lines, tuple(structure), {row["coordinator"]: structure})
    for name, *texts in _comments(row):
        lines = with_comments(lines, name, [" ".join(text.split()) for text in texts])
    return "\n".join(lines) + "\n\n"


def is_value(label: str) -> bool:
    """Whether a label can be a value among others on a line, in CoNLL-U's MISC and in brat."""
    return bool(label) and not any(c.isspace() or c in "|=," for c in label)


def _comments(row: Row) -> Iterator[tuple[str, ...]]:
    """A name and its texts, each of which becomes a line."""
    yield "sent_id", row["candidate_id"]
    yield "text", " ".join(row["words"])
    yield "source_sentence", row["sentence_id"]
    if donors := _donors(row):
        yield "donor_sentence", *(donor["sentence_id"] for donor in donors)
        yield "donor_words", *(f"{d['span'][0] + 1}-{d['span'][1]}" for d in donors)
    for name in ("score", "score_append", "score_prepend"):
        if row[name] is not None:
            yield name, repr(row[name])
    yield "license", row["license"]
    if "generation" in row:
        yield "generation", row["generation"]


def _donors(row: Row) -> list[Mapping[str, Any]]:
    """Where the fills were taken from, in the order of the conjuncts."""
    return [*(row["middle_donors"] or ()), row["donor"]] if row["donor"] else []


def ptb_ext(row: Row) -> str:
    """A tree on one line, annotated as in PTB.ext; all but the structure is flat, under tags ``XX``.

    Raises:
        Unwritable: a word cannot be a leaf, or the label cannot be one of PTB.ext.
    """
    words, spans, k = row["words"], row["conjuncts"], row["coordinator"]
    label = row["label"]
    if not label.isalpha() or base_label(label) != label:
        raise Unwritable("a label that PTB.ext cannot have")
    leaves = [_leaf(word) for word in words]
    before, after = (_flat(part) for part in (leaves[: spans[0][0]], leaves[spans[-1][1] :]))
    inside, at = [], spans[0][0]
    for start, end in spans:
        between = [
            f"(CC-CC {leaves[i]})" if i == k else f"(XX {leaves[i]})" for i in range(at, start)
        ]
        inside += [*between, f"({label}-COORD {' '.join(_flat(leaves[start:end]))})"]
        at = end
    return f"(S1 {' '.join([*before, f'({label}-CCP ' + ' '.join(inside) + ')', *after])})\n"


def _flat(leaves: Sequence[str]) -> list[str]:
    return [f"(XX {leaf})" for leaf in leaves]


def _leaf(word: str) -> str:
    leaf = word
    for plain, escaped in _ESCAPES:
        leaf = leaf.replace(plain, escaped)
    # A backslash at the end would take the bracket after it for a part of the word.
    if not leaf or leaf[-1] == "\\" or any(c.isspace() for c in leaf) or unescape(leaf) != word:
        raise Unwritable("a word that brackets cannot hold")
    return leaf


_ESCAPES = (
    ("(", "-LRB-"), (")", "-RRB-"), ("[", "-LSB-"), ("]", "-RSB-"), ("{", "-LCB-"), ("}", "-RCB-"),
    ("/", "\\/"), ("*", "\\*"),
)  # fmt: skip
"""As in the treebank, and as ``text.trees.unescape`` takes them back."""

CONFIGURATION = "annotation.conf"
_MARK = "# Written by conjoin export."
_SENTENCES = 100  # of a document: what brat shows without delay


class Brat:
    """A folder of documents of a hundred sentences, each on a line, with stand-off annotations."""

    opened = staticmethod(atomic_folder)

    def check(self, out: Path) -> None:
        """See ``Format``: no file, and no folder with something else in it."""
        if out.is_dir() and any(out.iterdir()):
            mark = out / CONFIGURATION
            if not mark.is_file() or not mark.read_text("utf-8", "replace").startswith(_MARK):
                raise InputError(
                    "this folder is not empty, and no earlier export", path=out,
                    remedy="choose another --out, or remove it yourself",
                )  # fmt: skip
        elif out.exists() and not out.is_dir():
            raise InputError(
                "brat needs a folder, this is a file", path=out, remedy="choose another --out"
            )

    def write(self, out: Path, rows: Iterable[Row], tally: Tally) -> None:
        """See ``Format``."""
        labels = dict.fromkeys(REFERENCE_LABELS)
        kept, number = _written(rows, _for_brat, tally), 0
        while part := list(islice(kept, _SENTENCES)):
            text: list[str] = []
            notes: list[str] = []
            base = 0
            for index, row in enumerate(part, 1):
                sentence = " ".join(row["words"])
                notes += _annotations(row, index, base)
                text.append(f"{sentence}\n")
                base += len(sentence) + 1
                labels[row["label"]] = None
            for suffix, lines in ((".txt", text), (".ann", notes)):
                path = out / f"candidates-{number:05d}{suffix}"
                path.write_text("".join(lines), encoding="utf-8", newline="\n")
            number += 1
        (out / CONFIGURATION).write_text(_configuration(labels), encoding="utf-8")


def _for_brat(row: Row) -> Row:
    if any(set(word) & set("\t\n\r") for word in row["words"]):
        raise Unwritable("a word with a tab or line end")
    if not is_value(row["label"]):
        raise Unwritable("a label that brat cannot have")
    return row


def _annotations(row: Row, index: int, base: int) -> Iterator[str]:
    """The lines of the ``index``-th sentence of a document, which begins at character ``base``."""
    words, k = row["words"], row["coordinator"]
    begins, at = [], base
    for word in words:
        begins.append(at)
        at += len(word) + 1

    def stretch(start: int, end: int) -> str:
        text = " ".join(words[start:end])
        return f"{begins[start]} {begins[start] + len(text)}\t{text}\n"

    spans: Sequence[tuple[int, int]] = row["conjuncts"]
    names = [f"T{index * 1000 + number}" for number in range(len(spans) + 1)]
    yield f"{names[0]}\tCoordination {stretch(k, k + 1)}"
    for name, (start, end) in zip(names[1:], spans, strict=True):
        yield f"{name}\tConjunct {stretch(start, end)}"
    roles = (f"Conjunct{number if number > 1 else ''}" for number in range(1, len(names)))
    arguments = " ".join(f"{role}:{name}" for role, name in zip(roles, names[1:], strict=True))
    yield f"E{index}\tCoordination:{names[0]} {arguments}\n"
    yield f"A{index}\tLabel E{index} {row['label']}\n"
    origin = f"candidate {row['candidate_id']} of {row['sentence_id']}, {row['license']}"
    for donor in _donors(row):
        start, end = donor["span"]
        origin += f", fill from {donor['sentence_id']} [{start}, {end})"
    yield f"#{index}\tAnnotatorNotes E{index}\t{' '.join(origin.split())}\n"


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


FORMATS: dict[str, Format] = {
    "ptb-ext": Text(ptb_ext, "(S1 ("),
    "conllu": Text(conllu, "# sent_id = "),
    "brat": Brat(),
    "jsonl": Text(jsonl, '{"candidate_id": "'),
}
"""The choices of ``--format`` (``tools/settings.py`` lists them again: it must be light to import)."""
