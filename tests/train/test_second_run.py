"""A run whose encoder is another run's predictor, as of candidates first and of L after them."""

import shutil
from pathlib import Path

import pytest
import torch
from tiny import COORDINATION, build, settings
from torch import Tensor

from pipeline.core.annotation import Annotation, described, from_json
from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError
from pipeline.core.runs import ELSE, System
from pipeline.models.roles import load_encoder
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.data import encoder_of, fresh_model


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus, and a run of its candidates."""
    corpus = build(tmp_path_factory.mktemp("data") / "tiny")
    train.run(settings(corpus, system="first", mode="no-filter", steps=3))
    return corpus


def annotation(run: Path) -> Annotation:
    return from_json(read_json(run / "run.json")["annotation"])


def encoder(model: object) -> dict[str, Tensor]:
    assert isinstance(model, CoordinationPredictor)
    return model.encoder.state_dict()


def test_it_begins_with_the_encoder_and_a_scorer_of_its_own(corpus: Path) -> None:
    """Weight for weight; which draw's predictor it is the name says. A parser's encoder is none of these."""
    asked = settings(corpus, encoder="runs/first/{labelled}/seed-{seed}/predictor")
    folder = Path(encoder_of(asked))
    assert folder == corpus / "runs/first/40/seed-0/predictor"
    first = CoordinationPredictor.load(folder)
    fresh = fresh_model(asked, COORDINATION, 0, torch.device("cpu"))
    there, taken = encoder(first), encoder(fresh)
    assert taken.keys() == there.keys()
    assert all(torch.equal(taken[name], value) for name, value in there.items())
    assert isinstance(fresh, CoordinationPredictor)
    with pytest.raises(ModelError, match=r"lacks \d+ weights of an encoder"):
        load_encoder(str(folder))
    assert not torch.equal(
        fresh.scorer.state_dict()["first.weight"], first.scorer.state_dict()["first.weight"]
    )


def test_what_was_annotated_for_the_first_is_the_seconds_too(corpus: Path, tmp_path: Path) -> None:
    """What is not known of the first's candidates stays so; of a predictor alone nothing is known."""
    first = annotation(corpus / "runs/first/40/seed-0")
    assert "t5-sync" in described(first, "tiny")
    given = "runs/first/{labelled}/seed-{seed}/predictor"
    train.run(settings(corpus, encoder=given, mode="baseline", steps=1, out=tmp_path / "second"))
    assert read_json(tmp_path / "second/run.json")["settings"]["encoder"] == given
    assert annotation(tmp_path / "second") == first
    system = System.of(read_json(tmp_path / "second/run.json"))
    assert system.mode == "baseline"
    assert system.has_candidates  # it is no rival of systems with candidates
    assert not system.is_baseline
    beside = System.of_row(system.with_parser("l-trees", ELSE).as_row())
    assert beside.has_candidates
    alone = shutil.copytree(
        encoder_of(settings(corpus, encoder=given)), tmp_path / "lone/predictor"
    )
    train.run(
        settings(corpus, encoder=str(alone), mode="baseline", steps=1, out=tmp_path / "third")
    )
    assert "lone" in described(annotation(tmp_path / "third"), "tiny")
