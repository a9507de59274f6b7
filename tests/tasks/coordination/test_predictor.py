"""The predictor: Eq. 3 against a naive loop, words and subwords, saving and loading, predictions."""

import json
import random
import shutil
from pathlib import Path

import pytest
import tiny
import torch
from transformers import AutoTokenizer

from pipeline.core.errors import ConjoinError, InputError, ModelError
from pipeline.core.files import write_json
from pipeline.core.types import Span
from pipeline.models import checkpoint_files
from pipeline.models.words import TOO_LONG, WordEncoding
from pipeline.tasks.coordination.examples import EDGE, OUTSIDE, CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.scorer import EndpointScorer, batches

VOCABULARY = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905


def words(number: int, length: int) -> tuple[str, ...]:
    """A random sentence with "and" at its third word."""
    drawn = random.Random(number).choices(VOCABULARY, k=length)
    return (*drawn[:2], "and", *drawn[3:])


@pytest.fixture
def model(tiny_bert: Path) -> CoordinationPredictor:
    """A random predictor in evaluation mode."""
    return CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).eval()


def naive_scores(scorer: EndpointScorer, h: torch.Tensor, k: int) -> dict[tuple[int, int], float]:
    """Eq. 3 as printed: gather F(i, j, k) for each pair, send it through the MLP, softmax."""
    mlp = torch.nn.Sequential(scorer.first, torch.nn.ReLU(), scorer.second)
    pairs = [(i, j) for i in range(k) for j in range(k + 1, len(h))]
    scores = [mlp(torch.cat([h[i] - h[k + 1], h[j] - h[k - 1]])) for i, j in pairs]
    return dict(zip(pairs, torch.cat(scores).softmax(0).tolist(), strict=True))


def test_scorer_equals_naive_double_loop() -> None:
    """The factorised, batched scorer gives the naive loop's probabilities for all pairs."""
    torch.manual_seed(0)
    scorer = EndpointScorer(6, 5, 0.5).eval()
    h = torch.randn(3, 9, 6)
    instances = [(0, 1, 9), (0, 7, 9), (1, 2, 4), (2, 3, 6), (1, 1, 4)]
    batched = [scores.exp() for scores in scorer(h, instances)]
    for found, (sentence, at, length) in zip(batched, instances, strict=True):
        expected = naive_scores(scorer, h[sentence, :length], at)
        for (i, j), value in expected.items():
            assert found[i, j - at - 1].item() == pytest.approx(value, abs=1e-6)
        assert found.sum().item() == pytest.approx(1, abs=1e-5)
        assert found.numel() == len(expected)


def test_scorer_has_the_naive_gradient() -> None:
    """Training the factorised scorer is training the MLP: same loss, same gradients."""
    torch.manual_seed(0)
    scorer = EndpointScorer(6, 5, 0.0)
    h = torch.randn(1, 7, 6)
    loss = -scorer(h, [(0, 3, 7)])[0][1, 2]
    loss.backward()
    found = [p.grad.clone() for p in scorer.parameters()]
    scorer.zero_grad()
    pairs = [(i, j) for i in range(3) for j in range(4, 7)]
    f = torch.stack([torch.cat([h[0, i] - h[0, 4], h[0, j] - h[0, 2]]) for i, j in pairs])
    scores = scorer.second(scorer.first(f).relu()).squeeze(1)
    naive = -scores.log_softmax(0)[pairs.index((1, 6))]
    naive.backward()
    assert loss.item() == pytest.approx(naive.item(), abs=1e-6)
    for one, parameter in zip(found, scorer.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, atol=1e-6, rtol=1e-4)


def test_predictions_equal_naive_encoding(model: CoordinationPredictor) -> None:
    """Last subword of each word, one sentence at a time, unpadded: the same argmax and probability."""
    sentences = [words(n, 5 + n) for n in range(6)]
    found = model.predict(sentences, [2] * 6, batch_tokens=30)
    tokenizer = model.encoding.tokenizer
    for sentence, prediction in zip(sentences, found, strict=True):
        ids, last = [tokenizer.cls_token_id], []
        for word in sentence:
            ids += tokenizer(word, add_special_tokens=False)["input_ids"]
            last.append(len(ids) - 1)
        ids.append(tokenizer.sep_token_id)
        with torch.no_grad():
            h = model.encoder(torch.tensor([ids])).last_hidden_state[0, last]
            scores = naive_scores(model.scorer, h, 2)
        (i, j), probability = max(scores.items(), key=lambda item: item[1])
        assert prediction is not None
        assert prediction.span == Span(i, j + 1)
        assert prediction.probability == pytest.approx(probability, abs=1e-6)


def test_words_of_several_subwords(model: CoordinationPredictor) -> None:
    """A word's last subword stands for it; "zygote" is not in the vocabulary as a whole."""
    encoded = model.encoding.encode([("zygote", "man")])[0]
    assert encoded.last[0] == len(model.encoding.tokenizer.tokenize("zygote")) > 1
    assert encoded.last[1] == len(encoded.ids) - 2


def test_word_without_subwords_is_unknown(model: CoordinationPredictor) -> None:
    """A control character keeps its word index: it is read as the unknown token."""
    encoded = model.encoding.encode([("the", "\u0001", "man")])[0]
    assert len(encoded.last) == 3
    assert encoded.ids[encoded.last[1]] == model.encoding.tokenizer.unk_token_id


def test_tokenizer_without_unknown_token_is_refused(tiny_bert: Path) -> None:
    """Without an unknown token the lost word is named."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.unk_token = None
    with pytest.raises(ModelError, match=r"maps the word '\\x01' to nothing"):
        WordEncoding(tokenizer, 160).encode([("the", "\u0001")])


def test_what_cannot_be_scored_has_no_prediction(model: CoordinationPredictor) -> None:
    """A coordinator at the edge or in too long a sentence: None, in its place, with a reason."""
    long = ("man", "and", *["zygote"] * 160)
    sentences = [("and", "man", "saw"), ("man", "saw", "and"), long, words(0, 6), ("a",)]
    ks = [0, 2, 1, 2, 0]
    found = model.predict(sentences, ks)
    assert [p is None for p in found] == [True, True, True, False, True]
    assert model.reasons(sentences, ks) == [EDGE, EDGE, TOO_LONG, None, EDGE]
    assert tiny.probabilities(model, sentences, ks, [Span(0, 4)] * 5).count(None) == 4
    assert (
        model.reasons([words(0, 6)] * 3, [2] * 3, [Span(2, 6), Span(0, 3), Span(0, 7)])
        == [OUTSIDE] * 3
    )


def test_probabilities_sum_to_one(model: CoordinationPredictor) -> None:
    """Over all pairs of an instance; the prediction is the most probable of them."""
    sentence = words(4, 8)
    extents = [Span(i, j + 1) for i in range(2) for j in range(3, 8)]
    found = tiny.probabilities(model, [sentence] * 10, [2] * 10, extents)
    values = [p for p in found if p is not None]
    assert len(values) == 10
    assert sum(values) == pytest.approx(1, abs=1e-5)
    best = model.predict([sentence], [2])[0]
    assert best is not None
    assert (best.span, best.probability) == (
        extents[values.index(max(values))], pytest.approx(max(values)),
    )  # fmt: skip


def test_batching_changes_nothing(model: CoordinationPredictor) -> None:
    """Order and size of batches leave predictions alone."""
    sentences = [words(n, 4 + n % 7) for n in range(20)]
    usual = model.predict(sentences, [2] * 20)
    for batch_tokens in (1, 40, 4096):
        backwards = model.predict(sentences[::-1], [2] * 20, batch_tokens)[::-1]
        for one, other in zip(usual, backwards, strict=True):
            assert one is not None
            assert other is not None
            assert one.span == other.span
            assert one.probability == pytest.approx(other.probability, abs=1e-6)


def test_each_sentence_is_encoded_once(
    model: CoordinationPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instances that share a sentence share its encoding, in prediction and in training."""
    rows = []
    forward = model.encoder.forward
    monkeypatch.setattr(
        model.encoder, "forward", lambda **given: (rows.append(len(given["input_ids"])), forward(**given))[1]
    )  # fmt: skip
    sentence, other = words(1, 9), words(2, 9)
    model.predict([sentence, other, sentence, sentence], [2, 2, 3, 4])
    model([CoordinationExample(sentence, (2, 3), (Span(0, 5), Span(1, 6)))] * 2)
    assert rows == [2, 1]


def test_loss_is_summed_over_instances(model: CoordinationPredictor) -> None:
    """A sentence with two structures counts twice in a batch."""
    one, two = words(1, 9), words(2, 7)
    asked = [(one, 2, Span(1, 5)), (one, 4, Span(0, 9)), (two, 2, Span(0, 4))]
    probabilities = tiny.probabilities(model, *map(list, zip(*asked, strict=True)))
    expected = torch.tensor(probabilities).log().sum().neg().item()
    examples = [
        CoordinationExample(one, (2, 4), (Span(1, 5), Span(0, 9))),
        CoordinationExample(two, (2,), (Span(0, 4),)),
    ]
    assert model(examples).item() == pytest.approx(expected, abs=1e-5)


def test_scoring_has_no_dropout_and_keeps_the_mode(model: CoordinationPredictor) -> None:
    """CalcScore is the same every time, even in the middle of training."""
    model.train()
    sentence = words(3, 12)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = tiny.probabilities(model, [sentence], [2], [Span(0, 6)])
    assert first == tiny.probabilities(model, [sentence], [2], [Span(0, 6)])
    assert model.training
    assert torch.equal(state, torch.get_rng_state())
    example = [CoordinationExample(sentence, (2,), (Span(0, 6),))]
    assert model(example).item() != model(example).item()


def test_saved_predictor_stands_alone(
    model: CoordinationPredictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moved folder predicts the same with nothing else, names no path, and is replaced whole."""
    folder = tmp_path / "run" / "predictor"
    folder.mkdir(parents=True)
    (folder / "stale.txt").write_text("old")
    model.save(folder)
    assert not (folder / "stale.txt").exists()
    assert [p.name for p in folder.parent.iterdir()] == ["predictor"]
    moved = shutil.move(folder, tmp_path / "elsewhere")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    loaded = CoordinationPredictor.load(moved)
    sentences = [words(n, 8) for n in range(5)]
    assert loaded.predict(sentences, [2] * 5) == model.predict(sentences, [2] * 5)
    assert not loaded.training
    assert loaded.encoding.positions == 160
    text = "".join(p.read_text() for p in sorted(moved.glob("*.json")))
    assert str(tmp_path.parent) not in text


def test_folder_of_another_kind_is_refused(model: CoordinationPredictor, tmp_path: Path) -> None:
    """No predictor, another version, and damaged weights: one line that names the folder."""
    with pytest.raises(ModelError, match=r"empty: no predictor\.json here"):
        CoordinationPredictor.load(tmp_path / "empty")
    folder = tmp_path / "predictor"
    model.save(folder)
    card = json.loads((folder / "predictor.json").read_text())
    (folder / "predictor.json").write_text(json.dumps(card | {"version": 99}))
    with pytest.raises(ModelError, match=r"predictor: .*'conjoin-predictor' version 99, not .* 1;"):
        CoordinationPredictor.load(folder)
    (folder / "predictor.json").write_text(json.dumps(card | {"mlp_hidden": 9}))
    with pytest.raises(ModelError, match=r"a damaged predictor: .*size mismatch"):
        CoordinationPredictor.load(folder)
    (folder / "predictor.json").write_text(json.dumps(card))
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ModelError, match="a damaged predictor"):
        CoordinationPredictor.load(folder)


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"]
)
def test_its_files_are_those_that_were_saved(
    model: CoordinationPredictor, tmp_path: Path, name: str
) -> None:
    """Without its vocabulary it would predict other boundaries, and say nothing."""
    model.save(tmp_path / "predictor")
    path = tmp_path / "predictor" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-2] + b" " + whole[-2:])
    with pytest.raises(
        ModelError, match=f"a damaged predictor: {name} is not the file that was saved"
    ):
        CoordinationPredictor.load(tmp_path / "predictor")
    path.unlink()
    with pytest.raises(ModelError, match=f"a damaged predictor: {name} is missing"):
        CoordinationPredictor.load(tmp_path / "predictor")


def older(model: CoordinationPredictor, folder: Path) -> Path:
    """A predictor's folder as it was before digests; its card."""
    model.save(folder)
    card = json.loads((folder / "predictor.json").read_text())
    del card["files"]
    (folder / "predictor.json").write_text(json.dumps(card))
    return folder / "predictor.json"


def test_an_older_folder_has_no_digests(model: CoordinationPredictor, tmp_path: Path) -> None:
    """It is loaded if nothing that is needed is missing."""
    older(model, tmp_path / "predictor")
    sentences = [words(n, 8) for n in range(3)]
    loaded = CoordinationPredictor.load(tmp_path / "predictor")
    assert loaded.predict(sentences, [2] * 3) == model.predict(sentences, [2] * 3)
    (tmp_path / "predictor/tokenizer.json").unlink()
    (tmp_path / "predictor/vocab.txt").unlink(missing_ok=True)
    with pytest.raises(ModelError, match="no tokenizer files"):
        CoordinationPredictor.load(tmp_path / "predictor")


@pytest.mark.parametrize("text", [
    "[]", "3", "{", '{"mlp_hidden": "8"}', '{"mlp_hidden": 8, "dropout": NaN}',
    '{"mlp_hidden": 0, "dropout": 0}', '{"mlp_hidden": 8, "dropout": 1}',
    '{"mlp_hidden": 8, "dropout": 0, "files": []}', '{"mlp_hidden": 1000000000000, "dropout": 0}',
    '{"mlp_hidden": 8, "dropout": 0, "files": {"tokenizer.json": 3}}',
])  # fmt: skip
def test_a_card_of_another_form_is_one_line(
    model: CoordinationPredictor, tmp_path: Path, text: str
) -> None:
    """Keys of other types, none, or sizes that no predictor has."""
    path = older(model, tmp_path / "predictor")
    head = '{"format": "conjoin-predictor", "version": 1, '
    path.write_text(head + text[1:] if text.startswith("{") else text)
    with pytest.raises(ConjoinError) as caught:
        CoordinationPredictor.load(tmp_path / "predictor")
    assert "\n" not in str(caught.value)
    assert "predictor" in str(caught.value)


@pytest.mark.parametrize("name", ["/etc/hostname", "../beside"])
def test_a_card_names_no_file_elsewhere(
    model: CoordinationPredictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What lies outside the folder is not even read."""
    path = older(model, tmp_path / "predictor")
    (tmp_path / "beside").write_text("x")
    write_json(path, json.loads(path.read_text()) | {"files": {name: "0" * 64}})
    read: list[Path] = []
    monkeypatch.setattr(checkpoint_files, "content_digest", lambda path: read.append(path) or "")
    with pytest.raises(InputError, match="leads out of the folder"):
        CoordinationPredictor.load(tmp_path / "predictor")
    assert not read


def test_weights_that_are_no_numbers_are_refused(
    model: CoordinationPredictor, tmp_path: Path
) -> None:
    """Every probability would be NaN."""
    with torch.no_grad():
        model.scorer.first.weight[0, 0] = float("nan")
    model.save(tmp_path / "predictor")
    with pytest.raises(ModelError, match=r"not all numbers: scorer\.first\.weight"):
        CoordinationPredictor.load(tmp_path / "predictor")


def test_batched_pairs_train_like_single_ones() -> None:
    """Same dropout masks, loss and gradients as one instance at a time; batches cover all."""
    torch.manual_seed(0)
    scorer = EndpointScorer(6, 5, 0.5).train()
    h = torch.randn(3, 9, 6)
    instances = [(0, 1, 9), (2, 7, 9), (1, 2, 4), (2, 3, 6)]
    parts = list(batches(instances, pairs=12))
    assert [len(part) for part in parts] == [1, 2, 1]
    assert [instance for part in parts for instance in part] == instances
    losses, gradients = [], []
    for runs in ([instances], [[instance] for instance in instances]):
        scorer.zero_grad()
        torch.manual_seed(7)
        rows = [scores for run in runs for scores in scorer(h, run)]
        loss = -torch.stack([scores[0, -1] for scores in rows]).mean()
        loss.backward()
        losses.append(loss.item())
        gradients.append([parameter.grad.clone() for parameter in scorer.parameters()])
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


def test_sentences_are_tokenised_once(
    model: CoordinationPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before is remembered, up to a limit, and comes out the same."""
    monkeypatch.setattr("pipeline.models.words._KEPT", 3)
    asked: list[int] = []
    tokenizer = model.encoding.tokenizer
    encoding = WordEncoding(
        lambda rows, **given: (asked.append(len(rows)), tokenizer(rows, **given))[1], 160
    )
    sentences = [words(n, 6) for n in range(4)]
    fresh = WordEncoding(tokenizer, 160).encode(sentences)
    assert encoding.encode([sentences[0], sentences[1], sentences[0]]) == [
        fresh[0],
        fresh[1],
        fresh[0],
    ]
    assert encoding.encode([list(sentences[1]), sentences[2]]) == fresh[1:3]
    assert asked == [2, 1]
    assert encoding.encode(sentences) == fresh  # the fourth makes room by forgetting
    assert encoding.encode(sentences[:1]) == fresh[:1]
    assert asked == [2, 1, 1, 1]
