"""Processes beside others: how their threads wait."""

import os
import subprocess
import sys

import pytest

from pipeline.core.process import give_way


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)],
)
def test_threads_let_go_unless_somebody_has_said_how_they_wait(
    given: dict[str, str], spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user's environment has stays."""
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    give_way()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


def test_it_comes_before_torch() -> None:
    """OpenMP reads the variable when it is loaded: the command line may not have imported torch by then."""
    code = "import sys, pipeline.cli; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603 - own code
    assert done.returncode == 0
