"""Hostile inputs of the readers: each is taken, or refused in one line; none hangs or shows a traceback.

``CONJOIN_HOSTILE`` in the environment is the number of cases of each kind, for a longer run.
"""

import os
from pathlib import Path
from types import ModuleType

import pytest
from hostile import archives, brackets, conllu, raw_text, xml
from hostile.case import run_all

_COUNT = int(os.environ.get("CONJOIN_HOSTILE", "40"))
_SEED = 0


@pytest.mark.parametrize(
    "kind", [archives, brackets, conllu, raw_text, xml], ids=lambda k: k.__name__
)
@pytest.mark.long
def test_hostile_input_is_taken_or_refused_in_one_line(kind: ModuleType, tmp_path: Path) -> None:
    """Every case of a kind; those that fail are named together."""
    counts, failed = run_all(kind.cases(_COUNT, _SEED), tmp_path)
    assert not failed, "\n".join([f"{counts}", *failed[:20]])
    assert counts.total() >= _COUNT
    assert counts["ok"]
    assert counts["refused"]
