"""The documents of a treebank: what they are called, and which names and patterns mean them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from unicodedata import normalize

from pipeline.core.errors import InputError
from pipeline.core.words import is_without_control

_PACKED = (".gz", ".xz")


@dataclass(frozen=True, slots=True)
class Document:
    """A file of trees.

    Attributes:
        name: its file's name without the suffix; with the folders it lies in where several have the same.
        path: its path within the source.
        size: how many sentences are kept of it.
    """

    name: str
    path: str
    size: int

    def matches(self, pattern: str) -> bool:
        """Whether a pattern, in which ``*`` is any text, is of its name, its file's name or its path."""
        parts = PurePosixPath(self.path).parts
        # A folder given as the source, or the one above it, has the same paths but for their beginnings.
        tails = ("/".join(parts[first:]) for first in range(len(parts)))
        # ü is one character, or u with a mark: as the file's system has it, or whoever typed the pattern.
        wanted = normalize("NFC", pattern)
        return any(fnmatchcase(normalize("NFC", text), wanted) for text in (self.name, *tails))


def name_documents(paths: Sequence[str], source: object) -> list[str]:
    """The names of documents by their paths: as short as tells them apart.

    Raises:
        InputError: two have the same path but for the suffix, or one has a control character, which would be
            in the ids of its sentences.
    """
    for path in paths:
        if not is_without_control(path):
            raise InputError(
                "a control character in the name of this document", path=path, remedy="rename it"
            )
    plain = [_without_suffix(path) for path in paths]
    names = [path.rpartition("/")[2] for path in plain]
    if len(set(names)) < len(names):
        common = _common_folders(plain)
        names = ["/".join(path.split("/")[common:]) for path in plain]
    for name, times in Counter(names).items():
        if times > 1:
            twice = [path for path, each in zip(paths, names, strict=True) if each == name]
            raise InputError(
                f"{times} documents have the same name {name!r}: {', '.join(twice[:3])}",
                path=str(source), remedy="remove or rename all but one",
            )  # fmt: skip
    return names


def _without_suffix(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.suffix.lower() in _PACKED:
        pure = pure.with_suffix("")
    return str(pure.with_suffix("")) if pure.suffix else str(pure)


def _common_folders(paths: Iterable[str]) -> int:
    """How many folders all paths have in common."""
    folders = [path.split("/")[:-1] for path in paths]
    count = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        count += 1
    return count
