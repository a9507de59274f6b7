"""The output layer at chosen positions only."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

__all__ = ["logits_at"]


def logits_at(
    model: nn.Module, base: nn.Module, positions: Tensor, inputs: Mapping[str, Tensor]
) -> Tensor:
    """Logits of a language model at some positions, ``[positions, V]``, in row-major order.

    The head works position by position, and over a vocabulary it costs more than a small encoder
    does; so the hidden states it need not see are taken away before it runs.

    Args:
        model: the model, or what accelerate wrapped it in.
        base: its encoder, or the decoder if it has one, whose output has ``last_hidden_state``.
        positions: boolean ``[sequences, tokens]``.
        inputs: what the model takes, without labels.
    """

    def gather(_module: Any, _args: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state[positions].unsqueeze(0)
        return output

    hook = base.register_forward_hook(gather)
    try:
        logits: Tensor = model(**inputs).logits.squeeze(0)
    finally:
        hook.remove()
    return logits
