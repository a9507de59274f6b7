"""Rows of a release of new argument pairs: their columns, what they must be, and whose terms they have."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pipeline.core.corpora import RELATIONS
from pipeline.core.errors import InputError
from pipeline.core.pairs import SYNTHETIC, SYNTHETIC_REJECTS, synthetic_id
from pipeline.core.parquet import column_names
from pipeline.core.words import is_without_control
from pipeline.corpus.handing_on import require_permission
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, licence_ids
from pipeline.corpus.rows import read_with_run
from pipeline.release.package import licensed
from pipeline.release.shards import CONFIGS

_GENERATION = pa.field("generation", pa.string(), nullable=False)

RELEASED_PAIRS = {
    "train": SYNTHETIC.append(_GENERATION),
    "rejected": SYNTHETIC.append(_GENERATION).append(SYNTHETIC_REJECTS.field("reason")),
}
"""The columns of a configuration's rows: those of ``synthesize``, and the run that made each."""

ORDER = {
    "train": ("candidate_id", "generation"),
    "rejected": ("candidate_id", "generation", "reason", "verdict", "completion"),
}
"""What orders rows with the same id: a line that is written twice is refused as often."""

_TEXTS = ("sentence_id", "label", "arg1", "arg2")
_SHOWN = ("confused", "writer", "prompt", "license")  # what a model said may have any character
_AGAIN = "make the pairs again with `conjoin synthesize`"


def are_pairs(shards: Shards) -> bool:
    """Whether candidates are new argument pairs, as ``synthesize`` makes them, or a release of such.

    Raises:
        InputError: the first file is damaged.
    """
    if (shards.manifest or {}).get("task") == RELATIONS:
        return True
    first = next(iter((*shards.accepted, *shards.rejects)))
    return "arg1" in column_names(first)


def pair_batches(
    shards: Shards, config: str, license_: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a configuration, with their run, in the order of the files.

    Args:
        shards: the folder, or a release.
        config: ``train`` or ``rejected``.
        license_: of the source, where a row says that it is unknown.

    Raises:
        InputError: a file is damaged, has other columns or a null where none may be.
    """
    files, bare = {
        "train": (shards.accepted, SYNTHETIC),
        "rejected": (shards.rejects, SYNTHETIC_REJECTS),
    }[config]
    return licensed(read_with_run(shards, files, bare, RELEASED_PAIRS[config]), license_)


def require_valid_pairs(shards: Shards) -> None:
    """Check every row: its id is that of its content, each usable one stands once, and has its text.

    Raises:
        InputError: one is not so; it is named, with what is wrong with it.
    """
    there: set[str] = set()
    for config in CONFIGS:
        row = 0
        for batch in pair_batches(shards, config):
            for each in batch.to_pylist():
                row += 1
                if fault := _fault(each, there, usable=config == "train"):
                    raise InputError(
                        f"row {row:,} of its {'candidates' if config == 'train' else 'rejects'} {fault}",
                        path=shards.place, remedy=_AGAIN,
                    )  # fmt: skip


def _fault(row: Mapping[str, Any], there: set[str], *, usable: bool) -> str | None:
    """What is wrong with a row; the ids of usable ones are remembered."""
    own, score = row["candidate_id"], row["score"]
    if own != synthetic_id(*(row[name] for name in _TEXTS)):
        return f"has an id ({own[:24]!r}) that is not its content's"
    if score is not None and not math.isfinite(score):
        return f"has the score {score}"
    for name in (*_SHOWN, *(_TEXTS if usable else ())):
        text = row[name] or ""
        if name in _TEXTS and not text.strip():
            return f"has no {name}"
        if not is_without_control(text):
            return f"has a control character in its {name}"
    if usable and own in there:
        return f"stands there twice ({own})"
    if usable:
        there.add(own)
    return None


def require_permission_of_pairs(shards: Shards, license_: str | None) -> None:
    """Refuse pairs whose text must not be handed on: the source's, or what a language model wrote.

    ``license_`` names the terms of the source alone. Where a row says ``unknown`` and a language model wrote
    for it, nothing tells whose terms that is about, so it is refused all the same.

    Raises:
        InputError: there are such rows.
    """
    rows, written = Counter[str](), Counter[str]()
    for config in CONFIGS:
        for batch in pair_batches(shards, config):
            for license_of, prompt in zip(
                batch.column("license").to_pylist(), batch.column("prompt").to_pylist(), strict=True
            ):
                (rows if prompt is None else written)[license_of] += 1
    if license_ is not None:
        rows[license_] += rows.pop(UNKNOWN, 0)
    require_permission(dict(sorted((+rows).items())), shards.place, remedy=_of_source)
    require_permission(dict(sorted(written.items())), shards.place, remedy=_of_writer)


def _of_source(expression: str) -> str:
    if expression == UNKNOWN:
        return "name it with `--license`, or with `conjoin ingest --license`"
    return "the source's words are in every pair, so there is no release without them"


def _of_writer(expression: str) -> str:
    if UNKNOWN not in licence_ids(expression):
        return _of_source(expression)
    return (
        "name the terms on what the model wrote with `conjoin synthesize --writer-license`, and those of the "
        "source with `conjoin ingest --license`; --writer replay asks no model again"
    )
