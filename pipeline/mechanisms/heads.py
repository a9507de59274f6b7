"""The output layer at chosen positions only."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

__all__ = ["logits_at", "positionwise_end"]

_BERT_LAYERS = frozenset(
    {"bert", "camembert", "data2vec-text", "electra", "ernie", "roberta", "xlm-roberta"}
)
"""Architectures whose layers are BERT's."""


def positionwise_end(base: nn.Module) -> nn.Module | None:
    """The module of an encoder behind which no position looks at another; None if there is no such.

    In BERT it is what follows the last layer's attention. Chosen positions taken out there instead
    of at the end save three quarters of a layer (of twelve, in BERT-base) at all others.
    """
    if getattr(getattr(base, "config", None), "model_type", None) not in _BERT_LAYERS:
        return None
    layers: Any = base.get_submodule("encoder.layer")
    last: nn.Module = layers[-1].attention.output
    return last


def logits_at(
    model: nn.Module,
    base: nn.Module,
    positions: Tensor | tuple[Tensor, Tensor],
    inputs: Mapping[str, Tensor],
    end: nn.Module | None = None,
) -> Tensor:
    """Logits of a language model at some positions, ``[positions, V]``, in their order.

    The head works position by position, and over a vocabulary it costs more than a small encoder
    does; so the hidden states it need not see are taken away before it runs.

    Args:
        model: the model, or what accelerate wrapped it in.
        base: its encoder, or the decoder if it has one, whose output has ``last_hidden_state``.
        positions: boolean ``[sequences, tokens]``, which is in row-major order, or the indices of
            sequences and tokens, each ``[positions]``.
        inputs: what the model takes, without labels.
        end: the ``positionwise_end`` of the base, whose arguments are hidden states; None: the
            other positions are dropped after the base.
    """

    def picked(hidden: Tensor) -> Tensor:
        return hidden[positions].unsqueeze(0)

    def after(_module: Any, _args: Any, output: Any) -> Any:
        output.last_hidden_state = picked(output.last_hidden_state)
        return output

    def before(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(map(picked, args))

    hook = end.register_forward_pre_hook(before) if end else base.register_forward_hook(after)
    try:
        logits: Tensor = model(**inputs).logits.squeeze(0)
    finally:
        hook.remove()
    return logits
