"""The shape of the project: floors, one word per stage, and dvc.yaml that sees the code."""

import re
from pathlib import Path

import pytest
import yaml

from pipeline.cli import COMMANDS
from pipeline.ground.closure import import_closure

ROOT = Path(__file__).resolve().parents[1]
STAGES = (
    "ingest", "pretrain", "preparse", "generate", "train", "evaluate", "audit", "report", "release",
)  # fmt: skip
FLOORS = {"ground": 0, "settings": 0, "mechanisms": 1, "stages": 2, "tools": 2}


def dvc() -> dict[str, dict[str, object]]:
    stages: dict[str, dict[str, object]] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    return stages


def test_imports_run_downwards_only() -> None:
    """No module imports from a floor above its own, and stages do not import one another."""
    wrong = []
    for path in sorted((ROOT / "pipeline").glob("*/**/*.py")):
        floor = path.relative_to(ROOT / "pipeline").parts[0]
        for target, name in re.findall(
            r"^\s*(?:from|import) pipeline\.(\w+)(?:\.(\w+))?", path.read_text(), re.MULTILINE
        ):
            same_stage = floor == target in {"stages", "tools"} and name != path.stem
            if target not in FLOORS or FLOORS[target] > FLOORS[floor] or same_stage:
                wrong.append(f"{path.relative_to(ROOT)} imports pipeline.{target}.{name}")
    assert not wrong


def test_one_word_names_a_stage_everywhere() -> None:
    """Module, command, DVC stage and section of params.yaml carry the same word."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert list(dvc()) == list(STAGES)
    for stage in STAGES:
        settings, module = COMMANDS[stage]
        assert (ROOT / "pipeline" / "stages" / f"{stage}.py").is_file()
        assert module == f"pipeline.stages.{stage}"
        assert settings.stage == stage
        assert stage in params


@pytest.mark.parametrize("stage", STAGES)
def test_deps_of_a_stage_cover_what_it_imports(stage: str) -> None:
    """DVC does not see Python imports; every module in the closure must be a dependency."""
    deps = [str(dep) for dep in dvc()[stage]["deps"]]  # type: ignore[attr-defined]
    closure = [
        p for p in import_closure(f"pipeline.stages.{stage}") if not p.endswith("__init__.py")
    ]
    missing = [p for p in closure if not any(p == d or p.startswith(f"{d}/") for d in deps)]
    assert not missing, f"add to deps of {stage}: {missing}"
    needless = [
        dep for dep in deps
        if dep.startswith("pipeline/") and not any(p == dep or p.startswith(f"{dep}/") for p in closure)
        and not dep.startswith("pipeline/resources")
    ]  # fmt: skip
    assert not needless, f"remove from deps of {stage}: {needless}"
    packages = [p for p in import_closure(f"pipeline.stages.{stage}") if p.endswith("__init__.py")]
    for package in packages:
        covered = any(package.startswith(f"{dep}/") for dep in deps)
        code = re.sub(r'^""".*?"""', "", (ROOT / package).read_text(), count=1, flags=re.DOTALL)
        empty = not re.sub(r"__all__ = .*|__version__ = .*", "", code).strip()
        assert covered or empty, f"{package} holds code that {stage} does not depend on"


@pytest.mark.parametrize("stage", STAGES)
def test_params_keys_are_settings(stage: str) -> None:
    """Every key under a stage's section, in every corpus, is a setting with a valid value."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings, _ = COMMANDS[stage]
    for corpus, section in params[stage].items():
        levels = [section, *(v for v in (section or {}).values() if isinstance(v, dict))]
        for level in levels:
            keys = {k for k, v in (level or {}).items() if not isinstance(v, dict)}
            assert keys <= set(settings.model_fields), f"{stage}.{corpus}: {keys}"


def test_modules_are_small() -> None:
    """Modules stay readable in one sitting."""
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in (ROOT / "pipeline").rglob("*.py")
    }
    assert not {name: n for name, n in lengths.items() if n > 300}
