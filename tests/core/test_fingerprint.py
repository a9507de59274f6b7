"""One fingerprint and one record: what is current, missing, stale or damaged, and why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.core import fingerprint
from pipeline.core.corpus_folder import ingest_output, require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, write_json
from pipeline.core.fingerprint import Fingerprint, Output, State

MADE_OF = Fingerprint(
    settings={"beams": 1},
    inputs={"trees": "a"},
    model={"name": "tiny", "sha256": "b"},
    versions={"torch": "2"},
    machine={"device": "cpu", "processes": 1},
)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    """A finished output of two files."""
    (tmp_path / "deep").mkdir()
    made = Output(tmp_path, tmp_path / "finished.json", MADE_OF)
    for name in ("deep/a", "b"):
        (tmp_path / name).write_text(name)
    made.finish({name: FileFacts.of(tmp_path / name) for name in ("deep/a", "b")}, {"steps": 3})
    return made


def test_what_is_finished_is_current(output: Output) -> None:
    """Its record tells the files and the facts; without the record it is missing, or was never finished."""
    assert output.state() == State("current")
    assert output.require().facts["steps"] == 3
    assert list(output.require().files) == ["b", "deep/a"]
    output.begin()
    assert output.state() == State("missing")
    assert output.state(["b"]) == State("stale", "no commit record")
    with pytest.raises(InputError, match="this is not finished; run the same command again"):
        output.require()


@pytest.mark.parametrize("name", ["/etc/hostname", "../beside"])
def test_a_record_lists_nothing_outside_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever wrote it would have other files read; a corpus from elsewhere is refused for it, too."""
    (tmp_path / "beside").write_text("x")
    corpus = tmp_path / "corpus"
    made = ingest_output(corpus)
    corpus.mkdir()
    made.finish({name: FileFacts.of(corpus / name)}, {})
    asked: list[Path] = []
    monkeypatch.setattr(FileFacts, "fault", lambda _, path, **__: asked.append(path))
    with pytest.raises(InputError, match="commit record unreadable"):
        made.read()
    with pytest.raises(InputError, match=r"ingest\.json: not as ingest wrote it"):
        require_ingested(corpus)
    assert made.state().kind == "damaged"
    assert not asked


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"settings": {"beams": 4}}, "beams 1 → 4"),
        ({"settings": {}}, "beams 1 → unset"),
        ({"inputs": {"trees": "z"}}, "input trees changed"),
        ({"model": {"name": "tiny", "sha256": "z"}}, "model weights changed"),
        ({"model": {"name": "own", "sha256": "b"}}, "model tiny → own"),
        ({"algorithm": 2}, "algorithm 1 → 2"),
        ({"versions": {"torch": "3"}}, "torch 2 → 3"),
        ({"machine": {"device": "cpu", "processes": 2}}, "processes 1 → 2"),
    ],
)
def test_what_is_stale_says_why(output: Output, change: dict[str, Any], why: str) -> None:
    """Every field of a fingerprint counts, and the one that differs is named."""
    other = replace(output, fingerprint=replace(MADE_OF, **change))
    assert other.fingerprint.digest != MADE_OF.digest
    assert other.state() == State("stale", why)
    assert other.finished() is None


def test_what_is_damaged_says_which_file_and_how(output: Output) -> None:
    """A file of the record that is longer, shorter, other or gone; and the record itself."""
    path, other = output.folder / "deep/a", replace(output, fingerprint=Fingerprint())
    for text, fault in (
        ("deep/aa", "too long: 7 of 6 bytes"),
        ("", "truncated: 0 of 6 bytes"),
        ("deep/b", "sha256 differs"),
    ):
        path.write_text(text)
        assert output.state() == State("damaged", f"a: {fault}")
    assert other.state().kind == "stale"
    assert other.state(damage_first=True).kind == "damaged"
    path.unlink()
    assert output.state() == State("damaged", "a: gone")
    assert output.state(["c"]) == State("damaged", "c: not in the commit record")
    write_json(output.record, {**read_json(output.record), "steps": 4})
    assert output.state() == State("damaged", "finished.json: commit record unreadable")


def test_the_digest_of_the_code_is_recorded_and_judged_by_nobody(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in the record, and another one changes neither digest nor state."""
    assert read_json(output.record)["code"] == fingerprint.code_digest()
    monkeypatch.setattr(fingerprint, "code_digest", lambda: "other")
    assert output.fingerprint.digest == MADE_OF.digest
    assert output.state() == State("current")
    assert "code" not in MADE_OF.to_dict()
