"""Worker processes: started by ``accelerate launch``, which carries them over GPUs and nodes."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import torch
from accelerate import PartialState

from pipeline.ground.errors import SettingsError
from pipeline.ground.files import folder_lock

__all__ = ["Worker", "device", "in_launch", "launch", "working"]

_WORKERS = ".workers"


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of ``world``, and the device it decodes on."""

    rank: int
    world: int
    device: torch.device


def device() -> torch.device:
    """Where a process that was not launched works."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def in_launch() -> bool:
    """Whether a launcher started this process."""
    return "WORLD_SIZE" in os.environ


def launch(command_line: Sequence[str], processes: int, out: Path) -> NoReturn:
    """Become ``accelerate launch`` running ``conjoin`` in ``processes`` processes.

    The process is replaced, not parent to the launcher: a parent that is killed would leave the
    workers running. The lock on ``out`` lives on in the launcher.

    Raises:
        InputError: another run writes to ``out``, or workers of a killed one still do.
    """
    with folder_lock(out), folder_lock(out, _WORKERS):
        _sweep(out)
    with folder_lock(out):
        python = [sys.executable, "-m", "accelerate.commands.launch"]
        if torch.cuda.is_available():
            python += ["--multi_gpu", "--num_machines", "1", "--mixed_precision", "no"]
            python += ["--main_process_port", "0"]
        else:
            config = files("pipeline") / "resources" / "accelerate-cpu.yaml"
            python += ["--config_file", str(config)]
        python += ["--num_processes", str(processes), "-m", "pipeline", *command_line]
        sys.stdout.flush()
        # One thread by default: torch would otherwise start one per core in every process.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.execv(sys.executable, python)  # noqa: S606


def _sweep(out: Path) -> None:
    """Remove what killed workers left half-written; only while both locks say that none is alive."""
    for path in out.glob(".*.tmp"):
        path.unlink()


@contextmanager
def working(out: Path, threads: int) -> Iterator[Worker]:
    """This process as a worker on ``out``, with its thread count pinned.

    Raises:
        InputError: another run writes to ``out``.
        SettingsError: accelerate sees another number of processes than were launched, so that work
            would be silently done several times over.
    """
    torch.set_num_threads(threads)
    if not in_launch():
        with folder_lock(out), folder_lock(out, _WORKERS):
            _sweep(out)
            yield Worker(0, 1, device())
        return
    state = PartialState(cpu=not torch.cuda.is_available())
    world = int(os.environ["WORLD_SIZE"])
    if state.num_processes != world:
        raise SettingsError(
            f"accelerate sees {state.num_processes} processes where {world} were launched",
            remedy="start with --processes, or with a config of distributed_type MULTI_GPU",
        )
    with folder_lock(out, _WORKERS, shared=True):
        yield Worker(state.process_index, world, state.device)
