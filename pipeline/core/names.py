"""Plain names: what may become part of commands, paths and ids as it is."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

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
