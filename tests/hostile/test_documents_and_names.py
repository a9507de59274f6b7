"""Hostile documents and names: each is taken, or refused in one line; none hangs or shows a traceback.

``CONJOIN_HOSTILE`` in the environment is the number of random cases of each kind, for a longer run.
"""

import os
from pathlib import Path
from types import ModuleType

import pytest
from hostile import documents, names
from hostile.case import run_all

_COUNT = int(os.environ.get("CONJOIN_HOSTILE", "15"))
_SEED = 0


@pytest.mark.parametrize("kind", [documents, names], ids=lambda k: k.__name__)
@pytest.mark.long
def test_hostile_documents_and_names(kind: ModuleType, tmp_path: Path) -> None:
    """Every case of a kind; those that fail are named together."""
    counts, failed = run_all(kind.cases(_COUNT, _SEED), tmp_path)
    assert not list(tmp_path.rglob("pwned"))
    assert not failed, "\n".join([f"{counts}", *failed[:20]])
    assert counts.total() >= 100
    assert counts["ok"]
    assert counts["refused"]
