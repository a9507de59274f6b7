"""The coordinations that are evaluated: those of a split, or of a draw's validation sentences; their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.corpus_folder import SENTENCES_FILE, require_ingested
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences, sentence_row
from pipeline.core.types import Coordination, Sentence, Span

Row = Mapping[str, Any]
"""A row of ``PREDICTIONS``."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An evaluable coordination of a sentence."""

    sentence: Sentence
    gold: Coordination


def instances_of(sentences: Iterable[Sentence]) -> list[Instance]:
    """Every evaluable coordination, in order."""
    return [Instance(s, c) for s in sentences for c in s.evaluable]


def read_instances(corpus: Path, split: str, limit: int | None) -> list[Instance]:
    """Those of the split, of its first ``limit`` sentences; at least one.

    Raises:
        InputError: there is no corpus, or no evaluable coordination in the split.
    """
    require_ingested(corpus)
    path = corpus / SENTENCES_FILE
    found = list(read_sentences(path, lambda sentence: sentence.split == split))
    instances = instances_of(found[:limit])
    if not instances:
        raise InputError(
            f"no evaluable coordination in split {split!r}",
            path=path,
            remedy="choose another --split or a greater --limit",
        )
    return instances


def sentences_in(instances: Sequence[Instance]) -> list[Sentence]:
    """The sentences of instances, each once, in order."""
    return list({i.sentence.sentence_id: i.sentence for i in instances}.values())


def digest(instances: Sequence[Instance]) -> str:
    """What tells these sentences and their annotation from others."""
    return digest_of([sentence_row(sentence) for sentence in sentences_in(instances)])


def row_of(instance: Instance, conjuncts: Sequence[Span], probability: float) -> dict[str, Any]:
    """A row of ``PREDICTIONS``.

    Args:
        instance: what was asked.
        conjuncts: the answer; empty where there is none.
        probability: of its outer boundary, by the predictor; 0 where there is none.
    """
    gold = instance.gold
    return {
        "sentence_id": instance.sentence.sentence_id,
        "coordinator": gold.coordinator,
        "word": gold.word,
        "label": gold.label,
        "gold": [{"start": s.start, "end": s.end} for s in gold.conjuncts],
        "predicted": [{"start": s.start, "end": s.end} for s in conjuncts],
        "probability": probability,
    }


def predicted(row: Row) -> list[Span]:
    """The predicted conjuncts of a row."""
    return [Span(span["start"], span["end"]) for span in row["predicted"]]
