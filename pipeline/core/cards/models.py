"""What ``pretrain`` writes beside a language model."""

from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.cards.parts import CountOf, PartForm, Share, TallyForm
from pipeline.core.documents import Count, Number


class TextOverlap(TypedDict, total=False):
    """Held-out sentences in the raw text: what became of them, and how many of each split there were."""

    policy: str | None
    found: CountOf | None


class PretrainCard(TypedDict, total=False):
    """``pretrain.json``, which ``pretrain`` writes into a model's folder.

    Earlier versions wrote less: no ``family``, ``objective``, ``texts``, ``overlap``, ``annotation``.
    """

    lm: str
    family: str
    objective: str
    base: str | None
    vocabulary: Count | None
    parameters: Count | None
    steps: Count | None
    tokens: Count | None
    loss: float | None
    validation_loss: float | None
    perplexity: Share
    texts: TallyForm | None
    overlap: TextOverlap | None
    text_digest: str | None
    annotation: list[PartForm]


class ReadyCard(TypedDict):
    """``ready.json``, which ``pretrain`` writes where a ready model is used: a hub name or a folder."""

    name: str


class PretrainTiming(TypedDict, total=False):
    """``timing.json`` of a language model, which ``pretrain`` writes; earlier versions wrote none."""

    seconds: Share
    tokens_per_second: Share
    device: str | None
    processes: Count | None
    dtype: str | None


class PretrainLine(TypedDict):
    """A line of a model's ``history.jsonl``, which ``pretrain`` writes: a ``Look`` at held-out text."""

    step: Count
    tokens: Count
    epoch: NotRequired[Number]
    loss: NotRequired[float | None]
    learning_rate: NotRequired[float | None]
    validation_loss: NotRequired[float | None]
    perplexity: NotRequired[float | None]
