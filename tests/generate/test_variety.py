"""Candidates of a model that says the same everywhere: they are written, and the run does not end well."""

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row
from pipeline.core.types import Candidate, Span
from pipeline.generate.variety import require_varied
from pipeline.text.natural import join_words

NOUNS = ["dog", "cat", "cook", "lamp", "girl", "boat", "king", "tree", "sea", "song"]
SAME, REPEATED = "fills are the same", "fills of several words are one word again and again"


def folder(place: Path, fills: list[str]) -> Path:
    rows = []
    for number, fill in enumerate(fills):
        words = ("We", "saw", "it", "and", *fill.split(), ".")
        spans = Span(2, 3), Span(4, len(words) - 1)
        of = (f"c{number}", f"s{number}", words, 3, spans, "NP", spans[0], fill, -1.0, -1.0, None)
        rows.append(candidate_row(Candidate(*of, "CC0-1.0"), {"text": join_words(words).text}))
    shard = "candidates-00000-of-00001.parquet"
    write_rows(place / shard, CANDIDATES, rows)
    facts = {"file": shard, "rows": len(rows), "sha256": sha256_of(place / shard),
             "bytes": (place / shard).stat().st_size}  # fmt: skip
    write_json(place / "manifest.json", {"shards": [facts]})
    # Somebody's own, which is none of the shards.
    (place / "candidates-mine.parquet").write_bytes(b"mine")
    return place


VARIED = [f"the {one} of a {other}" for one in NOUNS for other in NOUNS]


@pytest.mark.parametrize(
    ("fills", "said"),
    [
        (VARIED, None),
        (VARIED[:60] + ["The cat"] * 40, None),
        (VARIED[:40] + ["The cat", "the cat"] * 30, f"60 of 100 {SAME}"),
        ([f"{noun} {noun}" for noun in NOUNS] * 12 + NOUNS * 4, f"120 of 120 {REPEATED}"),
        (["the", "the the", "the the the"] * 60, f"120 of 120 {REPEATED}"),
        (["the"] * 80 + ["the the"] * 20, f"100 of 100 {SAME}"),
        (["the cat"] * 99, None),
        ([], None),
    ],
)
def test_fills_that_are_all_alike_are_refused(
    tmp_path: Path, fills: list[str], said: str | None
) -> None:
    """More than half of one word repeated, or the same; of few nobody can tell."""
    place = folder(tmp_path / "c", fills)
    if said is None:
        require_varied(place)
        return
    with pytest.raises(ModelError, match=said):
        require_varied(place)
    assert list(place.glob("candidates-*"))
