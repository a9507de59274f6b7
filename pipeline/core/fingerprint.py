"""Which of the project's modules a module imports, directly or not.

Read from the source, so that nothing has to be imported to know it: the fingerprint of a shard
covers the code it depends on, and a test holds dvc.yaml's ``deps`` against the same list.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.core.files import digest_of, sha256_of

_ROOT = Path(__file__).resolve().parents[2]


def import_closure(module: str) -> list[str]:
    """Files of ``module`` and of every project module it imports, relative to the root, sorted.

    Args:
        module: dotted name, such as ``pipeline.generate.stage``.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if path is None or path in found:
            continue
        found.add(path)
        # Importing a.b.c runs a and a.b first.
        parts = name.split(".")
        waiting += [".".join(parts[:i]) for i in range(1, len(parts))]
        waiting += _imports(_ROOT / path)
    return sorted(found)


@cache  # a process runs the code it began with
def code_digest(module: str) -> str:
    """Digest of the source of ``module`` and all it imports: a code version without version control."""
    return digest_of({path: sha256_of(_ROOT / path) for path in import_closure(module)})


def _file_of(name: str) -> str | None:
    base = _ROOT.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(_ROOT).as_posix()
    return None


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("pipeline"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipeline"):
            yield str(node.module)
            # `from package import submodule` imports the submodule too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def differences(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    """What changed between two descriptions of what rows depend on, by name."""
    if old is None:
        return "made by settings that are not known any more"
    before, after = _flat(old), _flat(new)
    names = [k for k in (*after, *(before.keys() - after)) if before.get(k) != after.get(k)]
    changes = [_change(name, before.get(name), after.get(name)) for name in names]
    return ", ".join(dict.fromkeys(changes))


def _flat(about: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in about.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{head}{key}.")
        else:
            flat[head + key] = value
    return flat


def _change(name: str, old: Any, new: Any) -> str:
    section, _, key = name.rpartition(".")
    plain = {"inputs": f"input {key}", "model": "model", "code": "code"}.get(section or name, key)
    texts = ["unset" if each is None else str(each) for each in (old, new)]
    # Digests tell a reader nothing beyond that they differ.
    if section == "inputs" or name == "code" or any("sha256:" in text for text in texts):
        return f"{'model weights' if name == 'model' else plain} changed"
    return f"{plain} {texts[0]} → {texts[1]}"
