"""Hostile corpora of candidates: each is taken, or refused in one line; none hangs or shows a traceback.

``CONJOIN_HOSTILE`` in the environment is the number of random cases, for a longer run.
"""

import os
from pathlib import Path

import pytest
from damaged import make_release
from hostile import parquet
from hostile.case import run_all

_COUNT = int(os.environ.get("CONJOIN_HOSTILE", "15"))
_SEED = 0


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    return make_release(folder / "release", folder / "toy")


@pytest.mark.long
def test_hostile_corpora(good: Path, tmp_path: Path) -> None:
    """Every case; those that fail are named together."""
    counts, failed = run_all(parquet.cases(_COUNT, _SEED, good), tmp_path)
    assert not failed, "\n".join([f"{counts}: {len(failed)} failed", *failed[:20]])
    assert counts["ok"] >= 20
    assert counts["refused"] >= 100
