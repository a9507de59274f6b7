"""Sampling and the N best fills against brute force and a naive beam search."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    T5Config,
    T5ForConditionalGeneration,
)

from pipeline.core.errors import SettingsError
from pipeline.core.types import PlacedConjunct, Reference, Span
from pipeline.infill import (
    Decoding,
    Fill,
    Infiller,
    InfillRequest,
    beam_search,
    fill,
    load_infiller,
    lockstep,
    masked_lm,
    stepwise,
)
from pipeline.infill.base import make_twins
from pipeline.infill.decoding import best_ranks, key_of
from pipeline.infill.synchronize import Synchronizer
from pipeline.infill.t5_decoder import T5Lockstep
from pipeline.models.sampling import draw, uniform

SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("a girl sold the lamp yesterday", 2, 5),
    ("a dog saw the girl", 4, 5),
    ("unfathomable harbors saw small lamps quickly", 3, 5),
    ("the man who saw the dog sold a lamp", 1, 2),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]
GREEDY = Decoding()
SAMPLES = Decoding("sample", fills=3, temperature=4.0, seed=4)


@pytest.fixture(scope="session")
def ending_t5(tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random T5 that ends some fills by itself and is cut short in others."""
    folder = tmp_path_factory.mktemp("ending-t5")
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)
    torch.manual_seed(10)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, initializer_factor=2.0,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    ends = [1, tokenizer.convert_tokens_to_ids("<extra_id_1>")]
    with torch.no_grad():
        model.lm_head.weight[ends] *= 3
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=["bert", "t5"])
def family(request: pytest.FixtureRequest, tiny_bert: Path, ending_t5: Path) -> tuple[str, Path]:
    """Each model family with its folder."""
    return request.param, tiny_bert if request.param == "bert" else ending_t5


def infiller(family: tuple[str, Path], decoding: Decoding, *, sync: bool = True) -> Infiller:
    task = InfillRequest("and", Synchronizer(), sync, decoding)
    return load_infiller(family[0], str(family[1]), task)  # type: ignore[arg-type]


def same(one: list[list[Fill]], two: list[list[Fill]]) -> bool:
    """Whether the texts, their order and, but for rounding, their scores are equal."""
    pairs = list(zip(one, two, strict=True))
    return all([f.text for f in a] == [f.text for f in b] for a, b in pairs) and all(
        f.score == pytest.approx(g.score, abs=1e-4)
        and f.score_prepend == pytest.approx(g.score_prepend, abs=1e-4)
        for a, b in pairs
        for f, g in zip(a, b, strict=True)
    )


def test_draws_follow_the_softmax_at_the_temperature() -> None:
    """Evenly spread numbers draw each token as often as the tempered softmax says."""
    scores = torch.tensor([[1.0, -torch.inf, 3.0, 2.0, -1.0]])
    numbers = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    tokens = draw(scores, numbers.unsqueeze(0), 2.0, 1.0)
    shares = torch.bincount(tokens[0], minlength=5) / 20_000
    assert torch.allclose(shares, (scores[0] / 2).softmax(-1), atol=1e-4)


def test_nucleus_holds_the_fewest_tokens_that_reach_top_p() -> None:
    """With shares .5, .3, .15 and .05, p = .7 leaves two tokens at five to three."""
    scores = torch.tensor([[0.15, 0.5, 0.05, 0.3]]).log()
    numbers = (torch.arange(8000, dtype=torch.float64) + 0.5) / 8000
    tokens = draw(scores, numbers.unsqueeze(0), 1.0, 0.7)
    assert torch.bincount(tokens[0], minlength=4).tolist() == [0, 5000, 0, 3000]
    assert set(draw(scores, numbers.unsqueeze(0), 1.0, 0.01)[0].tolist()) == {1}


@pytest.mark.parametrize("number", [0.0, 1 - 2.0**-53])
def test_extreme_numbers_never_draw_what_is_forbidden(number: float) -> None:
    """The first and the last token of the vocabulary may both be forbidden."""
    scores = torch.tensor([[-torch.inf, 0.3, 0.2, -torch.inf]])
    drawn = int(draw(scores, torch.tensor([[number]], dtype=torch.float64), 1.0, 1.0))
    assert drawn == (1 if number == 0 else 2)


def test_numbers_are_a_function_of_every_argument() -> None:
    """Seed, reference, sample and position each change the number, which is spread evenly."""
    base = uniform(0, "s\x001\x002", 0, 0)
    assert base == uniform(0, "s\x001\x002", 0, 0)
    others = [
        uniform(1, "s\x001\x002", 0, 0), uniform(0, "s\x001\x003", 0, 0),
        uniform(0, "s\x001\x002", 1, 0), uniform(0, "s\x001\x002", 0, 1),
    ]  # fmt: skip
    assert len({base, *others}) == 5
    placed = replace(REFERENCES[0], placed=(PlacedConjunct(("lamps",)),))
    assert key_of(placed) != key_of(REFERENCES[0])  # a further conjunct has draws of its own
    many = [uniform(0, "s", i, j) for i in range(50) for j in range(50)]
    assert all(0 <= number < 1 for number in many)
    assert sum(many) / len(many) == pytest.approx(0.5, abs=0.02)


def test_best_ranks_equal_brute_force() -> None:
    """Over all products of ranks, the best come first; asking for more gives all there are."""
    table = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    rows = table.sort(-1, descending=True).values.tolist()

    def total(ranks: tuple[int, ...]) -> float:
        return sum(row[rank] for row, rank in zip(rows, ranks, strict=True))

    every = sorted(itertools.product(range(3), repeat=4), key=total, reverse=True)
    assert best_ranks(rows, 20) == every[:20]
    assert best_ranks(rows, 999) == every


def test_sampling_is_reproducible_and_independent_of_the_batch(family: tuple[str, Path]) -> None:
    """Alone, together or in another order the samples are the same; another seed gives others."""
    model = infiller(family, SAMPLES)
    together = fill(model, REFERENCES)
    assert [len(fills) for fills in together] == [3] * len(REFERENCES)
    assert same(together, [fill(model, [reference])[0] for reference in REFERENCES])
    assert same(together, fill(model, REFERENCES[::-1])[::-1])
    other = fill(infiller(family, Decoding("sample", fills=3, temperature=4.0, seed=5)), REFERENCES)
    assert [[f.text for f in fills] for fills in together] != [
        [f.text for f in fills] for fills in other
    ]
    assert sum(len({f.text for f in fills}) for fills in together) > 2 * len(REFERENCES)


def test_each_draw_takes_a_number_of_its_own(
    family: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two draws of a batch share a number, and every sample has one for each position."""
    asked: list[tuple[int, str, int, int]] = []

    def spied(seed: int, key: str, sample: int, position: int) -> float:
        asked.append((seed, key, sample, position))
        return uniform(seed, key, sample, position)

    monkeypatch.setattr(masked_lm if family[0] == "bert" else lockstep, "uniform", spied)
    # Until a finished fill leaves the batch it goes on drawing, with later positions.
    fill(infiller(family, SAMPLES), REFERENCES)
    assert len(set(asked)) == len(asked)
    for sample in range(3):
        positions = [
            at for _, key, number, at in asked if (key, number) == ("s0\x000\x003", sample)
        ]
        assert sorted(positions) == list(range(len(positions)))
        assert len(positions) > 1


def test_fewer_samples_are_the_first_of_more(family: tuple[str, Path]) -> None:
    """A sample depends on its own number, not on how many are drawn."""
    one = fill(infiller(family, Decoding("sample", fills=1, temperature=4.0, seed=4)), REFERENCES)
    three = fill(infiller(family, SAMPLES), REFERENCES)
    assert same(one, [fills[:1] for fills in three])


@pytest.mark.parametrize("sync", [True, False])
def test_cold_samples_are_greedy(family: tuple[str, Path], sync: bool) -> None:
    """As the temperature goes to 0, and as the nucleus shrinks, every sample is the argmax."""
    greedy = fill(infiller(family, GREEDY, sync=sync), REFERENCES)
    for decoding in (
        Decoding("sample", fills=2, temperature=1e-5),
        Decoding("sample", fills=2, top_p=1e-6),
    ):
        samples = fill(infiller(family, decoding, sync=sync), REFERENCES)
        assert same(samples, [fills * 2 for fills in greedy])


def twins_of(reference: Reference, mask: str, masks: int = 1) -> tuple[str, str]:
    twins = make_twins(reference, "and", mask, masks)
    return twins.append, twins.prepend


@torch.inference_mode()
def test_bert_n_best_equals_brute_force(tiny_bert: Path) -> None:
    """Over all pairs of tokens of the vocabulary, the N most probable, in order."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    model = AutoModelForMaskedLM.from_pretrained(tiny_bert).eval()
    reference = REFERENCES[3]
    assert len(tokenizer.tokenize("small lamps")) == 2
    encoding = tokenizer(*twins_of(reference, "[MASK]", 2), return_tensors="pt")
    logits = model(**encoding).logits[0][encoding["input_ids"][0] == tokenizer.mask_token_id]
    fused = torch.minimum(logits[:2], logits[2:]).log_softmax(-1)
    best = (fused[0][:, None] + fused[1][None, :]).flatten().topk(7)
    pairs = [(int(i) // fused.shape[-1], int(i) % fused.shape[-1]) for i in best.indices]
    fills = fill(infiller(("bert", tiny_bert), Decoding("n-best", fills=7)), [reference])[0]
    assert [f.text for f in fills] == [tokenizer.decode(pair).strip() for pair in pairs]
    assert [f.score for f in fills] == pytest.approx((best.values / 2).tolist(), abs=1e-5)


def test_bert_n_best_begins_with_greedy_and_falls(tiny_bert: Path) -> None:
    """The best fill is the argmax, and no fill scores more than the one before it."""
    greedy = fill(infiller(("bert", tiny_bert), GREEDY), REFERENCES)
    best = fill(infiller(("bert", tiny_bert), Decoding("n-best", fills=5)), REFERENCES)
    assert same([fills[:1] for fills in best], greedy)
    for fills in best:
        scores = [f.score for f in fills if f.score is not None]
        assert len(scores) == 5
        assert scores == sorted(scores, reverse=True)


@torch.inference_mode()
def naive_beams(where: Path, reference: Reference, width: int) -> list[tuple[float, str, bool]]:
    """Beam search with full forward passes, one hypothesis at a time: score, text, cut."""
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForSeq2SeqLM.from_pretrained(where).eval()
    sources = [tokenizer(t, return_tensors="pt") for t in twins_of(reference, "<extra_id_0>")]
    prompt = [model.config.decoder_start_token_id, tokenizer.convert_tokens_to_ids("<extra_id_0>")]
    stops = [tokenizer.convert_tokens_to_ids("<extra_id_1>"), tokenizer.eos_token_id]
    words = reference.words[reference.span.start : reference.span.end]
    n = len(tokenizer.tokenize(" ".join(words)))
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    found: list[tuple[float, list[int], bool]] = []
    for length in range(3 * n):
        options: list[tuple[float, list[int], bool]] = []
        for total, tokens in live:
            decoder = torch.tensor([prompt + tokens])
            first, second = (
                model(**source, decoder_input_ids=decoder).logits[0, -1] for source in sources
            )
            log_p = torch.minimum(first, second).log_softmax(-1).tolist()
            options += [
                (total + p, [*tokens, token], False)
                for token, p in enumerate(log_p)
                if token not in stops
            ]
            if length * 3 >= n:
                options.append((total + max(log_p[stop] for stop in stops), tokens, True))
        options.sort(key=lambda option: -option[0])
        found += [(s / (length + 1), tokens, False) for s, tokens, end in options[:width] if end]
        live = [(s, tokens) for s, tokens, end in options if not end][:width]
        if length + 1 == 3 * n:
            found += [(s / (3 * n), tokens, True) for s, tokens in live]
        if len(found) >= width:
            break
    found.sort(key=lambda fill: -fill[0])
    return [(score, tokenizer.decode(tokens).strip(), cut) for score, tokens, cut in found]


@pytest.mark.parametrize("index", [0, 1, 2, 3, 4])
def test_t5_n_best_equals_a_naive_beam_search(ending_t5: Path, index: int) -> None:
    """The batched, cached, compacted search finds what one without any of that finds, in order."""
    expected = naive_beams(ending_t5, REFERENCES[index], 4)[:3]
    fills = fill(infiller(("t5", ending_t5), Decoding("n-best", fills=3)), REFERENCES)[index]
    assert [(f.text, f.cut) for f in fills] == [(text, cut) for _, text, cut in expected]
    assert len({f.text for f in fills}) == 3


def test_t5_with_one_beam_is_greedy(ending_t5: Path) -> None:
    """One beam and one fill is Eq. 2's argmax, with the same scores."""
    greedy = fill(infiller(("t5", ending_t5), GREEDY), REFERENCES)
    one = fill(infiller(("t5", ending_t5), Decoding("n-best", beams=1)), REFERENCES)
    assert same(one, greedy)
    naive = [naive_beams(ending_t5, reference, 1)[0] for reference in REFERENCES]
    assert [(fill.text, fill.cut) for (fill,) in greedy] == [(t, cut) for _, t, cut in naive]
    assert {fill.cut for (fill,) in greedy} == {True, False}


@pytest.mark.parametrize(
    "decoding", [GREEDY, SAMPLES, Decoding("n-best", fills=3)], ids=lambda d: d.kind
)
@pytest.mark.parametrize("sync", [True, False])
def test_compaction_changes_nothing(
    ending_t5: Path, decoding: Decoding, sync: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether finished fills stay in the batch or leave it at once, the fills are the same."""
    sizes: list[int] = []
    keep = T5Lockstep.keep

    def spied(self: T5Lockstep, references: torch.Tensor) -> None:
        sizes.append(len(references))
        keep(self, references)

    monkeypatch.setattr(T5Lockstep, "keep", spied)
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(stepwise, "COMPACT_AT", share)
        monkeypatch.setattr(beam_search, "COMPACT_AT", share)
        found.append(fill(infiller(("t5", ending_t5), decoding, sync=sync), REFERENCES))
        assert bool(sizes) is bool(share)
    assert len(set(sizes)) > 1
    assert same(*found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fills": 2}, "greedy decoding gives one fill, was: n = 2"),
        ({"kind": "n-best", "fills": 5, "beams": 4}, "at least N, was: 4 < 5"),
    ],
)
def test_impossible_decoding_is_refused(wrong: dict[str, object], message: str) -> None:
    """What cannot give N fills says so."""
    with pytest.raises(SettingsError, match=message):
        Decoding(**wrong)  # type: ignore[arg-type]
