"""Attested fills against brute force: each option alone, by the library's own forward pass."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    T5Config,
    T5ForConditionalGeneration,
)

from pipeline.core.types import Attested, Donor, Reference, Span
from pipeline.infill import (
    Decoding,
    Fill,
    Infiller,
    InfillRequest,
    fill,
    forcing,
    load_infiller,
    masked_lm,
)
from pipeline.infill.attested import Ranker
from pipeline.infill.base import make_twins
from pipeline.infill.decoding import Limits, Trace
from pipeline.infill.forcing import Trie
from pipeline.infill.masked_ranker import BertRanker
from pipeline.infill.model_forcing import ModelForcing
from pipeline.infill.rankings.protocol import ReferenceOptions
from pipeline.infill.seq2seq import T5Infiller
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.infill.synchronize import Synchronizer
from pipeline.infill.t5_forcing import T5Forcing

SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("a girl sold the lamp yesterday", 2, 5),
    ("a dog saw the girl", 4, 5),
    ("unfathomable harbors saw small lamps quickly", 3, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]
LONG = ["the dog", "the old dog", "the girl who saw the lamp", "a man", "the dog", "harbors"]
SHORT = ["the old dog", "a small man", "lamps near girls", "the old lamp"]
FAMILIES = ["bert", "t5", "fallback"]


class Family:
    """A model with its folder and ranker; the fallback is a T5 driven through the library's modules."""

    def __init__(self, name: str, where: Path) -> None:
        self.name, self.where = name, where
        self.tokenizer: Any = AutoTokenizer.from_pretrained(where)
        kind = AutoModelForMaskedLM if name == "bert" else AutoModelForSeq2SeqLM
        self.model: Any = kind.from_pretrained(where).eval()

    def ranker(
        self, decoding: Decoding | None = None, synchronizer: Synchronizer | None = None,
        *, sync: bool = True,
    ) -> Ranker[Any]:  # fmt: skip
        """A ranker of this model."""
        task = InfillRequest("and", synchronizer or Synchronizer(), sync, decoding or Decoding())
        infiller = load_infiller("bert" if self.name == "bert" else "t5", str(self.where), task)
        if self.name == "bert":
            return BertRanker(infiller)
        if self.name == "fallback":
            another = type("Another", (T5ForConditionalGeneration,), {})
            model = another.from_pretrained(self.where).eval()
            infiller = T5Infiller(model, self.tokenizer, task)
        return T5Ranker(infiller)

    def choices(self) -> list[ReferenceOptions]:
        """Of BERT's equally long options, of the others' options of several lengths."""
        found = []
        for i, reference in enumerate(REFERENCES):
            texts = SHORT if self.name == "bert" else LONG[i % 2 :]
            ids = [self.tokenizer(t, add_special_tokens=False)["input_ids"] for t in texts]
            if self.name == "bert":
                length = len(ids[i % 2])
                ids = [each for each in ids if len(each) == length] + [[9 + i] * length]
                texts = [self.tokenizer.decode(each) for each in ids]
            options = tuple(
                Attested(tuple(text.split()), Donor(f"d{k}", k, k + 2), f"licence {k}")
                for k, text in enumerate(texts)
            )
            found.append(ReferenceOptions(reference, options, tuple(map(tuple, ids))))
        return found


@pytest.fixture(scope="session")
def calm_t5(tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random T5 of small weights: large ones blow the library's own rounding up to 1e-3."""
    folder = tmp_path_factory.mktemp("calm-t5")
    config = T5Config.from_pretrained(tiny_t5)
    config.initializer_factor = 1.5
    torch.manual_seed(1)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_t5).save_pretrained(folder)
    return folder


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, tiny_bert: Path, calm_t5: Path) -> Family:
    """Each way to rank."""
    return Family(request.param, tiny_bert if request.param == "bert" else calm_t5)


def fused(synchronizer: Synchronizer, both: Sequence[torch.Tensor]) -> torch.Tensor:
    made = [x.log_softmax(-1) for x in both] if synchronizer.scores == "logprobs" else list(both)
    if len(made) == 1:
        return made[0].log_softmax(-1)
    low = synchronizer.combine == "min"
    return (torch.minimum(*made) if low else (made[0] + made[1]) / 2).log_softmax(-1)


@torch.inference_mode()
def brute_force(
    family: Family, choice: ReferenceOptions, synchronizer: Synchronizer, *, sync: bool = True
) -> list[tuple[float, list[float]]]:
    """Of each option what ranks it, and its scores: no batch, no trie, no padding."""
    model, tokenizer, found = family.model, family.tokenizer, []
    for ids in choice.tokens:
        wanted = torch.tensor(ids)[:, None]
        if family.name == "bert":
            twins = make_twins(choice.reference, "and", "[MASK]", len(ids))
            texts = [twins.append, twins.prepend] if sync else [twins.append]
            encoding = tokenizer(*texts, return_tensors="pt")
            at = encoding["input_ids"][0] == tokenizer.mask_token_id
            both = model(**encoding).logits[0][at].split(len(ids))
            ends: list[float] = []
        else:
            twins = make_twins(choice.reference, "and", "<extra_id_0>")
            texts = [twins.append, twins.prepend] if sync else [twins.append]
            sentinels = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
            written = torch.tensor([[0, sentinels[0], *ids]])
            both = [
                model(**tokenizer(text, return_tensors="pt"), decoder_input_ids=written).logits[
                    0, 1:
                ]
                for text in texts
            ]
            stops = [sentinels[1], tokenizer.eos_token_id]
            ends = [float(fused(synchronizer, both)[-1, stops].max())]
            both = [each[:-1] for each in both]
        kinds = [fused(synchronizer, both), *(each.log_softmax(-1) for each in both)]
        sums = [float(kind.gather(-1, wanted).sum()) for kind in kinds]
        scores = [each / len(ids) for each in sums]
        found.append(((sums[0] + sum(ends)) / (len(ids) + len(ends)), scores))
    return found


def scores_of(found: Fill) -> list[float]:
    every = (found.score, found.score_append, found.score_prepend)
    return [each for each in every if each is not None]


@pytest.mark.parametrize("combine", ["min", "mean"])
@pytest.mark.parametrize("kind", ["logits", "logprobs"])
@pytest.mark.parametrize("sync", [True, False])
def test_every_option_scores_and_ranks_as_by_brute_force(
    family: Family, combine: Any, kind: Any, sync: bool
) -> None:
    """All options of all references, sorted, have the scores that each has alone."""
    synchronizer, choices = Synchronizer(combine, kind), family.choices()
    ranker = family.ranker(Decoding("n-best", 6), synchronizer, sync=sync)
    for choice, fills in zip(choices, fill(ranker, choices), strict=True):
        expected = brute_force(family, choice, synchronizer, sync=sync)
        order = sorted(range(len(expected)), key=lambda k: -round(expected[k][0], 5))
        assert [each.attested for each in fills] == [choice.options[k] for k in order]
        for each, k in zip(fills, order, strict=True):
            assert scores_of(each) == pytest.approx(expected[k][1], abs=2e-4)


def test_greedy_takes_the_best_and_of_equals_the_first(family: Family) -> None:
    """The choice is the N best's first; where its tokens stand twice, the former of the two."""
    choices = family.choices()
    best = [fills[0] for fills in fill(family.ranker(Decoding("n-best", 6)), choices)]
    assert [only for (only,) in fill(family.ranker(), choices)] == best
    doubled = []
    for choice, found in zip(choices, best, strict=True):
        assert found.attested is not None
        place = choice.options.index(found.attested)
        again = replace(found.attested, donor=Donor("again", 0, 1))
        doubled.append(
            ReferenceOptions(
                choice.reference, (*choice.options, again), (*choice.tokens, choice.tokens[place])
            )
        )
    assert [only.attested for (only,) in fill(family.ranker(), doubled)] == [
        each.attested for each in best
    ]


def test_samples_are_reproducible_and_do_not_depend_on_the_batch(family: Family) -> None:
    """Alone, together or in another order the same options are drawn; another seed draws others."""
    choices = family.choices()
    model = family.ranker(Decoding("sample", 5, temperature=9.0, seed=4))
    together = [[f.attested for f in fills] for fills in fill(model, choices)]
    assert [[f.attested for f in fill(model, [each])[0]] for each in choices] == together
    assert [[f.attested for f in fills] for fills in fill(model, choices[::-1])][::-1] == together
    other = family.ranker(Decoding("sample", 5, temperature=9.0, seed=5))
    assert [[f.attested for f in fills] for fills in fill(other, choices)] != together


def test_small_passes_and_tries_change_nothing(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the work is cut, into batches, tiles, passes or tries, the choices are the same."""
    choices = family.choices()
    ranker = family.ranker(Decoding("n-best", 6))
    whole = fill(ranker, choices)
    monkeypatch.setattr(forcing, "_PASS", {"cpu": 12})
    monkeypatch.setattr(forcing, "_NODES", 4)
    monkeypatch.setattr(masked_lm, "_TILE", 30)
    for parts in (fill(ranker, choices), fill(ranker, choices, budget=40)):
        for one, two in zip(whole, parts, strict=True):
            assert [f.attested for f in one] == [f.attested for f in two]
            for f, g in zip(one, two, strict=True):
                assert scores_of(f) == pytest.approx(scores_of(g), abs=1e-4)


def test_donors_stay_as_they_are(family: Family) -> None:
    """Words, place and licence of a donor are not touched, and the text is that of its words."""
    (choice, *_) = family.choices()
    donor = Attested(("E2F-1", "'s", "harbor"), Donor("d", 3, 6), "CC-BY-4.0")
    only = ReferenceOptions(choice.reference, (donor,), choice.tokens[:1])
    ((found,),) = fill(family.ranker(Decoding("n-best", 4)), [only])
    assert found.attested == donor
    assert (found.text, found.reason, found.cut) == ("E2F-1's harbor", None, False)


def test_free_and_attested_fills_of_the_same_tokens_score_alike(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fill that the model wrote itself has as an option the scores that it was written with."""
    ranker, traces = family.ranker(), list[Trace]()
    infiller, finish = ranker._infiller, Infiller._finish

    def spied(self: Infiller[Any], trace: Trace) -> Fill:
        traces.append(trace)
        return finish(self, trace)

    monkeypatch.setattr(Infiller, "_finish", spied)
    for reference in REFERENCES:
        ((free,),) = fill(infiller, [reference])
        option = Attested(("whatever",), Donor("d", 0, 1), "CC0-1.0")
        ((found,),) = fill(ranker, [ReferenceOptions(reference, (option,), (traces[-1].tokens,))])
        assert scores_of(found) == pytest.approx(scores_of(free), abs=1e-4)


def test_scores_that_are_nan_reject_their_reference_alone(family: Family) -> None:
    """A word whose embedding is NaN spoils the references that have it."""
    ranker, choices = family.ranker(), family.choices()
    word = family.tokenizer("yesterday", add_special_tokens=False)["input_ids"][0]
    table = ranker._infiller.model.get_input_embeddings()
    copy = torch.nn.Embedding.from_pretrained(table.weight.detach().clone())
    copy.weight.data[word] = torch.nan
    model = ranker._infiller.model
    if family.name == "bert":
        model.set_input_embeddings(copy)
    else:
        model.get_encoder().embed_tokens = copy
        if isinstance(ranker, T5Ranker) and family.name == "t5":
            ranker = T5Ranker(T5Infiller(model, family.tokenizer, InfillRequest()))
    clean = fill(family.ranker(), choices)
    found = fill(ranker, choices)
    ids = [family.tokenizer(" ".join(c.reference.words))["input_ids"] for c in choices]
    assert any(word in each for each in ids)
    assert not all(word in each for each in ids)
    for (one,), (two,), each in zip(found, clean, ids, strict=True):
        assert (one.reason == "NaN logits") is (word in each)
        assert word in each or one.attested == two.attested


def test_lengths_are_the_models(tiny_bert: Path) -> None:
    """BERT tries the nearest length first, T5 all that a free fill may have, then the nearest."""
    assert list(BertRanker.lengths(4, [1, 3, 5, 9])) == [
        range(3, 4), range(5, 6), range(1, 2), range(9, 10)
    ]  # fmt: skip
    first, *rest = T5Ranker.lengths(4, [13, 1])
    assert first == range(Limits.around(4).shortest, Limits.around(4).longest + 1)
    assert rest == [range(1, 2), range(13, 14)]


def test_a_trie_has_each_prefix_once() -> None:
    """Equal beginnings share nodes, parents come first, and equal options one path."""
    trie = Trie.of([(5, 6), (5, 7, 8), (6,), (5, 6)])
    assert trie.tokens == (0, 5, 6, 7, 8, 6)
    assert trie.parents == (0, 0, 1, 1, 3, 0)
    assert trie.depths == (0, 1, 2, 2, 3, 1)
    assert trie.paths == ((1, 2), (1, 3, 4), (5,), (1, 2))


def test_own_layers_read_tries_and_others_rows(tiny_t5: Path) -> None:
    """T5 is forced by its own layers, a class of another name through its modules."""
    for name, kind in (("t5", T5Forcing), ("fallback", ModelForcing)):
        ranker = Family(name, tiny_t5).ranker()
        inputs = ranker._infiller.encode(REFERENCES[:1])
        assert isinstance(ranker._infiller.forcing(inputs), kind)
