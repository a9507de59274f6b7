"""The trees of a release held against the rows that they stand beside."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.types import Coordination, Span
from pipeline.corpus.candidate_checks import SPAN_RULES, Fault, faults
from pipeline.corpus.rows import TREE_COLUMNS
from pipeline.corpus.sentence_trees import TREEBANK
from pipeline.release.candidate_trees import PARSER
from pipeline.text.splicing import NoTree, require_sound
from pipeline.text.trees import parse_tree

UNREADABLE = "tree unreadable"
DIFFERS = "tree differs from its row"
_COLUMNS = {*TREE_COLUMNS.names, "words", "coordinator", "conjuncts", "label"}


def tree_faults(batch: pa.RecordBatch, database: duckdb.DuckDBPyConnection) -> Iterator[Fault]:
    """Which rows have a tree that is not theirs; those whose spans are wrong are not looked at.

    Args:
        batch: rows without nulls where none may be; without these columns nothing is checked.
        database: any; nothing is written into it.
    """
    if not _COLUMNS.issubset(batch.schema.names):
        return
    sound = np.ones(len(batch), np.bool_)
    for fault in faults(database, batch, SPAN_RULES):
        sound[fault.rows] = False
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for place, row in enumerate(batch.select(sorted(_COLUMNS)).to_pylist()):
        if sound[place] and (wrong := _wrong(row)):
            found[wrong[0]][place] = wrong[1]
    for kind, rows in found.items():
        yield Fault(kind, np.array(list(rows)), rows.__getitem__)


def _wrong(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The kind of what is wrong with the tree of a row, and what it is."""
    tree, origin = row["tree"], row["tree_from"]
    if (tree is None) != (origin is None):
        return "null value", "one of tree and tree_from is null"
    if tree is None:
        return None
    if origin not in (TREEBANK, PARSER):
        return DIFFERS, f"tree_from is {origin!r}"
    conjuncts = tuple(Span(span["start"], span["end"]) for span in row["conjuncts"])
    k = row["coordinator"]
    try:
        require_sound(
            parse_tree(tree),
            row["words"],
            Coordination(k, row["words"][k], row["label"], conjuncts),
        )
    except InputError as error:
        return UNREADABLE, error.what
    except NoTree as reason:
        return DIFFERS, str(reason)
    return None
