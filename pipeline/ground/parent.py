"""Processes that end with the one that started them, so that nobody writes on behind its back."""

import ctypes
import os
import signal
import sys

__all__ = ["end_with_dvc", "end_with_parent"]

_PR_SET_PDEATHSIG = 1


def end_with_dvc() -> None:
    """Under ``dvc repro``, end when it is killed; to be called before anything else.

    Elsewhere a parent's death is no reason: ``nohup conjoin generate &`` outlives its shell.
    """
    if "DVC_STAGE" in os.environ:
        # The shell that DVC starts replaces itself by a single command, so the parent is DVC.
        end_with_parent()


def end_with_parent() -> None:
    """Have the system kill this process when its parent dies; Linux only."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
