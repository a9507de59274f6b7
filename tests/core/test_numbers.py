"""Numbers in options and params.yaml that nothing can use: one line, before any work."""

from pathlib import Path

import pytest

from pipeline.core.documents import parse_json, parse_yaml
from pipeline.core.errors import InputError, SettingsError
from pipeline.report.settings import ReportSettings
from pipeline.train.settings import TrainSettings


@pytest.mark.parametrize("number", ["9" * 400, "0x" + "f" * 6000, "-0" + "7" * 99])
def test_whole_numbers_of_yaml_have_64_bits(number: str) -> None:
    """Python makes them, and may then not even be able to print them."""
    with pytest.raises(SettingsError, match=r"p:1: .*whole number of more than 64 bits"):
        parse_yaml(f"a: {number}", path=Path("p"))
    assert parse_yaml(f"a: {2**63 - 1}") == {"a": 2**63 - 1}


@pytest.mark.parametrize("text", ['"\\ud800"', '"a\\0b"'])
def test_what_no_text_can_hold_is_refused_in_yaml(text: str) -> None:
    """Half a character and NUL would end in an error wherever they are used."""
    with pytest.raises(SettingsError, match="which no text can hold"):
        parse_yaml(f"a: {text}")


def test_half_a_character_is_refused_in_json() -> None:
    """It could not be written again; a whole one in two halves is fine."""
    with pytest.raises(InputError, match="half a character"):
        parse_json('{"a": "\\ud800"}')
    assert parse_json('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"learning_rate": float("inf")}, "finite number"),
        ({"learning_rate": float("nan")}, "finite number"),
        ({"seed": 2**31}, "must not be beyond 2,147,483,647"),
        ({"steps": 2**63}, "must not be beyond 2,147,483,647"),
        ({"mode": "x" * 9999}, "train.mode = 'xxx"),
    ],
)
def test_options_are_numbers_that_torch_takes(given: dict[str, object], said: str) -> None:
    """And the line that says so is short, however long the value."""
    with pytest.raises(SettingsError, match=said) as caught:
        TrainSettings.build({"corpus": Path("x"), "mode": "baseline", **given}, None)
    assert len(str(caught.value)) < 300


def test_a_number_that_cannot_be_printed_is_refused_all_the_same() -> None:
    """Python prints no number of more than 4,300 digits."""
    with pytest.raises(SettingsError, match=r"report.examples = …: "):
        ReportSettings.build({"corpus": Path("x"), "examples": 16**6000}, None)
