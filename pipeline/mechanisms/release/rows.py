"""The columns of a released corpus: those of candidates, and which generation made each row.

Documented column by column in docs/release.md.
"""

import pyarrow as pa

from pipeline.ground.schema import CANDIDATES

__all__ = ["RELEASED", "RELEASED_REJECTS"]

RELEASED = CANDIDATES.append(pa.field("generation", pa.string(), nullable=False))
"""``data/train-*.parquet``. ``generation``: the first 16 hex digits of the fingerprint of the run that
made the row, a key of ``generations`` in ``manifest.json``."""

RELEASED_REJECTS = RELEASED.append(pa.field("reason", pa.string(), nullable=False))
"""``rejected/train-*.parquet``."""
