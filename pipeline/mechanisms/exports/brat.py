"""Candidates as a folder that brat opens: text, stand-off annotations, and their configuration.

The format is that of https://brat.nlplab.org/standoff.html: ``T`` lines are stretches of text with
character offsets, an ``E`` line is a coordination whose trigger is the coordinator and whose
arguments are the conjuncts, an ``A`` line its label, a ``#`` line a note.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.ground.coordination import REFERENCE_LABELS
from pipeline.ground.errors import InputError
from pipeline.ground.tally import Tally
from pipeline.mechanisms.exports.lines import Row, is_value

__all__ = ["CONFIGURATION", "replaceable_export", "write_brat"]

CONFIGURATION = "annotation.conf"
_MARK = "# Written by conjoin export."
_SENTENCES = 100  # of a document: what brat shows without delay


def replaceable_export(out: Path) -> None:
    """Hold a folder against what an export may replace: nothing, or an earlier export.

    Raises:
        InputError: there is a file, or a folder with something else in it.
    """
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


def write_brat(folder: Path, rows: Iterable[Row], tally: Tally) -> None:
    """Write documents of a hundred sentences, each on a line, into an empty folder."""
    labels = dict.fromkeys(REFERENCE_LABELS)
    for number, part in enumerate(_parts(rows, tally)):
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
            path = folder / f"candidates-{number:05d}{suffix}"
            path.write_text("".join(lines), encoding="utf-8", newline="\n")
    (folder / CONFIGURATION).write_text(_configuration(labels), encoding="utf-8")


def _parts(rows: Iterable[Row], tally: Tally) -> Iterator[list[Row]]:
    part: list[Row] = []
    for row in rows:
        if any(set(word) & set("\t\n\r") for word in row["words"]):
            tally.refuse("a word with a tab or line end")
            continue
        if not is_value(row["label"]):
            tally.refuse("a label that brat cannot have")
            continue
        tally.keep()
        part.append(row)
        if len(part) == _SENTENCES:
            yield part
            part = []
    if part:
        yield part


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
    told = " ".join(f"{role}:{name}" for role, name in zip(roles, names[1:], strict=True))
    yield f"E{index}\tCoordination:{names[0]} {told}\n"
    yield f"A{index}\tLabel E{index} {row['label']}\n"
    origin = f"candidate {row['candidate_id']} of {row['sentence_id']}, {row['license']}"
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
