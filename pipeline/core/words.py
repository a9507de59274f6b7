"""What no word may be, wherever it is from: one set of patterns, for single words and for SQL over corpora.

The patterns mean the same in Python's ``re`` and in RE2, which DuckDB has.
"""

import re
from typing import Any

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


def is_text(text: str) -> bool:
    """Whether a text has neither a control character nor what stands for bytes that were no text."""
    return is_without_control(text) and REPLACEMENT not in text


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


MOST_COORDINATORS = 100
"""Of one corpus: more are a mistake."""


def coordinator_list(found: Any) -> tuple[str, ...]:
    """Some coordinators, if they may be those of a corpus: different words in lower case.

    Args:
        found: of any type.

    Raises:
        ValueError: they may not; the word is named.
    """
    if not (isinstance(found, list) and 0 < len(found) <= MOST_COORDINATORS):
        raise ValueError(f"they are a list of 1 to {MOST_COORDINATORS} words")
    for word in found:
        if not isinstance(word, str) or not word:
            raise ValueError("one of them is no word")
        try:
            coordinator(word)
        except ValueError as error:
            raise ValueError(f"{word[:20]!a}: {error}") from error
        if word != word.lower():
            raise ValueError(f"{word[:20]!r} is not in lower case")
    if len(set(found)) < len(found):
        raise ValueError("one of them is named twice")
    return tuple(found)
