"""Whether fills say different things: a language model that has learned nothing says the same everywhere."""

from collections import Counter
from pathlib import Path

import pyarrow as pa

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError
from pipeline.core.parquet import MANIFEST, read_batches
from pipeline.core.schema import CANDIDATES

_FILL = pa.schema([CANDIDATES.field("fill")])

_MOST = 0.5
"""Share of fills that may be alike. Flat models say the same nearly everywhere, others hardly ever: of 1,500
last conjuncts of GENIA no two words are one repeated, and 9 are the most frequent one."""

_FEWEST = 100
"""Fills that a share is taken of; of fewer it says little."""


def require_varied(folder: Path) -> None:
    """Refuse candidates most of whose fills are one word repeated, or one and the same fill.

    They stay where they are, so that whoever wants can look at them.

    Args:
        folder: of candidates.

    Raises:
        ModelError: they are alike.
    """
    fills, longer, repeated = Counter[str](), 0, 0
    own = read_json(folder / MANIFEST, CandidatesManifest, needs=["shards"])["shards"]
    for shard in (folder / each["file"] for each in own if each["file"].startswith("candidates")):
        for batch in read_batches(shard, _FILL):
            for fill in batch.column(0).to_pylist():
                words = fill.lower().split()
                longer += len(words) > 1
                if len(words) > 1 and len(set(words)) == 1:
                    repeated += 1
                    words = words[:1]
                fills[" ".join(words)] += 1
    for what, alike, every in (
        ("fills of several words are one word again and again", repeated, longer),
        ("fills are the same", max(fills.values(), default=0), fills.total()),
    ):
        if every >= _FEWEST and alike > _MOST * every:
            raise ModelError(
                f"{alike:,} of {every:,} {what}, so these candidates teach nothing", path=folder,
                remedy="train the language model on more text or for longer, or take another (--model)",
            )  # fmt: skip
