"""Where tensors are worked on, and in which number format."""

import os
from types import SimpleNamespace

import pytest
import torch

from pipeline.core.device import keep_few_kernels, products_in, warn_of_slow_bf16
from pipeline.pretrain import loop
from pipeline.train.distributed import ProcessGroup

CPU = torch.device("cpu")
KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


@pytest.fixture(autouse=True)
def _nothing_said_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where nobody has set the variable; what a test sets is gone after it."""
    monkeypatch.setenv(KERNELS, "")
    monkeypatch.delenv(KERNELS)


def _instructions(monkeypatch: pytest.MonkeyPatch, *, able: bool) -> None:
    """Let the processor multiply in bf16, or not."""
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)


@pytest.mark.parametrize("able", [False, True])
def test_slow_bf16_is_said_and_fp32_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], able: bool
) -> None:
    """On a processor without bf16 instructions one line says so; with them nothing is said."""
    _instructions(monkeypatch, able=able)

    def said() -> int:
        return capsys.readouterr().out.count("bfloat16 will be slow: this cpu has no instructions")

    warn_of_slow_bf16(CPU)
    assert said() == (not able)
    ProcessGroup.gather(0, 2, CPU, "bf16")
    assert said() == (not able)
    ProcessGroup.gather(1, 2, CPU, "bf16")  # the first says it for all
    ProcessGroup.gather(0, 1, CPU, "no")
    assert said() == 0


@pytest.mark.parametrize("main", [True, False])
def test_every_process_of_a_pretraining_keeps_few_kernels_and_one_warns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], main: bool
) -> None:
    _instructions(monkeypatch, able=False)

    def accelerator(*, mixed_precision: str, **_: bool) -> SimpleNamespace:
        return SimpleNamespace(
            mixed_precision=mixed_precision, is_main_process=main, device=CPU, num_processes=1
        )

    monkeypatch.setattr(loop, "Accelerator", accelerator)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    loop.accelerator("float32")
    assert KERNELS not in os.environ
    loop.accelerator("bfloat16")
    assert os.environ[KERNELS] == "64"
    assert capsys.readouterr().out.count("bfloat16 will be slow") == main


def test_few_kernels_of_bf16_are_kept_unless_somebody_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of every shape of a batch oneDNN would keep some, up to gigabytes; float32 needs none."""
    products_in("no", CPU)
    assert KERNELS not in os.environ
    products_in("bf16", CPU)
    assert os.environ[KERNELS] == "64"
    monkeypatch.setenv(KERNELS, "7")
    keep_few_kernels()
    assert os.environ[KERNELS] == "7"
