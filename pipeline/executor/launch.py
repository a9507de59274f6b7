"""Worker processes: started by ``accelerate launch``, which carries them over GPUs and nodes.

``python -m pipeline.executor.launch`` is ``accelerate launch`` itself, with the same arguments, but
ends in one line instead of its own stack trace; ``launch`` below becomes that program.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import torch
from accelerate import PartialState
from accelerate.commands.launch import main as accelerate_launch
from accelerate.utils import broadcast_object_list
from torch.distributed import DistError
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from pipeline.core.claims import Claim
from pipeline.core.console import tell
from pipeline.core.device import best_device
from pipeline.core.errors import InputError, SettingsError, WorkerError
from pipeline.core.files import WORKERS, folder_lock
from pipeline.core.last_resort import NO_READER, have_readers
from pipeline.core.process import end_with_parent

_LAUNCHER = "CONJOIN_LAUNCHER"
_COURTESY = 3.0  # seconds
_PATIENCE = 5.0  # seconds for workers of a killed run to be gone
_FIRST_READS = timedelta(hours=12)
"""How long others wait for the first process; half an hour, as usual, is too short for a large text."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of ``world``, and the device it decodes on."""

    rank: int
    world: int
    device: torch.device


def describe(device: torch.device) -> str:
    """What rounds the sums: the GPU, or the CPU's vector instructions that torch was given."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu {torch.backends.cpu.get_cpu_capability()}"


def in_launch() -> bool:
    """Whether a launcher started this process."""
    return "WORLD_SIZE" in os.environ


def launch(
    command_line: Sequence[str],
    processes: int,
    out: Path,
    *,
    gpus: bool = True,
    claim: Claim | None = None,
) -> NoReturn:
    """Become ``accelerate launch`` running ``conjoin`` in ``processes`` processes.

    The process is replaced, not parent to the launcher: a parent that is killed would leave the
    workers running. The lock on ``out`` lives on in the launcher.

    Args:
        command_line: arguments of ``conjoin``.
        processes: how many workers.
        out: the folder they write to.
        gpus: whether the work is done on GPUs where there are any; if not, they are hidden.
        claim: on ``out``, if a person named that.

    Raises:
        InputError: as ``Claim.take``; another run writes to ``out``, or workers of a killed one still do.
        SettingsError: more workers than GPUs.
    """
    if not gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    gpus = gpus and torch.cuda.is_available()
    if gpus and processes > torch.cuda.device_count():
        raise SettingsError(
            f"{processes} processes for {torch.cuda.device_count()} GPUs",
            remedy="start one a GPU; CUDA_VISIBLE_DEVICES= hides the GPUs and works on the CPU",
        )
    with folder_lock(out, patience=_PATIENCE), folder_lock(out, WORKERS, patience=_PATIENCE):
        pass
    with folder_lock(out):
        if claim:
            claim.take()
        python = [sys.executable, "-m", "pipeline.executor.launch"]
        if gpus:
            python += ["--multi_gpu", "--num_machines", "1", "--mixed_precision", "no"]
            python += ["--main_process_port", "0"]
        else:
            config = files("pipeline") / "resources" / "accelerate-cpu.yaml"
            python += ["--config_file", str(config)]
        python += ["--num_processes", str(processes), "-m", "pipeline", *command_line]
        sys.stdout.flush()
        # One thread by default: torch would otherwise start one per core in every process.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # Of a worker that is gone torch's C++ tells the others in a stack of fifty frames.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        os.environ[_LAUNCHER] = str(os.getpid())
        if Path.cwd() != Path(__file__).resolve().parents[2]:
            # -m would look for modules in the folder at hand first, which may be anybody's.
            os.environ["PYTHONSAFEPATH"] = "1"
        os.execv(sys.executable, python)  # noqa: S606


@contextmanager
def working(out: Path, threads: int, claim: Claim | None = None) -> Iterator[Worker]:
    """This process as a worker on ``out``, with its thread count pinned.

    Args:
        out: the folder that is written to.
        threads: how many.
        claim: on the folder, if a person named it.

    Raises:
        InputError: as ``Claim.take``; another run writes to ``out``.
        SettingsError: accelerate sees another number of processes than were launched, so that work
            would be silently done several times over, or they do not find one another.
        WorkerError: another worker is gone.
    """
    pin(threads)
    if not in_launch():
        with folder_lock(out, patience=_PATIENCE), folder_lock(out, WORKERS, patience=_PATIENCE):
            if claim:
                claim.take()
            yield Worker(0, 1, best_device())
        return
    _end_with_launcher()
    state = _join()
    # Accelerate has just set as many as there are cores, where OMP_NUM_THREADS is unset.
    pin(threads)
    # A launch by hand, as over several nodes, has no launcher of ours to hold the lock.
    by_hand = _LAUNCHER not in os.environ
    with ExitStack() as locks:
        if by_hand:
            _first_alone(out, state, locks, claim)
        locks.enter_context(folder_lock(out, WORKERS, shared=True))
        try:
            yield Worker(state.process_index, state.num_processes, state.device)
        except RuntimeError as error:
            if state.num_processes == 1 or not _tells_of_another(error):
                raise
            # The launcher, which looks after its processes every tenth, says who it was.
            time.sleep(_COURTESY)
            raise WorkerError(
                f"worker {state.process_index} lost the others",
                remedy="run the same command again; finished shards and checkpoints are kept",
            ) from error


def _tells_of_another(error: RuntimeError) -> bool:
    """Whether a worker met this because another one is gone."""
    if isinstance(error, DistError):
        return True
    return any(sign in str(error) for sign in ("gloo", "Connection closed by peer", "NCCL"))


def _first_alone(out: Path, state: PartialState, locks: ExitStack, claim: Claim | None) -> None:
    """The first worker takes the folder, and sees that no worker of an earlier run still writes."""
    refused: list[str | None] = [None]
    if state.process_index == 0:
        try:
            locks.enter_context(folder_lock(out))
            with folder_lock(out, WORKERS, patience=_PATIENCE):
                if claim:
                    claim.take()
        except InputError as error:
            refused = [str(error)]
    broadcast_object_list(refused, from_process=0)
    if refused[0]:
        if state.process_index:
            sys.exit(2)  # one line is enough
        raise InputError(refused[0])


def _join() -> PartialState:
    """Join the other workers; a fault common to all is reported by the first only."""
    world, what = int(os.environ["WORLD_SIZE"]), ""
    try:
        state = PartialState(cpu=not torch.cuda.is_available(), timeout=_FIRST_READS)
        if state.num_processes == world:
            return state
        what = f"accelerate sees {state.num_processes} processes where {world} were launched"
    except (ValueError, RuntimeError) as error:
        what = f"the {world} workers do not find one another: {error}"
    if os.environ.get("RANK", "0") != "0":
        sys.exit(2)
    raise SettingsError(
        what, remedy="start with --processes, or with a config of distributed_type MULTI_GPU"
    )


@contextmanager
def threads_of_torch(count: int) -> Iterator[None]:
    """As many threads in torch's operators, for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pin(threads: int) -> None:
    """Fix the thread counts, whatever the environment says: sums would round otherwise."""
    torch.set_num_threads(threads)
    # The pool between operators can be sized once a process; nothing here uses it.
    if torch.get_num_interop_threads() != 1:
        try:
            torch.set_num_interop_threads(1)
        except RuntimeError:
            return


def _end_with_launcher() -> None:
    """Have the system kill this worker when its launcher dies: nobody would stop it otherwise."""
    end_with_parent()
    launcher = os.environ.get(_LAUNCHER)
    if launcher and not Path("/proc", launcher).exists() and Path("/proc/self").exists():
        os.kill(os.getpid(), signal.SIGKILL)


_AGENT = "torch.distributed.elastic"


def main() -> None:
    """Launch, and exit with 2 where a worker did so (it has said why), else with 1.

    Where all ended well and nobody reads any more what they say, it exits as a command of one process does.
    """
    # The agent's own account of a worker that ended is many lines beside the worker's one.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith(_AGENT)]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        accelerate_launch()
    except ChildFailedError as error:
        codes = {rank: failure.exitcode for rank, failure in sorted(error.failures.items())}
        for rank, code in codes.items():
            # Workers that the agent stopped because another one ended are no news.
            if code < 0 and code != -signal.SIGTERM:
                name = signal.Signals(-code).name
                tell(
                    f"conjoin: worker {rank} was ended by {name}; run the same command again, "
                    "finished shards are kept"
                )
        sys.exit(2 if 2 in codes.values() else 1)
    except SignalException as error:
        sys.exit(128 + int(error.sigval))
    if not have_readers(sys.stdout):
        sys.exit(NO_READER)


if __name__ == "__main__":
    main()
