"""A predictor by its name on the hub, with a stub in the place of the hub's client."""

import fnmatch
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import (
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from pipeline.api import Predictor
from pipeline.core.errors import ModelError
from pipeline.core.files import write_json
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.named_predictor import find_predictor
from pipeline.trying.predict import command as predict
from pipeline.trying.predict.settings import PredictSettings

NAME = "jane/toy"
COMMIT = "0123456789" * 4


@pytest.fixture
def hub(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A hub with one predictor beside another file, and what was asked of it."""
    there = tmp_path / "hub"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).save(there)
    (there / "weights.bin").write_bytes(b"\x80")
    found = SimpleNamespace(there=there, asked=[], error=None)

    def snapshot(repository: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        found.asked.append((repository, revision))
        if found.error is not None:
            raise found.error
        place = tmp_path / "cache" / COMMIT
        place.mkdir(parents=True, exist_ok=True)
        for path in found.there.iterdir():
            if any(fnmatch.fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copy(path, place)
        return str(place)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.chdir(tmp_path)
    return found


def test_a_name_and_a_revision_are_fetched_and_loaded(
    hub: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the files that its card lists, of the commit of that card; `predict` takes the same name."""
    [found] = Predictor.load(f"{NAME}@v1").predict(["a man and a dog"])
    assert found.coordinations
    assert hub.asked == [(NAME, "v1"), (NAME, COMMIT)]
    assert not (tmp_path / "cache" / COMMIT / "weights.bin").exists()
    (tmp_path / "text").write_text("the man and the dog\n")
    predict.run(PredictSettings(predictor=Path(f"{NAME}@v1"), text=tmp_path / "text"))
    assert "and" in capsys.readouterr().out


def test_folders_are_never_asked_for(hub: SimpleNamespace) -> None:
    """One that is here, a mistyped one whose parent is, a path that is no name."""
    for name in ("hub", "cache/predictor/x", "/jane/toy", "./jane"):
        assert find_predictor(name) == Path(name)
    Path("runs").mkdir()
    with pytest.raises(ModelError, match=r"no predictor\.json here"):
        Predictor.load("runs/predictor")
    assert not hub.asked


def answer(kind: type[Any]) -> Exception:
    response: Any = SimpleNamespace(headers={}, request=None, status_code=404)
    error = kind.__new__(kind)
    Exception.__init__(error, "no")
    error.response, error.server_message = response, None
    return error  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (RepositoryNotFoundError, "the Hugging Face hub has no model"),
        (RevisionNotFoundError, "no revision 'v9'"),
        (LocalEntryNotFoundError, "cannot be reached"),
    ],
)
def test_what_the_hub_does_not_give_is_one_line(
    hub: SimpleNamespace, kind: type[Any], said: str
) -> None:
    """No such repository, no such revision, no network."""
    hub.error = answer(kind)
    with pytest.raises(ModelError, match=said) as raised:
        Predictor.load(f"{NAME}@v9")
    assert "\n" not in str(raised.value)


def test_a_repository_of_something_else_is_one_line(hub: SimpleNamespace) -> None:
    """Without a predictor, of another format, and a predictor whose weights are not those of its card."""
    shutil.copytree(hub.there, "whole")
    write_json(hub.there / "predictor.json", {"format": "other", "version": 3})
    with pytest.raises(ModelError, match="a predictor of another format: 'other'"):
        Predictor.load(NAME)
    shutil.copy("whole/predictor.json", hub.there)
    (hub.there / "model.safetensors").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"model\.safetensors is not the file that was saved"):
        Predictor.load(NAME)
    shutil.rmtree("cache")
    (hub.there / "predictor.json").unlink()
    with pytest.raises(ModelError, match="no predictor there"):
        Predictor.load(NAME)
