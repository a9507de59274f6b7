"""The exception tree: everything a user can cause derives from ConjoinError and prints as one line.

ConjoinError
├── InputError     bad data: malformed XML or brackets, an empty file, a wrong span
├── CellError      a cell of the pipeline that failed when `conjoin repro` ran it
├── SettingsError  bad options: an unknown params.yaml key, a value out of range
├── ModelError     a model that cannot do what is asked: no mask token, no sentinels
└── WorkerError    a worker process that lost the others, or differs from them
"""

from pathlib import Path


class ConjoinError(Exception):
    """A problem that the user can solve; the CLI prints it as one line and exits with code 2.

    Args:
        what: what is wrong, naming the offending value.
        path: the file it is in.
        line: 1-based line in that file.
        sentence_id: the sentence it concerns.
        remedy: what to do about it.

    Attributes:
        what: as given.
    """

    def __init__(
        self,
        what: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        sentence_id: str | None = None,
        remedy: str | None = None,
    ) -> None:
        place = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        self.what = what
        sentence = f" (sentence {sentence_id})" if sentence_id else ""
        text = f"{place}{what}{sentence}" + (f"; {remedy}" if remedy else "")
        super().__init__(" ".join(text.split()))


class InputError(ConjoinError):
    """The data is malformed, empty, missing or inconsistent."""


class CellError(ConjoinError):
    """The command of a cell of dvc.yaml failed."""


class SettingsError(ConjoinError):
    """An option or a params.yaml key is unknown or out of range."""


class ModelError(ConjoinError):
    """A model lacks what its role needs, or cannot be loaded."""


class WorkerError(ConjoinError):
    """A worker process cannot go on beside the others."""
