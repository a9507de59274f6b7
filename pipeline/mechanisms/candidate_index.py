"""The order in which candidates are drawn: a function of what they are, not of where they lie.

Candidates sorted by (key of the sentence, key of the content, row): a corpus in other shards or in
another order of rows has the same order, but for equal rows, which are interchangeable. Sorted out
of core: keys go to one of 256 files by the sentence's first bits, and each file is sorted in memory,
at 24 bytes a candidate: 1 MB for 10 million candidates, 0.1 GB for a billion.
"""

from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["INDEX", "IndexBuilder"]

INDEX = np.dtype("<i8")
"""Type of the numbers in the files ``rows`` and ``ends``."""

_BUCKETS = 256
_RECORD = np.dtype([("sentence", "<u8"), ("content", "<u8"), ("row", "<i8")])


class IndexBuilder:
    """Sorts keys into two files: ``rows``, and where each sentence ``ends`` among them.

    Args:
        folder: where both files go; temporary ones beside them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._rows = folder, 0

    def add(self, sentences: npt.NDArray[np.uint64], contents: npt.NDArray[np.uint64]) -> None:
        """Take the keys of the next rows, both of shape (rows,)."""
        records = np.empty(len(sentences), _RECORD)
        records["sentence"], records["content"] = sentences, contents
        records["row"] = np.arange(self._rows, self._rows + len(records))
        self._rows += len(records)
        bucket = (sentences // np.uint64(2**64 // _BUCKETS)).astype(np.int64)
        records = records[np.argsort(bucket, kind="stable")]
        ends = np.cumsum(np.bincount(bucket, minlength=_BUCKETS))
        for number in np.unique(bucket):
            begin = ends[number - 1] if number else 0
            with self._bucket(int(number)).open("ab") as file:
                file.write(records[begin : ends[number]].tobytes())

    def finish(self) -> tuple[int, str]:
        """Write the two files.

        Returns:
            How many sentences there are, and the hex SHA-256 of the sorted keys: two sources with
            the same digest have the same draws.
        """
        digest, sentences, before = sha256(), 0, 0
        with (self._folder / "rows").open("wb") as rows, (self._folder / "ends").open("wb") as ends:
            for path in filter(Path.exists, map(self._bucket, range(_BUCKETS))):
                found = np.fromfile(path, _RECORD)
                path.unlink()
                found = found[np.lexsort((found["row"], found["content"], found["sentence"]))]
                digest.update(np.stack([found["sentence"], found["content"]], axis=1).tobytes())
                rows.write(found["row"].astype(INDEX).tobytes())
                changes = np.flatnonzero(found["sentence"][1:] != found["sentence"][:-1]) + 1
                last = np.append(changes, len(found)) + before
                ends.write(last.astype(INDEX).tobytes())
                before += len(found)
                sentences += len(last)
        return sentences, digest.hexdigest()

    def _bucket(self, number: int) -> Path:
        return self._folder / f"bucket-{number:03d}"
