"""The columns ``tree`` and ``tree_from`` of a release with ``--trees``."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pipeline.core.schema import candidate_of
from pipeline.core.settings import TreesOf
from pipeline.corpus.rows import TREE_COLUMNS, WITH_TREES
from pipeline.corpus.sentence_trees import TREEBANK
from pipeline.release.candidate_trees import PARSER, CandidateTrees


def with_trees(
    batches: Iterable[pa.RecordBatch], trees: CandidateTrees, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """The rows with the tree of each, or null where it has none.

    Args:
        batches: rows with the columns of ``RELEASED``.
        trees: what makes them.
        counts: receives how many are the treebank's, how many a parser's, and why the others are not.
    """
    for batch in batches:
        made = trees.of([(candidate_of(row), row["generation"]) for row in batch.to_pylist()])
        counts.update(each.origin or each.reason for each in made)
        texts = [[each.text for each in made], [each.origin for each in made]]
        columns = [pa.array(text, f.type) for text, f in zip(texts, TREE_COLUMNS, strict=True)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=WITH_TREES)


def trees_facts(trees_of: TreesOf, counts: Counter[str]) -> dict[str, Any]:
    """What a manifest says of the trees: whose were wanted, and the rows by whose theirs is, or why not."""
    whole = (TREEBANK, PARSER)
    without = sorted(counts.keys() - set(whole))
    return {
        "of": trees_of,
        **{name: counts[name] for name in whole},
        "without": {why: counts[why] for why in without},
    }
