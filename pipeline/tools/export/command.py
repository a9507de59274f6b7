"""``conjoin export``: a corpus for tools that do not read Parquet."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.candidate_checks import check
from pipeline.core.console import Meter, say, warn
from pipeline.core.errors import InputError
from pipeline.core.parquet import column_names, read_batches, row_count
from pipeline.core.schema import CANDIDATES
from pipeline.core.tally import Tally
from pipeline.corpus.layout import Shards, apart, find_shards
from pipeline.corpus.licences import terms
from pipeline.corpus.rows import RELEASED, generation_key, strays
from pipeline.text.columns import with_text
from pipeline.tools.export.formats import FORMATS, Row
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
    if settings.out == Path("-"):
        raise InputError("standard output is not written to", remedy="name a file with --out")
    apart(settings.out, shards.place)
    form = FORMATS[settings.format]
    form.check(settings.out)
    if left_out := strays(shards):
        warn(left_out)
    total = min(_rows_in(shards), settings.limit or sys.maxsize)
    licences: set[str] = set()
    with Meter("export, candidates", total) as meter, form.opened(settings.out) as out:
        rows = islice(rows_to_export(shards), settings.limit)
        form.write(out, _counted(rows, meter, licences), tally)
        if not tally.kept:
            why = ", ".join(reason for reason, _ in tally.rows()[1:]) or "there is none"
            raise InputError(
                f"no candidate to write as {settings.format} ({why})", path=settings.place,
                remedy="choose another --format or corpus",
            )  # fmt: skip
    left = "; left out: " + ", ".join(f"{n:,} with {why}" for why, n in tally.rows()[1:])
    what = "candidate" if tally.kept == 1 else "candidates"
    say(f"{tally.kept:,} {what} written to {settings.out}{left if tally.refused else ''}")
    for expression in sorted(licences):
        if not terms(expression).redistributable:
            warn(f"licence {expression}: do not pass its text on: {terms(expression).why}")


def _counted(rows: Iterable[Row], meter: Meter, licences: set[str]) -> Iterator[Row]:
    for row in rows:
        licences.add(row["license"])
        yield row
        meter.advance()


def rows_to_export(shards: Shards) -> Iterator[Row]:
    """Stream the usable candidates of a corpus, with all its columns, in the order of its files.

    Raises:
        InputError: a file is damaged, has other columns, or spans that do not fit its words; the
            corpus is a stand-off release, or has only rejects.
    """
    if shards.kind == "stand-off":
        raise InputError(
            "this is a stand-off release, which has no text", path=shards.place,
            remedy="rebuild it with `conjoin rehydrate` and export that",
        )  # fmt: skip
    # Where ``generate`` wrote the folder, no row says of which run it is.
    own = (shards.manifest or {}).get("fingerprint")
    runs = {"generation": generation_key(own)} if isinstance(own, str) else {}
    for path in shards.accepted:
        schema = _schema(path)
        required = [field.name for field in schema if not field.nullable]
        first = 0
        for batch in read_batches(path, schema):
            check(batch.select(required), str(path), first)
            first += len(batch)
            for row in with_text(batch).to_pylist():
                for name in ("conjuncts", "offsets"):
                    row[name] = [(span["start"], span["end"]) for span in row[name]]
                row["reference"] = (row["reference"]["start"], row["reference"]["end"])
                row["donor"] = row["donor"] and _donor(row["donor"])
                row["middle_donors"] = row["middle_donors"] and [*map(_donor, row["middle_donors"])]
                yield row | {name: run for name, run in runs.items() if name not in row}


def _donor(donor: Mapping[str, Any]) -> dict[str, Any]:
    return {"sentence_id": donor["sentence_id"], "span": (donor["start"], donor["end"])}


def _rows_in(shards: Shards) -> int:
    """How many usable candidates the files say they have; damaged ones have none."""
    total = 0
    for path in shards.accepted:
        with suppress(InputError):
            total += row_count(path)
    return total


def _schema(path: Path) -> pa.Schema:
    names = column_names(path)
    if "reason" in names:
        raise InputError(
            "these are rejects", path=path, remedy="name the candidates: only they are exported"
        )
    if "fill_words" in names and "words" not in names:
        raise InputError(
            "this is of a stand-off release, which has no text", path=path,
            remedy="rebuild the release with `conjoin rehydrate` and export that",
        )  # fmt: skip
    return RELEASED if "generation" in names else CANDIDATES
