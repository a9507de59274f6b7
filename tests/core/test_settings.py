"""Numbers and texts that no setting of any command takes."""

import math
import re
import sys
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

from pipeline.cli import COMMANDS, main
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


_PURPOSE = re.compile(r"([a-z0-9][\w-]+(?:, [\w-]+)*)(?: of candidates)?: ")
_SAID_LATER = {
    ("fill", "label"), ("generate", "given"), ("generate", "labelled"),
    ("export", "split"), ("export", "labelled"), ("train", "logit_adjustment"), ("train", "choices_only"),
    ("train", "rnn_layers"),
    ("train", "rnn_units"),
    ("diagnose", "cells"), ("diagnose", "least_errors"), ("diagnose", "threads"),
}  # fmt: skip
"""Options that the command itself refuses, once it knows what the place is or what is in it."""


def for_a_purpose() -> list[Any]:
    """Every option whose help begins with what it is for, as ``attested:``, and none of its own values."""
    found = []
    for command, (settings, _, _) in COMMANDS.items():
        for name, field in settings.model_fields.items():
            purpose = _PURPOSE.match(field.description or "")
            own = get_args(field.annotation)
            if purpose and purpose[1] not in own and (command, name) not in _SAID_LATER:
                found.append(pytest.param(settings, name, id=f"{command}-{name}"))
    return found


def another(settings: type[Settings], name: str) -> object:
    """A value of an option that is not its default."""
    field = settings.model_fields[name]
    kinds = [field.annotation, *get_args(field.annotation)]
    if field.annotation is bool:
        return not field.default
    if choices := [each for kind in kinds for each in get_args(kind) if isinstance(each, str)]:
        return next(each for each in choices if each != field.default)
    if {int, float} & set(kinds):
        return 0.5 if float in kinds else 2
    return ["x"] if get_origin(field.annotation) is list else "x"


def usual(settings: type[Settings], **given: Any) -> Settings:
    """Settings with what they must be given."""
    more = {"train": {"candidates": "x"}, "vote": {"oracle": True}}.get(settings.stage, {})
    return settings.build({**needed(settings), **more, **given}, None)


@pytest.mark.parametrize(("settings", "name"), for_a_purpose())
def test_an_option_for_a_purpose_is_refused_or_declared(
    settings: type[Settings], name: str
) -> None:
    """So whoever gives it in vain hears of it."""
    if name not in settings.only_with:
        with pytest.raises(SettingsError):
            usual(settings, **{name: another(settings, name)})


@pytest.mark.parametrize("command", COMMANDS)
def test_what_options_are_for_exists(command: str) -> None:
    """Each is an option, as is what it needs; a value is one that this takes. Other options always count."""
    settings = COMMANDS[command][0]
    known = settings.model_fields
    for name, needs in settings.only_with.items():
        assert name in known
        for other, values in needs:
            assert other in known
            choices = [c for c in get_args(known[other].annotation) if isinstance(c, str)]
            assert not choices or set(values) - {None} <= set(choices), (name, other)
    said = usual(settings).without_effect(known)
    assert len(said) <= len(settings.only_with)
    assert all(" changes nothing here: it is for " in line for line in said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fills": "attested", "pool": 4}, []),
        ({"fills": "free", "pool": 4}, ["--pool changes nothing here: it is for --fills attested"]),
        ({"sync": False, "synchronize": "mean"}, ["--synchronize changes nothing here: it is for --sync"]),
    ],
)  # fmt: skip
def test_what_an_option_is_for_is_named(given: dict[str, Any], said: list[str]) -> None:
    """In one line, as it is typed."""
    settings, _, _ = COMMANDS["generate"]
    assert settings.build({"corpus": "x", **given}, None).without_effect(given) == said


def test_whole_sentences_are_nothing_where_no_row_is_asked_for_anything() -> None:
    """With any condition they are something, also with one that is asked last."""
    settings, _, _ = COMMANDS["select"]
    given = {"places": ["x"], "out": "y", "whole_sentences": True}
    assert settings.build(given, None).without_effect(["whole_sentences"])
    for condition in ({"label": ["NP"]}, {"apart": ["dev"]}, {"min_score": -3.0}):
        assert not settings.build(given | condition, None).without_effect(["whole_sentences"])


def test_an_option_without_what_it_needs_needs_that_s_needs() -> None:
    """δ is for the rule of that name, and no rule is asked where all candidates are taken."""
    settings, _, _ = COMMANDS["train"]
    built = settings.build(
        {"corpus": "x", "candidates": "y", "mode": "no-filter", "delta": 0.5}, None
    )
    assert built.without_effect(["delta"])


def test_the_command_says_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it does anything; a default from a params file is no option that somebody gave."""
    monkeypatch.setattr(
        sys, "argv", ["conjoin", "release", "nix", "--out", "x", "--trees-of", "parser"]
    )
    with pytest.raises(SystemExit):
        main()
    assert "warning: --trees-of changes nothing here: it is for --trees" in capsys.readouterr().err
