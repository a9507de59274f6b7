"""What ``preparse`` parses, cut into units: the sentences of U, and sentences that hold a coordinator."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path

from pipeline.core.corpus_folder import COORDINATED_FOLDER, TREES_FOLDER, units_of
from pipeline.core.errors import InputError
from pipeline.core.schema import read_sentences
from pipeline.core.types import (
    UNDECIDED,
    Sentence,
    holds_coordinator,
    is_undecided_seed,
    is_unlabelled_seed,
)
from pipeline.preparse.settings import PreparseSettings

_Wanted = Callable[[Sentence], bool]


@dataclass(frozen=True, slots=True)
class ParsePlan:
    """Units of sentences of one kind, and the folder that their trees go to.

    Attributes:
        folder: its name in the corpus.
        title: what the sentences are called.
        wanted: whether a sentence is one of them.
        rows: the rows of ``sentences.parquet`` that each unit covers.
        sizes: how many of them are wanted.
        words: the words of these.
        fields: settings that the choice of sentences depends on.
        left_out: how many sentences of ``rows`` are not wanted for a reason that is reported, by reason.
    """

    folder: str
    title: str
    wanted: _Wanted
    rows: tuple[range, ...]
    sizes: tuple[int, ...]
    words: tuple[int, ...]
    fields: frozenset[str]
    left_out: Mapping[str, int] = field(default_factory=dict)


def unlabelled_plan(source: Path, settings: PreparseSettings) -> ParsePlan:
    """The sentences of U (§5.1), in their order.

    Raises:
        InputError: there is none.
    """

    def wanted(sentence: Sentence) -> bool:
        return is_unlabelled_seed(sentence, settings.min_words)

    left_out: Counter[str] = Counter()

    def counted(sentence: Sentence) -> bool:
        left_out[UNDECIDED] += is_undecided_seed(sentence, settings.min_words)
        return wanted(sentence)

    rows, sizes, words = units_of(source, counted, settings.unit, settings.limit)
    left_out = +left_out
    if not rows:
        others = "".join(f" (left out: {n:,}, {reason})" for reason, n in left_out.items())
        raise InputError(
            f"no training sentence without coordination has {settings.min_words} words or more{others}",
            path=source,
            remedy="lower --min-words or ingest more text",
        )
    fields = frozenset({"limit", "min_words"})
    return ParsePlan(
        TREES_FOLDER, "unlabelled sentences", wanted, rows, sizes, words, fields, left_out
    )


def coordinated_plan(source: Path, settings: PreparseSettings) -> ParsePlan:
    """``settings.coordinated`` training sentences outside U with a coordinator.

    Raw text has them too: it is in U only where it holds no coordinator.

    Of more than that, those are drawn whose ids have the smallest pseudo-random keys: a smaller draw
    is part of a larger one, and does not depend on the order of the sentences.

    Raises:
        InputError: there is none.
    """

    def eligible(sentence: Sentence) -> bool:
        return (
            sentence.split == "train"
            and not is_unlabelled_seed(sentence, settings.min_words)
            and holds_coordinator(sentence.words, sentence.coordinators)
        )

    def key(name: str) -> tuple[bytes, str]:
        return hashlib.sha256(f"coordinated/{settings.seed}/{name}".encode()).digest(), name

    ids = (sentence.sentence_id for sentence in read_sentences(source, eligible))
    chosen = frozenset(nsmallest(settings.coordinated, ids, key=key))
    if not chosen:
        raise InputError(
            "no training sentence outside U has a coordinator",
            path=source,
            remedy="set --coordinated 0 for this corpus",
        )

    def wanted(sentence: Sentence) -> bool:
        return sentence.sentence_id in chosen

    rows, sizes, words = units_of(source, wanted, settings.unit, None)
    fields = frozenset({"coordinated", "min_words", "seed"})
    return ParsePlan(
        COORDINATED_FOLDER, "coordinated sentences", wanted, rows, sizes, words, fields
    )
