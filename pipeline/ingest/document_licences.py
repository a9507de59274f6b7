"""The licence of each document, from a file of two columns."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.core.console import warn
from pipeline.core.errors import InputError
from pipeline.corpus.licences import LONGEST, relaxes
from pipeline.ingest.documents import Document
from pipeline.text.unpacking import read_whole

Licences = Callable[[Sequence[Document]], dict[str, str]]
"""The licences of documents, by their names."""


def one_for_all(licence: str) -> Licences:
    """The same licence for every document."""
    return lambda documents: {document.name: licence for document in documents}


def from_file(path: Path, otherwise: Licences, *, known: bool = False) -> Licences:
    """The licences that a file names: on each line a document, or a pattern of such, and its licence.

    The columns are divided by a tab, or else by the first blank; of several lines that mean a document the
    last holds. Lines that begin with ``#`` are comments.

    Args:
        path: the file.
        otherwise: licences of documents that it does not name.
        known: these are the documents' own, as their reader knows; then a line that permits more than they do
            is refused. Otherwise somebody named them for all documents, and it is said aloud.
    """

    def find(documents: Sequence[Document]) -> dict[str, str]:
        own = otherwise(documents)
        found = dict(own)
        for number, pattern, licence in _lines(path):
            meant = [document.name for document in documents if document.matches(pattern)]
            if not meant:
                raise InputError(
                    f"no document {pattern[:60]!r} in the source, which has {documents[0].name!r}",
                    path=path, line=number, remedy="give a document's name, with * for any text",
                )  # fmt: skip
            relaxed = [name for name in meant if relaxes(licence, own[name])]
            if relaxed and known:
                raise InputError(
                    f"document {relaxed[0]} is under {own[relaxed[0]]}, and {licence!r} permits more",
                    path=path, line=number,
                    remedy="leave such documents out of this file, or ingest them with the reader treebank, "
                    "which knows no licences",
                )  # fmt: skip
            if relaxed:
                warn(
                    f"{path}:{number}: {licence} permits more than {own[relaxed[0]]}, which --license names: "
                    f"{len(relaxed):,} documents (first {relaxed[0]})"
                )
            found |= dict.fromkeys(meant, licence)
        return found

    return find


def _lines(path: Path) -> list[tuple[int, str, str]]:
    lines = []
    whole = read_whole(path).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(whole.split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not text.replace("\t", " ").isprintable():  # it would stand in every row and on the card
            raise InputError(
                f"a character that cannot be printed: {text[:60]!r}", path=path, line=number,
                remedy="write a document and its licence in plain text",
            )  # fmt: skip
        parts = [
            part.strip() for part in (text.split("\t", 1) if "\t" in text else text.split(None, 1))
        ]
        if len(parts) < 2 or not parts[1]:
            raise InputError(
                f"one column, where a document and its licence must be: {text[:60]!r}",
                path=path, line=number, remedy="write e.g. `wsj_0201 CC-BY-4.0`, or `wsj_* CC-BY-4.0`",
            )  # fmt: skip
        if len(parts[1]) > LONGEST:
            raise InputError(
                f"a licence of {len(parts[1]):,} characters, which every row would have: {parts[1][:60]!r}",
                path=path, line=number,
                remedy=f"name it in {LONGEST} characters, as https://spdx.org/licenses does",
            )  # fmt: skip
        lines.append((number, parts[0], parts[1]))
    return lines
