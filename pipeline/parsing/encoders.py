"""A language model of ours as the source of a parser's word vectors, kept whole in the parser's folder.

Stanza would load the model by name, from wherever that leads; here it is given one that conjoin has loaded,
with conjoin's own checks. The name in its settings is always ``ENCODER``. Nor does stanza run it: its own way
pads all sentences of a call to the longest, and encodes the trees that it learns from once in every epoch
although the encoder stays as it is. Only the encoder goes to a GPU: a parser takes hundreds of small steps a
sentence, which are slower there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from stanza.models.common import bert_embedding
from stanza.models.constituency import lstm_model
from stanza.models.constituency import trainer as stanza_trainer
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.device import best_device, products_in
from pipeline.core.settings import Precision
from pipeline.models.known_states import KnownStates
from pipeline.models.loading import identity, length_limit
from pipeline.models.packing import can_pack, packed_states
from pipeline.models.roles import ENCODER as ENCODER_ROLE
from pipeline.models.roles import Encoder as EncoderRole
from pipeline.models.roles import load_encoder, words_fact

ENCODER = "encoder"
"""Folder beside a parser of the encoder that its words come from."""

Encoder = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def words_encoder(where: str, role: EncoderRole = ENCODER_ROLE) -> Encoder:
    """The encoder of a checkpoint, with a tokenizer that takes words one by one.

    Args:
        where: what to hand to ``from_pretrained``.
        role: ``KEPT_ENCODER`` of one beside a parser.

    Raises:
        ModelError: it cannot be loaded, lacks weights, or is no encoder.
    """
    model, tokenizer = load_encoder(where, role)
    # stanza reads longer sentences in overlapping parts
    tokenizer.model_max_length = length_limit(model.config, tokenizer)
    # so that this is not said of them
    tokenizer.deprecation_warnings["sequence-length-is-longer-than-the-specified-maximum"] = True
    return model, tokenizer


def encoder_inputs(where: str) -> dict[str, str]:
    """What a parser depends on that reads an encoder, for its fingerprint."""
    return {"encoder": identity(where), **words_fact(where, add_prefix_space=True)}


_PREFIX = "bert_model."  # of the encoder's weights in stanza's file
_ORDINARY = 4  # layers that stanza mixes by default


_memory: KnownStates | None = None
_precision: Precision = "no"


def _embeddings(  # noqa: PLR0917 - stanza passes by position
    model_name: str,
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    data: Sequence[Sequence[str]],
    device: torch.device,
    keep_endpoints: bool,
    detach: bool = True,
    bert_layer_mix: nn.Linear | None = None,
    peft_name: str | None = None,
) -> list[Tensor]:
    """In place of stanza's ``extract_bert_embeddings``: the same vectors, without padding and only once.

    Args:
        model_name: ``ENCODER``, or the name of another model, which is left to stanza.
        tokenizer: its tokenizer.
        model: the encoder.
        data: words of each sentence.
        device: where the parser is.
        keep_endpoints: whether the special tokens at both ends count as words.
        detach: whether the encoder does not learn.
        bert_layer_mix: learned weights of its last layers.
        peft_name: of an adapter, which is left to stanza.

    Returns:
        ``[words (+ 2), width]`` of each sentence.
    """
    usual = {"detach": detach, "bert_layer_mix": bert_layer_mix, "peft_name": peft_name}

    def stanzas(some: Sequence[Sequence[str]]) -> list[Tensor]:
        with products_in(_precision, model.device):
            states: list[Tensor] = _stanzas(
                model_name, tokenizer, model, some, model.device, keep_endpoints, **usual
            )
        return [each.to(device, torch.float32) for each in states]

    if model_name != ENCODER or peft_name is not None or not can_pack(model):
        return stanzas(data)
    layers = bert_layer_mix.in_features if bert_layer_mix is not None else _ORDINARY
    sentences = [tuple(words) for words in data]
    memory = _memory if detach else None
    known = {words: memory.get((layers, words)) for words in sentences} if memory else {}
    found = {words: states for words, states in known.items() if states is not None}
    new = [words for words in dict.fromkeys(sentences) if words not in found]
    fitting = {
        words: encoded
        for words, encoded in zip(new, _encoded(tokenizer, new), strict=True)
        if len(encoded[0]) <= tokenizer.model_max_length
    }
    if fitting:
        learns = torch.set_grad_enabled(not detach and torch.is_grad_enabled())
        with learns, products_in(_precision, model.device):
            read = packed_states(model, [ids for ids, _ in fitting.values()], layers)
        states = torch.stack(read).float()
        parts = torch.split(states, [len(ids) for ids, _ in fitting.values()], 1)
        for (words, (_, places)), part in zip(fitting.items(), parts, strict=True):
            found[words] = part[:, torch.tensor(places, device=part.device)].to(device)
            if memory:
                memory.put((layers, words), found[words])
    outer = slice(None) if keep_endpoints else slice(1, -1)
    # One longer than the encoder reads is left to stanza, which reads it in overlapping parts.
    return [
        _mixed(found[words], bert_layer_mix)[outer] if words in found else stanzas([list(words)])[0]
        for words in sentences
    ]


def _encoded(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[tuple[str, ...]]
) -> list[tuple[list[int], list[int]]]:
    """Subwords of each sentence, and where each word's last one stands, with both special tokens."""

    def read(data: list[list[str]]) -> list[tuple[list[int], list[Any]]]:
        output = tokenizer(data, is_split_into_words=True, verbose=False)
        places = [
            bert_embedding.convert_to_position_list(words, output.word_ids(row))
            for row, words in enumerate(data)
        ]
        return list(zip(output["input_ids"], places, strict=True))

    if not sentences:
        return []
    data = [list(words) for words in sentences]
    found = read(data)
    if any(place is None for _, places in found for place in places):
        # words that the tokenizer maps to nothing, for which stanza has a stand-in
        found = read([list(words) for words in bert_embedding.fix_blank_tokens(tokenizer, data)])
    return found


def _mixed(states: Tensor, weights: nn.Linear | None) -> Tensor:
    """The layers ``[layers, words, width]`` as one, as stanza's ``cloned_feature`` mixes them."""
    if weights is None:
        return states[:-1].sum(0) / len(states)
    return states.mean(0) + torch.einsum("l,lwd->wd", weights.weight[0], states)


_stanzas = bert_embedding.extract_bert_embeddings
lstm_model.extract_bert_embeddings = _embeddings


@contextmanager
def remembering() -> Iterator[None]:
    """Keep what a frozen encoder says of the sentences that training asks for in every epoch."""
    global _memory  # noqa: PLW0603 - stanza calls a function of its own module, which has no other place
    _memory = KnownStates()
    try:
        yield
    finally:
        _memory = None


@contextmanager
def encoding_in(precision: Precision) -> Iterator[None]:
    """Let encoders read in this number format; what they say is float32 again."""
    global _precision  # noqa: PLW0603 - as above
    was, _precision = _precision, precision
    try:
        yield
    finally:
        _precision = was


@contextmanager
def given_to_stanza(encoder: Encoder | None) -> Iterator[None]:
    """Let stanza's trainer have this encoder wherever it would load one."""
    before = stanza_trainer.load_bert
    if encoder is not None:
        stanza_trainer.load_bert = lambda *_, **__: encoder
    try:
        yield
    finally:
        stanza_trainer.load_bert = before


def on_its_device(parser: nn.Module) -> None:
    """Put the encoder of a parser that stanza has built where it is fastest; the parser stays on the CPU."""
    encoder = cast(nn.Module | None, parser.bert_model)
    if encoder is not None and can_pack(encoder):
        encoder.to(best_device())


def keep_encoder(encoder: Encoder, folder: Path, saved: dict[str, Any]) -> None:
    """Write the encoder of a parser beside it, and take it out of the parser's own file.

    Stanza saves an encoder that learned with the parser. So that it lies in one place, and a parser is
    loaded in one way, its weights go to the encoder's folder, and the file says no more that it learns.

    Args:
        encoder: as it was given to training.
        folder: the parser's.
        saved: what stanza saved of the best epoch; it is changed.
    """
    model, tokenizer = encoder
    weights = saved["params"]["model"]
    own = {name: weights.pop(name) for name in list(weights) if name.startswith(_PREFIX)}
    if own:
        model.load_state_dict({name.removeprefix(_PREFIX): value for name, value in own.items()})
    saved["params"]["config"]["bert_finetune"] = False
    for part in (model, tokenizer):
        part.save_pretrained(folder / ENCODER)
