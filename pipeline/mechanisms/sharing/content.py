"""When two rows say the same, in SQL: 128 bits of their text, or of their text with its brackets.

Rows of equal content have equal words, coordinator and conjuncts. Neither the label counts, nor which
sentence they were made of, nor which model wrote the fill: to whoever trains on them they are one
example.
"""

__all__ = ["CONTENT", "REFUSAL", "TEXT"]

_WORDS = "array_to_string(words, chr(31))"
_SPANS = """array_to_string([span."start" || '-' || span."end" for span in conjuncts], ' ')"""

TEXT = f"md5_number({_WORDS})"
"""Key of a row's words."""

CONTENT = f"md5_number(concat_ws(chr(30), {_WORDS}, coordinator, {_SPANS}))"
"""Key of a row's words, coordinator and conjuncts."""

REFUSAL = """md5_number(concat_ws(chr(30), reference."start", reference."end", fill, reason))"""
"""Key of what else distinguishes rejects: where no candidate came to be, the words are the source's."""
