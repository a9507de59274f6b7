"""Corpora of candidates with values, types, bytes and files of every kind in them.

A lone shard holds what no manifest speaks against: the readers themselves must take or refuse it. A release
has checksums, so whatever changes a byte of it must be refused by ``validate``.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from damaged import SHARD, loose
from hostile.case import Case, damaged

_LONE, _GOOD, _OTHER = "lone.parquet", "release", "other"

_COMMANDS: dict[str, list[str]] = {
    "validate": [],
    "stats": [],
    "merge": [_OTHER, "--out", "merged"],
    "release": ["--out", "released"],
    "export --format jsonl": ["--out", "x.jsonl"],
    "export --format conllu": ["--out", "x.conllu"],
    "export --format ptb-ext": ["--out", "x.ext"],
    "browse --export": ["page.html"],
}
"""A command, and what comes after the corpus; ``browse`` writes its page before it."""

_MARKUP = "[/red]\x1b[2J[bold"
_VALUES: dict[str, list[Any]] = {
    "candidate_id": [None, "", "x", _MARKUP],
    "sentence_id": [None, "", "../x", _MARKUP],
    "words": [None, [], [None], [""], ["a\nb", "\x1b[2J", "and"], ["x"] * 50_000],
    "coordinator": [None, -1, 10**6, 2**31 - 1],
    "conjuncts": [
        None, [], [None], [{"start": None, "end": 2}], [{"start": -2, "end": 1}, {"start": 5, "end": 9}],
        [{"start": 2, "end": 1}] * 2, [{"start": 0, "end": 2**31 - 1}] * 2, [{"start": 0, "end": 1}] * 9_999,
    ],
    "label": [None, "", _MARKUP, "NP'--", "N" * 100_000],
    "reference": [None, {"start": -1, "end": 3}, {"start": 3, "end": 3}, {"start": 0, "end": 2**30}],
    "fill": [None, "", _MARKUP, "x " * 50_000],
    "score": [None, float("nan"), float("inf"), float("-inf"), 1e38, 5.0],
    "license": [None, "", "CC0-1.0 AND", "(((", _MARKUP],
    "donor": [{"sentence_id": None, "start": 0, "end": 1}, {"sentence_id": "", "start": 9, "end": 1}],
    "middle_donors": [
        [None], [{"sentence_id": None, "start": 0, "end": 1}],
        [{"sentence_id": "x", "start": -1, "end": 2**31 - 1}] * 999,
    ],
}  # fmt: skip
"""By column, what the first row has there instead. Only a score may be null, which nothing that checks or
writes rows lets pass."""

_TYPES: dict[str, pa.DataType] = {
    "words": pa.string(), "coordinator": pa.string(), "conjuncts": pa.list_(pa.list_(pa.int64())),
    "label": pa.binary(), "score": pa.string(), "reference": pa.int32(), "license": pa.list_(pa.string()),
    "fill": pa.date32(), "donor": pa.string(), "middle_donors": pa.string(), "sentence_id": pa.int64(),
    "candidate_id": pa.bool_(),
}  # fmt: skip


def _line(command: str, corpus: str) -> list[str]:
    name, *rest = command.split()
    if name == "browse":
        return [name, corpus, *rest, *_COMMANDS[command]]
    if name == "export":
        return [name, corpus, *rest, *_COMMANDS[command]]
    return [name, corpus, *_COMMANDS[command]]


def _lone(good: Path, change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    """A changed shard by itself, beside a good release."""

    def make(folder: Path) -> None:
        shutil.copytree(good, folder / _OTHER)
        table = pq.read_table(good / SHARD, partitioning=None)
        pq.write_table(change(table), folder / _LONE)

    return make


def _with_value(column: str, value: object) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[0][column] = value
        return pa.Table.from_pylist(rows, schema=loose(table.schema))

    return change


def _with_type(column: str, kind: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(column)
        return table.set_column(place, column, pa.nulls(len(table), kind))

    return change


def _columns() -> Iterator[tuple[str, Callable[[pa.Table], pa.Table]]]:
    yield "no rows", lambda table: table.slice(0, 0)
    yield "no columns", lambda table: table.select([])
    yield "one column", lambda table: table.select(["label"])
    yield "a column twice", lambda table: table.append_column("label", table["label"])
    yield "more columns", lambda table: table.append_column("split", table["label"])
    yield "no words", lambda table: table.drop_columns(["words"])
    yield "upper case", lambda table: table.rename_columns([n.upper() for n in table.column_names])


def _release(good: Path, change: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        shutil.copytree(good, folder / _GOOD)
        shutil.copytree(good, folder / _OTHER)
        change(folder / _GOOD)

    return make


def _replacing(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(release: Path) -> None:
        path = release / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return change


_FILES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "an empty file": lambda path: path.write_bytes(b""),
    "its mark alone": lambda path: path.write_bytes(b"PAR1"),
    "a footer longer than the file": lambda path: path.write_bytes(b"PAR1" + b"\xff" * 8 + b"PAR1"),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}


def _refusal(command: str) -> Literal["refused", "any"]:
    return "refused" if command == "validate" else "any"


def _table(good: Path) -> Iterator[Case]:
    commands = list(_COMMANDS)
    number = 0
    for column, values in _VALUES.items():
        for value in values:
            what = f"{column} {value!r:.60}"
            # Each is read by a command in turn; what may not be null is validated, too.
            turn = commands[number % len(commands)]
            for command in {turn, "validate"} if value is None else {turn}:
                must = (
                    value is None
                    and column != "score"
                    and command in ("validate", "merge", "release")
                )
                yield Case(
                    f"{command}: {what}", _line(command, _LONE), _lone(good, _with_value(column, value)),
                    "refused" if must else "any",
                )  # fmt: skip
            number += 1
    changes = [(f"{column} of {kind}", _with_type(column, kind)) for column, kind in _TYPES.items()]
    for what, change in [*changes, *_columns()]:
        for command in ("validate", commands[1:][number % (len(commands) - 1)]):
            yield Case(f"{command}: {what}", _line(command, _LONE), _lone(good, change), "any")
        number += 1
    for what, make in _FILES.items():
        for name in (SHARD, "manifest.json"):
            for command in ("validate", commands[1:][number % (len(commands) - 1)]):
                yield Case(
                    f"{command}: {what} for {name}", _line(command, _GOOD),
                    _release(good, _replacing(name, make)), _refusal(command),
                )  # fmt: skip
            number += 1
    for command in commands:
        yield Case(command, _line(command, _GOOD), _release(good, lambda _: None), "ok")


def _random(good: Path, number: int, seed: int) -> Case:
    """A release with a file damaged."""
    draw = random.Random(f"{seed}/{number}")
    files = sorted(p.relative_to(good).as_posix() for p in good.rglob("*") if p.is_file())
    name = draw.choice([*files, SHARD, SHARD, "manifest.json", "manifest.json"])
    content = damaged((good / name).read_bytes(), number, seed)
    command = draw.choice(["validate", "validate", *_COMMANDS])
    changed = content != (good / name).read_bytes()
    return Case(
        f"{number}: {command}: {name} damaged", _line(command, _GOOD),
        _release(good, lambda release: (release / name).write_bytes(content)),  # type: ignore[arg-type,return-value]
        _refusal(command) if changed else "any",
    )  # fmt: skip


def cases(count: int, seed: int, good: Path) -> Iterator[Case]:
    """The tables, and ``count`` copies of the release ``good`` with a file damaged."""
    yield from _table(good)
    for number in range(count):
        yield _random(good, number, seed)
