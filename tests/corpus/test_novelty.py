"""Which rows say what another one says, where there is little memory."""

import numpy as np

from pipeline.corpus.engine import engine
from pipeline.corpus.novelty import Contents


def test_keys_of_many_rows_go_to_disk() -> None:
    """Of 200,000 candidates that come in pairs of equal content, in 16 MB."""
    rows = 200_000
    among = np.arange(rows) % 6 == 0
    with engine("16MB") as database:
        database.execute(
            "CREATE TEMP TABLE seen AS SELECT false AS rejected, range AS row, "
            "md5_number(range::VARCHAR) AS id, md5_number((range // 2)::VARCHAR) AS content, "
            "0::UHUGEINT AS refusal FROM range($rows)",
            {"rows": rows},
        )
        said = Contents(database, rows, 0)
        alike, first = said.like(among), said.first_candidates(among)
        every = said.first_candidates(np.ones(rows, dtype=bool))
    assert (alike == among[np.arange(rows) // 2 * 2]).all()
    assert (first == among).all()
    assert (every == (np.arange(rows) % 2 == 0)).all()
