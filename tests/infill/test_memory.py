"""Out of memory: halves where they give the same rows, one clear line where they do not."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch

from pipeline.core.errors import ModelError, SettingsError
from pipeline.infill import batching
from pipeline.infill.base import Fill
from pipeline.infill.batching import decode_within, plan_batches


@dataclass(frozen=True)
class Word:
    """An encoded reference of one row."""

    text: str
    rows: int = 1
    tokens: int = 3

    @property
    def order(self) -> tuple[int, ...]:
        """All alike."""
        return (self.tokens,)


class Small:
    """An infiller with memory for ``room`` references, whose scores may tell the batch's size."""

    def __init__(self, room: int, *, telling: bool = False, hiccups: int = 0) -> None:
        self.room, self.telling, self.hiccups = room, telling, hiccups
        self.sizes: list[int] = []

    def encode(self, references: Sequence[object]) -> list[Word | str]:
        """Not asked of it here."""
        raise NotImplementedError

    def decode(self, batch: Sequence[Word]) -> list[list[Fill]]:
        """A fill per reference, if they fit."""
        self.sizes.append(len(batch))
        if self.hiccups or len(batch) > self.room:
            self.hiccups = max(0, self.hiccups - 1)
            raise torch.OutOfMemoryError("CUDA out of memory")
        shift = 2.0**-40 * len(batch) if self.telling else 0.0
        return [[Fill(word.text, score=-1.0 + shift)] for word in batch]


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting garbage among all that transformers imports takes half a second a time."""
    monkeypatch.setattr(batching.gc, "collect", lambda: 0)


WORDS = [Word(f"w{i}") for i in range(13)]
FILLS = [[Fill(word.text, score=-1.0)] for word in WORDS]


@pytest.mark.parametrize("room", [13, 7, 4, 2])
def test_halves_give_every_fill_in_order(room: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever fits, the fills are those of the whole batch, and halving is said once."""
    batching.say_once.cache_clear()
    for _ in range(2):
        assert decode_within(Small(room), WORDS, 64) == FILLS
    said = capsys.readouterr()
    assert (said.out + said.err).count("out of memory") == (room < 13)


def test_memory_that_was_only_cached_is_no_reason_to_halve() -> None:
    """After one failure the same batch is tried whole again."""
    model = Small(13, hiccups=1)
    assert decode_within(model, WORDS, 64) == FILLS
    assert model.sizes == [13, 13]


@pytest.mark.parametrize("room", [7, 4, 2])
def test_scores_that_tell_the_batch_are_not_halved(room: int) -> None:
    """Where a half differs from its own halves by one bit, the remedy is named instead."""
    with pytest.raises(
        SettingsError, match=r"last bits; use --batch-tokens 32; shards made so far"
    ):
        decode_within(Small(room, telling=True), WORDS, 64)


def test_halves_of_one_cannot_be_compared() -> None:
    """Where only single references fit, nothing shows that batches do not matter."""
    with pytest.raises(SettingsError, match="could differ"):
        decode_within(Small(1), WORDS, 64)


def test_a_single_reference_too_large_is_one_line() -> None:
    """What cannot be halved says its size and what helps."""
    with pytest.raises(ModelError, match=r"one reference \(1 × 3 tokens\) does not fit") as caught:
        decode_within(Small(0), WORDS[:1], 64)
    assert "\n" not in str(caught.value)


def test_a_batch_counts_its_padding() -> None:
    """All its rows are as long as the longest, which need not be the last that came in."""

    @dataclass(frozen=True)
    class Steps(Word):
        steps: int = 0

        @property
        def order(self) -> tuple[int, ...]:
            return self.steps, self.tokens

    encoded = [Steps("a", tokens=5, steps=1), Steps("b", tokens=2, steps=2), Steps("c", steps=3)]
    assert plan_batches(encoded, 15) == [[0, 1, 2]]
    assert plan_batches(encoded, 14) == [[0, 1], [2]]
    assert plan_batches(encoded, 4) == [[0], [1], [2]]
    assert plan_batches([], 4) == []
