"""Sentences of the embedded world with their trees, and attested candidates made of them by hand."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.core.fingerprint import Fingerprint
from pipeline.core.schema import CANDIDATES, REJECTS, candidate_row
from pipeline.core.structures import laid_out
from pipeline.core.tally import Tally
from pipeline.core.types import (
    Candidate,
    Donor,
    Sentence,
    SourceSentence,
    Structure,
    candidate_id,
    is_unlabelled_seed,
)
from pipeline.executor.units import UnitFolder
from pipeline.generate.spans import constituent_spans, draw_spans
from pipeline.text.columns import natural_columns
from pipeline.text.natural import join_words
from pipeline.text.trees import parse_tree
from pipeline.world import generate_sentences

WORLD = Path(__file__).resolve().parents[1] / "data/raw/world"
STRUCTURES = (
    Structure("and"),
    Structure("or", "either"),
    Structure("and", None, 3),
    Structure("nor", "neither", 4, comma=True),
)


def world(count: int = 60) -> list[Sentence]:
    """Sentences of U, with gold trees and tags."""
    return list(islice(filter(is_unlabelled_seed, generate_sentences(WORLD, 20 * count, 0)), count))


def attested(sentences: Sequence[Sentence]) -> list[Candidate]:
    """A candidate of each sentence but the first, of two to four conjuncts from sentences around it."""
    found = []
    for number, sentence in enumerate(sentences):
        tree = parse_tree(sentence.tree or "")
        source = SourceSentence(sentence.sentence_id, sentence.words, sentence.license)
        reference = draw_spans(source, tree=tree, references=1, seed=0)[0]
        structure = STRUCTURES[number % len(STRUCTURES)]
        if not reference.span.start:
            structure = Structure(structure.coordinator, None, structure.conjuncts)
        donors: list[tuple[Donor, tuple[str, ...]]] = []
        for other in (*sentences[number + 1 :], *sentences[:number]):
            for span, label in constituent_spans(other.words, parse_tree(other.tree or "")):
                if label == reference.label and len(donors) < structure.conjuncts - 1:
                    words = other.words[span.start : span.end]
                    donors.append((Donor(other.sentence_id, span.start, span.end), words))
                    break
        if len(donors) < structure.conjuncts - 1:
            continue
        start, end = reference.span.start, reference.span.end
        laid = laid_out(structure, [sentence.words[start:end], *(w for _, w in donors)], start)
        words = (*sentence.words[:start], *laid.words, *sentence.words[end:])
        name = candidate_id(
            sentence.sentence_id, words, laid.coordinator, reference.span, laid.conjuncts
        )
        middle = tuple(donor for donor, _ in donors[:-1]) or None
        found.append(
            Candidate(
                name, sentence.sentence_id, words, laid.coordinator, laid.conjuncts,
                reference.label, reference.span, join_words(donors[-1][1]).text, -1.0, -1.0, -1.0,
                sentence.license, donors[-1][0], middle,
            )
        )  # fmt: skip
    return found


def candidate_folder(
    corpus: Path,
    candidates: Sequence[Candidate],
    *,
    fills: str = "attested",
    model: str = "sha256:" + "ab" * 32,
) -> Path:
    """A finished folder of candidates as ``generate`` leaves it."""
    settings = {"lm": "t5", "sync": True, "decoding": "greedy", "seed": 0, "spans": "constituents"}
    settings |= {"fills": fills, "pool": 16, "match": "label", "coordinators": "and,or,nor"}
    if fills == "harvested":
        settings = {"fills": fills, "labelled": "250", "parser": "corpus", "seed": 0}
    made_of = Fingerprint(settings, {"trees": "cd" * 32}, model, versions={"torch": "2"})
    out = corpus / "candidates" / f"t5-{fills}" / "seed-0"
    folder = UnitFolder(out, 1, {"candidates": CANDIDATES, "rejects": REJECTS}, made_of, "conjoin")
    folder.begin()
    rows = [candidate_row(each, natural_columns(each.words)) for each in candidates]
    folder.write(0, {"candidates": rows, "rejects": []}, Tally(len(rows)))
    folder.write_manifest()
    return out


def corpus_of(
    folder: Path, write_trees: Callable[..., None], sentences: Sequence[Sentence] | None = None
) -> tuple[Path, list[Candidate]]:
    """A corpus folder with gold trees for a parser's, and the attested candidates of its sentences."""
    every = world() if sentences is None else list(sentences)
    write_trees(folder, every)
    return folder, attested(every)


def rows_of(candidates: Sequence[Candidate], run: str | None = None) -> list[tuple[Candidate, Any]]:
    """As ``CandidateTrees.of`` takes them."""
    return [(each, run) for each in candidates]
