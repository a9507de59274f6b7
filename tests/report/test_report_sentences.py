"""The templates of sentences: each is said somewhere, with the facts that it takes, and nothing else is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import nodes

from pipeline.report.prose import Fact, templates

ROOT = Path(__file__).resolve().parents[2] / "pipeline"
RESOURCES = ROOT / "resources/report"


def macros() -> dict[str, set[str]]:
    """``FILE.MACRO`` → the names of its arguments."""
    found = {}
    for path in sorted((RESOURCES / "sentences").glob("*.jinja")):
        tree = templates().parse(path.read_text())
        for macro in tree.find_all(nodes.Macro):
            found[f"{path.stem}.{macro.name}"] = {argument.name for argument in macro.args}
    return found


def facts() -> Iterator[tuple[str, set[str]]]:
    """Every fact that a module or a page makes: its sentence, and what it is about."""
    for path in (ROOT / "report").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fact":
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{path.name}: {ast.unparse(node)}"
                yield str(name.value), {str(keyword.arg) for keyword in node.keywords}
    for path in RESOURCES.glob("*.jinja"):
        for call in templates().parse(path.read_text()).find_all(nodes.Call):
            if getattr(call.node, "name", "") == "say":
                yield call.args[0].as_const(), {keyword.key for keyword in call.kwargs}


def test_every_fact_has_its_sentence() -> None:
    """With these very arguments, so that no page breaks where it is printed."""
    known = macros()
    for sentence, about in facts():
        assert known.get(sentence) == about, sentence


def test_no_sentence_waits_for_a_fact() -> None:
    """Each macro is a fact's, or another macro's part."""
    said = {sentence for sentence, _ in facts()}
    text = "".join(path.read_text() for path in (RESOURCES / "sentences").glob("*.jinja"))
    for name in macros():
        macro = name.partition(".")[2]
        assert name in said or re.search(rf"(?<!macro )\b{macro}\(", text), name


def test_a_sentence_is_plain_text_on_one_line() -> None:
    """Whoever prints it escapes it: a page as HTML or Markdown, a terminal as it is."""
    text = str(Fact("missing.unfinished", folder="<b>`a`\nb & c"))
    assert "<b>`a` b & c" in text
