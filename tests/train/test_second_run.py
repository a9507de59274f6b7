"""A run whose encoder is another run's predictor, as of candidates first and of L after them."""

import shutil
from pathlib import Path

import pytest
import torch
from tiny import COORDINATION, build, settings
from torch import Tensor

from pipeline.core.annotation import Annotation, described, from_json
from pipeline.core.cards.runs import RunCard
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.runs import ELSE, System
from pipeline.evaluate.stage import _check_alike
from pipeline.experiments.diagnose import command as diagnose
from pipeline.experiments.diagnose.settings import DiagnoseSettings
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
    assert System.of(read_json(tmp_path / "third/run.json")).has_candidates


def test_a_run_after_a_baseline_is_no_baseline(corpus: Path, tmp_path: Path) -> None:
    """No candidate taught it, but its encoder may have learned brackets, gold of others or variants."""
    out = corpus / "runs/plain/40/seed-0"
    train.run(settings(corpus, system="plain", mode="baseline", steps=1, out=out))
    given = "runs/plain/{labelled}/seed-{seed}/predictor"
    train.run(settings(corpus, encoder=given, mode="baseline", steps=1, out=tmp_path / "second"))
    system = System.of(read_json(tmp_path / "second/run.json"))
    assert system.begun_with == "plain"
    assert not system.has_candidates
    assert not system.is_baseline
    assert System.of(read_json(out / "run.json")).is_baseline
    assert System.of_row(system.as_row()).begun_with == "plain"


def test_a_damaged_predictor_is_no_encoder(corpus: Path, tmp_path: Path) -> None:
    """Its card has a digest of each file."""
    given = "runs/first/{labelled}/seed-{seed}/predictor"
    place = shutil.copytree(encoder_of(settings(corpus, encoder=given)), tmp_path / "predictor")
    card = place / "tokenizer.json"
    card.write_text(card.read_text() + " ")
    with pytest.raises(ModelError, match=r"a damaged predictor: tokenizer\.json is not the file"):
        train.run(settings(corpus, encoder=str(place), mode="baseline", out=tmp_path / "run"))


def test_folds_cannot_be_judged_by_an_encoder_that_saw_them(corpus: Path) -> None:
    """`diagnose` holds sentences of L out, which the first run has learned."""
    given = "runs/first/{labelled}/seed-{seed}/predictor"
    out = corpus / "runs/after/40/seed-0"
    train.run(settings(corpus, system="after", encoder=given, mode="baseline", steps=1, out=out))
    with pytest.raises(InputError, match="has seen every fold"):
        diagnose.run(DiagnoseSettings(run=out))


def test_seeds_of_one_system_may_name_their_encoders(corpus: Path) -> None:
    """Each its own seed's; those of other systems say what differs."""

    def card(seed: int, encoder: str) -> tuple[Path, RunCard]:
        own: RunCard = {
            "system": "x", "mode": "baseline", "labelled": 40, "seed": seed, "model": str(seed),
            "settings": {"encoder": encoder},
        }  # fmt: skip
        return Path(f"runs/x/40/seed-{seed}"), own

    place = "runs/{}/40/seed-{}/predictor"
    _check_alike([card(seed, place.format("first", seed)) for seed in (0, 1)])
    with pytest.raises(InputError, match="differs from seed-0 in encoder"):
        _check_alike([card(0, place.format("first", 0)), card(1, place.format("other", 1))])
