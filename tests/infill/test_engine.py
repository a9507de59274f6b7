"""T5's own layers against the library's, and whole fills against two forward passes per token."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoTokenizer,
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)

from pipeline.core.types import Reference, Span
from pipeline.infill import Decoding, InfillRequest, T5Infiller, fill
from pipeline.infill.base import NAN_LOGITS, make_twins
from pipeline.infill.decoder import Lockstep, ModelLockstep
from pipeline.infill.decoding import Limits, key_of
from pipeline.infill.lockstep import TwinInputs
from pipeline.infill.stepwise import top
from pipeline.infill.synchronize import Synchronizer
from pipeline.infill.t5_decoder import T5Lockstep, Weights, is_t5
from pipeline.models.sampling import draw, uniform

REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(
        [
            ("the old man saw a small dog near the harbor", 0, 3),
            ("a girl sold the lamp yesterday", 2, 5),
            ("unfathomable harbors saw small lamps quickly", 3, 5),
            ("the man who saw the dog sold a lamp near the harbor", 1, 2),
        ]
    )
]
SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
SPECIAL = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
CONFIGS: dict[str, Callable[[int], PreTrainedModel]] = {
    "t5": lambda size: T5ForConditionalGeneration(
        T5Config(vocab_size=size, **SIZES, **SPECIAL, initializer_factor=3.0)
    ),
    "t5-v1.1": lambda size: T5ForConditionalGeneration(
        T5Config(vocab_size=size, **SIZES, **SPECIAL, initializer_factor=1.5, num_decoder_layers=3,
                 feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    ),
    "mt5": lambda size: MT5ForConditionalGeneration(
        MT5Config(vocab_size=size, **SIZES, **SPECIAL, initializer_factor=1.5)
    ),
    "umt5": lambda size: UMT5ForConditionalGeneration(
        UMT5Config(vocab_size=size, **SIZES, **SPECIAL, initializer_factor=3.0)
    ),
}  # fmt: skip
DECODINGS = {
    "greedy": Decoding(),
    "beams": Decoding("n-best", 1, beams=4),
    "samples": Decoding("sample", 2, temperature=3.0, top_p=0.95, seed=3),
}


@pytest.fixture(scope="module")
def tokenizer(tiny_t5: Path) -> PreTrainedTokenizerBase:
    """A T5 tokenizer of a few hundred pieces."""
    return AutoTokenizer.from_pretrained(tiny_t5)


@pytest.fixture(scope="module", params=[*CONFIGS, "fallback"])
def model(request: pytest.FixtureRequest, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """A random model of each family; the last has a layer of its own in its class."""
    torch.manual_seed(5)
    if request.param != "fallback":
        made = CONFIGS[request.param](len(tokenizer))
    else:
        made = type("Another", (T5ForConditionalGeneration,), {})(
            T5Config(vocab_size=len(tokenizer), **SIZES, **SPECIAL, initializer_factor=3.0,
                     num_decoder_layers=3)
        )  # fmt: skip
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "layer_norm" in name or "relative" in name:
                weight.uniform_(0.5, 2.0)
        head = made.get_output_embeddings()
        # Some fills end by themselves, others are cut.
        bias = torch.zeros(len(tokenizer))
        bias[[1, tokenizer.convert_tokens_to_ids("<extra_id_1>")]] = head.weight.std() * 4
        head.bias = torch.nn.Parameter(bias)
    return made.eval()


SOURCE = TwinInputs(([5, 6, 1], [6, 5, 1]), Limits(1, 3), "s", 1)


def infiller(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, kind: str) -> T5Infiller:
    return T5Infiller(model, tokenizer, InfillRequest(decoding=DECODINGS[kind]))


def lockstep(model: PreTrainedModel, sources: list[Any], own: bool) -> Lockstep:
    if own:
        return T5Lockstep(Weights.of(model), sources, [0, 7], 0)
    return ModelLockstep(model, sources, [0, 7], 0)


class Naive:
    """Synchronized scores by two full forward passes: no cache, no batch, no padding."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, reference: Reference
    ) -> None:
        twins = make_twins(reference, "and", "<extra_id_0>")
        self.model, self.tokenizer = model, tokenizer
        self.sources = [tokenizer(t, return_tensors="pt") for t in (twins.append, twins.prepend)]
        names = ["<extra_id_0>", "<extra_id_1>"]
        first, second = tokenizer.convert_tokens_to_ids(names)
        self.prompt, self.stops = [0, first], [tokenizer.eos_token_id, second]
        words = reference.words[reference.span.start : reference.span.end]
        self.count = len(tokenizer.tokenize(" ".join(words)))
        self.key = key_of(reference)

    def __call__(self, tokens: list[int]) -> torch.Tensor:
        """Eq. 2's scores after these tokens, ``[V]``."""
        ids = torch.tensor([self.prompt + tokens])
        first, second = (
            self.model(**each, decoder_input_ids=ids).logits[0, -1] for each in self.sources
        )
        return torch.minimum(first, second)

    def write(self, choose: Callable[[torch.Tensor, int], int]) -> list[int]:
        """A fill whose tokens ``choose`` takes, within the limits of §3.2.2."""
        tokens: list[int] = []
        while len(tokens) < 3 * self.count:
            fused = self(tokens)
            if 3 * len(tokens) < self.count:
                fused[self.stops] = -torch.inf
            token = choose(fused, len(tokens))
            if token in self.stops:
                break
            tokens.append(token)
        return tokens

    def sample(self, number: int, decoding: Decoding) -> list[int]:
        """The sample of this number."""

        def choose(fused: torch.Tensor, at: int) -> int:
            each = torch.tensor([[uniform(decoding.seed, self.key, number, at)]]).double()
            return int(draw(fused[None], each, decoding.temperature, decoding.top_p))

        return self.write(choose)

    def beams(self, width: int) -> list[int]:
        """The best fill of a beam search."""
        live: list[tuple[float, list[int]]] = [(0.0, [])]
        ended: list[tuple[float, list[int]]] = []
        for length in range(3 * self.count):
            options: list[tuple[float, list[int], bool]] = []
            for total, tokens in live:
                log_p = self(tokens).log_softmax(-1).tolist()
                end = max(log_p[stop] for stop in self.stops)
                options += [
                    (total + p, [*tokens, t], False)
                    for t, p in enumerate(log_p)
                    if t not in self.stops
                ]
                if 3 * length >= self.count:
                    options.append((total + end, tokens, True))
            options.sort(key=lambda option: -option[0])
            ended += [(s / (length + 1), t) for s, t, end in options[:width] if end]
            live = [(s, t) for s, t, end in options if not end][:width]
            if length + 1 == 3 * self.count:
                ended += [(s / (length + 1), t) for s, t in live]
            if len(ended) >= width:
                break
        return max(ended)[1]


@pytest.mark.long
@pytest.mark.parametrize("kind", list(DECODINGS))
@torch.inference_mode()
def test_fills_equal_two_forward_passes_per_token(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, kind: str
) -> None:
    """Every family, decoded in every way, writes what a naive loop writes, token for token."""
    expected = []
    for naive in (Naive(model, tokenizer, reference) for reference in REFERENCES):
        if kind == "greedy":
            expected.append([naive.write(lambda fused, _: int(fused.argmax()))])
        elif kind == "beams":
            expected.append([naive.beams(4)])
        else:
            expected.append([naive.sample(k, DECODINGS[kind]) for k in range(2)])
    found = fill(infiller(model, tokenizer, kind), REFERENCES)
    texts = [[str(tokenizer.decode(tokens)).strip() for tokens in each] for each in expected]
    assert [[each.text for each in fills] for fills in found] == texts
    assert len({text for each in texts for text in each}) > 2


@pytest.mark.parametrize("parts", [1, 2])
@torch.inference_mode()
def test_logits_equal_the_models(model: PreTrainedModel, parts: int) -> None:
    """After beams changed places and references left, the scores are the model's own, but for rounding."""
    torch.manual_seed(0)
    lengths = [3, 4, 4, 9, 30]
    sources = [[torch.randint(2, 90, (n + p,)).tolist() for p in range(parts)] for n in lengths]
    state = lockstep(model, sources, is_t5(model))
    written = [[[0, 7]] for _ in sources]
    states = state.start()
    live = list(range(len(sources)))
    for step in range(26):
        rows = states.flatten(0, 2)
        logits = state.logits(rows).view(parts, len(live), -1, state.vocabulary)
        for i, source in enumerate(live):
            for part in range(parts):
                ids = torch.tensor([sources[source][part]] * len(written[source]))
                own = model(input_ids=ids, decoder_input_ids=torch.tensor(written[source])).logits
                assert torch.allclose(logits[part, i], own[:, -1], atol=2e-3)
        if step == 0:
            state.widen(3)
            written = [each * 3 for each in written]
        if step in (2, 5, 6):
            gone = {2: 1, 5: 3, 6: 0}[step]
            state.keep(torch.tensor([i for i in range(len(live)) if i != gone]))
            del live[gone]
        parents = torch.randint(0, 3, (len(live), 3)) if step % 3 else None
        tokens = torch.randint(2, 90, (len(live), 3))
        for i, source in enumerate(live):
            before = written[source]
            origin = [0, 1, 2] if parents is None else parents[i].tolist()
            new = tokens[i].tolist()
            written[source] = [[*before[o], t] for o, t in zip(origin, new, strict=True)]
        states = state.advance(tokens, parents)


def test_own_layers_serve_the_family_and_nothing_else(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    """T5, mT5 and UMT5 are decoded by own layers; a class of another name by its own modules."""
    state = infiller(model, tokenizer, "greedy")._lockstep([SOURCE])
    own = type(model).__name__ in {
        "T5ForConditionalGeneration", "MT5ForConditionalGeneration", "UMT5ForConditionalGeneration",
    }  # fmt: skip
    assert isinstance(state, T5Lockstep if own else ModelLockstep)


@pytest.mark.parametrize("kind", list(DECODINGS))
def test_a_fill_with_nan_is_a_reject_and_harms_no_other(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, kind: str
) -> None:
    """A source word whose embedding is NaN spoils its own references alone, however decoded."""
    clean = fill(infiller(model, tokenizer, kind), REFERENCES)
    word = tokenizer("girl", add_special_tokens=False)["input_ids"]
    texts = [tokenizer(" ".join(each.words))["input_ids"] for each in REFERENCES]
    touched = [bool(set(word) & set(ids)) for ids in texts]
    assert touched == [False, True, False, False]
    table = model.get_encoder().embed_tokens
    spoiled = torch.nn.Embedding.from_pretrained(table.weight.detach().clone())
    spoiled.weight[word] = torch.nan
    model.get_encoder().embed_tokens = spoiled
    try:
        found = fill(infiller(model, tokenizer, kind), REFERENCES)
    finally:
        model.get_encoder().embed_tokens = table
    for fills, before, bad in zip(found, clean, touched, strict=True):
        if bad:
            assert {(each.text, each.reason, each.score) for each in fills} == {
                ("", NAN_LOGITS, None)
            }
        else:
            assert [each.text for each in fills] == [each.text for each in before]


def test_a_broken_hypothesis_harms_no_sibling(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    """A token whose embedding is NaN spoils what was written with it, not beside it."""

    @torch.inference_mode()
    def states() -> tuple[torch.Tensor, torch.Tensor]:
        state = infiller(model, tokenizer, "greedy")._lockstep([SOURCE])
        state.start()
        state.widen(3)
        first = state.advance(torch.tensor([[7, 8, 9]]))
        return first, state.advance(torch.tensor([[10, 11, 12]]))

    clean = states()
    table = model.get_decoder().embed_tokens
    spoiled = torch.nn.Embedding.from_pretrained(table.weight.detach().clone())
    spoiled.weight[8] = torch.nan
    model.get_decoder().embed_tokens = spoiled
    try:
        found = states()
    finally:
        model.get_decoder().embed_tokens = table
    assert found[0][:, :, 1].isnan().all()
    for one, other in zip(found, clean, strict=True):
        torch.testing.assert_close(one[:, :, [0, 2]], other[:, :, [0, 2]], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", list(DECODINGS))
def test_fills_are_the_same_in_any_batch(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, kind: str
) -> None:
    """Alone, in pairs or all together, in another order, the fills and their marks are the same."""
    own = infiller(model, tokenizer, kind)

    def marks(references: list[Reference], budget: int) -> list[list[tuple[str, bool]]]:
        return [[(f.text, f.cut) for f in fills] for fills in fill(own, references, budget)]

    together = marks(REFERENCES, 1 << 20)
    assert marks(REFERENCES, 1) == together
    assert marks(REFERENCES[::-1], 100)[::-1] == together


def test_lengths_may_be_forced(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """With equal limits every fill has exactly that many tokens and is cut."""
    for kind in DECODINGS:
        own = infiller(model, tokenizer, kind)
        written: list[int] = []
        own._text = lambda tokens, seen=written: (seen.append(len(tokens)) or "x", None)  # type: ignore[method-assign]
        sources: list[Any] = own.encode(REFERENCES[:2])
        fills = own.decode([replace(each, limits=Limits(6, 6)) for each in sources])
        assert set(written) == {6}
        assert all(each.cut for found in fills for each in found)


@pytest.mark.parametrize(("size", "count"), [(50, 3), (1000, 1), (1000, 8), (1037, 8), (1280, 40)])
def test_top_is_the_greatest_of_all(size: int, count: int) -> None:
    """By stretches of the vocabulary or at once, the greatest are found in order, -inf last."""
    scores = torch.randn(5, size, generator=torch.Generator().manual_seed(1))
    scores[0, : size // 2] = -torch.inf
    scores[1, -1] = 9.0
    assert torch.equal(top(scores, count), scores.topk(count).indices)


@pytest.mark.parametrize("shift", [0.0, -300.0, 300.0])
@pytest.mark.parametrize("combine", ["min", "mean"])
@pytest.mark.parametrize("kind", ["logits", "logprobs"])
def test_normalizers_are_sums_of_exponentials(shift: float, combine: str, kind: str) -> None:
    """However large the scores, and however far apart the contexts, they equal a logsumexp."""
    random = torch.Generator().manual_seed(2)
    append, prepend = torch.randn(2, 4, 90, generator=random) * 5
    synchronizer = Synchronizer(combine, kind)  # type: ignore[arg-type]
    for first, second in ((append + shift, prepend + shift), (append + shift, prepend)):
        scores = synchronizer.join(first, second)
        found = synchronizer.normalizers(scores)
        expected = [each.logsumexp(-1, True) for each in (scores.fused, first, second)]
        for one, two in zip(found, expected, strict=True):
            assert one is not None
            assert torch.allclose(one, two, atol=1e-4)
