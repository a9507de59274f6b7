"""What conjuncts have in common whoever finds them."""

import pytest

from pipeline.text.coordinations import is_balanced


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the dog", True),
        ("the dog ( Fig. [ 2 ] )", True),
        ("the dog ( Fig. 2 ]", False),  # as many closed as opened, and not of one kind
        ("the ( dog [ Fig. ) 2 ]", False),
        ("the dog ) of ( Fig. 2", False),
        ("the dog ( Fig. 2", False),
        ("dog(s)", True),  # within a word
        ("IL-2(+", False),
        ("the `` dog ''", True),
        ("the \u201cdog\u201d", True),
        ('the " dog', False),
        ("the dogs ' food", True),
    ],
)
def test_brackets_close_what_was_opened_and_quotes_are_even(words: str, expected: bool) -> None:
    """In their order, whatever word they are part of; an apostrophe is no quote."""
    assert is_balanced(words.split()) is expected
