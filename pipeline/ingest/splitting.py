"""Which document is in which split: by patterns, by lists, or by a share of all documents."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.console import say
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.settings import shown_place
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS, USUAL_SPLITS
from pipeline.ingest.documents import Document
from pipeline.text.unpacking import read_whole

Fractions = tuple[float, float, float]
"""Shares of train, dev and test; they make 1."""

DEFAULT_FRACTIONS = "80,10,10"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The splits of documents.

    Attributes:
        whole: split of a document by its name; a document without one is in none.
        blocks: shares of the sentences of each document instead, where there are too few documents.
    """

    whole: Mapping[str, str]
    blocks: Fractions | None = None

    def split(self, document: Document, number: int) -> str | None:
        """The split of a document's sentence by its number, from 0."""
        if self.blocks is None:
            return self.whole.get(document.name)
        sizes = _sizes(self.blocks, document.size)
        for name, size in zip(USUAL_SPLITS, sizes, strict=True):
            if number < size:
                return name
            number -= size
        return USUAL_SPLITS[0]


Splitter = Callable[[Sequence[Document], Tally], Assigned]
"""Assigns documents to splits; what it has to say of lists goes into the tally."""


def by_patterns(patterns: Sequence[str]) -> Splitter:
    """Split by patterns such as ``dev=wsj_22*``, of the names or paths of documents.

    Raises:
        SettingsError: one is not of that form.
    """
    pairs = [_pattern(each) for each in patterns]

    def assign(documents: Sequence[Document], tally: Tally) -> Assigned:
        whole: dict[str, str] = {}
        for split, pattern in pairs:
            found = [document for document in documents if document.matches(pattern)]
            if not found:
                raise InputError(
                    f"--split {split}={pattern} matches none of {len(documents):,} documents, such as "
                    f"{documents[0].name!r} in {documents[0].path!r}",
                    remedy="give names or paths, with * for any text",
                )  # fmt: skip
            for document in found:
                _put(whole, document.name, split, f"--split {split}={pattern}")
        say("split: by the patterns of --split")
        return Assigned(whole)

    return assign


def _pattern(text: str) -> tuple[str, str]:
    split, sign, pattern = text.partition("=")
    if not sign or not pattern or split not in SPLITS:
        raise SettingsError(
            f"ingest.split = {text!r}: must be SPLIT=PATTERN, SPLIT one of {', '.join(SPLITS)}"
        )
    return split, pattern


def _put(whole: dict[str, str], name: str, split: str, said: str, **place: object) -> None:
    if whole.setdefault(name, split) != split:
        raise InputError(
            f"{said}: document {name!r} is in the {whole[name]} split already",
            path=place.get("path"), line=place.get("line"),  # type: ignore[arg-type]
            remedy="a document is in one split",
        )  # fmt: skip


def by_lists(folder: Path, *, strict: bool = False) -> Splitter:
    """Split by files ``train.txt``, ``dev.txt``, ``test.txt`` (or other suffixes), a document's name a line.

    Args:
        folder: where they are.
        strict: a document that is listed and not there is an error, not a refusal.

    Raises:
        InputError: no such list, or two of a split.
    """
    lists = [(split, path, read_whole(path)) for split, path in _lists(folder)]
    return by_texts(lists, f"the lists in {shown_place(folder)}", strict=strict)


def by_texts(
    lists: Sequence[tuple[str, Path, str]], called: str, *, strict: bool = False
) -> Splitter:
    """Split by lists that are read already.

    Args:
        lists: the split, the place and the text of each, a document's name a line.
        called: what the lists are, for a message.
        strict: as of ``by_lists``.
    """

    def assign(documents: Sequence[Document], tally: Tally) -> Assigned:
        known: dict[str, set[str]] = {}
        for document in documents:
            for name in (document.name, document.path, document.path.rpartition("/")[2]):
                known.setdefault(name, set()).add(document.name)
        whole: dict[str, str] = {}
        absent: list[tuple[str, Path, int]] = []
        for split, path, text in lists:
            for line, name in _names(text):
                if name not in known:
                    absent.append((name, path, line))
                    continue
                for each in sorted(known[name]):
                    _put(whole, each, split, "split list", path=path, line=line)
        if absent and (strict or not whole):
            name, path, line = absent[0]
            what = f"no such document in the source: {name[:60]!r}"
            what += (
                f", nor any other of the lists; it has {documents[0].name!r}" if not whole else ""
            )
            raise InputError(what, path=path, line=line, remedy="give names of documents")
        for name, path, line in absent:
            tally.refuse(
                "document of a split list that the source lacks (counts documents)",
                place=f"{name} ({path.name}:{line})",
            )
        say(f"split: by {called}")
        return Assigned(whole)

    return assign


def _lists(folder: Path) -> list[tuple[str, Path]]:
    if not folder.is_dir():
        raise InputError("no such folder of split lists", path=folder, remedy="check the name")
    found: list[tuple[str, Path]] = []
    for split in SPLITS:
        paths = sorted(path for path in folder.glob(f"{split}.*") if path.is_file())
        if len(paths) > 1:
            raise InputError(
                f"two lists of one split: {', '.join(path.name for path in paths)}",
                path=folder, remedy="leave one",
            )  # fmt: skip
        found += [(split, path) for path in paths]
    if not found:
        what = "no split list, such as train.txt, dev.txt and test.txt"
        raise InputError(what, path=folder, remedy="write one, a document's name a line")
    return found


def _names(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        name = line.strip()
        if name and not name.startswith("#"):
            yield number, name


def by_fractions(text: str) -> Splitter:
    """Split so that each split has its share of the documents: a function of their names alone.

    Fewer documents than shares are cut themselves, into sentences from first to last.

    Raises:
        SettingsError: the shares are not three numbers that make 100 or 1.
    """
    fractions = _fractions(text)
    wanted = sum(share > 0 for share in fractions)

    def assign(documents: Sequence[Document], tally: Tally) -> Assigned:
        if len(documents) < wanted:
            only = "one document" if len(documents) == 1 else f"{len(documents)} documents"
            named = ", ".join(
                f"{share:.0%} {s}" for share, s in zip(fractions, USUAL_SPLITS, strict=True)
            )
            say(f"{only}: the sentences of each are split, from first to last: {named}")
            return Assigned({}, fractions)
        order = sorted((document.name for document in documents), key=_key)
        whole: dict[str, str] = {}
        for split, size in zip(USUAL_SPLITS, _sizes(fractions, len(order)), strict=True):
            whole |= dict.fromkeys(order[:size], split)
            order = order[size:]
        say(f"split: {text} by document")
        return Assigned(whole)

    return assign


def by_folds(folds: int, fold: int) -> Splitter:
    """Cross-validation by document: a fold is test, the next one dev, the others train.

    A document's fold is a function of its name alone.

    Args:
        folds: how many.
        fold: which is test, from 0.
    """

    def assign(documents: Sequence[Document], tally: Tally) -> Assigned:
        names = {fold: "test", (fold + 1) % folds: "dev"}
        say(f"split: fold {fold} of {folds} is test, fold {(fold + 1) % folds} dev, by document")
        return Assigned(
            {each.name: names.get(fold_of(each.name, folds), "train") for each in documents}
        )

    return assign


def fold_of(name: str, folds: int) -> int:
    """The fold of a document, from 0."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % folds


def _key(name: str) -> bytes:
    return hashlib.sha256(f"split/{name}".encode()).digest()


def _fractions(text: str) -> Fractions:
    parts = text.replace("%", "").split(",")
    if len(parts) == len(USUAL_SPLITS) and all(re.fullmatch(r" *\d+(\.\d+)? *", p) for p in parts):
        train, dev, test = (float(part) for part in parts)
        total = train + dev + test
        if train > 0 and any(abs(total - whole) < 1e-6 * whole for whole in (1, 100)):
            return train / total, dev / total, test / total
    raise SettingsError(
        f"ingest.split_fractions = {text[:40]!r}: must be the shares of train, dev and test, which make 100, "
        f"as {DEFAULT_FRACTIONS}"
    )


def _sizes(fractions: Fractions, count: int) -> tuple[int, int, int]:
    """How many of ``count`` each split has: none is empty that need not be."""
    _, dev, test = (
        max(round(share * count), min(1, count // 3) if share else 0) for share in fractions
    )
    return count - dev - test, dev, test
