"""What is asked of a causal LM: how a text begins, goes on and ends, what fills a middle, what it sees."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.models.loading import text_config

_MIDDLES = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
)
"""StarCoder's, Qwen's and CodeGemma's, DeepSeek's, CodeLlama's: before what precedes a gap, before what
follows it, and before what fills it."""

_ENDS = ("<|endoftext|>", "<|im_end|>", "<EOT>", "▁<EOT>")
"""Tokens that end an answer or a text, beside those that a checkpoint's settings name."""


@dataclass(frozen=True, slots=True)
class MiddleTokens:
    """Ids of the tokens of fill-in-the-middle."""

    prefix: int
    suffix: int
    middle: int


def middle_tokens(tokenizer: PreTrainedTokenizerBase) -> MiddleTokens | None:
    """The tokens that a causal LM learned to fill a middle with; None if its vocabulary has none.

    That they are there does not say that it did learn it.
    """
    known = tokenizer.get_vocab()
    for names in _MIDDLES:
        if all(name in known for name in names):
            return MiddleTokens(*(known[name] for name in names))
    return None


def leading_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The special tokens that a tokenizer puts before a text."""
    ids = list(tokenizer("a")["input_ids"])
    special = set(tokenizer.all_special_ids)
    ordinary = [i for i, token in enumerate(ids) if token not in special]
    return ids[: ordinary[0]] if ordinary else []


def following_tokens(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]
) -> list[tuple[int, ...]]:
    """Tokens of each text where it follows a word."""
    if not texts:
        return []
    # Alone some tokenizers put the mark of a blank before it.
    batch = tokenizer(
        ["a" + text for text in texts],
        add_special_tokens=False,
        return_offsets_mapping=True,
        verbose=False,
    )
    return [
        tuple(token for token, (_, end) in zip(ids, places, strict=True) if end > 1)
        for ids, places in zip(batch["input_ids"], batch["offset_mapping"], strict=True)
    ]


def ending_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Tokens that end an answer or a line of it.

    Raises:
        ModelError: the checkpoint's settings name one that is not in its vocabulary.
    """
    said = getattr(model.generation_config, "eos_token_id", None)
    named = [] if said is None else said if isinstance(said, list) else [said]
    vocabulary = len(model.get_output_embeddings().weight)  # type: ignore[no-untyped-call]
    for token in named:
        if not isinstance(token, int) or not 0 <= token < vocabulary:
            raise ModelError(
                f"its eos_token_id is {token!r}, which is no token of its {vocabulary:,}",
                path=model.name_or_path, remedy="mend generation_config.json or config.json",
            )  # fmt: skip
    found = {tokenizer.eos_token_id, *named}
    for name, token in tokenizer.get_vocab().items():
        if token >= vocabulary:  # a special token that the model never learned
            continue
        # ``Ċ`` is how byte-level BPE writes the end of a line, be it one of a full stop and more (Llama 3's).
        line = "Ċ" in name or "\n" in name or name == "<0x0A>"
        if name in _ENDS or (line and "\n" in str(tokenizer.decode([token]))):
            found.add(token)
    return tuple(sorted(found - {None}))


def attention_window(model: PreTrainedModel) -> int | None:
    """Tokens that some layer looks back over; None: all."""
    config = text_config(model.config)
    unused = ("sliding_window",) if getattr(config, "use_sliding_window", None) is False else ()
    found = [
        size
        for name in ("sliding_window", "window_size", "attention_chunk_size")
        if name not in unused and isinstance(size := getattr(config, name, None), int) and size > 0
    ]
    return min(found, default=None)


def positions_of(mask: Tensor) -> Tensor:
    """Positions of the tokens of rows that are padded on the left, from their attention mask."""
    return (mask.cumsum(-1) - 1).clamp_(min=0)
