"""Rows of a kind as they lie in a folder, and whether they are what they must be."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.words import is_without_control
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import read_with_run
from pipeline.release.kinds.protocol import RowKind, Wrong
from pipeline.release.package import licensed
from pipeline.release.shards import CONFIGS

_CALLED = {"train": "candidates", "rejected": "rejects"}


def kind_batches(
    kind: RowKind, shards: Shards, config: str, license_: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a configuration, with their run, in the order of the files.

    Args:
        kind: of the rows.
        shards: the folder, or a release.
        config: ``train`` or ``rejected``.
        license_: of the source, where a row says that it is unknown.

    Raises:
        InputError: a file is damaged, has other columns or a null where none may be.
    """
    files = {"train": shards.accepted, "rejected": shards.rejects}[config]
    full = (kind.stand_off if shards.kind == "stand-off" else kind.released)[config]
    return licensed(read_with_run(shards, files, kind.bare[config], full), license_)


def require_valid_rows(kind: RowKind, shards: Shards) -> None:
    """Check every row: it is what its kind must be, and each usable one stands once.

    Raises:
        InputError: one is not so; it is named, with what is wrong with it.
    """
    there: set[str] = set()
    for config in CONFIGS:
        number, usable = 0, config == "train"
        for batch in kind_batches(kind, shards, config):
            for row in batch.to_pylist():
                number += 1
                wrong, own = kind.fault(row, usable=usable), row["candidate_id"]
                fault = f"has {wrong[1]}" if wrong else ""
                if usable and own in there:
                    fault = fault or f"stands there twice ({own})"
                if fault:
                    raise InputError(
                        f"row {number:,} of its {_CALLED[config]} {fault}",
                        path=shards.place, remedy=kind.again,
                    )  # fmt: skip
                if usable:
                    there.add(own)


def common_fault(
    row: Mapping[str, Any], due: str | None, texts: Mapping[str, str | None], words: Sequence[str]
) -> Wrong | None:
    """What is wrong with what rows of all kinds have.

    Args:
        row: with its id and its score.
        due: the id that its content should have; None: it cannot be told.
        texts: what it has of text, under the names of columns.
        words: names of those that must have some.
    """
    own, score = row["candidate_id"], row["score"]
    if due is not None and own != due:
        return "id differs from content", f"an id ({own[:24]!r}) that is not its content's"
    if score is not None and not math.isfinite(score):
        return "score not finite", f"the score {score}"
    for name, text in texts.items():
        if name in words and not (text or "").strip():
            return "no words", f"no {name}"
        if not is_without_control(text or ""):
            return "control character in text", f"a control character in its {name}"
    return None


def counted_licences(kind: RowKind, shards: Shards, license_: str | None) -> dict[str, int]:
    """How many rows have each licence, once those that say unknown have the one that is declared."""
    found = Counter[str]()
    for config in CONFIGS:
        for batch in kind_batches(kind, shards, config, license_):
            found.update(batch.column("license").to_pylist())
    return dict(sorted(found.items()))
