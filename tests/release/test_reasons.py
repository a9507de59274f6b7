"""Every reason for which a row is refused is one that a stand-off release may hand on, and is explained."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline
from pipeline.release.readable import meaning

ROOT = Path(pipeline.__file__).parent
ROOMS = ("infill", "generate", "harvest", "select", "text/coordinations.py")

NO_REASONS = {
    # Counted in a manifest, or said of a whole run; no row has them.
    "pipeline.infill.pool_building": {
        "COORDINATED",
        "CAPITAL",
        "NO_TOKENS",
        "NO_TREE",
        "NO_TAGS",
        "NO_DEPENDENCIES",
        "NO_FEATURES",
    },
    "pipeline.generate.infilling": {"CUT", "WITHOUT"},
    "pipeline.generate.proposed": {"ASKED"},
    "pipeline.harvest.natural_text": {
        "OF_L",
        "LEARNED_FROM",
        "COPIES",
        "UNPARSED",
        "UNFOUND",
        "EARLIER",
    },
    "pipeline.harvest.parsed_text": {"WITHOUT", "REFUSED"},
    # What such a row says stands in no file.
    "pipeline.select.choosing": {"UNPERMITTED"},
    # Part of messages, or of prompts.
    "pipeline.infill.prompts": {"ANSWER"},
    "pipeline.select.settings": {"NO_SPLITS"},
    "pipeline.text.coordinations": {"WITHHELD", "ONE_SIDED", "UNLIKE"},
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules that give reasons, by name, and what is written in them."""
    for room in ROOMS:
        place = ROOT / room
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            name = ".".join(("pipeline", *path.relative_to(ROOT).with_suffix("").parts))
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def constants() -> Iterator[tuple[str, str]]:
    """Names and texts of several words of the modules' public constants, where these are written."""
    for name, tree in modules():
        left_out = NO_REASONS.get(name, set())
        for node in tree.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
                continue
            for target in node.targets:
                text = node.value.value
                if (
                    isinstance(target, ast.Name)
                    and target.id[0] != "_"
                    and target.id not in left_out
                    and isinstance(text, str)
                    and " " in text
                ):
                    yield f"{name}.{target.id}", text


FILLED = {
    "bound": "-2.5", "delta": "0.7", "relative": "0.001", "which": "predictor 1 of 2", "name": "below",
    "settings.words": "2-8", "settings.top": "33.3%", "', '.join(sorted(set(settings.label)))": "ADJP, NP",
    "settings.limit": "1,000",
}  # fmt: skip
"""What stands in the gaps of a reason with what was asked for in it."""


def made() -> Iterator[tuple[str, str]]:
    """Reasons of `select` with what was asked for in them."""
    for name, tree in modules():
        for node in ast.walk(tree):
            asked = isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "Condition", "choice.number",
            }  # fmt: skip
            named = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason"
            found = node.args[0] if asked else node.value if named else None
            if isinstance(found, ast.JoinedStr):
                parts = [
                    str(part.value)
                    if isinstance(part, ast.Constant)
                    else FILLED[ast.unparse(part.value)]
                    for part in found.values
                    if isinstance(part, ast.Constant | ast.FormattedValue)
                ]
                yield f"{name}:{node.lineno}", "".join(parts)


@pytest.mark.parametrize(("where", "reason"), [*constants(), *made()])
def test_a_reason_has_a_meaning(where: str, reason: str) -> None:
    assert meaning(reason), f"{where} is missing in resources/release/words.yaml"


def test_the_search_for_reasons_finds_them() -> None:
    """Those of generation, harvesting and selection alike."""
    found = {reason for _, reason in (*constants(), *made())}
    assert {"fill repeated", "NaN logits", "not drawn", "a label that is no candidate's"} <= found
    assert {"probability below 0.001 of the best", "score below -2.5"} <= found
