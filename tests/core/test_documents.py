"""JSON and YAML of any make: a value of the form asked for, or one line that says where and why not."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from pipeline.core.documents import (
    Number,
    RelativeName,
    check_form,
    parse_yaml,
    read_document_text,
    read_json,
    read_yaml,
)
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.runs import read_records
from pipeline.corpus.manifest import read_sums


def histories(path: Path) -> object:
    """Read a file as JSON lines."""
    return read_records(path, dict[str, object], "a line", "")


class Card(TypedDict):
    """A form, for the test."""

    name: str
    sizes: list[int]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n"a": }', r"c:2: not JSON"),
        ("[]", "c: not as conjoin writes it: input should be a valid dictionary"),
        ('{"name": 1, "sizes": []}', "name: input should be a valid string"),
        ('{"name": "x"}', "sizes: field required"),
        ('{"name": "x", "sizes": ["1"]}', r"sizes\.0: input should be a valid integer"),
        ('{"name": "x", "sizes": [%s]}' % ("9" * 5000), "not JSON that can be read"),
        ("[" * 100_000, "not JSON that can be read"),
        ('{"a": %s}' % ("[" * 900 + "]" * 900), "c: a: nested more than 50 levels deep"),
        ('{"a": %s}' % ("[" * 50 + "]" * 50), "c: a: nested more than 50 levels deep"),
        ('{"a": %s}' % ("[" * 49 + "]" * 49), "name: field required"),
        ('"%s"' % ("[" * 60), "input should be a valid dictionary"),
    ],
)
def test_json_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The message names the place in the document, or the line."""
    (tmp_path / "c").write_text(text)
    with pytest.raises(InputError, match=said):
        read_json(tmp_path / "c", Card)


@pytest.mark.parametrize("text", ["1e30", "NaN", "-Infinity", "1" + 30 * "0"])
def test_a_number_is_one_that_can_be_shown(tmp_path: Path, text: str) -> None:
    """A whole number of more than 64 bits is none for the libraries that draw."""
    (tmp_path / "c").write_text(text)
    with pytest.raises(InputError):
        read_json(tmp_path / "c", Number)


def test_json_of_the_form_keeps_other_keys(tmp_path: Path) -> None:
    """A form names what is needed, not what is allowed."""
    (tmp_path / "c").write_text('{"name": "x", "sizes": [1], "more": null}')
    assert read_json(tmp_path / "c", Card) == {"name": "x", "sizes": [1], "more": None}


def test_a_reader_may_need_more_than_the_form(tmp_path: Path) -> None:
    """A key that not every document of the form has is named like one that the form has."""
    (tmp_path / "c").write_text('{"name": "x", "sizes": [], "about": {"seed": 0}}')
    assert read_json(tmp_path / "c", Card, needs=["about.seed"])["about"] == {"seed": 0}
    for key in ("tally", "about.size"):
        with pytest.raises(InputError, match=f"c: not as conjoin .*: {key}: field required; do it"):
            read_json(tmp_path / "c", Card, remedy="do it", needs=["about", key])


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    """A named pipe would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        read_json(tmp_path / "pipe")
    with pytest.raises(SettingsError, match="pipe: not a regular file"):
        read_yaml(tmp_path / "pipe")
    with pytest.raises(InputError, match="a folder, not a file; run the stage"):
        read_json(tmp_path)
    with pytest.raises(SettingsError, match="a folder, not a file"):
        read_yaml(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_json(tmp_path / "bytes")
    with pytest.raises(SettingsError, match="no such file; check the name"):
        read_yaml(tmp_path / "none")


def test_a_file_that_must_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without permission, in a round of links, on a disk that fails: the same refusal."""
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(SettingsError, match="round: cannot be read: Too many levels"):
        read_yaml(tmp_path / "round")
    (tmp_path / "locked").write_text("{}")

    def denied(*_: Any, **__: Any) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", denied)  # the tests may run as root
    with pytest.raises(InputError, match="locked: cannot be read: Permission denied"):
        read_json(tmp_path / "locked")
    with pytest.raises(SettingsError, match="locked: cannot be read: Permission denied"):
        read_yaml(tmp_path / "locked")


@pytest.mark.parametrize("read", [read_json, read_yaml, read_document_text, read_sums, histories])
def test_what_is_too_large_is_not_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Whatever kind of document it is."""
    with (tmp_path / "long").open("wb") as file:
        file.truncate(2**27)
    with pytest.raises(ConjoinError, match="long: 128 MiB, where 64 are the most"):
        read(tmp_path / "long")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "..", "a\0b", ""])
def test_names_in_a_document_stay_in_its_folder(name: str) -> None:
    """A record that lists another file would have it read."""
    with pytest.raises(InputError, match=r"leads out of|should match|at least 1"):
        check_form({name: 1}, dict[RelativeName, int])
    check_form({"a/b..c/..d": 1, "x": 2}, dict[RelativeName, int])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "p.yaml:1: not YAML"),
        ("a: 1\nb: *x", "p.yaml:2: not YAML: found undefined alias"),
        ("a: 2026-13-45", "a value cannot be read"),
        ("a: !!int 'x'", "a value cannot be read"),
        ("a: !!float ''", "a value cannot be read"),
        ("a: " + "9" * 5000, "a value cannot be read"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("[" * 60 + "]" * 60, "nested more than 50 levels"),
        ("[" * 5000 + "]" * 5000, "nested more than 50 levels"),
        ("a: &x [*x]", "an alias refers to what contains it"),
        (
            "a0: &a0 [1, 1]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
            "when its aliases are followed",
        ),
        ("a: \x00", "not YAML"),
        ("? [1]\n: 2", "p.yaml:1: not YAML"),
    ],
)  # fmt: skip
def test_yaml_that_cannot_be_read_is_one_line(text: str, said: str) -> None:
    """Whatever the YAML holds, the answer is a value or a SettingsError."""
    with pytest.raises(SettingsError, match=said):
        parse_yaml(text, path=Path("p.yaml"))


def test_yaml_with_aliases_is_read() -> None:
    """Anchors and merges are what params.yaml is written with."""
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}
    assert parse_yaml("") is None
