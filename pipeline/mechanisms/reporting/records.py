"""Files of a JSON object a line, which training and pretraining keep: read back line by line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.ground.errors import InputError

__all__ = ["read_records"]


def read_records(
    path: Path, read: Callable[[Mapping[str, Any]], dict[str, Any]], what: str, remedy: str
) -> tuple[dict[str, Any], ...]:
    """The records of a file; none where there is no file.

    Args:
        path: the file.
        read: makes a record of a line's object, and raises what Python does where it is not of the kind.
        what: a line is, for the error: "a look of pretraining".
        remedy: for the error.

    Raises:
        InputError: a line is not what it should be.
    """
    if not path.is_file():
        return ()
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            records.append(read(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"not {what}: {line[:40]!r}", path=path, line=number, remedy=remedy
            ) from error
    return tuple(records)
