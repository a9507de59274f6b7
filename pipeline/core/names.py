"""Plain names: what may become part of commands, paths and ids as it is."""

import re

PLAIN = r"\w[\w.+-]*"
"""A regular expression of plain names."""

PLAIN_NAME = "a plain name: letters, digits, _, -, + and ., the first a letter or digit"
"""What a plain name is, in words."""

_LONGEST = 100  # characters: it becomes part of a file's name


def is_plain_name(text: str) -> bool:
    """Whether a text is a plain name, and not too long for a file's."""
    return re.fullmatch(PLAIN, text) is not None and len(text) <= _LONGEST
