"""Where tensors are worked on, and in which number format. Apart, because torch takes seconds to import."""

import os
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from pipeline.core.console import say
from pipeline.core.errors import SettingsError
from pipeline.core.settings import Precision


def best_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def device_called(name: str) -> torch.device:
    """The device of a name: ``auto`` is the best, others are torch's: ``cpu``, ``cuda``, ``cuda:1``.

    Raises:
        SettingsError: there is none here.
    """
    if name == "auto":
        return best_device()
    if name == "cpu":
        return torch.device(name)
    found = re.fullmatch(r"cuda(?::([0-9]{1,3}))?", name)
    count = torch.cuda.device_count()
    if found is None or int(found[1] or 0) >= count:
        here = ["cpu", *(f"cuda:{number}" for number in range(count))]
        raise SettingsError(
            f"no device {name[:40]!r} here", remedy=f"choose auto, {' or '.join(here)}"
        )
    return torch.device(name)


def products_in(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """A block whose matrix products are in a number format; weights and sums stay in float32.

    Before bf16 it calls ``keep_few_kernels``.

    Raises:
        SettingsError: the GPU has no bfloat16.
    """
    if precision == "no":
        return nullcontext()
    keep_few_kernels()
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise SettingsError("mixed precision bf16: this GPU has no bfloat16", remedy="say 'no'")
    return torch.autocast(device.type, dtype=torch.bfloat16)


def warn_of_slow_bf16(device: torch.device) -> None:
    """Say so where bf16 will be slow: it works everywhere, but only some processors have it."""
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if not able:
        say(f"bfloat16 will be slow: this {device.type} has no instructions for it; use float32?")


def keep_few_kernels() -> None:
    """Bound what oneDNN, which multiplies in bf16 on a CPU, keeps of every shape that it has met.

    Text has a new shape in nearly every batch: the usual thousand kernels take gigabytes, and those of one
    batch are a few dozen. It reads the variable when it first multiplies; who has set it knows better.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
