"""Checkpoints of a training run: whole or absent, the last few, and only for the run that made them.

A checkpoint is a folder ``step-00000500`` with ``tensors.pt`` (weights, optimizer, best weights),
``rows.parquet`` (the candidates that ``train`` examined so far; empty for ``pretrain``) and
``card.json`` (everything else, what the run depends on, and the SHA-256 of the other two). Every draw
and every dropout mask is a pure function of (seed, step), so the step is also the state of the random
generators and the position in the stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from pickle import PickleError
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from pipeline.core.claims import atomic_folder, clear_left
from pipeline.core.disk import disk_faults
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.parquet import write_table

_TENSORS, _ROWS, _CARD = "tensors.pt", "rows.parquet", "card.json"

TrainingState = tuple[dict[str, Any], dict[str, Any], pa.Table]
"""Tensors, what JSON can hold, and rows: see ``Learner.state`` (train) and ``Course`` (pretrain)."""


class TrainingCheckpoints:
    """The checkpoints in a folder.

    Args:
        folder: where they are; made when the first is written.
        fingerprint: everything the run depends on.
        keep: how many of the newest to keep.
        afresh: how to start over, but for removing them, where one of another run is in the way.

    Attributes:
        damaged: what was found broken in ``latest`` and why, in the order met.
    """

    def __init__(
        self, folder: Path, fingerprint: Fingerprint, keep: int, *, afresh: str = ""
    ) -> None:
        self.folder, self._fingerprint, self._keep = folder, fingerprint, keep
        self._afresh = afresh
        self.damaged: list[str] = []

    def clear(self) -> None:
        """Remove all checkpoints, and what a killed run left half written; but nobody else's files."""
        for half in self.folder.glob(".step-*.tmp"):
            clear_left(half.with_name(half.name[1 : -len(".tmp")]))
        for each in self._all():
            _remove(each)
        with suppress(OSError):  # somebody's file is there, or nothing was
            self.folder.rmdir()

    def write(self, step: int, state: TrainingState) -> None:
        """Add the checkpoint of a step and drop the oldest beyond ``keep``.

        Raises:
            InputError: the folder cannot be written to, or the disk is full.
        """
        tensors, facts, rows = state
        with atomic_folder(self.folder / f"step-{step:08d}") as temporary:
            with disk_faults(temporary):
                torch.save(tensors, temporary / _TENSORS)
            write_table(temporary / _ROWS, rows)
            files = {name: FileFacts.of(temporary / name) for name in (_TENSORS, _ROWS)}
            self._output(temporary).finish(files, {"facts": facts})
        for old in self._all()[: -self._keep]:
            _remove(old)

    def latest(self, device: torch.device) -> TrainingState | None:
        """The newest checkpoint that is whole, with tensors on ``device``; None if there is none.

        Raises:
            InputError: it was made with other settings, data or library versions, which are named.
        """
        for folder in reversed(self._all()):
            output = self._output(folder)
            state = output.state(damage_first=True)
            if state.kind in {"damaged", "missing"}:
                self.damaged.append(f"{folder.name}: {state.why or f'no {_CARD}'}")
                continue
            if state.kind == "stale":
                raise InputError(
                    f"this checkpoint is of another run: {state.why}",
                    path=folder,
                    remedy=f"give the settings it was made with, or start over: "
                    f"remove {self.folder.name}/{self._afresh}",
                )
            # torch.load knows no "cpu:0", as accelerate calls it.
            place = device if device.type == "cuda" else device.type
            with self.taken_up(folder):
                tensors = torch.load(folder / _TENSORS, map_location=place, weights_only=True)
                rows = pq.read_table(folder / _ROWS, partitioning=None)
                return tensors, output.require().facts["facts"], rows
        return None

    @contextmanager
    def taken_up(self, folder: Path | None = None) -> Iterator[None]:
        """Say in one line that a checkpoint does not hold what it must.

        Args:
            folder: the checkpoint's; unset: that of all.

        Raises:
            InputError: it does not.
        """
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, PickleError) as e:
            raise InputError(
                f"not a checkpoint that conjoin wrote: {type(e).__name__}, {' '.join(str(e).split())[:120]}",
                path=folder or self.folder,
                remedy=f"start over: remove {self.folder.name}/{self._afresh}",
            ) from e

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("step-*") if path.is_dir())

    def _output(self, folder: Path) -> Output:
        return Output(folder, folder / _CARD, self._fingerprint)


def _remove(checkpoint: Path) -> None:
    """Remove the files of a checkpoint, the one first that says that it is whole."""
    for name in (_CARD, _TENSORS, _ROWS):
        with suppress(OSError):
            (checkpoint / name).unlink()
    with suppress(OSError):
        checkpoint.rmdir()
