"""Synchronized decoding against a naive loop: two forward passes, min, argmax, token by token."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoTokenizer

from pipeline.core.types import Reference, Span
from pipeline.infill import (
    BertInfiller,
    Fill,
    Infiller,
    InfillRequest,
    T5Infiller,
    fill,
    load_infiller,
    masked_lm,
)
from pipeline.infill.synchronize import Synchronizer

SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("the old man saw a small dog near the harbor", 7, 10),
    ("a girl sold the lamp yesterday", 2, 5),
    ("the man who saw the dog sold a lamp near the old harbor yesterday", 3, 6),
    ("a dog saw the girl", 4, 5),
    ("unfathomable harbors saw antidisestablishmentarian lamps quickly", 3, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]


def combine(kind: str, scores: str) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def prepared(logits: torch.Tensor) -> torch.Tensor:
        return logits.log_softmax(-1) if scores == "logprobs" else logits

    if kind == "min":
        return lambda a, b: torch.minimum(prepared(a), prepared(b))
    return lambda a, b: (prepared(a) + prepared(b)) / 2


def infiller(
    lm: str, where: Path, kind: str = "min", scores: str = "logits", *, sync: bool = True
) -> Infiller:
    synchronizer = Synchronizer(kind, scores)  # type: ignore[arg-type]
    task = InfillRequest("and", synchronizer, sync)
    return load_infiller(lm, str(where), task)  # type: ignore[arg-type]


def texts_around(reference: Reference) -> tuple[str, str, str]:
    words, span = reference.words, reference.span
    parts = words[: span.start], words[span.start : span.end], words[span.end :]
    return tuple(" ".join(part) for part in parts)  # type: ignore[return-value]


@torch.inference_mode()
def naive_bert(where: Path, reference: Reference, kind: str, scores: str) -> str:
    """One pass per reference, logits at each mask picked by hand (Eq. 1)."""
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForMaskedLM.from_pretrained(where).eval()
    before, x, after = texts_around(reference)
    n = len(tokenizer.tokenize(x))
    masks = " ".join(["[MASK]"] * n)
    encoding = tokenizer(f"{before} {x} and {masks} {after}", f"{before} {masks} and {x} {after}")
    ids = encoding["input_ids"]
    types, second = [], False
    for token in ids:
        types.append(int(second))
        second = second or token == tokenizer.sep_token_id
    logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]
    places = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id]
    assert len(places) == 2 * n
    f = combine(kind, scores)
    tokens = [int(f(logits[places[t]], logits[places[n + t]]).argmax()) for t in range(n)]
    return str(tokenizer.decode(tokens)).strip()


@torch.inference_mode()
def naive_t5(
    where: Path, reference: Reference, kind: str, scores: str, *, sync: bool = True
) -> tuple[str, int]:
    """Two full forward passes per token, no cache, no batch (Eq. 2), limits of §3.2.2."""
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForSeq2SeqLM.from_pretrained(where).eval()
    before, x, after = texts_around(reference)
    n = len(tokenizer.tokenize(x))
    first = tokenizer(f"{before} {x} and <extra_id_0> {after}".strip(), return_tensors="pt")
    second = tokenizer(f"{before} <extra_id_0> and {x} {after}".strip(), return_tensors="pt")
    stop = {tokenizer.convert_tokens_to_ids("<extra_id_1>"), tokenizer.eos_token_id}
    prompt = [model.config.decoder_start_token_id, tokenizer.convert_tokens_to_ids("<extra_id_0>")]
    tokens: list[int] = []
    while len(tokens) < 3 * n:
        decoder = torch.tensor([prompt + tokens])
        one = model(**first, decoder_input_ids=decoder).logits[0, -1]
        two = model(**second, decoder_input_ids=decoder).logits[0, -1] if sync else one
        fused = combine(kind, scores)(one, two)
        if len(tokens) * 3 < n:
            fused[sorted(stop)] = -torch.inf
        token = int(fused.argmax())
        if token in stop:
            break
        tokens.append(token)
    return str(tokenizer.decode(tokens)).strip(), len(tokens)


@pytest.mark.parametrize("kind", ["min", "mean"])
@pytest.mark.parametrize("scores", ["logits", "logprobs"])
def test_bert_equals_the_naive_reference(tiny_bert: Path, kind: str, scores: str) -> None:
    """The batched BERT fills are those of one naive pass per sentence, token for token."""
    fills = fill(infiller("bert", tiny_bert, kind, scores), REFERENCES)
    expected = [naive_bert(tiny_bert, r, kind, scores) for r in REFERENCES]
    assert [f.text for (f,) in fills] == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize("kind", ["min", "mean"])
@pytest.mark.parametrize("scores", ["logits", "logprobs"])
def test_t5_equals_the_naive_reference(tiny_t5: Path, kind: str, scores: str) -> None:
    """The cached lockstep T5 fills are those of the naive double loop, token for token."""
    fills = fill(infiller("t5", tiny_t5, kind, scores), REFERENCES)
    expected = [naive_t5(tiny_t5, r, kind, scores) for r in REFERENCES]
    assert [f.text for (f,) in fills] == [text for text, _ in expected]
    assert len({text for text, _ in expected}) > 1


def test_t5_without_sync_uses_the_first_twin_alone(tiny_t5: Path) -> None:
    """The ablation decodes S′(1) only and has no score under S′(2)."""
    fills = fill(infiller("t5", tiny_t5, sync=False), REFERENCES)
    expected = [naive_t5(tiny_t5, r, "min", "logits", sync=False) for r in REFERENCES]
    assert [f.text for (f,) in fills] == [text for text, _ in expected]
    assert all(f.score_prepend is None and f.score == f.score_append for (f,) in fills)


def test_min_and_mean_differ(tiny_t5: Path, tiny_bert: Path) -> None:
    """The synchronization function decides: min and mean do not give the same fills throughout."""
    for lm, where in (("bert", tiny_bert), ("t5", tiny_t5)):
        low = [f.text for (f,) in fill(infiller(lm, where, "min"), REFERENCES)]
        mean = [f.text for (f,) in fill(infiller(lm, where, "mean"), REFERENCES)]
        assert low != mean


def test_t5_fill_lengths_respect_a_third_and_three_times(tiny_t5: Path) -> None:
    """A fill has ⅓ to 3 times its reference's tokens, and is cut if it has the most (§3.2.2)."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)
    model = infiller("t5", tiny_t5)
    lengths = []
    for reference in REFERENCES:
        _, length = naive_t5(tiny_t5, reference, "min", "logits")
        n = len(tokenizer.tokenize(texts_around(reference)[1]))
        assert n <= 3 * length
        assert length <= 3 * n
        lengths.append(length)
        found = fill(model, [reference])[0][0]
        assert found.text
        assert found.cut is (length == 3 * n)
    assert len(set(lengths)) > 1


def test_fills_do_not_depend_on_the_batch(tiny_bert: Path, tiny_t5: Path) -> None:
    """One at a time or all together, the fills are the same, and so are the scores within 1e-3."""
    for lm, where in (("bert", tiny_bert), ("t5", tiny_t5)):
        model = infiller(lm, where)
        together = [only for (only,) in fill(model, REFERENCES)]
        alone = [fill(model, [r])[0][0] for r in REFERENCES]
        assert [f.text for f in together] == [f.text for f in alone]
        for a, b in zip(together, alone, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-3)
            assert a.score_prepend == pytest.approx(b.score_prepend, abs=1e-3)


def test_scores_are_mean_log_probabilities(tiny_bert: Path) -> None:
    """score_append is the mean log-softmax of the fill under S′(1), computed apart."""
    reference = REFERENCES[0]
    found = fill(infiller("bert", tiny_bert), [reference])[0][0]
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    model = infiller("bert", tiny_bert)
    assert isinstance(model, BertInfiller)
    (encoded,) = model.encode([reference])
    assert not isinstance(encoded, str)
    ids, types, n = encoded.ids, encoded.types, encoded.count
    with torch.inference_mode():
        logits = model.model(
            input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])
        ).logits[0]
    places = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id][:n]
    later = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id][n:]
    tokens = combine("min", "logits")(logits[places], logits[later]).argmax(-1)
    expected = logits[places].log_softmax(-1).gather(-1, tokens[:, None]).mean()
    assert found.score_append == pytest.approx(float(expected), abs=1e-5)


def test_source_with_the_models_own_strings_is_refused(tiny_bert: Path, tiny_t5: Path) -> None:
    """A sentence that contains a mask or sentinel string is refused, the others still filled."""
    for lm, where, string in (("bert", tiny_bert, "[MASK]"), ("t5", tiny_t5, "<extra_id_3>")):
        spoiled = Reference("x", ("the", string, "saw", "a", "dog"), Span(3, 5), "NP", "CC0-1.0")
        (good,), (bad,) = fill(infiller(lm, where), [REFERENCES[0], spoiled])
        assert good.reason != bad.reason
        assert bad.reason == "source contains a special token of the model"


def test_reference_without_tokens_is_refused(tiny_bert: Path) -> None:
    """A word that vanishes in tokenization leaves nothing to measure a fill by."""
    empty = Reference("x", ("the", "\u200b", "saw", "a", "dog"), Span(1, 2), "NP", "CC0-1.0")
    assert fill(infiller("bert", tiny_bert), [empty])[0][0].reason == (
        "reference span has no tokens for the model"
    )


def test_sentence_longer_than_the_model_is_refused(tiny_bert: Path) -> None:
    """A pair that does not fit the position embeddings is refused with that reason, a fitting one is not."""
    words = ("the", "old", "dog") * 60
    long = Reference("x", words, Span(0, 3), "NP", "CC0-1.0")
    assert fill(infiller("bert", tiny_bert), [long])[0][0].reason == "longer than the model allows"
    model = infiller("bert", tiny_bert)
    (encoded,) = model.encode(REFERENCES[:1])
    model.limit = len(encoded.ids)
    assert model.encode(REFERENCES[:1]) == [encoded]
    model.limit -= 1
    assert model.encode(REFERENCES[:1]) == ["longer than the model allows"]


def test_special_token_in_a_fill_is_rejected(tiny_t5: Path) -> None:
    """A fill in which the model wrote another sentinel carries that reason."""
    model = infiller("t5", tiny_t5)
    assert isinstance(model, T5Infiller)
    stray = model.tokenizer.convert_tokens_to_ids("<extra_id_7>")
    # A bias on the output layer makes the model want one token: a real, if silly, model.
    head = model.model.get_output_embeddings()
    with torch.no_grad():
        head.bias = torch.nn.Parameter(torch.zeros(head.weight.shape[0]))
        head.bias[stray] = 1e4
    assert fill(model, REFERENCES[:1])[0][0].reason == "special token in the fill"


def test_encoding_together_equals_encoding_one_by_one(tiny_bert: Path, tiny_t5: Path) -> None:
    """A list of references is encoded as each alone, refusals in their places, none is none."""
    spoiled = Reference("x", ("a", "[MASK]", "<extra_id_3>", "dog"), Span(3, 4), "NP", "CC0-1.0")
    empty = Reference("y", ("the", "\u200b", "saw", "a", "dog"), Span(1, 2), "NP", "CC0-1.0")
    long = Reference("z", ("the", "old", "dog") * 60, Span(0, 3), "NP", "CC0-1.0")
    references = [spoiled, *REFERENCES[:3], empty, long, *REFERENCES[3:]]
    for lm, where in (("bert", tiny_bert), ("t5", tiny_t5)):
        model = infiller(lm, where)
        together = model.encode(references)
        assert together == [model.encode([each])[0] for each in references]
        refused = [i for i, each in enumerate(together) if isinstance(each, str)]
        assert refused == ([0, 4, 5] if lm == "bert" else [0, 5])
        assert model.encode([]) == []


def test_tiles_change_nothing(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU a batch is worked off in tiles of similar length, its fills in their places."""
    model = infiller("bert", tiny_bert)
    whole = model.decode([e for e in model.encode(REFERENCES) if not isinstance(e, str)])
    sizes: list[int] = []
    decode_tile = BertInfiller._decode_tile

    def spied(self: BertInfiller, encoded: list[masked_lm.MaskedPair]) -> list[list[Fill]]:
        sizes.append(len(encoded))
        return decode_tile(self, encoded)

    monkeypatch.setattr(BertInfiller, "_decode_tile", spied)
    monkeypatch.setattr(masked_lm, "_TILE", 50)
    tiles = model.decode([e for e in model.encode(REFERENCES) if not isinstance(e, str)])
    assert sum(sizes) == len(REFERENCES)
    assert 1 < len(sizes) < len(REFERENCES)
    assert [f.text for (f,) in tiles] == [f.text for (f,) in whole]
    assert [f.score for (f,) in tiles] == pytest.approx([f.score for (f,) in whole], abs=1e-4)
