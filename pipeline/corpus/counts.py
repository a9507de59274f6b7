"""Counts of rows of candidates as they go by, which manifests and documents tell."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.core.parquet import value_counts


@dataclass
class Survey:
    """Counts of rows.

    Attributes:
        rows: by configuration.
        licenses: rows of both configurations by what their column ``license`` says.
        generations: rows by key of a generation and configuration.
        reasons: rejects by reason.
    """

    rows: Counter[str] = field(default_factory=Counter)
    licenses: Counter[str] = field(default_factory=Counter)
    generations: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    def counted(self, batches: Iterable[pa.RecordBatch], config: str) -> Iterator[pa.RecordBatch]:
        """The same rows of a configuration, counted as they go by."""
        for batch in batches:
            self.rows[config] += len(batch)
            self.licenses.update(value_counts(batch.column("license")))
            if "generation" in batch.schema.names:
                for key, count in value_counts(batch.column("generation")).items():
                    self.generations.setdefault(key, Counter())[config] += count
            if config == "rejected":
                self.reasons.update(value_counts(batch.column("reason")))
            yield batch
