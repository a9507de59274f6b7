"""`pretrain --base ENCODER`: a masked LM of a BERT that was pretrained without a head."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from pipeline.core.errors import ModelError
from pipeline.core.schema import read_candidates, read_sentences
from pipeline.generate import stage as generate
from pipeline.generate.settings import GenerateSettings
from pipeline.infill.families.known import load_base, load_language_model
from pipeline.pretrain import loop
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.stage import run
from pipeline.pretrain.token_store import Text, lengths_of
from pipeline.text.word_vectors import token_counts
from pipeline.train.stage import run as train
from tests import tiny

TINY: dict[str, Any] = {
    "lm": "bert-adapted", "steps": 200, "batch_size": 8, "learning_rate": 2e-2, "max_length": 256,
    "eval_every": 200, "held_out": "count",
}  # fmt: skip


@pytest.fixture
def encoder(tmp_path: Path, tiny_bert: Path) -> Path:
    """The tiny BERT without its head; its tokenizer cuts and fills up, as MiniLM's does."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "some-encoder"))
    BertModel.from_pretrained(tiny_bert).save_pretrained(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=6)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    del config["model_max_length"]  # the model's positions are the limit then
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def raw(corpus: Path) -> Path:
    """A corpus of parsed sentences that has its raw text, too, 160 lines of it, some very long."""
    lines = [" ".join(s.words) for s in read_sentences(corpus / "sentences.parquet")]
    long = " ".join(lines[:20])
    (corpus / "text.txt").write_text("\n".join([*lines * 5, *[long] * 10]) + "\n")
    return corpus


@pytest.mark.long
def test_an_encoder_becomes_a_masked_lm_that_ranks_and_fills(
    raw: Path, encoder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its loss falls below that of token frequencies, which it says; either kind of fills runs on it."""
    run(PretrainSettings(corpus=raw, base=str(encoder), **TINY))
    said = re.search(
        r"given one; frequencies of tokens .* loss of ([0-9.]+),", capsys.readouterr().out
    )
    assert said
    made = raw / "models/bert-adapted/seed-0"
    card = json.loads((made / "pretrain.json").read_text())
    assert card["validation_loss"] < float(said[1]) - 0.2
    model, tokenizer = load_language_model("bert", str(made))
    assert model.cls.predictions.decoder.weight is model.get_input_embeddings().weight
    assert tokenizer.backend_tokenizer.truncation is None
    for fills in ("attested", "free"):
        out = raw / fills
        generate.run(
            GenerateSettings(corpus=raw, lm="bert", model=str(made), fills=fills, out=out, unit=40)
        )
        rows = [row for shard in out.glob("candidates-*.parquet") for row in read_candidates(shard)]
        rejects = [row for shard in out.glob("rejects-*.parquet") for row in read_candidates(shard)]
        assert len(rows) + len(rejects) == 30
        assert rows


def test_a_killed_run_ends_as_one_that_was_not(
    raw: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, with the rates of head and body apart."""
    settings = PretrainSettings(
        corpus=raw, base=str(encoder), **{**TINY, "steps": 8, "checkpoint_every": 3}
    )
    out = raw / "models/bert-adapted/seed-0"
    run(settings)
    whole = (out / "model.safetensors").read_bytes()
    shutil.rmtree(out)
    done = iter(range(5))
    part = loop._own_part

    def counted(*given: Any) -> Any:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return part(*given)

    monkeypatch.setattr(loop, "_own_part", counted)
    with pytest.raises(KeyboardInterrupt):
        run(settings)
    monkeypatch.setattr(loop, "_own_part", part)
    run(settings)
    assert (out / "model.safetensors").read_bytes() == whole


@pytest.mark.parametrize(
    ("given", "head", "body"),
    [({}, 2e-2, 4e-3), ({"body_learning_rate": 5e-4}, 2e-2, 5e-4)],
)
def test_the_body_learns_at_a_rate_of_its_own(  # noqa: PLR0917 - fixtures and parameters
    raw: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch,
    given: dict[str, float], head: float, body: float,
) -> None:  # fmt: skip
    """A fifth of the new head's, or what is asked for; the tied output layer is the body's."""
    rates: dict[int, float] = {}
    update = loop._PretrainingRun.update

    def noted(self: Any, whole: Any) -> None:
        update(self, whole)
        names = {id(weight): name for name, weight in self._model.named_parameters()}
        for group in self._optimizer.param_groups:
            rates.update({names[id(each)]: group["lr"] for each in group["params"]})

    monkeypatch.setattr(loop._PretrainingRun, "update", noted)
    short = {**TINY, "steps": 1, "warmup": 0.0}
    run(PretrainSettings(corpus=raw, base=str(encoder), **short, **given))
    assert len(rates) == len(list(load_base("bert", str(encoder))[0][0].parameters()))
    for name, rate in rates.items():
        assert rate == pytest.approx(head if name.startswith("cls.") else body)


def test_a_rate_of_the_body_that_is_not_given_is_no_setting() -> None:
    """So models that were made before it was there are current; nor does a T5 know it."""
    assert "body_learning_rate" in PretrainSettings(corpus=Path()).inert()
    assert (
        "body_learning_rate" not in PretrainSettings(corpus=Path(), body_learning_rate=1e-4).inert()
    )
    assert (
        "body_learning_rate"
        in PretrainSettings(corpus=Path(), lm="t5", body_learning_rate=1e-4).inert()
    )


def test_a_base_with_a_head_learns_at_one_rate(tiny_bert: Path) -> None:
    """As it did before there were two: the same groups of parameters."""
    (model, _), _ = load_base("bert", str(tiny_bert))
    assert [set(group) for group in loop._groups(model, 1.0)] == [{"params", "weight_decay"}] * 2
    apart = loop._groups(model, 0.5)
    assert sum(len(group["params"]) for group in apart) == len(list(model.parameters()))


def test_a_ready_model_may_be_an_encoder_alone(
    raw: Path, encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A predictor learns with it, as experiments have it; fills are refused with what helps."""
    run(PretrainSettings(corpus=raw, lm="bert-alone", ready=str(encoder)))
    assert "without a head: for predictors and parsers, not for fills" in capsys.readouterr().out
    learned = tiny.build(tmp_path / "tiny")
    shutil.copytree(raw / "models/bert-alone", learned / "models/bert-alone")
    train(tiny.settings(learned, mode="baseline", candidates=None, encoder="models/bert-alone"))
    assert (learned / "runs/baseline/40/seed-0/predictor").is_dir()
    with pytest.raises(ModelError, match=r"without the head of a masked LM; give it one.*--base"):
        generate.run(
            GenerateSettings(corpus=raw, lm="bert-alone", out=tmp_path / "out", fills="free")
        )


def test_twins_need_a_head(raw: Path, encoder: Path) -> None:
    """They are few: a head is learnt of raw text first."""
    settings = PretrainSettings(corpus=raw, base=str(encoder), **TINY, objective="twins")
    shutil.rmtree(raw / "trees")
    with pytest.raises(ModelError, match=r"without the head of a masked LM; give it one.*--base"):
        run(settings)


def test_tokens_are_counted_in_all_texts_or_in_some() -> None:
    """Evenly spaced where there are too many."""
    texts = [Text(np.array([i % 3, 3]), np.ones(2, dtype=bool)) for i in range(9)]
    assert token_counts(texts, lengths_of(texts), 5).tolist() == [3, 3, 3, 9, 0]
    assert token_counts(texts, lengths_of(texts), 5, most=6).tolist() == [3, 0, 0, 3, 0]
    assert torch.from_numpy(token_counts(texts, lengths_of(texts), 5)).sum() == 18
