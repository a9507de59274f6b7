"""How many levels a parser's tree has: a weak parser may put hundreds one above the other."""

from typing import Any

from pipeline.text.trees import DEEPEST

TOO_DEEP = f"a tree of more than {DEEPEST} levels"
"""Why a sentence has no tree."""


def is_too_deep(tree: Any) -> bool:
    """Whether a tree of stanza's, and a root that may come above it, has more levels than trees have here.

    Nobody may call a method of such a tree that calls itself once a level, as stanza's own do.
    """
    todo = [(tree, 1)]
    while todo:
        node, level = todo.pop()
        if node.children and level >= DEEPEST:
            return True
        todo += [(child, level + 1) for child in node.children]
    return False
