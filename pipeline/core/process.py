"""Processes beside others: they give way to them, and end with their parent, so that none goes on writing."""

import ctypes
import os
import select
import signal
import sys
import threading

import psutil

_PR_SET_PDEATHSIG = 1


def give_way() -> None:
    """Have a thread that waits for another let go of its processor; to be called before torch is imported.

    GNU's OpenMP has it look again 300,000 times first, some milliseconds, of which the other has nothing
    where a processor has more to do: beside two busy processes a pass of a small encoder in two threads
    takes 350 ms in place of 4; with 1,000 times 7, and on an idle machine no longer than else
    (``benchmarks/busy_machine.py``). Who has set OpenMP's way of waiting keeps it.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def end_with_dvc() -> None:
    """Under ``dvc repro``, end when it is killed; to be called before anything else. Linux only.

    Elsewhere a parent's death is no reason: ``nohup conjoin generate &`` outlives its shell.
    """
    if "DVC_STAGE" in os.environ and sys.platform == "linux":
        try:
            handle = os.pidfd_open(_dvc())
        except (ProcessLookupError, psutil.NoSuchProcess):
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=_end_with, args=(handle,), daemon=True).start()


def _dvc() -> int:
    """The process of DVC: the nearest ancestor that is not itself inside this stage.

    Between the two there may be shells: dash, the ``/bin/sh`` of Debian, stays and waits, and so
    does every shell with a compound command. The system's own signal of a parent's death
    (:func:`end_with_parent`) would tell of the shell's end only.
    """
    here = psutil.Process()
    while (parent := here.parent()) is not None:
        here = parent
        try:
            if here.environ().get("DVC_STAGE") != os.environ["DVC_STAGE"]:
                break
        except psutil.AccessDenied:  # another user's, so not within the stage
            break
    return int(here.pid)


def _end_with(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)  # readable once the process is dead
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def end_with_parent() -> None:
    """Have the system kill this process when its parent dies; Linux only."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
