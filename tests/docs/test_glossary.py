"""The glossary against the classes: one meaning a name, and what several rooms use is explained."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREES = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "pipeline").rglob("*.py"))}
CLASSES = [
    (node.name, path.relative_to(ROOT / "pipeline"))
    for path, tree in TREES.items()
    for node in tree.body
    if isinstance(node, ast.ClassDef)
]


def rooms_of_others() -> dict[str, set[str]]:
    """By class, the rooms that import it from another one."""
    home = {name: path.parts[0] for name, path in CLASSES}
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in TREES.items():
        room = path.relative_to(ROOT / "pipeline").parts[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipeline."):
                for each in node.names:
                    if home.get(each.name, room) != room:
                        found[each.name].add(room)
    return found


def explained() -> list[str]:
    """The classes that the glossary's tables name."""
    page = (ROOT / "docs/glossary.md").read_text()
    return re.findall(r"\|`([A-Z]\w*)`\|$", page, re.MULTILINE)


def test_no_two_classes_share_a_name() -> None:
    """A reader who met the name once knows what it is."""
    twice = {name for name, count in Counter(name for name, _ in CLASSES).items() if count > 1}
    assert {name: [str(path) for each, path in CLASSES if each == name] for name in twice} == {}


def test_the_glossary_names_classes_that_are_there_each_once() -> None:
    """A class that was renamed is renamed in the page."""
    names = explained()
    assert len(names) > 20
    assert sorted(set(names)) == sorted(names)
    assert set(names) <= {name for name, _ in CLASSES}


def test_a_noun_that_several_rooms_use_is_explained() -> None:
    """A class named by a single word, which two other rooms import, is a word of the project."""
    nouns = {name for name, _ in CLASSES if re.fullmatch("[A-Z][a-z0-9]+", name)}
    used = {name for name, rooms in rooms_of_others().items() if len(rooms) >= 2}
    assert nouns & used <= set(explained())
