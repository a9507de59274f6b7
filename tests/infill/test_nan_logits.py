"""Logits that are no numbers: which fills of a masked LM they spoil."""

from pathlib import Path

import pytest
import torch

from pipeline.core.types import Reference, Span
from pipeline.infill import BertInfiller, Decoding, InfillRequest, fill, load_infiller
from pipeline.infill.base import NAN_LOGITS, Fill

SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("the man who saw the dog sold a lamp near the old harbor yesterday", 2, 10),
    ("a dog saw the girl", 4, 5),
    ("unfathomable harbors saw antidisestablishmentarian lamps quickly", 3, 5),
    ("a girl sold the lamp yesterday", 2, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]


@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding("sample", fills=2), Decoding("n-best", fills=2)],
    ids=["greedy", "sample", "n-best"],
)
def test_logits_that_are_no_numbers_spoil_their_reference_alone(
    tiny_bert: Path, decoding: Decoding
) -> None:
    """A reference with NaN logits has that reason and no text or score; the others are as ever."""
    model = load_infiller("bert", str(tiny_bert), InfillRequest(decoding=decoding))
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
