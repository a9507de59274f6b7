"""Commands of dvc.yaml, read back as settings."""

import shlex
from pathlib import Path
from typing import Any, TypeVar

from pipeline.settings.base import Settings

__all__ = ["settings_of"]

_S = TypeVar("_S", bound=Settings)


def settings_of(command: str, kind: type[_S]) -> _S:
    """The settings that ``command`` would run with.

    Raises:
        SettingsError: the command or its params file holds what is no setting of ``kind``.
    """
    words = shlex.split(command)[2:]  # after "conjoin STAGE"
    given: dict[str, Any] = {}
    arguments = iter(kind.arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            given[next(arguments)] = word
            continue
        name = word[2:].replace("-", "_")
        negative = name.removeprefix("no_")
        if (field := kind.model_fields.get(negative)) and field.annotation is bool:
            given[negative] = name == negative
        else:
            given[name] = words.pop(0)
    params = given.pop("params", None)
    return kind.build(given, Path(params) if params else None)
