"""When two rows say the same, in SQL: 128 bits of their text, or of their text with its brackets.

Rows of equal content have equal words, coordinator and conjuncts. Neither the label counts, nor which
sentence they were made of, nor which model wrote the fill: to whoever trains on them they are one
example.
"""

__all__ = ["CONTENT", "REFUSED_CONTENT", "TEXT"]

_TEXT = "array_to_string(words, chr(31))"
_CONTENT = f"""{_TEXT}, coordinator, array_to_string(
    [span."start" || '-' || span."end" for span in conjuncts], ' ')"""

TEXT = f"md5_number({_TEXT})"
"""Key of a row's words."""

CONTENT = f"md5_number(concat_ws(chr(30), {_CONTENT}))"
"""Key of a row's words, coordinator and conjuncts."""

REFUSED_CONTENT = f"""md5_number(concat_ws(chr(30), {_CONTENT},
    reference."start" || '-' || reference."end", fill, reason))"""
"""The same of a reject. Where no candidate came to be its words are the source sentence: what
distinguishes it then is the reference, what the model wrote, and why it is refused."""
