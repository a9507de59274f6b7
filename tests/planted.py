"""A corpus folder with held-out sentences and a draw of L, and candidates that are planted by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.corpus_folder import ingest_output
from pipeline.core.files import FileFacts, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, candidate_row, sentence_row
from pipeline.core.types import Candidate, Coordination, Sentence, Span, candidate_id
from pipeline.corpus.rows import RELEASED

TAGS = {
    "the": "DT", "a": "DT", "The": "DT", "of": "IN", "in": "IN", "with": "IN", "near": "IN", "and": "CC",
    "or": "CC", "was": "VBD", "is": "VBZ", "old": "JJ", "red": "JJ", "has": "VBZ", "not": "RB", ".": ".",
    "saw": "VBD", "sold": "VBN", "kept": "VBD", "opened": "VBD", "quickly": "RB",
}  # fmt: skip
"""Tags of the words of these tests; all others are nouns."""

HELD_OUT = "The clerk kept the old lamp of the town and a letter in the red box near the door ."
"""A dev sentence: words 3 to 8 and 10 to 11 are the conjuncts, an NP."""


def sentence(
    name: str, split: str, text: str, *coordinations: tuple[int, str, Sequence[tuple[int, int]]]
) -> Sentence:
    """A sentence with coordinations (coordinator, label, conjuncts)."""
    words = tuple(text.split())
    found = tuple(
        Coordination(k, words[k], label, tuple(Span(*span) for span in spans))
        for k, label, spans in coordinations
    )
    tags = tuple(TAGS.get(word, "NN") for word in words)
    return Sentence(name, "d", split, words, tags, None, found, "CC0-1.0")


def write_corpus(folder: Path, sentences: Sequence[Sentence], labelled: Sequence[str]) -> Path:
    """``sentences.parquet`` and ``draws/seed-0/1.json`` as ``ingest`` leaves them; returns the draw."""
    draw = folder / "draws/seed-0/1.json"
    draw.parent.mkdir(parents=True)
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    write_json(draw, {"labelled": list(labelled), "validation": []})
    counts = {"sentences.parquet": len(sentences), "draws/seed-0/1.json": 0}
    ingest_output(folder).finish(
        {name: FileFacts.of(folder / name, rows) for name, rows in counts.items()}, {}
    )
    return draw


def candidate(
    text: str, k: int, spans: Sequence[tuple[int, int]], *, label: str = "NP",
    score: float | None = -1.0, source: str = "toy/t",
) -> dict[str, Any]:  # fmt: skip
    """A row with the coordinator at word k."""
    words, conjuncts = tuple(text.split()), tuple(Span(*span) for span in spans)
    reference = conjuncts[0]
    found = candidate_id(source, words, k, reference, conjuncts)
    fill = " ".join(words[conjuncts[-1].start : conjuncts[-1].end])
    scores = (score, score, score)
    made = Candidate(
        found, source, words, k, conjuncts, label, reference, fill, *scores, license="CC0-1.0"
    )
    return candidate_row(made) | {"generation": "ab" * 8}


def write_candidates(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Rows as a single file, which may lie anywhere."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema=RELEASED), path)
    return path
