"""A tokenizer as causal LMs have, for what the benchmarks time and for the tests' tiny models."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast


def byte_level(
    texts: Iterable[str], pieces: int, end: str, longest: int | None = None
) -> PreTrainedTokenizerFast:
    """A tokenizer as GPT-2's and Llama's are, with an end of text and nothing before one.

    Args:
        texts: what its pieces are learned from.
        pieces: how many it has.
        end: the token that ends a text.
        longest: most tokens of a text; None: no limit.
    """
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces, special_tokens=[end], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    learner.train_from_iterator(texts, trainer)
    limit = {} if longest is None else {"model_max_length": longest}
    return PreTrainedTokenizerFast(tokenizer_object=learner, eos_token=end, **limit)  # type: ignore[no-untyped-call]
