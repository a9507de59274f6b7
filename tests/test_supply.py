"""What `make setup` installs and builds with is pinned by a hash, or lies in the clone."""

import re
import tomllib
from pathlib import Path

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


def test_what_builds_the_package_is_pinned() -> None:
    """With hashes, among what is installed before, in a version that pyproject.toml takes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for wanted in project["build-system"]["requires"]:
        name, least = wanted.split(">=")
        pinned = re.search(
            rf"^{name}==([\d.]+) \\\n +--hash=sha256:[0-9a-f]{{64}}", lock, re.MULTILINE
        )
        assert pinned, wanted
        assert int(pinned[1].partition(".")[0]) >= int(least)
