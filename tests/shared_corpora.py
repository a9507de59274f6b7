"""Small folders of candidates as ``generate`` writes them, for tests of what shares them."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.core.documents import read_json
from pipeline.core.files import FileFacts, write_json
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.parquet import LATER, write_rows
from pipeline.core.schema import (
    CANDIDATES,
    REJECTS,
    SENTENCES,
    candidate_row,
    reject_row,
    sentence_row,
)
from pipeline.core.tally import Tally
from pipeline.core.types import Attested, Candidate, Donor, Reference, Reject, Sentence, Span
from pipeline.executor.units import UnitFolder
from pipeline.infill.base import Fill
from pipeline.infill.candidates import make_candidate
from pipeline.text.columns import natural_columns
from pipeline.text.natural import join_words

NOUNS = ("lamp", "harbor", "dog", "radio", "letter", "boat", "clock")
FILLS = ("the old {}", "a {} near the river", "{}", "the {} of our town", "my brother's {}")


def source(number: int, license_: str = "CC0-1.0") -> Sentence:
    """A source sentence of twelve words with the noun phrase ``[3, 5)``; all of them differ."""
    noun = NOUNS[number % len(NOUNS)]
    rest = ["near", "the", "door", "of", "the", "house", "."]
    words = ("The", f"clerk{number}", "kept", "the", noun, *rest)
    return Sentence(f"toy/{number:06d}", "d", "train", words, None, None, (), license_)


def outcome(number: int, license_: str = "CC0-1.0", shift: float = 0.0) -> Candidate | Reject:
    """What generation makes of that sentence; each seventh is a reject."""
    sentence = source(number, license_)
    span, label = (Span(3, 5), "NP") if number % 3 else (Span(2, 5), "VP")
    reference = Reference(sentence.sentence_id, sentence.words, span, label, license_)
    text = FILLS[number % len(FILLS)].format(NOUNS[(number + 3) % len(NOUNS)])
    if number % 7 == 6:
        text = ("", "...", " ".join(sentence.words[span.start : span.end]))[number % 3]
    score = shift - 1.0 - number % 13 / 8
    fill = Fill(text=text, score=score, score_append=score + 0.25, score_prepend=score - 0.25)
    return make_candidate(reference, fill, "and")


def attested_outcome(
    number: int, license_: str = "CC0-1.0", shift: float = 0.0
) -> Candidate | Reject:
    """The same where the fill may be four words of another sentence: of two thirds of the sentences."""
    if number % 3 == 0:
        return outcome(number, license_, shift)
    sentence, other = source(number, license_), source(number // 2, license_)
    option = Attested(other.words[5:9], Donor(other.sentence_id, 5, 9), license_)
    reference = Reference(sentence.sentence_id, sentence.words, Span(3, 5), "NP", license_)
    score = shift - 1.0 - number % 13 / 8
    text = join_words(option.words).text
    fill = Fill(text, score, score, score, attested=option)
    made = make_candidate(reference, fill, "and")
    return (
        Reject(made, "fill repeated") if number % 8 == 7 and isinstance(made, Candidate) else made
    )


def without(path: Path, *columns: str) -> None:
    """Take columns away that a file of an earlier version lacks; those that are not there stay away."""
    table = pq.read_table(path, partitioning=None)
    there = [name for name in columns if name in table.schema.names]
    pq.write_table(table.drop_columns(there), path)


def without_donors(path: Path) -> None:
    """As a file of the first versions lacks donors, and text beside the words."""
    without(path, *LATER)


def relist(folder: Path) -> None:
    """Have a manifest list the shards that lie in its folder now, whatever is in them."""
    path = folder / "manifest.json"
    manifest = read_json(path)
    release = "format" in manifest
    files = sorted(folder.glob("*/train-*.parquet" if release else "*-of-*.parquet"))
    manifest["shards"] = [
        {
            "file": file.relative_to(folder).as_posix(),
            **asdict(FileFacts.of(file, pq.read_metadata(file).num_rows)),
            "digest": "0" * 64,
            "config": "train" if file.parent.name == "data" else "rejected",
        }
        for file in files
    ]
    write_json(path, manifest)


def row_of(candidate: Candidate) -> dict[str, Any]:
    """A row of a candidate as ``generate`` writes it."""
    return candidate_row(candidate, natural_columns(candidate.words))


def candidate_folder(
    corpus: Path, rows: int = 60, *, first: int = 0, units: int = 3,
    license_: str = "CC0-1.0", seed: int = 0, shift: float = 0.0, attested: bool = False,
) -> Path:  # fmt: skip
    """``corpus/candidates/t5-sync/seed-<seed>`` and ``corpus/sentences.parquet``; returns the former.

    Args:
        corpus: the corpus folder; its sentences are those numbered from 0 to ``first + rows``.
        rows: number of outcomes, of which six in seven are candidates.
        first: number of the first sentence, so that two folders may overlap or not.
        units: number of shards of each kind.
        license_: licence of every sentence.
        seed: the run's, in its fingerprint too.
        shift: what is added to every score.
        attested: the fills of two thirds of the references are another sentence's words.
    """
    sentences = [source(n, license_) for n in range(first + rows)]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    chosen = {"fills": "attested", "pool": 16, "match": "label"} if attested else {}
    fingerprint = Fingerprint(
        {"lm": "t5", "sync": True, "decoding": "greedy", "seed": seed, "spans": "constituents", **chosen},
        {"trees": "cd" * 32, "given": None}, "sha256:" + "ab" * 32,
        versions={"torch": "2.13.0", "transformers": "5.23.0"}, machine={"device": "cpu"},
    )  # fmt: skip
    out = corpus / f"candidates/t5-sync/seed-{seed}"
    command = f"conjoin generate data/toy --lm t5 --sync --seed {seed}"
    schemas = {"candidates": CANDIDATES, "rejects": REJECTS}
    folder = UnitFolder(out, units, schemas, fingerprint, command)
    folder.begin()
    for unit in range(units):
        make = attested_outcome if attested else outcome
        made = [make(n, license_, shift) for n in range(first, first + rows)[unit::units]]
        kept = [row_of(row) for row in made if isinstance(row, Candidate)]
        refused = [row for row in made if isinstance(row, Reject)]
        tally = Tally(len(kept), Counter(row.reason for row in refused))
        rejects = [reject_row(row, natural_columns(row.candidate.words)) for row in refused]
        folder.write(unit, {"candidates": kept, "rejects": rejects}, tally)
    folder.write_manifest()
    return out
