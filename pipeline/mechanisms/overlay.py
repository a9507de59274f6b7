"""params.yaml with other values for a while: what ``dvc exp run -S`` leaves changed, put back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from pipeline.ground.console import say
from pipeline.ground.errors import InputError, SettingsError
from pipeline.ground.files import folder_lock, read_json, write_json, write_text

__all__ = ["PARAMS", "params_over"]

PARAMS = Path("params.yaml")
_KEPT = Path(".dvc/tmp/params-over.json")
"""The file as it was and as it was changed: a killed process cannot put it back, the next one can."""
_BEFORE = Path(".dvc/tmp/params-before.yaml")


@contextmanager
def params_over(
    values: Callable[[Mapping[str, Any]], Mapping[str, Any]], pairs: Sequence[str], what: str
) -> Iterator[dict[str, Any]]:
    """params.yaml with the given values inside the block, and as it was after it.

    Args:
        values: of the document, what to put over its top level.
        pairs: KEY=VALUE to put over that, at dotted places that must exist (the last may be new).
        what: name of the option that ``pairs`` come from, for errors.

    Yields:
        The document as it stands in the file.

    Raises:
        InputError: there is no DVC project or params.yaml here, or another process has its values
            over that.
        SettingsError: params.yaml is malformed, or has no such place.
    """
    if not _KEPT.parent.parent.is_dir():
        raise InputError(
            "no usable DVC pipeline: no folder .dvc here", remedy="run in the project's root"
        )
    with folder_lock(_KEPT.parent, "params-over.lock", patience=5.0):
        _put_back()
        if not PARAMS.is_file():
            if pairs or values({}):
                raise InputError("no such file", path=PARAMS, remedy="run in the project's root")
            yield {}
            return
        before = PARAMS.read_text(encoding="utf-8")
        document = _parse(before)
        top = values(document)
        if not (top or pairs):
            yield document
            return
        document |= top
        for pair in pairs:
            _set(document, pair, what)
        after = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
        write_json(_KEPT, {"before": before, "after": after})
        try:
            write_text(PARAMS, after)
            yield document
        finally:
            _put_back()


def _parse(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise SettingsError(f"not YAML: {error}", path=PARAMS) from error
    if not isinstance(document, dict):
        raise SettingsError("must be a mapping of sections", path=PARAMS)
    return document


def _set(document: dict[str, Any], pair: str, what: str) -> None:
    key, equals, value = pair.partition("=")
    *above, last = key.split(".")
    place: Any = document
    for name in above:
        place = place.get(name) if isinstance(place, dict) else None
    if not equals or not isinstance(place, dict):
        raise SettingsError(f"{what} = {pair!r}: no such place in {PARAMS}")
    try:
        place[last] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise SettingsError(f"{what} = {pair!r}: the value is not YAML") from error


def _put_back() -> None:
    if not _KEPT.is_file():
        return
    kept = read_json(_KEPT, remedy="remove it")
    if PARAMS.is_file() and PARAMS.read_text(encoding="utf-8") not in kept.values():
        write_text(_BEFORE, kept["before"])
        say(f"{PARAMS} was edited meanwhile and stays so; as it was before the run: {_BEFORE}")
    else:
        write_text(PARAMS, kept["before"])
    _KEPT.unlink()
