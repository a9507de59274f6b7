"""What goes from params.yaml into the shell commands of dvc.yaml: names, places and options.

DVC puts them there as they are. A corpus called ``x; rm -r ~`` would be run, one called ``../x`` would lie
elsewhere, and one with a blank in it would be two words; so each is refused in one line before DVC sees it.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.errors import SettingsError
from pipeline.core.names import PLAIN, is_plain_name

_PLACE = re.compile(rf"{PLAIN}(/{PLAIN})*")
_OPTIONS = re.compile(r"(?:[\w ./=,:+@%'\"-]|\{seed\})*")  # nothing that a shell reads otherwise
_LONGEST = 100  # characters of a value in a message

_PLACES = frozenset({"base", "trees", "candidates", "beside"})
"""Fields of a language model or a system that are paths below the corpus folder."""


def check_names(document: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> None:
    """Check the lists that span the matrix, as far as they are there.

    Args:
        document: params.yaml, with what is put over it.
        keys: of these lists.
        path: where the document is from, for errors.

    Raises:
        SettingsError: one is not a list, or holds what is no plain name, place or option.
    """
    for key in keys:
        if key not in document:
            continue
        value = document[key]
        if not isinstance(value, list):
            raise SettingsError(f"{key} = {_shown(value)}: must be a list", path=path)
        for number, each in enumerate(value):
            place = f"{key}[{number}]"
            if isinstance(each, Mapping):
                for field, part in each.items():
                    named = field if isinstance(field, str) else _shown(field)
                    _check_field(f"{place}.{named}", field, part, path)
            else:
                _check_name(place, each, path)


def _check_field(place: str, field: object, value: object, path: Path) -> None:
    if field == "options":
        _check_options(place, value, path)
    elif field in _PLACES:
        if not (isinstance(value, str) and _PLACE.fullmatch(value)):
            raise SettingsError(
                f"{place} = {_shown(value)}: must be a place below the corpus folder: plain names "
                "with slashes between them",
                path=path,
            )
    else:
        _check_name(place, value, path)


def _check_name(place: str, value: object, path: Path) -> None:
    named = isinstance(value, str | int | float) and not isinstance(value, bool)
    text = str(value) if named else ""
    if not is_plain_name(text):
        raise SettingsError(
            f"{place} = {_shown(value)}: must be a plain name, for it becomes part of commands and "
            "paths",
            path=path,
            remedy="give letters, digits, _, -, + and ., the first a letter or digit",
        )


def _check_options(place: str, value: object, path: Path) -> None:
    if isinstance(value, Mapping):
        for name, each in value.items():  # DVC puts their values in quotes
            _check_name(f"{place}.{_shown(name)}", name, path)
            for part in each if isinstance(each, list) else [each]:
                if not isinstance(part, str | int | float) or re.search(r"[\x00-\x1f]", str(part)):
                    raise SettingsError(
                        f"{place}.{name} = {_shown(part)}: must be a number or text on one line",
                        path=path,
                    )
        return
    try:
        sound = isinstance(value, str) and _OPTIONS.fullmatch(value) and shlex.split(value)
    except ValueError:  # a quote without its other half
        sound = False
    if not sound:
        raise SettingsError(
            f"{place} = {_shown(value)}: must be flags, without what a shell reads otherwise",
            path=path,
            remedy="write them as a mapping, whose values DVC puts in quotes: {caption: a b}",
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
