"""Mask-predict against a naive loop of full forward passes, one reference at a time."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from pipeline.core.errors import SettingsError
from pipeline.core.types import Reference, Span
from pipeline.generate.settings import Generate
from pipeline.infill import BertInfiller, Decoding, Infiller, Task, fill, load_infiller, task_of
from pipeline.infill.base import NAN_LOGITS, Fill, make_twins
from pipeline.infill.masked_lm import weakest
from pipeline.infill.synchronize import Synchronizer
from pipeline.trying.fill.settings import Fill as FillSettings

SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("the man who saw the dog sold a lamp near the old harbor yesterday", 2, 10),
    ("a dog saw the girl", 4, 5),
    ("unfathomable harbors saw antidisestablishmentarian lamps quickly", 3, 5),
    ("a girl sold the lamp yesterday", 2, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0")
    for i, (text, start, end) in enumerate(SENTENCES)
]


def bert(where: Path, refine: int, *, sync: bool = True) -> Infiller:
    task = Task("and", Synchronizer(), sync, Decoding(refine=refine))
    return load_infiller("bert", str(where), task)


@torch.inference_mode()
def naive(where: Path, reference: Reference, passes: int, sync: bool) -> tuple[Fill, bool]:
    """Full passes over one pair; every position scored. Also whether a later pass changed a token."""
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForMaskedLM.from_pretrained(where).eval()
    span = reference.span
    n = len(tokenizer.tokenize(" ".join(reference.words[span.start : span.end])))
    twins = make_twins(reference, "and", "[MASK]", n)
    texts = (twins.append, twins.prepend) if sync else (twins.append,)
    pair = tokenizer(*texts, return_tensors="pt")
    ids = pair["input_ids"]
    places = (ids[0] == tokenizer.mask_token_id).nonzero().flatten()
    one, two = places[:n], places[-n:]
    tokens, scores = torch.zeros(n, dtype=torch.long), torch.zeros(3, n)
    changed = False
    hidden = list(range(n))
    for done in range(passes):
        if done:
            least = torch.argsort(scores[0], stable=True)[: n * (passes - done) // passes]
            hidden = sorted(least.tolist())
        for i in range(n):
            ids[0, one[i]] = ids[0, two[i]] = tokenizer.mask_token_id if i in hidden else tokens[i]
        logits = model(**pair).logits[0]
        for i in hidden:
            first, second = logits[one[i]], logits[two[i]]
            fused = torch.minimum(first, second)
            token = int(fused.argmax())
            changed |= done > 0 and token != int(tokens[i])
            tokens[i] = token
            for row, each in enumerate((fused, first, second)):
                scores[row, i] = each.log_softmax(-1)[token]
    mean = scores.mean(-1).tolist()
    text = str(tokenizer.decode(tokens.tolist())).strip()
    return Fill(text, mean[0], mean[1], mean[2] if sync else None), changed


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("passes", [1, 2, 4, 9])
def test_refinement_equals_the_naive_loop(tiny_bert: Path, passes: int, sync: bool) -> None:
    """Texts are equal, and so but for rounding are the scores, each of the pass that chose it."""
    found = [only for (only,) in fill(bert(tiny_bert, passes, sync=sync), REFERENCES)]
    expected = [naive(tiny_bert, reference, passes, sync) for reference in REFERENCES]
    assert any(changed for _, changed in expected) is (passes > 1)
    for each, (other, _) in zip(found, expected, strict=True):
        assert each.text == other.text
        for name in ("score", "score_append", "score_prepend"):
            assert getattr(each, name) == pytest.approx(getattr(other, name), abs=1e-4)


def test_weakest_places_follow_the_schedule() -> None:
    """Of n tokens n·(N − t)/N are hidden, the least probable, of equal ones the foremost."""
    scores = [-1.0, -3.0, -2.0, -3.0, float("nan"), -0.1, -0.2]
    assert weakest(scores, [4, 3], 1, 2) == [1, 3, 4]
    assert weakest(scores, [4, 3], 1, 4) == [1, 2, 3, 4, 6]
    assert weakest(scores, [4, 3], 3, 4) == [1]
    assert weakest([-5.0] * 4, [4], 2, 4) == [0, 1]


def test_refinement_is_refused_where_it_means_nothing(tmp_path: Path) -> None:
    """Samples, the N best and encoder-decoders do not refine, and each says so in one line."""
    for kind in ("sample", "n-best"):
        with pytest.raises(SettingsError, match=f"refine = 3 needs greedy decoding, was: {kind}"):
            Decoding(kind, refine=3)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="refine = 2 is for masked LMs, was: lm t5"):
        load_infiller("t5", "unread", Task(decoding=Decoding(refine=2)))
    with pytest.raises(SettingsError, match="was: lm t5"):
        task_of(Generate(corpus=tmp_path, lm="t5", refine=2))
    with pytest.raises(SettingsError, match="was: lm both"):
        task_of(FillSettings(sentence="a b", span="a", refine=2))
    assert task_of(Generate(corpus=tmp_path, lm="bert", refine=2)).decoding.refine == 2


@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding(refine=3), Decoding("sample", fills=2), Decoding("n-best", fills=2)],
    ids=["greedy", "refined", "sample", "n-best"],
)
def test_logits_that_are_no_numbers_spoil_their_reference_alone(
    tiny_bert: Path, decoding: Decoding
) -> None:
    """A reference with NaN logits has that reason and no text or score; the others are as ever."""
    model = load_infiller("bert", str(tiny_bert), Task(decoding=decoding))
    assert isinstance(model, BertInfiller)
    expected = fill(model, REFERENCES)
    spoiled, *others = ({*e.ids} for e in model.encode([REFERENCES[3], *REFERENCES]) if e)  # type: ignore[union-attr]
    own = min(spoiled.difference(*others[:3], *others[4:]))
    head = model.model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().clone())  # no longer tied to what follows
    with torch.no_grad():
        model.model.get_input_embeddings().weight[own] = torch.nan
    found = fill(model, REFERENCES)
    assert found[3] == [Fill("", reason=NAN_LOGITS)]
    assert found[:3] + found[4:] == expected[:3] + expected[4:]
