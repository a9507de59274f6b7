"""Numbers and texts that no setting of any command takes."""

import math
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

from pipeline.cli import COMMANDS
from pipeline.core.errors import SettingsError
from pipeline.core.settings import Settings


def fields(*kinds: type) -> list[Any]:
    """Every field of one of these types, or a list or an option of it."""
    found = []
    for command, (settings, _, _) in COMMANDS.items():
        for name, field in settings.model_fields.items():
            taken = {field.annotation, *get_args(field.annotation)}
            many = get_origin(field.annotation) is list
            if taken & set(kinds):
                found.append(pytest.param(settings, name, many, id=f"{command}-{name}"))
    return found


def refused(settings: type[Settings], name: str, value: object) -> None:
    """Build the settings with a value for a field, which alone is said to be wrong."""
    with pytest.raises(SettingsError, match=rf"\.{name}(\.0)? = ") as caught:
        settings.build({**needed(settings), name: value}, None)
    assert "\n" not in str(caught.value)


def needed(settings: type[Settings]) -> dict[str, Any]:
    values = {"reader": "text", "repository": "a/b", "format": "jsonl", "places": ["x", "y"]}
    return {n: values.get(n, "x") for n, f in settings.model_fields.items() if f.is_required()}


@pytest.mark.parametrize(("settings", "name", "many"), fields(float))
def test_numbers_are_finite(settings: type[Settings], name: str, many: bool) -> None:
    """No setting means anything by inf or nan."""
    for value in (math.inf, -math.inf, math.nan):
        refused(settings, name, [value] if many else value)


@pytest.mark.parametrize(("settings", "name", "many"), fields(int))
def test_whole_numbers_have_bounds(settings: type[Settings], name: str, many: bool) -> None:
    """None is below zero, or beyond what a library in C takes."""
    for value in (-1, 2**31, 10**30, "9" * 30):
        refused(settings, name, [value] if many else value)


@pytest.mark.parametrize(("settings", "name", "many"), fields(str, Path))
def test_texts_are_texts(settings: type[Settings], name: str, many: bool) -> None:
    """No NUL, which no file name has, and nothing that is not UTF-8, which no JSON has."""
    for value in ("a\0b", "\udcff"):
        refused(settings, name, [value] if many else value)
