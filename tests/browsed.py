"""A corpus with awkward text, opened as ``conjoin browse`` opens it, for its tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from damaged import identified
from shared_corpora import candidate_folder, relist

from pipeline.core.parquet import write_table
from pipeline.corpus.layout import find_shards
from pipeline.sharing.browse.command import open_corpus
from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.text.columns import natural_columns

SCRIPT = "<script>window.broken=1</script><img src=x onerror=window.broken=1>"
AWKWARD = {
    0: SCRIPT,
    1: "100%",
    2: "don't",
    3: 'say"so',
    4: "ÄRZTE",
    5: "ΟΔΟΣ",
    6: "a\\b_c",
    7: "</script>",
}
"""Words put before the last one of the first candidates, by their row in the first shard."""


def awkward_folder(corpus: Path, rows: int = 90, *, valid: bool = False) -> Path:
    """A folder of candidates, a few of which have words that somebody forgot to escape.

    Args:
        corpus: the folder of the corpus they are of.
        rows: how many.
        valid: whether the rows are what they must be, so that commands write them on.
    """
    folder = candidate_folder(corpus, rows)
    shard = next(iter(sorted(folder.glob("candidates-*.parquet"))))
    table = pq.read_table(shard)
    columns = table.to_pydict()
    for row, word in AWKWARD.items():
        columns["words"][row].insert(-1, "script" if valid and word == SCRIPT else word)
    columns["score"][8] = None
    columns["words"][9][columns["coordinator"][9]] = "Or"
    changed = type(table).from_pydict(columns, schema=table.schema).to_pylist()
    made = [identified(row) if valid else row | natural_columns(row["words"]) for row in changed]
    write_table(shard, type(table).from_pylist(made, schema=table.schema))
    relist(folder)
    return folder


@contextmanager
def opened(place: Path, **given: object) -> Iterator[BrowsedCorpus]:
    """The corpus at a place."""
    settings = BrowseSettings.build({"place": place, **given}, None)
    with open_corpus(settings, find_shards(place)) as corpus:
        yield corpus
