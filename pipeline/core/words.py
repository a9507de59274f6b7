"""What no word may be, wherever it is from: one set of patterns, for single words and for SQL over corpora.

The patterns mean the same in Python's ``re`` and in RE2, which DuckDB has.
"""

import re

SENTINEL = (
    r"\[(MASK|CLS|SEP|PAD|UNK|unused[0-9]+)\]|<(mask|pad|unk|/?s|extra_id_[0-9]+)>|extra_id_[0-9]"
    "|<\\|[a-z_]+\\|>|\u2581"
)
"""What language models' tokenizers have beside text."""

CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Control characters, by which a text would steer a terminal, or be read in another order than it has."""

_CONTROL = re.compile(CONTROL)

REPLACEMENT = "\ufffd"
"""What stands for bytes that were no text."""

SPACE = "[\\t\\n\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What parts words."""

_FAULTS = (
    (SENTINEL, "a mask or sentinel of language models"),
    (CONTROL, "a control character"),
    (REPLACEMENT, "a replacement character"),
    (SPACE, "a space"),
)


def fault_of_word(word: str) -> str | None:
    """What a text has that no word may have; None if it may be a word."""
    if not word:
        return "nothing"
    return next((what for pattern, what in _FAULTS if re.search(pattern, word)), None)


def is_without_control(text: str) -> bool:
    """Whether a text has no control character."""
    return _CONTROL.search(text) is None


def coordinator(word: str) -> str:
    """The word, if it may be put into sentences as a coordinator: one without brackets or commas.

    Raises:
        ValueError: it may not.
    """
    what = fault_of_word(word)
    if what is None and not word.isprintable():
        what = "a character that cannot be seen"
    if what is None and set("()[]{}<>") & set(word):
        what = "a bracket"
    if (
        what is None and "," in word
    ):  # between coordinators of a list, and in structures, it is none itself
        what = "a comma"
    if what is not None:
        raise ValueError(f"no coordinator: it has {what}")
    return word
