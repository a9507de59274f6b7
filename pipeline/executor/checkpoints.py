"""Checkpoints of a training run: whole or absent, the last few, and only for the run that made them.

A checkpoint is a folder ``step-00000500`` with ``tensors.pt`` (weights, optimizer, best weights),
``rows.parquet`` (``train``: candidates examined so far; ``pretrain``: looks at held-out text) and
``card.json`` (everything else, what the run depends on, and the SHA-256 of the other two). Every draw
and every dropout mask is a pure function of (seed, step), so the step is also the state of the random
generators and the position in the stream.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from pipeline.core.errors import InputError
from pipeline.core.files import atomic_folder, digest_of, read_json, sha256_of, write_json
from pipeline.core.fingerprint import differences
from pipeline.core.parquet import write_table

_TENSORS, _ROWS, _CARD = "tensors.pt", "rows.parquet", "card.json"
_VERSION = 2

State = tuple[dict[str, Any], dict[str, Any], pa.Table]
"""Tensors, what JSON can hold, and rows: see ``training.Learner.state`` and ``pretraining.Course``."""


class Snapshots:
    """The checkpoints in a folder.

    Args:
        folder: where they are; made when the first is written.
        about: everything the run depends on, which JSON can hold.
        keep: how many of the newest to keep.
        afresh: how to start over, but for removing them, where one of another run is in the way.

    Attributes:
        damaged: what was found broken in ``latest`` and why, in the order met.
    """

    def __init__(
        self, folder: Path, about: Mapping[str, Any], keep: int, *, afresh: str = ""
    ) -> None:
        self.folder, self._about, self._keep = folder, dict(about), keep
        self._afresh = afresh
        self.damaged: list[str] = []

    def clear(self) -> None:
        """Remove all checkpoints, and what a killed run left half written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, step: int, state: State) -> None:
        """Add the checkpoint of a step and drop the oldest beyond ``keep``.

        Raises:
            InputError: the folder cannot be written to, or the disk is full.
        """
        tensors, facts, rows = state
        with atomic_folder(self.folder / f"step-{step:08d}") as temporary:
            torch.save(tensors, temporary / _TENSORS)
            write_table(temporary / _ROWS, rows)
            files = {name: sha256_of(temporary / name) for name in (_TENSORS, _ROWS)}
            body = {"version": _VERSION, "about": self._about, "facts": facts, "files": files}
            write_json(temporary / _CARD, {**body, "digest": digest_of(body)})
        for old in self._all()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)

    def latest(self, device: torch.device) -> State | None:
        """The newest checkpoint that is whole, with tensors on ``device``; None if there is none.

        Raises:
            InputError: it was made with other settings, data or code, which are named.
        """
        for folder in reversed(self._all()):
            card = self._card(folder)
            if card is None:
                continue
            if changed := differences(card["about"], self._about):
                raise InputError(
                    f"this checkpoint is of another run: {changed}",
                    path=folder,
                    remedy=f"give the settings it was made with, or start over: "
                    f"remove {self.folder.name}/{self._afresh}",
                )
            # torch.load knows no "cpu:0", as accelerate calls it.
            place = device if device.type == "cuda" else device.type
            tensors = torch.load(folder / _TENSORS, map_location=place, weights_only=True)
            return tensors, card["facts"], pq.read_table(folder / _ROWS)
        return None

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("step-*") if path.is_dir())

    def _card(self, folder: Path) -> dict[str, Any] | None:
        """The card of a checkpoint that is whole; what is wrong with it is noted."""
        try:
            card = read_json(folder / _CARD)
            digest = card.pop("digest", None) if isinstance(card, dict) else ""
            if digest_of(card) != digest:
                fault = f"{_CARD} was changed"
            elif card["version"] != _VERSION:
                fault = f"of format version {card['version']}, not {_VERSION}"
            else:
                changed = [
                    n for n, known in card["files"].items() if sha256_of(folder / n) != known
                ]
                fault = f"{changed[0]} was changed" if changed else ""
        except (InputError, OSError) as error:
            card, fault = None, str(error)
        if fault:
            self.damaged.append(f"{folder.name}: {fault}")
            return None
        return dict(card)
