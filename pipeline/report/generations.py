"""Candidates of each folder as they were made, drawn for people to read."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.candidates import has_candidates, is_unfinished
from pipeline.core.corpora import COORDINATION, QUESTIONS, RELATIONS
from pipeline.core.pairs import SYNTHETIC, pair_text
from pipeline.core.parquet import read_batches
from pipeline.core.questions import EFFECT, PSEUDO_QUESTIONS, question_text
from pipeline.core.schema import CANDIDATES
from pipeline.corpus.checked import find_candidates, open_candidates
from pipeline.report.audit import read_verdicts
from pipeline.report.examples import example_of, known_verdicts, place_of
from pipeline.report.results import read_generation
from pipeline.report.sections import ExampleList, ShownCandidate

_IDS = pa.schema([CANDIDATES.field("candidate_id")])


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is read of another task's rows, and a row in words."""

    columns: pa.Schema
    text: Callable[[Mapping[str, Any]], str]


def _question(row: Mapping[str, Any]) -> str:
    """A question, all of which ask for the effect, and what answers it."""
    asked = question_text(EFFECT, row["context"], row["choices"])
    return f"{asked} → {row['choices'][row['answer']]}"


_EVERY = "candidate_id", "label", "license"
_OTHERS = {
    RELATIONS: _Shown(
        pa.schema([SYNTHETIC.field(name) for name in (*_EVERY, "arg1", "arg2")]),
        lambda row: pair_text(row["arg1"], row["arg2"]),
    ),
    QUESTIONS: _Shown(
        pa.schema(
            [PSEUDO_QUESTIONS.field(name) for name in (*_EVERY, "context", "choices", "answer")]
        ),
        _question,
    ),
}
"""Arguments have none: nobody makes candidates of them."""


def generation_lists(corpus: Path, task: str, *, count: int, seed: int) -> list[ExampleList]:
    """``count`` candidates of each generation, from the folder of its first seed, as they were made.

    Those that come first by ``place_of`` are drawn, whatever a run thought of them; of the oracle's
    sample where it judged one. Generations stand in their order, all but the first folded. Folders that
    are not finished are left out: ``unfinished_folders``.

    Raises:
        InputError: a shard is damaged.
    """
    verdicts = read_verdicts(corpus) if task == COORDINATION else {}
    folders: dict[str, Path] = {}
    for folder in _candidate_folders(corpus):
        if count and not is_unfinished(folder) and has_candidates(folder):
            folders.setdefault(folder.parent.name, folder)
    generations = sorted((read_generation(corpus, name) for name in folders), key=lambda g: g.key)
    found: list[ExampleList] = []
    for generation in generations:
        folder = folders[generation.folder]
        if task == COORDINATION:
            drawn = _coordinations(folder, known_verdicts(verdicts, folder), count, seed)
        elif task in _OTHERS:
            drawn = _rows(folder, _OTHERS[task], count, seed)
        else:
            continue
        title = f"{generation.name}, {folder.name.replace('-', ' ')}"
        found.append(ExampleList(title, drawn=drawn, folded=bool(found)))
    return found


def _coordinations(
    folder: Path, known: Mapping[str, str], count: int, seed: int
) -> list[ShownCandidate]:
    """Coordinations drawn of a folder, with the oracle's verdicts."""
    ids = (
        row["candidate_id"]
        for row in _rows_of(folder, _IDS)
        if not known or row["candidate_id"] in known
    )
    drawn = heapq.nsmallest(count, ids, key=lambda name: place_of(seed, name))
    candidates = find_candidates({(folder, name) for name in drawn})
    return [example_of(candidates[folder, name], known) for name in drawn]


def _rows(folder: Path, shown: _Shown, count: int, seed: int) -> list[ShownCandidate]:
    """Rows of another task drawn of a folder."""
    drawn = heapq.nsmallest(
        count, _rows_of(folder, shown.columns), key=lambda row: place_of(seed, row["candidate_id"])
    )
    return [
        ShownCandidate(row["candidate_id"], row["label"], (shown.text(row), "", ""), row["license"])
        for row in drawn
    ]


def _rows_of(folder: Path, columns: pa.Schema) -> Iterator[Mapping[str, Any]]:
    for shard in open_candidates(folder):
        for batch in read_batches(shard, columns):
            yield from batch.to_pylist()


def unfinished_folders(corpus: Path) -> list[str]:
    """The folders of candidates that are not finished, by their places in the corpus folder."""
    folders = _candidate_folders(corpus)
    return [each.relative_to(corpus).as_posix() for each in folders if is_unfinished(each)]


def _candidate_folders(corpus: Path) -> list[Path]:
    return sorted(corpus.glob("candidates/*/seed-*"), key=_seed_of)


def _seed_of(folder: Path) -> tuple[int, str]:
    """Order of the folders of a generation: by the number of the seed."""
    number = folder.name.removeprefix("seed-")
    return (int(number) if number.isdigit() else 0), folder.as_posix()
