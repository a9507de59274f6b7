"""Flags of every command with values that nobody means: each is refused before anything is imported."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from hostile.case import Case

from pipeline.cli import COMMANDS
from pipeline.core.settings import Settings, flag_of

NUMBERS = [
    "inf", "-inf", "nan", "-1", "-0.5", "1e400", "-1e400", "", "x", "1" * 30, "1" * 5000, "0x10", "1_0_",
    "٣x",
    "99999999999", "\udcff", "true", "[1]", "1,5", "--",
]  # fmt: skip
WORDS = ["", "none such", "\0", "a\0b", "\udcff", "x" * 5000, "\n", "-1", "../..", "*"]
PLACES = [
    "\0",
    "a\0b",
    "\udcff",
    "x" * 5000,
    "x/" * 3000,
    "none such",
    "folder",
    "pipe",
    "file/beyond",
    "file",
]


def _make(folder: Path) -> None:
    (folder / "folder").mkdir()
    (folder / "file").write_text("nothing of use\n")
    os.mkfifo(folder / "pipe")


def _kinds(annotation: Any) -> set[Any]:
    """The plain types that a field takes."""
    if get_origin(annotation) in {Union, UnionType, list}:
        return set().union(*map(_kinds, get_args(annotation)))
    return {annotation} - {type(None)}


def _values(settings: type[Settings], name: str) -> tuple[list[str], bool]:
    """Values for a field, and whether all of them must be refused."""
    kinds = _kinds(settings.model_fields[name].annotation)
    if kinds & {int, float}:
        return NUMBERS, True
    if Path in kinds:
        return PLACES[:3], True  # further ones are the readers' business
    if str in kinds:
        return [word for word in WORDS if "\0" in word or "\udcff" in word], True
    if bool in kinds:
        return [], True
    return WORDS, True  # a choice


def _base(settings: type[Settings], without: str) -> list[str]:
    """Arguments that a command cannot do without; places that are not there."""
    words = ["none such" for name in settings.arguments if name != without]
    for name, field in settings.model_fields.items():
        if field.is_required() and name not in settings.arguments and name != without:
            words += [f"--{flag_of(name)}", "none such"]
    return words


def every() -> Iterator[Case]:
    """A case for each field and value."""
    for command, (settings, _, _) in COMMANDS.items():
        for name in settings.model_fields:
            for value in _values(settings, name)[0]:
                if name in settings.arguments:
                    words = [value if each == name else "none such" for each in settings.arguments]
                    given = [*_base(settings, name)[len(words) - 1 :], "--", *words]
                else:
                    given = [*_base(settings, name), f"--{flag_of(name)}={value}"]
                yield Case(f"{command} --{flag_of(name)} {value[:20]!r}", [command, *given], _make)


def cases(n: int, seed: int) -> list[Case]:
    """``n`` of them, drawn by ``seed``."""
    found = list(every())
    return random.Random(seed).sample(found, min(n, len(found)))
