"""What is said of a folder of candidates when it is made."""

from collections import Counter

import pytest

from pipeline.core.errors import ModelError
from pipeline.core.tally import Tally
from pipeline.generate.stage import require_room
from pipeline.infill.base import TOO_LONG


@pytest.mark.parametrize(("long", "warned"), [(0, False), (4, False), (5, True), (99, True)])
def test_a_model_too_short_for_many_is_named(
    long: int, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a twentieth of what was tried on, with what to do about it."""
    require_room(Tally(100 - long, Counter({TOO_LONG: long} if long else {})))
    said = capsys.readouterr().err
    assert ("pretrain` with a greater --max-length" in " ".join(said.split())) is warned


def test_a_model_too_short_for_all_is_an_error() -> None:
    """Nobody wants a corpus of rejects; nothing tried is none."""
    with pytest.raises(ModelError, match="all of what was tried is longer"):
        require_room(Tally(0, Counter({TOO_LONG: 3})))
    require_room(Tally(0, Counter()))
