"""Rows of anybody's corpus held against sentences that nothing may be learned from."""

from collections import defaultdict
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from pipeline.corpus.candidate_checks import SPAN_RULES, Fault, faults
from pipeline.select.leakage import COLUMNS, HeldOut


def leaked(
    held_out: HeldOut, batch: pa.RecordBatch, database: duckdb.DuckDBPyConnection
) -> Iterator[Fault]:
    """Which usable rows say what a held-out sentence says; those whose spans are wrong say nothing.

    Args:
        held_out: what they are held against.
        batch: rows without nulls where none may be; one without words or spans, such as of a stand-off
            release, gives a fault for each row.
        database: any; nothing is written into it.
    """
    if not set(COLUMNS).issubset(batch.schema.names):
        every = np.arange(len(batch))
        if len(every):
            yield Fault("rows that cannot be held against held-out sentences", every,
                        "no words here: run `conjoin rehydrate`")  # fmt: skip
        return
    sound = np.ones(len(batch), np.bool_)
    for fault in faults(database, batch, SPAN_RULES):
        sound[fault.rows] = False
    places = np.flatnonzero(sound)
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for leak in held_out.leaks(batch.filter(pa.array(sound))):
        found[leak.kind][int(places[leak.row])] = leak.what
    for kind, rows in found.items():
        yield Fault(kind, np.array(list(rows)), rows.__getitem__)
