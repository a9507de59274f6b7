"""``conjoin release RUN``: the predictor of a finished run as a model repository."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml

from pipeline.api import Predictor
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import read_rows
from pipeline.core.schema import TREES
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.evaluate.stage import run as evaluate
from pipeline.release.package import write_checksums
from pipeline.release.predictors.learned import SUBSTITUTES
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run
from pipeline.sharing.validate.command import run as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.train.stage import run as train

RUN = "runs/baseline/40/seed-0"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with an evaluated baseline."""
    corpus = tiny.build(tmp_path_factory.mktemp("shared") / "toy")
    train(tiny.settings(corpus, mode="baseline", candidates=None, steps=10))
    evaluate(EvaluateSettings(corpus=corpus, threads=1))
    return corpus


@pytest.fixture
def corpus(trained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(trained, tmp_path / "toy"))


def release(corpus: Path, place: str = RUN, **given: Any) -> Path:
    out = given.pop("out", corpus.parent / "out")
    run(ReleaseSettings(**{"candidates": corpus / place, "out": out, "license": "MIT"} | given))
    return Path(out)


def refused(corpus: Path, place: str = RUN, **given: Any) -> str:
    with pytest.raises(ConjoinError) as raised:
        release(corpus, place, **given)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_run_becomes_a_model_repository(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The predictor's own bytes, a card with its interval, no machine path; `validate` and `load` take it."""
    out = release(corpus, author=["Doe, Jane"])
    manifest = read_json(out / "manifest.json")
    for name in (*manifest["files"], "predictor.json"):
        assert (out / name).read_bytes() == (corpus / RUN / "predictor" / name).read_bytes()
    assert all(str(corpus.parent) not in p.read_text() for p in out.glob("*.json"))
    found = manifest["figures"]
    assert (
        found["overall"]
        == read_json(corpus / "evaluation/metrics.json")["runs"][0]["accuracy"]["overall"]
    )
    assert found["low"] < found["overall"] < found["high"]
    assert (found["resampled"], manifest["declared"]) == ("instances", "MIT")
    assert manifest["license"] == "CC0-1.0 AND MIT"
    card = (out / "README.md").read_text()
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["library_name"] == "conjoin"
    assert manifest["annotated"] in card
    assert "no legal advice" in card
    assert Predictor.load(out).predict(["we saw cats and dogs"])[0].words[0] == "we"
    capsys.readouterr()
    validate(ValidateSettings(place=out))
    assert "every digest holds" in capsys.readouterr().out


def test_the_same_run_gives_the_same_bytes(corpus: Path) -> None:
    """Also where it is named by its predictor, and in the place of an earlier release."""
    first = {p.name: p.read_bytes() for p in release(corpus).iterdir()}
    again = {p.name: p.read_bytes() for p in release(corpus, f"{RUN}/predictor").iterdir()}
    command = {name for name in first if first[name] != again[name]}
    assert command == {"manifest.json", "SHA256SUMS"}  # the command names another place
    assert {p.name: p.read_bytes() for p in release(corpus).iterdir()} == first


def test_figures_are_those_of_this_very_predictor(corpus: Path) -> None:
    """Of other weights of that name, and without an evaluation, the card says that there are none."""
    run_card = corpus / RUN / "predictor/config.json"
    saved = corpus / RUN / "predictor/predictor.json"
    write_json(run_card, {**read_json(run_card), "note": 1})
    card = read_json(saved)
    write_json(saved, {**card, "files": {**card["files"], "config.json": sha256_of(run_card)}})
    (corpus / RUN / "finished.json").unlink()
    out = release(corpus)
    assert "another predictor" in read_json(out / "manifest.json")["not_evaluated"]
    assert "It was not evaluated" in (out / "README.md").read_text()
    shutil.rmtree(corpus / "evaluation")
    assert "nothing of its corpus" in read_json(release(corpus) / "manifest.json")["not_evaluated"]


def test_another_corpus_whose_sentences_were_learned_from_is_named(corpus: Path) -> None:
    """Nothing here says what its licence is."""
    (corpus / RUN / "finished.json").unlink()
    card = read_json(corpus / RUN / "run.json")
    other = {"corpus": "other", "part": "others", "sentences": 9, "boundaries": 9}
    card["settings"]["gold_of"] = "parsers/of-other/40/seed-0"
    write_json(corpus / RUN / "run.json", card | {"annotation": [*card["annotation"], other]})
    learned = read_json(release(corpus) / "manifest.json")["learned_from"]
    assert [each["license"] for each in learned if each["name"] == "other"] == ["unknown"]


def test_text_that_stood_in_for_conjuncts_is_named(corpus: Path) -> None:
    """By the licences of the trees of U, whose constituents it was; unknown where these are gone."""
    (corpus / RUN / "finished.json").unlink()
    card = read_json(corpus / RUN / "run.json")
    card["settings"]["augment"] = "substitute"
    write_json(corpus / RUN / "run.json", card)
    trees = sorted((corpus / "trees").glob("trees-*.parquet"))
    licences = {row["license"] for path in trees for row in read_rows(path, TREES)}

    def named() -> set[str]:
        learned = read_json(release(corpus) / "manifest.json")["learned_from"]
        return {each["license"] for each in learned if each["part"] == SUBSTITUTES}

    assert named() == (licences or {"unknown"})
    shutil.rmtree(corpus / "trees", ignore_errors=True)
    assert named() == {"unknown"}


def test_what_the_first_of_two_runs_learned_from_is_named(corpus: Path) -> None:
    """Its encoder, its candidates and their licences, and L once."""
    train(tiny.settings(corpus, system="first", mode="no-filter", steps=2))
    given = "runs/first/{labelled}/seed-{seed}/predictor"
    train(tiny.settings(corpus, system="after", mode="baseline", encoder=given, steps=2))
    first = read_json(release(corpus, "runs/first/40/seed-0") / "manifest.json")
    out = release(corpus, "runs/after/40/seed-0", out=corpus.parent / "after")
    assert read_json(out / "manifest.json")["learned_from"] == first["learned_from"]
    parts = [each["part"] for each in first["learned_from"]]
    assert parts == ["the encoder", "annotated text", "candidates"]
    card = (out / "README.md").read_text()
    assert "began with the encoder of a predictor that did, `first`" in card
    shutil.rmtree(corpus / "runs/first")
    lost = read_json(release(corpus, "runs/after/40/seed-0") / "manifest.json")
    assert lost["learned_from"][0]["license"] == "unknown"


def test_a_licence_that_is_not_known_must_be_declared(corpus: Path) -> None:
    """The encoder's, here; and what is declared must permit to hand weights on."""
    assert "name the licence that you may hand weights on" in refused(corpus, license=None)
    assert "LDC" in refused(corpus, license="LDC-User-Agreement")
    assert "does not know" in refused(corpus, license="Mine-1.0")


def test_a_known_encoder_says_its_licence_and_its_name(corpus: Path) -> None:
    """A checkpoint as `conjoin models` fetched it: nothing has to be declared."""
    write_json(
        corpus / "models/bert/checkpoint.json",
        {
            "name": "minilm",
            "origin": "hub",
            "source": "x",
            "licences": {},
            "weights": {},
            "files": {},
        },
    )
    manifest = read_json(release(corpus, license=None) / "manifest.json")
    assert manifest["license"] == "Apache-2.0 AND CC0-1.0"
    assert manifest["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert manifest["declared"] is None


def test_what_cannot_be_released_is_one_line(corpus: Path, tmp_path: Path) -> None:
    """Options of rows, a run that is not finished, other weights, another format, a release itself."""
    assert "--stand-off is for candidates" in refused(corpus, stand_off=True)
    assert "--shards is for candidates" in refused(corpus, shards=2)
    out = release(corpus)
    assert "already" in refused(out.parent, "out", out=tmp_path / "other")
    strange = out / "notes.txt"
    strange.write_text("mine")
    assert "not its own" in refused(corpus)
    weights = corpus / RUN / "predictor/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "not the file that training wrote" in refused(corpus, out=tmp_path / "other")
    saved = corpus / RUN / "predictor/predictor.json"
    write_json(saved, {**read_json(saved), "format": "other"})
    (corpus / RUN / "finished.json").unlink()
    assert "another format: 'other'" in refused(corpus, out=tmp_path / "other")
    (corpus / RUN / "run.json").unlink()
    assert "no training has finished" in refused(corpus, out=tmp_path / "other")


def test_validate_names_what_does_not_hold(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte that changed; a pickle under new sums. Output and exit code are as of rows."""
    out = release(corpus)

    def said() -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            validate(ValidateSettings(place=out, json_=True))
        assert end.value.code == 1
        ((kind, found),) = json.loads(capsys.readouterr().out)["violations"].items()
        assert kind == "not the predictor that was written"
        return str(found["examples"][0]["what"])

    (out / "LICENSE").write_text("none")
    assert "LICENSE: not the file" in said()
    manifest = read_json(out / "manifest.json")
    (out / "more.bin").write_bytes(b"\x80\x04.")
    write_checksums(out)
    assert "more.bin: a file that no predictor has" in said()
    write_json(out / "manifest.json", {**manifest, "files": {**manifest["files"], "more.bin": "0"}})
    write_checksums(out)
    assert "could run code" in said()


PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "toy-predictor"
version = "1.0.0"

[tool.setuptools]
packages = ["toy_predictor"]
package-data = { toy_predictor = ["*"] }
"""


@pytest.mark.long
def test_a_release_becomes_a_wheel(corpus: Path, tmp_path: Path) -> None:
    """The recipe for those without a hub: built and installed offline, it loads from the package."""
    out = release(corpus, out=tmp_path / "wheel/toy_predictor")
    (out / "__init__.py").touch()
    (tmp_path / "wheel/pyproject.toml").write_text(PYPROJECT)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    for words in (
        ["wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "./wheel"],
        [
            "install",
            "--no-deps",
            "--no-index",
            "--target",
            "there",
            "dist/toy_predictor-1.0.0-py3-none-any.whl",
        ],
    ):
        subprocess.run([*pip, *words], cwd=tmp_path, check=True)  # noqa: S603 - pip of this Python
    code = "import toy_predictor; print(toy_predictor.__path__[0])"
    found = subprocess.run(  # noqa: S603 - as above
        [sys.executable, "-c", code],
        cwd=tmp_path / "there",
        check=True,
        capture_output=True,
        text=True,
    )
    predictor = Predictor.load(found.stdout.strip())
    assert json.dumps(predictor.predict(["we saw cats and dogs"])[0].words)
