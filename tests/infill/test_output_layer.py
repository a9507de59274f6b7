"""The output layer in fp32, whatever the weights are in."""

from typing import Any

import pytest
import torch

from pipeline.infill.output_layer import Head


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_scores_are_those_of_a_product_in_fp64(dtype: torch.dtype, rows: int) -> None:
    """Nothing but the order of sums is lost, of bf16 weights and states either, bit by bit."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(48, 3000, dtype=dtype)
    states = torch.randn(rows, 48).to(dtype)
    with torch.no_grad():
        found = Head(layer)(states)
    assert found.dtype == torch.float32
    expected = states.double() @ layer.weight.double().T
    # The layer's own bias is rounded to its dtype and then added.
    expected += layer.bias.double()
    assert (found.double() - expected).abs().max() < 1e-5


@pytest.mark.parametrize("precision", ["none", "ieee"])
def test_other_products_are_as_precise_as_before(precision: str) -> None:
    """The setting of products is put back, also where one fails."""
    backend: Any = torch.backends.mkldnn
    was = backend.matmul.fp32_precision
    try:
        backend.matmul.fp32_precision = precision
        head = Head(torch.nn.Linear(8, 100, dtype=torch.bfloat16))
        with torch.no_grad():
            head(torch.randn(2, 8).bfloat16())
            with pytest.raises(RuntimeError):
                head(torch.randn(2, 9).bfloat16())
        assert backend.matmul.fp32_precision == precision
    finally:
        backend.matmul.fp32_precision = was
