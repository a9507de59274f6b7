"""Predictions that are kept with the fingerprint of what they depend on, until that differs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.parquet import read_rows, write_rows
from pipeline.tasks.protocol import Row

Made = tuple[Sequence[Row], Mapping[str, Any]]
"""Rows of predictions in the order of the instances, and what else is to be said of them, JSON-ready."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The folders ``predictions`` and ``kept`` of an evaluation.

    Attributes:
        folder: of the evaluation.
        schema: of the rows.
        names: of the files that were asked for so far.
    """

    folder: Path
    schema: pa.Schema
    names: set[str] = field(default_factory=set)

    def rows(self, name: str, made_of: Fingerprint, make: Callable[[], Made]) -> Made:
        """The rows of a file: those kept, or new ones.

        Args:
            name: of the file, without suffix; no other has it.
            made_of: what the rows depend on.
            make: makes them.

        Raises:
            InputError: another file of this evaluation has that name.
        """
        if name in self.names:
            raise InputError(
                f"two systems would be called {name}", path=self.folder,
                remedy="give a run another --system, or a parser another --name",
            )  # fmt: skip
        self.names.add(name)
        path = self.folder / "predictions" / f"{name}.parquet"
        output = Output(path.parent, self.folder / "kept" / f"{name}.json", made_of)
        if output.state([path.name]).kind == "current":
            return list(read_rows(path, self.schema)), output.require().facts
        rows, facts = make()
        output.begin()
        write_rows(path, self.schema, rows)
        output.finish({path.name: FileFacts.of(path, len(rows))}, facts)
        return rows, facts

    def remove_others(self) -> None:
        """Remove what nobody asked for: predictions of runs and parsers that are gone.

        What no record has may be somebody's own, and stays.
        """
        for path in self.folder.glob("kept/*.json"):
            name = f"{path.stem}.parquet"
            try:
                record = Output(self.folder, path, Fingerprint()).read()
            except InputError:
                continue
            if record and name in record.files and path.stem not in self.names:
                (self.folder / "predictions" / name).unlink(missing_ok=True)
                path.unlink()
