"""Rows that ``synthesize`` makes: candidates, and rejects with their reason."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from pipeline.core.corpus_folder import RELATIONS_FILE
from pipeline.core.pairs import SYNTHETIC, SYNTHETIC_REJECTS, synthetic_id

ALSO_ANNOTATED = "annotated with the other relation, too"
ARGUMENTS_OF_VALIDATION = "its arguments are those of a validation pair"
ARG1_AGAIN = "the first argument again"
CALLED_SO = "the model takes it for the other relation"
CONTROL = "a control character in it"
CUT = "cut off where the answer's tokens ended"
EMPTY = "empty"
NO_COMPLETION = "no completion"
NO_LIST = "no list in the completion"
NO_VERDICT = "no verdict"
OWN_AGAIN = "the source's own second argument"
SIGN = "a sign of language models in it"
TOO_LONG = "longer than the encoder reads"
TWICE = "written twice"
YES = "judged to have the other relation"

DOUBTS = frozenset({CALLED_SO, NO_VERDICT, YES})
"""Reasons that a filter has; without one such pairs are kept."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A new pair, as the columns of ``SYNTHETIC`` have it; ``reason``: why it is refused, if it is."""

    sentence_id: str
    label: str
    arg1: str
    arg2: str
    confused: str | None
    writer: str
    license: str
    prompt: str | None = None
    completion: str | None = None
    verdict: str | None = None
    reason: str | None = None

    @property
    def candidate_id(self) -> str:
        """A hash of the content, 24 hex digits."""
        return synthetic_id(self.sentence_id, self.label, self.arg1, self.arg2)


class SyntheticFiles:
    """The files of sources whose rows are new pairs (``sources.protocol.CandidateSource``)."""

    schemas: Mapping[str, pa.Schema] = {"candidates": SYNTHETIC, "rejects": SYNTHETIC_REJECTS}
    text_file = RELATIONS_FILE
    added: str | None = None

    def tables(self, rows: Sequence[Synthetic]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each kind of file."""
        made: dict[str, list[dict[str, Any]]] = {kind: [] for kind in self.schemas}
        for row in rows:
            values = {"candidate_id": row.candidate_id, "score": None, **asdict(row)}
            if values["reason"] is None:
                del values["reason"]
                made["candidates"].append(values)
            else:
                made["rejects"].append(values)
        return made


def listed_senses(senses: Sequence[str]) -> str:
    """Several senses as a column has them."""
    return ", ".join(senses)
