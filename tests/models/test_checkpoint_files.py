"""What a checkpoint's folder must hold: whatever is wrong with one is a line, and no code of it runs."""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError
from safetensors.torch import load_file, save_file

from pipeline.core.errors import ConjoinError, ModelError
from pipeline.core.files import FileFacts, write_json
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.infill.families.known import load_language_model
from pipeline.models import checkpoint_files, loading
from pipeline.models.loading import from_pretrained, identity, load_tokenizer, locate
from pipeline.models.roles import load_encoder


@pytest.fixture
def bert(tmp_path: Path, tiny_bert: Path) -> Path:
    """A BERT's folder to damage."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "bert"))


@pytest.fixture
def t5(tmp_path: Path, tiny_t5: Path) -> Path:
    """A T5's folder to damage."""
    return Path(shutil.copytree(tiny_t5, tmp_path / "t5"))


def changed(path: Path, **values: Any) -> None:
    """Set keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def one_line(work: Callable[[], object], message: str) -> None:
    with pytest.raises(ConjoinError, match=message) as caught:
        work()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_t5_without_tokenizer_files_is_refused(t5: Path) -> None:
    """The library would make up a tokenizer that knows no word, and every fill be a reject."""
    for path in t5.glob("*token*"):
        path.unlink()
    (t5 / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer"}')
    one_line(lambda: load_language_model("t5", str(t5)), "no tokenizer files|no sentinel")


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_files_are_those_that_pretrain_recorded(bert: Path, name: str) -> None:
    """A folder with a record is held against it; one without is not, and a broken record is an error."""
    record = Output(bert, bert / "finished.json", Fingerprint())
    record.finish({p.name: FileFacts.of(p) for p in sorted(bert.iterdir())}, {})
    load_encoder(str(bert))
    whole = (bert / name).read_bytes()
    # Still what the library can read, but for one number.
    other = whole.replace(b"0.5", b"0.6", 1) if name == "config.json" else whole + b" "
    if name == "model.safetensors":
        weights = load_file(bert / name)
        weights = {key: value + 1 for key, value in weights.items()}
        save_file(weights, bert / name, {"format": "pt"})
    else:
        (bert / name).write_bytes(other)
    one_line(lambda: load_encoder(str(bert)), f"a damaged model: {name} is not the file that was")
    write_json(bert / "finished.json", [])
    one_line(lambda: load_encoder(str(bert)), "finished.json: not a record of pretrain")


CODE = 'open({!r}, "w").write("ran")\nclass Evil: pass\n'


@pytest.mark.parametrize("name", ["/etc/hostname", "../beside"])
def test_a_record_names_no_file_elsewhere(
    bert: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What lies outside the folder is not even read."""
    (bert.parent / "beside").write_text("x")
    record = Output(bert, bert / "finished.json", Fingerprint())
    record.finish({name: FileFacts.of(bert / name)}, {})
    read: list[Path] = []
    monkeypatch.setattr(checkpoint_files, "content_digest", lambda path: read.append(path) or "")
    one_line(lambda: load_encoder(str(bert)), "not a record of pretrain")
    assert not read


@pytest.mark.parametrize("kind", ["config", "tokenizer", "kernel"])
def test_code_of_a_folder_never_runs(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Even where somebody says yes to every question, and there is none; one line says why not."""
    trace = tmp_path / "trace"
    (bert / "evil.py").write_text(CODE.format(str(trace)))
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    names = {
        "AutoConfig": "evil.Evil",
        "AutoModel": "evil.Evil",
        "AutoModelForMaskedLM": "evil.Evil",
    }
    if kind == "config":
        changed(bert / "config.json", model_type="evil", auto_map=names)
    elif kind == "kernel":
        changed(bert / "config.json", attn_implementation="somebody/kernel")
    else:
        changed(bert / "config.json", model_type="bert")
        auto_map = {"AutoTokenizer": [None, "evil.Evil"]}
        changed(bert / "tokenizer_config.json", auto_map=auto_map, tokenizer_class="Evil")
    work = (
        (lambda: load_tokenizer(str(bert)))
        if kind == "tokenizer"
        else lambda: load_encoder(str(bert))
    )
    try:
        work()
    except ModelError as error:
        assert "needs program code that comes with it, which is never run" in str(error)  # noqa: PT017
    else:
        assert kind == "tokenizer"  # BERT's own is taken
    assert not trace.exists()


def test_a_revision_is_handed_on(tmp_path: Path) -> None:
    """``name@revision`` of the hub; a folder may have an @ in its name, and is local for certain."""
    asked: list[tuple[str, dict[str, Any]]] = []

    class Factory:
        @staticmethod
        def from_pretrained(name: str, **options: Any) -> None:
            asked.append((name, options))

    folder = tmp_path / "a@b"
    folder.mkdir()
    for where in ("owner/name", "owner/name@v1", str(folder)):
        from_pretrained(Factory, where)
    assert asked == [
        ("owner/name", {"trust_remote_code": False}),
        ("owner/name", {"trust_remote_code": False, "revision": "v1"}),
        (str(folder), {"trust_remote_code": False, "local_files_only": True}),
    ]


def test_a_hub_model_is_known_by_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was asked for by, so that a branch that moves is another model."""

    class Config:
        _commit_hash = "c0ffee"

    monkeypatch.setattr(loading, "load_config", lambda where: Config())
    assert identity("owner/name") == identity("owner/name@main") == "owner/name@c0ffee"


BROKEN_CONFIGS: list[tuple[str, str]] = [
    ("[]", "cannot load"),
    ("{}", "cannot load"),
    ("3", "cannot load"),
    ('"x"', "cannot load"),
    ("\0", "cannot load"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN_CONFIGS)
def test_a_config_of_another_form_is_one_line(bert: Path, text: str, message: str) -> None:
    """JSON or not."""
    (bert / "config.json").write_text(text)
    one_line(lambda: load_encoder(str(bert)), message)


@pytest.mark.parametrize(
    "values",
    [
        {"num_attention_heads": 0}, {"hidden_size": -1}, {"hidden_size": 1 << 40}, {"vocab_size": 7},
        {"vocab_size": -7}, {"num_hidden_layers": 10**9}, {"num_hidden_layers": 3},
        {"intermediate_size": "many"}, {"hidden_act": "none such"}, {"max_position_embeddings": -5},
        {"hidden_size": True}, {"layer_norm_eps": None}, {"model_type": 3}, {"architectures": 3},
        {"num_attention_heads": 3}, {"pad_token_id": 10**9}, {"type_vocab_size": 0}, {"num_labels": 10**9},
    ],
)  # fmt: skip
def test_a_config_of_odd_sizes_is_one_line(bert: Path, values: dict[str, Any]) -> None:
    """Heads that are none, sizes below zero or beyond all memory, layers that the weights lack."""
    changed(bert / "config.json", **values)
    try:
        load_language_model("bert", str(bert))
    except ConjoinError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert values in ({"architectures": 3}, {"layer_norm_eps": None})


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"\xff" * 64), lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}"),
        lambda path: path.write_bytes((2).to_bytes(8, "little") + b"[]"),
    ],
)  # fmt: skip
def test_a_header_of_nonsense_is_one_line(bert: Path, damage: Callable[[Path], None]) -> None:
    """Of safetensors."""
    damage(bert / "model.safetensors")
    one_line(lambda: load_encoder(str(bert)), "damaged weights")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"model": 3}', '{"version": "1.0", "model": {}}']
)
def test_a_tokenizer_of_nonsense_is_one_line(bert: Path, text: str) -> None:
    """Which its library tells with an error of no kind."""
    (bert / "tokenizer.json").write_text(text)
    (bert / "vocab.txt").unlink(missing_ok=True)
    one_line(lambda: load_tokenizer(str(bert)), "tokenizer")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(bert: Path, value: float) -> None:
    """A single one: all that is computed with it is none either."""
    path = bert / "model.safetensors"
    weights = load_file(path)
    name = "bert.encoder.layer.1.output.dense.weight"
    weights[name].view(-1)[5] = value
    save_file(weights, path, {"format": "pt"})
    one_line(
        lambda: load_encoder(str(bert)), "not all numbers: encoder.layer.1.output.dense.weight"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "name: field required"), ("[]", "valid dictionary"), ('{"name": 3}', "name: input should"),
        ("{", "not JSON"),
    ],
)  # fmt: skip
def test_a_ready_file_of_another_form_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """It names a model and nothing else."""
    (tmp_path / "ready.json").write_text(text)
    one_line(lambda: locate(str(tmp_path)), f"ready.json.*{message}")


def test_folders_that_name_one_another_are_refused(tmp_path: Path) -> None:
    """Itself, or in a circle."""
    for name, other in (("a", "a"), ("b", "c"), ("c", "b")):
        (tmp_path / "models" / name).mkdir(parents=True)
        write_json(tmp_path / "models" / name / "ready.json", {"name": f"models/{other}"})
    for name in "ab":
        one_line(lambda name=name: locate(f"models/{name}", tmp_path), "names itself as the model")
    write_json(tmp_path / "models/c/ready.json", {"name": "owner/name@v1"})
    assert locate("models/b", tmp_path) == "owner/name@v1"


def test_a_model_of_ordinary_make_is_loaded(bert: Path, t5: Path) -> None:
    """What is checked is what they have."""
    assert torch.isfinite(load_encoder(str(bert))[0].get_input_embeddings().weight).all()
    load_language_model("t5", str(t5))


def test_a_tokenizer_that_cannot_work_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    """Its settings are the library's own, which takes any type for its longest text."""
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    path = folder / "tokenizer_config.json"
    write_json(path, json.loads(path.read_text()) | {"model_max_length": {}})
    with pytest.raises(ModelError, match=r"cannot load .* as a tokenizer"):
        load_tokenizer(str(folder))


def test_a_hub_out_of_reach_is_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its library's report of every attempt is not shown; a name that the hub lacks has another message."""
    log = logging.getLogger("huggingface_hub.utils._http")
    monkeypatch.setattr(logging.getLogger("huggingface_hub"), "propagate", True)
    answer = SimpleNamespace(headers={}, request=None)
    unknown = RepositoryNotFoundError("404", response=answer)  # type: ignore[arg-type]

    def fails_with(cause: Exception) -> Callable[..., None]:
        def load(*_: object, **__: object) -> None:
            log.warning("thrown while requesting HEAD; retrying in 1s")
            raise OSError("Check your internet connection or see how to run the library") from cause

        return load

    def load() -> object:
        return load_tokenizer("owner/name")

    factory = loading.AutoTokenizer
    monkeypatch.setattr(factory, "from_pretrained", fails_with(LocalEntryNotFoundError("none")))
    one_line(load, "'owner/name' .* cannot be reached.*; check the name and the network")
    monkeypatch.setattr(factory, "from_pretrained", fails_with(unknown))
    one_line(load, "hub has no model 'owner/name'")
    assert not caplog.records


@pytest.mark.parametrize("name", ["data/worldd/models", "a b", "owner/name/x@v1"])
def test_what_the_hub_cannot_have_is_a_missing_folder(name: str) -> None:
    """A path with a typo is not asked for on the hub."""
    one_line(lambda: locate(name), f"no folder '{name}'")
    one_line(lambda: locate(" ", Path()), "a model without a name")


def test_a_seed_has_the_model_of_its_number(tmp_path: Path) -> None:
    """Where there is one; of others the same one serves every time."""
    for seed in (1, 2, 10):
        (tmp_path / f"models/bert/seed-{seed}").mkdir(parents=True)
        (tmp_path / f"models/bert/seed-{seed}/config.json").write_text("{}")
    found = {seed: Path(locate("models/bert", tmp_path, seed)).name for seed in (0, 1, 2, 3, 10)}
    assert found == {0: "seed-1", 1: "seed-1", 2: "seed-2", 3: "seed-1", 10: "seed-10"}
