"""Full disks, as libraries that are written in other languages tell of them.

torch, safetensors and tokenizers raise a RuntimeError or an error of their own where Python raises an
OSError, so nobody who waits for that notices.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.core.files import FULL

_NUMBER = re.compile(r"\(os error (\d+)\)")  # as Rust ends the message of the system
_TORCH = ("PytorchStreamWriter failed", "inline_container", "unexpected pos")


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """Raise an OSError, as Python would, where a library cannot write into ``folder``.

    Raises:
        OSError: the disk is full, or fails.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # of tokenizers, which has no narrower one
        text = str(error)
        if found := _NUMBER.search(text):
            number = int(found[1])
        elif any(sign in text for sign in _TORCH):  # which does not say why
            full = shutil.disk_usage(folder).free < FULL
            number = errno.ENOSPC if full else errno.EIO
        else:
            raise
        raise OSError(number, os.strerror(number), str(folder)) from error
