"""Where tensors are worked on, and in which number format."""

import os

import pytest
import torch

from pipeline.core.device import products_in, warn_of_slow_bf16
from pipeline.pretrain.loop import accelerator
from pipeline.train.distributed import ProcessGroup


@pytest.mark.parametrize("able", [False, True])
def test_slow_bf16_is_said_and_fp32_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], able: bool
) -> None:
    """On a processor without bf16 instructions one line says so; with them nothing is said."""
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)
    cpu = torch.device("cpu")

    def said() -> int:
        return capsys.readouterr().out.count("bfloat16 will be slow: this cpu has no instructions")

    warn_of_slow_bf16(cpu)
    assert said() == (not able)
    ProcessGroup.gather(0, 2, cpu, "bf16")
    assert said() == (not able)
    ProcessGroup.gather(1, 2, cpu, "bf16")  # the first says it for all
    ProcessGroup.gather(0, 1, cpu, "no")
    accelerator("float32")
    assert said() == 0


def test_few_kernels_of_bf16_are_kept_unless_somebody_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of every shape of a batch oneDNN would keep some, up to gigabytes; float32 needs none."""
    name, cpu = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", torch.device("cpu")
    monkeypatch.setenv(name, "7")
    products_in("bf16", cpu)
    warn_of_slow_bf16(cpu)
    assert os.environ[name] == "7"
    monkeypatch.delenv(name)
    products_in("no", cpu)
    assert name not in os.environ
    products_in("bf16", cpu)
    assert os.environ[name] == "64"
