"""The shape of the project: rooms and floors, one word per stage, and dvc.yaml that sees the code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipeline.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "pipeline"
STAGES = (
    "ingest", "pretrain", "preparse", "generate", "harvest", "synthesize", "pair", "ask", "select", "train",
    "evaluate", "audit", "report", "release",
)  # fmt: skip
OF_A_TASK = {
    "synthesize": "tasks/relations/synthesize", "pair": "tasks/questions/pair", "ask": "tasks/questions/ask",
    "vote": "tasks/questions/vote", "play": "tasks/questions/play",
}  # fmt: skip
"""Stages and commands that corpora of one task alone have: they lie in its folder, and are of the floor of
stages, or of other commands."""
FLOORS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("text",),
    ("models", "executor", "world", "corpus"),
    ("infill", "parsing", "sources"),
    ("tasks",),
    STAGES,
    ("ellipsis", "experiments", "sharing", "trying", "vote", "play"),
    ("api", "cli"),
    ("__main__",),
)
"""The rooms of ``pipeline/``, lowest floor first: imports run to lower floors, or stay in the room."""


def dvc() -> dict[str, dict[str, object]]:
    stages: dict[str, dict[str, object]] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: stage.get("do", stage) for name, stage in stages.items()}  # type: ignore[misc]


def modules(room: str) -> list[Path]:
    """The files of a room: a package's, or the one module's."""
    package = PIPELINE / OF_A_TASK.get(room, room)
    if not package.is_dir():
        return [package.with_suffix(".py")]
    apart = [PIPELINE / inner for inner in OF_A_TASK.values() if inner != OF_A_TASK.get(room)]
    return [
        path
        for path in sorted(package.rglob("*.py"))
        if not any(path.is_relative_to(inner) for inner in apart)
    ]


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it; `from a import b` may mean a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_of(path: Path) -> set[str]:
    """The rooms that a module imports from."""
    found = set()
    for name in imports(path):
        inner = [stage for stage, place in OF_A_TASK.items()
                 if f"{name}.".startswith(f"pipeline.{place.replace('/', '.')}.")]  # fmt: skip
        first, *parts = name.split(".")
        found |= set(inner or parts[:1]) if first == "pipeline" else set()
    return found - {"__version__"}


def test_every_entry_of_pipeline_is_a_room_of_the_plan() -> None:
    """At most 27 folders, each with its floor; every stage has its stage.py and settings.py."""
    entries = {p.name for p in PIPELINE.iterdir() if p.name != "__pycache__"}
    assert sum((PIPELINE / name).is_dir() for name in entries) <= 27
    rooms = {room for floor in FLOORS for room in floor} - OF_A_TASK.keys()
    others = {"__init__.py", "py.typed", "resources"}
    assert {name.removesuffix(".py") for name in entries - others} == rooms
    for stage in STAGES:
        for module in ("stage.py", "settings.py"):
            assert (PIPELINE / OF_A_TASK.get(stage, stage) / module).is_file(), f"{stage}/{module}"


def test_settings_stand_beside_the_command() -> None:
    """A command that is no stage is a folder of its name in a room above the stages, or in a task's."""
    for command in COMMANDS.keys() - set(STAGES):
        settings, module, _ = COMMANDS[command]
        room, folder, name = module.rsplit(".", 2)
        assert (folder, name) == (command, "command")
        assert settings.__module__ == f"{room}.{command}.settings"


def test_imports_run_downwards_only() -> None:
    """No room imports from its own floor or from one above, so stages never import each other."""
    floor_of = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    wrong = [
        f"{path.relative_to(ROOT)} imports pipeline.{target}"
        for room, floor in floor_of.items()
        for path in modules(room)
        for target in rooms_of(path) - {room}
        if floor_of[target] >= floor
    ]
    assert not wrong


def test_modules_do_not_import_in_circles() -> None:
    """Inside a room, too, the modules stand in an order."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PIPELINE.rglob("*.py")
    }
    needs = {
        module: {name if name in files else name.rpartition(".")[0] for name in imports(path)}
        & files.keys() - {module}
        for module, path in files.items()
    }
    while ready := {module for module, wanted in needs.items() if not wanted & needs.keys()}:
        needs = {module: wanted for module, wanted in needs.items() if module not in ready}
    assert not needs, f"circles among: {sorted(needs)}"


def test_one_function_opens_parquet_in_sql() -> None:
    """DuckDB takes paths for patterns and folders for columns, which ``corpus.engine.parquet`` forbids."""
    openers = {
        path.relative_to(ROOT).as_posix()
        for path in PIPELINE.rglob("*.py")
        if any(
            name in path.read_text() for name in ("read_parquet", "parquet_scan", "scan_parquet")
        )
    }
    assert openers == {"pipeline/corpus/engine.py"}


def test_checkpoints_are_loaded_in_one_place() -> None:
    """Which sees to it that no code runs that comes with one."""
    calls = {
        path.relative_to(PIPELINE).as_posix(): node.func.attr
        for path in PIPELINE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in {"from_pretrained", "from_config"}
    }
    assert calls.keys() == {"models/loading.py"}


def test_modules_are_readable_in_one_sitting() -> None:
    """No module has over 550 lines."""
    lengths = {p: len(p.read_text().splitlines()) for p in PIPELINE.rglob("*.py")}
    assert not {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > 550}


def test_one_word_names_a_stage_everywhere() -> None:
    """Package, command, DVC stage and section of params.yaml carry the same word."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert list(dvc()) == list(STAGES)
    for stage in STAGES:
        settings, module, _ = COMMANDS[stage]
        assert module == f"pipeline.{OF_A_TASK.get(stage, stage).replace('/', '.')}.stage"
        assert settings.stage == stage
        assert stage in params


@pytest.mark.parametrize("stage", STAGES)
def test_deps_of_a_stage_are_the_rooms_it_imports(stage: str) -> None:
    """DVC does not see Python imports: each room in a stage's closure is a dependency, and no other."""
    found, waiting = {stage}, [stage]
    while waiting:
        for path in modules(waiting.pop()):
            new = rooms_of(path) - found
            found |= new
            waiting += new
    deps = {str(dep) for dep in dvc()[stage]["deps"]}  # type: ignore[attr-defined]
    named = {
        d for d in deps if d.startswith("pipeline/") and not d.startswith("pipeline/resources")
    }
    assert named == {f"pipeline/{OF_A_TASK.get(room, room)}" for room in found}


def test_dvc_yaml_depends_on_folders() -> None:
    """A stage's code is a few rooms, not a list of files that changes with every module."""
    named = [
        str(dep)
        for stage in dvc().values()
        for dep in stage["deps"]  # type: ignore[attr-defined]
        if str(dep).startswith("pipeline/")
    ]
    assert len(named) <= 115
    assert all((ROOT / dep).is_dir() for dep in named)


@pytest.mark.parametrize("stage", STAGES)
def test_params_keys_are_settings(stage: str) -> None:
    """Every key under a stage's section, in every corpus, is a setting with a valid value."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings, _, _ = COMMANDS[stage]
    for corpus, section in params[stage].items():
        levels = [section, *(v for v in (section or {}).values() if isinstance(v, dict))]
        for level in levels:
            keys = {k for k, v in (level or {}).items() if not isinstance(v, dict)}
            assert keys <= set(settings.model_fields), f"{stage}.{corpus}: {keys}"
