"""What `make setup` installs and builds with is pinned by a hash, or lies in the clone."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def test_setup_fetches_nothing_without_a_hash() -> None:
    """Each call of pip asks for hashes, or for no index and no isolation, for which it would fetch."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    recipe = re.split(r"^\$\(VENV\)/\.installed:.*\n", makefile, flags=re.MULTILINE)[1].split(
        "\n\n"
    )[0]
    calls = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(calls) == 4
    for call in calls:
        assert "--no-deps" in call
        if "--require-hashes" not in call:
            assert {"--no-index", "--no-build-isolation"} <= set(call.split()), call


def test_what_builds_runs_and_tests_the_package_is_pinned() -> None:
    """With hashes, in a version that pyproject.toml takes: a test that needs more would be skipped."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==(\S+) \\\n +--hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    pinned = {canonicalize_name(name): version for name, version in pins}
    own = project["project"]
    wanted = (
        *project["build-system"]["requires"],
        *own["dependencies"],
        *own["optional-dependencies"]["dev"],
    )
    for each in map(Requirement, wanted):
        version = pinned.get(canonicalize_name(each.name))
        assert version, each
        assert each.specifier.contains(version, prereleases=True), each
