"""Plain names: what may become part of commands, paths and ids as it is; and lists of names in options."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from pipeline.core.types import SPLITS
from pipeline.core.words import is_without_control

PLAIN = r"\w[\w.+-]*"
"""A regular expression of plain names."""

PLAIN_NAME = "a plain name: letters, digits, _, -, + and ., the first a letter or digit"
"""What a plain name is, in words."""

_LONGEST = 100  # characters: it becomes part of a file's name


FOLDER_NAME = (
    "names a folder, so no '/', no leading '.', no control character, and 200 characters at most"
)
"""What the name of a folder is, in words."""


def nearest(name: str, known: Iterable[object]) -> str:
    """The known name most like another, as a question for a message; empty if none is like it."""
    found = get_close_matches(name, [str(each) for each in known], 1)
    return f"did you mean {found[0]!r}?" if found else ""


def is_plain_name(text: str) -> bool:
    """Whether a text is a plain name, and not too long for a file's."""
    return re.fullmatch(PLAIN, text) is not None and len(text) <= _LONGEST


def is_folder_name(text: str) -> bool:
    """Whether a text may be the name of a folder within another, with a little after it."""
    return (
        0 < len(text) <= 2 * _LONGEST
        and "/" not in text
        and not text.startswith(".")
        and is_without_control(text)
    )


def by_commas(value: Any) -> Any:
    """The names in a list whose elements may hold several, separated by commas; all else as it is.

    Raises:
        ValueError: an element names nothing.
    """
    if not isinstance(value, list):
        return value
    apart = [[part.strip() for part in str(each).split(",")] for each in value]
    if not all(map(any, apart)):  # an empty list would ask for nothing
        raise ValueError("names nothing; leave it out, or name one or more")
    return [part for parts in apart for part in parts if part]


def _held_out_splits(named: list[str]) -> list[str]:
    """Some splits, each once.

    Raises:
        ValueError: one is none, or is what everything learns from.
    """
    return among(named, SPLITS[1:], "held-out splits")


HeldOutSplits = Annotated[list[str], BeforeValidator(by_commas), AfterValidator(_held_out_splits)]
"""An option that names held-out splits: separated by commas, or repeated."""


def among(named: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """Some names, each once.

    Raises:
        ValueError: one is not among the known ones, which are ``what``.
    """
    for name in named:
        if name not in known:
            like = nearest(name, known)
            raise ValueError(f"{name!r} is none{like and f', {like}'}; {what}: {', '.join(known)}")
    return list(dict.fromkeys(named))


def of_a_draw(name: str, seed: int, labelled: str) -> str:
    """A name in which ``{seed}`` and ``{labelled}`` stand for a draw's."""
    return name.replace("{seed}", str(seed)).replace("{labelled}", labelled)
