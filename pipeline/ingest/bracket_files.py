"""The files of a treebank in brackets: those of a folder, of an archive, or one file.

Which files hold trees, their content says, not their names: treebanks call them .mrg, .ptb, .tree, .parse
or .txt. What is beside them (README, LICENSE, hidden files) is counted with a reason.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular, utf8_name
from pipeline.core.tally import Tally
from pipeline.ingest.archives import ARCHIVE, files_in_archive, is_archive
from pipeline.text.unpacking import UnpackingAllowance, decoded, read_at_most, read_unpacked

LARGEST = 256 * 2**20
"""Bytes of a file of trees; all of the Penn Treebank in one has 60 MiB."""

TEXT_FOLDER = "text"
"""A folder beside the trees with raw text that only language models read."""

_PACKED = re.compile(r"\.(gz|xz)$", re.IGNORECASE)
_RAW_TEXT = re.compile(r"\.txt(\.gz|\.xz)?$", re.IGNORECASE)
_OTHER_NAMES = re.compile(
    r"(readme|licen[cs]e|copying|notice|authors|change(s|log)|makefile)\b.*", re.IGNORECASE
)
_OTHER_SUFFIXES = re.compile(
    r".*\.(bib|conllu?|css|csv|docx?|dtd|gif|html?|jpe?g|jsonl?|md|parquet|pdf|pl|png|ps|py|rst|sh|svg|tex|toml"
    r"|tsv|xlsx?|xml|ya?ml)",
    re.IGNORECASE,
)
_FIRST = re.compile(rb"(?:\s|[#*%;][^\n]*\n)*(.?)", re.DOTALL)  # after comments


@dataclass(frozen=True, slots=True)
class BracketFile:
    """A file that looks like one of trees.

    Attributes:
        path: its path within the source, with ``/`` between the parts.
        place: how messages name it.
        text: its content.
    """

    path: str
    place: str
    text: str


def bracket_files(
    source: Path, tally: Tally, allowance: UnpackingAllowance, *, strict: bool = False
) -> Iterator[BracketFile]:
    """Yield the files of a treebank, in the order of their paths; an archive gives what its folder gives.

    Args:
        source: a file of trees, an archive (.tar, plain or packed, or .zip), or a folder. Of a folder that
            holds no trees itself its one archive is read; .txt files in its folder ``text`` are not.
        tally: counts the files that are not read, with the reason.
        allowance: what packed files may unpack to.
        strict: a file of trees that cannot be read is an error, not a refusal.

    Raises:
        InputError: nothing to read, several archives, a damaged one, or more than is allowed.
    """
    require_regular(source)
    if source.is_dir():
        yield from _of_folder(source, tally, allowance, strict)
    elif is_archive(source):
        yield from _of_archive(source, tally, allowance, strict)
    else:
        made = _file(source.name, str(source), _content(source, allowance), tally, strict)
        if made:
            yield made


def _of_folder(
    folder: Path, tally: Tally, allowance: UnpackingAllowance, strict: bool
) -> Iterator[BracketFile]:
    paths = files_within(folder, folder.rglob("*"))
    named = [(path.relative_to(folder).as_posix(), path) for path in paths]
    archives = [path for name, path in named if ARCHIVE.search(name) and not _why_not(name)]
    found = False
    with Meter("ingest", len(named)) as meter:
        for name, path in named:
            meter.advance()
            if path in archives:
                continue
            if why := _why_not(name):
                tally.refuse(why, place=ascii(str(path))[1:-1])
                continue
            made = _file(name, str(path), _content(path, allowance), tally, strict)
            if made:
                found = True
                yield made
    if found:
        for path in archives:
            tally.refuse("archive beside files of trees", place=ascii(str(path))[1:-1])
    elif len(archives) == 1:
        yield from _of_archive(archives[0], tally, allowance, strict)
    elif archives:
        raise InputError(
            f"no file of trees, but {len(archives)} archives",
            path=folder,
            remedy="name one of them",
        )


def _of_archive(
    path: Path, tally: Tally, allowance: UnpackingAllowance, strict: bool
) -> Iterator[BracketFile]:
    found: list[BracketFile] = []
    for name, data in files_in_archive(path, LARGEST, allowance):
        place = f"{path}/{name}"
        if why := _why_not(name):
            tally.refuse(why, place=ascii(place)[1:-1])
        elif made := _file(name, place, data, tally, strict):
            found.append(made)
    # An archive is read in its own order.
    yield from sorted(found, key=lambda file: file.path)


def _why_not(name: str) -> str:
    """Why a file's name says that it has no trees; empty if it may have some."""
    parts = name.split("/")
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        return "hidden file"
    if parts[0] == TEXT_FOLDER and len(parts) > 1 and _RAW_TEXT.search(name):
        return f"raw text in the folder {TEXT_FOLDER}, for language models"
    other = _OTHER_NAMES.fullmatch(parts[-1]) or _OTHER_SUFFIXES.fullmatch(parts[-1])
    return "file of no trees, by its name" if other else ""


def _content(path: Path, allowance: UnpackingAllowance) -> bytes:
    if _PACKED.search(path.name):
        return read_unpacked(path, allowance)
    return read_at_most(path, LARGEST, kind="file of trees", remedy="is it a treebank in brackets?")


def _file(name: str, place: str, data: bytes, tally: Tally, strict: bool) -> BracketFile | None:
    """The file, if it looks like one of trees; else it is counted."""
    utf8_name(name, Path(place))
    data = data.removeprefix(b"\xef\xbb\xbf")
    wrong = _wrong(data)
    if wrong is None:
        try:
            text = decoded(data, place)
        except InputError as error:
            if strict:
                raise
            tally.refuse("file that is not UTF-8 text", place=str(error))
            return None
        return BracketFile(name, place, text.replace("\r\n", "\n").replace("\r", "\n"))
    reason, fault = wrong
    if strict and fault:
        raise InputError(reason, path=place, remedy="remove or mend it, or go without --strict")
    tally.refuse(reason, place=place)
    return None


def _wrong(data: bytes) -> tuple[str, bool] | None:
    """Why content is not that of a file of trees, and whether that is a fault."""
    if not data.strip():
        return "empty file", True
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "file that is not UTF-8 text", True
    first = _FIRST.match(data)
    begins = first is not None and first[1] == b"("
    if begins or re.search(rb"^\s*\(", data[: 2**20], re.MULTILINE):
        return None
    return "file without a tree in brackets", False
