"""``conjoin export``: a corpus for tools that do not read Parquet."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from pipeline.core.console import Meter, say, warn
from pipeline.core.errors import InputError
from pipeline.core.files import atomic, atomic_folder
from pipeline.core.tally import Tally
from pipeline.corpus.layout import Shards, apart, find_shards
from pipeline.corpus.licences import terms
from pipeline.corpus.rows import strays
from pipeline.tools.export.formats import (
    FIRST,
    FORMS,
    Row,
    Unwritable,
    replaceable_export,
    rows_in,
    rows_to_export,
    write_brat,
)
from pipeline.tools.settings import Export


def run(settings: Export) -> None:
    """Write the usable candidates into ``settings.out``, whole or not at all.

    An earlier export that stands there is replaced, and nothing else.

    Raises:
        InputError: there are no candidates, or they are damaged or without text; ``out`` is
            something else than an earlier export, or part of the corpus.
    """
    shards, tally = find_shards(settings.place), Tally()
    if not shards.accepted:
        raise InputError(
            "only rejects here, no usable candidates",
            path=shards.place,
            remedy="name another corpus",
        )
    _check_out(settings, shards)
    if left_out := strays(shards):
        warn(left_out)
    total = min(rows_in(shards), settings.limit or sys.maxsize)
    with Meter("export, candidates", total) as meter:
        licences: set[str] = set()
        rows = _counted(islice(rows_to_export(shards), settings.limit), meter, licences)
        if settings.format == "brat":
            with atomic_folder(settings.out) as folder:
                write_brat(folder, rows, tally)
                _require_some(settings, tally)
        else:
            with (
                atomic(settings.out) as path,
                path.open("w", encoding="utf-8", newline="\n") as file,
            ):
                for text in _texts(rows, settings.format, tally):
                    file.write(text)
                _require_some(settings, tally)
    left = "; left out: " + ", ".join(f"{n:,} with {why}" for why, n in tally.rows()[1:])
    what = "candidate" if tally.kept == 1 else "candidates"
    say(f"{tally.kept:,} {what} written to {settings.out}{left if tally.refused else ''}")
    for expression in sorted(licences):
        if not terms(expression).redistributable:
            warn(f"licence {expression}: do not pass its text on: {terms(expression).why}")


def _texts(rows: Iterable[Row], form: str, tally: Tally) -> Iterator[str]:
    for row in rows:
        try:
            yield FORMS[form](row)
            tally.keep()
        except Unwritable as reason:
            tally.refuse(str(reason))


def _counted(rows: Iterable[Row], meter: Meter, licences: set[str]) -> Iterator[Row]:
    for row in rows:
        licences.add(row["license"])
        yield row
        meter.advance()


def _require_some(settings: Export, tally: Tally) -> None:
    if not tally.kept:
        why = ", ".join(reason for reason, _ in tally.rows()[1:]) or "there is none"
        raise InputError(
            f"no candidate to write as {settings.format} ({why})", path=settings.place,
            remedy="choose another --format or corpus",
        )  # fmt: skip


def _check_out(settings: Export, shards: Shards) -> None:
    if settings.out == Path("-"):
        raise InputError("standard output is not written to", remedy="name a file with --out")
    out = apart(settings.out, shards.place)
    if settings.format == "brat":
        replaceable_export(settings.out)
    elif out.is_dir():
        raise InputError("this is a folder", path=settings.out, remedy="name a file in it")
    elif out.exists() and not _is_export(out):
        raise InputError(
            "this file is no earlier export", path=settings.out,
            remedy="choose another --out, or remove it yourself",
        )  # fmt: skip


def _is_export(path: Path) -> bool:
    """Whether a file is empty, or begins as an export in any format does."""
    if not path.is_file():  # a pipe, a device
        return False
    with path.open("rb") as file:
        begin = file.read(max(map(len, FIRST)))
    return not begin or begin.startswith(tuple(mark.encode() for mark in FIRST))
