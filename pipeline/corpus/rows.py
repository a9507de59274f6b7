"""The rows of a released corpus: their columns, the runs of ``generate`` that made them, and their files.

The columns are those of candidates and which generation made each row; docs/release.md has them one by one.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.parquet import ABOUT_ROWS, column_names, read_batches
from pipeline.core.schema import CANDIDATES, REJECTS, schema_of
from pipeline.corpus.candidate_checks import null_rows
from pipeline.corpus.layout import Shards

RELEASED = schema_of("candidate", "release")
"""``data/train-*.parquet``. ``generation``: the first 16 hex digits of the fingerprint of the run that
made the row, a key of ``generations`` in ``manifest.json``."""

RELEASED_REJECTS = schema_of("candidate", "release", "reject")
"""``rejected/train-*.parquet``."""

TREE_COLUMNS = schema_of("trees")
"""What a release with ``--trees`` has at the end of its usable candidates: the tree of each, and whether all
of it is the ``treebank``'s or a part a ``parser``'s; both null where there is none."""

WITH_TREES = schema_of("candidate", "release", "trees")
"""``data/train-*.parquet`` of a release with trees."""

STAND_OFF = schema_of("candidate", "release", "stand-off", stand_off=True)
"""``data/train-*.parquet`` of a stand-off release, which leaves the source's sentences out.

``word``: the coordinator as written, null where there is none. ``fill`` and ``fill_words``: the
generated text and its words, null where there is a ``donor``, whose words they are. The sentence is
``source[:reference.end] + [word] + fill_words + source[reference.end:]``; of more than two conjuncts
``fill_words`` has the words of all but the reference, ``fill`` the text of the last, and commas and
preconjunction follow from the spans (``core.structures``). Of a harvested row, which has neither fill nor
donor, it is ``source``. Rows whose generated text repeats the source are not there.
"""

STAND_OFF_REJECTS = schema_of("candidate", "release", "stand-off", "reject", stand_off=True)
"""``rejected/train-*.parquet`` of a stand-off release."""


_OF_FOLDER = {"annotation", "shards", "fingerprint"}
"""Keys of a manifest of ``generate`` that say nothing of how its rows were made; what was annotated is
said of a whole corpus."""


def generation_key(fingerprint: str) -> str:
    """What a run of ``generate`` is called in the column ``generation``: 16 hex digits."""
    return fingerprint[:16]


def generations(shards: Shards) -> dict[str, Mapping[str, Any]]:
    """The runs that made the rows, by the value of their column ``generation``.

    Each says what its rows depend on (``settings``, ``model``, ``inputs``, ``algorithm``, ``versions``,
    ``device``), its whole ``fingerprint``, and what it kept and refused (``tally``, ``notes``). None
    for files without a manifest.
    """
    manifest = shards.manifest or {}
    if "generations" in manifest:
        return dict(manifest["generations"])
    if "fingerprint" not in manifest:
        return {}
    fingerprint = str(manifest["fingerprint"])
    about = {key: value for key, value in manifest.items() if key not in _OF_FOLDER}
    return {generation_key(fingerprint): {"fingerprint": fingerprint, **about}}


def read_accepted(shards: Shards) -> Iterator[pa.RecordBatch]:
    """Stream the usable candidates, with the columns of ``RELEASED``, in the order of the files.

    Raises:
        InputError: a file is damaged, has other columns or a null where none may be, or nothing says who
            made its rows.
    """
    return read_with_run(shards, shards.accepted, CANDIDATES, RELEASED)


def read_rejects(shards: Shards) -> Iterator[pa.RecordBatch]:
    """Stream the rejects, with the columns of ``RELEASED_REJECTS``.

    Raises:
        InputError: as ``read_accepted``.
    """
    return read_with_run(shards, shards.rejects, REJECTS, RELEASED_REJECTS)


def read_with_run(
    shards: Shards, files: tuple[Path, ...], bare: pa.Schema, full: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Stream rows with the run that made each, in the order of the files.

    Args:
        shards: the corpus.
        files: of it.
        bare: their columns where they have no ``generation``.
        full: the same with it.

    Raises:
        InputError: as ``read_accepted``.
    """
    known = generations(shards)
    for path in files:
        if "generation" in column_names(path):
            yield from map(partial(_require_values, path), read_batches(path, full))
            continue
        if len(known) != 1:
            raise InputError(
                "nothing says which run made these rows: there is neither a column 'generation' nor "
                "a manifest.json of one run beside them",
                path=path, remedy="name the folder that `conjoin generate` wrote",
            )  # fmt: skip
        (key,) = known
        for batch in read_batches(path, bare):
            keys = pa.array([key] * len(batch), pa.string())
            columns = [keys if f.name == "generation" else batch.column(f.name) for f in full]
            yield _require_values(path, pa.RecordBatch.from_arrays(columns, schema=full))


def _require_values(path: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, if nothing is null in it that may not be: what reads a shard does not ask that."""
    for field in batch.schema:
        if field.nullable:
            continue
        if len(null_rows(batch.column(field.name))):
            raise InputError(
                f"a null in column {field.name!r}", path=path,
                remedy=ABOUT_ROWS,
            )  # fmt: skip
    return batch


def lost_trees(shards: Shards) -> str | None:
    """What to say where rows are copied without the trees that a release gave them; None if it gave none.

    Raises:
        InputError: the first file is damaged.
    """
    if not shards.accepted or TREE_COLUMNS.names[0] not in column_names(shards.accepted[0]):
        return None
    return (
        f"{shards.place}: the trees of these rows are not copied; `conjoin release --trees` makes them anew, "
        "where the source is at hand"
    )
