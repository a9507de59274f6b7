"""The columns of a released corpus: those of candidates, and which generation made each row.

Documented column by column in docs/release.md.
"""

import pyarrow as pa

from pipeline.ground.schema import CANDIDATES

__all__ = ["RELEASED", "RELEASED_REJECTS", "STAND_OFF", "STAND_OFF_REJECTS"]

RELEASED = CANDIDATES.append(pa.field("generation", pa.string(), nullable=False))
"""``data/train-*.parquet``. ``generation``: the first 16 hex digits of the fingerprint of the run that
made the row, a key of ``generations`` in ``manifest.json``."""

RELEASED_REJECTS = RELEASED.append(pa.field("reason", pa.string(), nullable=False))
"""``rejected/train-*.parquet``."""

STAND_OFF = pa.schema(
    [
        RELEASED.field("candidate_id"),
        RELEASED.field("sentence_id"),
        RELEASED.field("coordinator"),
        pa.field("word", pa.string()),
        RELEASED.field("conjuncts"),
        RELEASED.field("label"),
        RELEASED.field("reference"),
        pa.field("fill", pa.string()),
        pa.field("fill_words", RELEASED.field("words").type),
        pa.field("sealed", pa.binary()),
        *(RELEASED.field(name) for name in ("score", "score_append", "score_prepend")),
        RELEASED.field("license"),
        RELEASED.field("generation"),
    ]
)
"""``data/train-*.parquet`` of a stand-off release, which leaves the source's words out.

``word``: the coordinator as written, null where there is none. ``fill`` and ``fill_words``: the
generated text and its words, both null where ``sealed`` holds them, because they repeat the source.
The sentence is ``source[:reference.end] + [word] + fill_words + source[reference.end:]``.
"""

STAND_OFF_REJECTS = STAND_OFF.append(RELEASED_REJECTS.field("reason"))
"""``rejected/train-*.parquet`` of a stand-off release."""
