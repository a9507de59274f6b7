"""Text of anybody's making in Markdown: nothing in it is markup, and none of it steers a terminal."""

import pytest

from pipeline.core.markdown import code, command, plain, printable

EVIL = "x\n```\n# H <script>a</script> [a](http://e)\n\x1b[31m\u202e\n---\n"


def test_control_characters_are_printed_as_text() -> None:
    """Plain text, code and what documents are given: on one line, the escape character in letters."""
    for shown in (plain(EVIL), code(EVIL), command(EVIL), printable(EVIL)):
        assert "\n" not in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "x1b" in shown
    assert "<script>" not in plain(EVIL)
    assert code(EVIL).startswith("````")
    assert printable({EVIL: [EVIL, 3, None]}) == {printable(EVIL): [printable(EVIL), 3, None]}
    assert len(printable("x" * 10**6)) < 5_000


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("conjoin generate data/toy --lm t5", True),
        ("conjoin release 'a b' --out c && conjoin rehydrate c --source d --out e", True),
        ("conjoin select a --where 'label = '\"'\"'NP'\"'\"'' --out b", True),
        ("conjoin release a; rm -rf b", False),
        ("conjoin release $(rm -rf b)", False),
        ("conjoin release a && rm -rf b", False),
        ("rm -rf b", False),
        ("conjoin release 'a", False),
        ("", False),
        ("```", False),
    ],
)
def test_only_conjoins_commands_are_shown_to_be_run(line: str, own: bool) -> None:
    """Anything else is a comment, so that neither a shell nor Markdown takes it for more."""
    assert command(line) == (line if own else f"# {line}")
