"""Questions with choices, and the event pairs that they are made of (the discourse thesis, chapters 2 and 3).

An event pair is two clauses that a causal or conditional connective joins: ``pair`` finds them in text. A
question shows the former event and has the latter among its choices: people wrote it, and ``ingest`` read it,
or ``ask`` made it of pairs.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.cards.parts import Shard
from pipeline.core.corpus_folder import QUESTIONS_FILE, require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.parquet import MANIFEST, read_rows

CAUSE, EFFECT = "cause", "effect"
"""What a question asks for: which choice brought the context about, or which one the context brings about."""

_TEXT = pa.string()
_TEXTS = pa.list_(pa.field("element", _TEXT, nullable=False))


def _field(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_ARGUMENT = pa.struct([_field("role", _TEXT), _field("head", _TEXT)])
_EVENT = pa.struct(
    [
        _field("predicate", _TEXT),
        _field("negated", pa.bool_()),
        _field("passive", pa.bool_()),
        _field("arguments", pa.list_(_field("element", _ARGUMENT))),
    ]
)

EVENT_PAIRS = pa.schema(
    [
        _field("pair_id", _TEXT),
        _field("sentence_id", _TEXT),
        _field("former", _TEXTS),
        _field("latter", _TEXTS),
        _field("connective", _TEXT),
        _field("former_event", _EVENT),
        _field("latter_event", _EVENT),
        _field("license", _TEXT),
    ]
)
"""Columns of ``pairs-*.parquet``: two clauses of a sentence without the connective between them, the cause or
condition first, and the event of each."""

EVENT_PAIR_REJECTS = pa.schema(
    [_field("sentence_id", _TEXT), _field("connective", _TEXT), _field("reason", _TEXT)]
)

PAIRS = "pairs"
"""How the files of event pairs begin."""

_PAIR = "run `conjoin pair`"


def event_pair_id(
    sentence_id: str, former: Sequence[str], latter: Sequence[str], connective: str
) -> str:
    """The id of an event pair: a hash of the content, 24 hex digits."""
    return digest_of([sentence_id, former, latter, connective])[:24]


def pair_shards(folder: Path) -> list[Shard]:
    """What the manifest of a folder of event pairs says of its files, those of refused sentences, too.

    Raises:
        InputError: ``pair`` did not finish there, or these are no event pairs.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"no finished folder of event pairs: no {MANIFEST}", path=folder, remedy=_PAIR
        )
    found: CandidatesManifest = read_json(path, CandidatesManifest, needs=["shards"], remedy=_PAIR)
    if not any(shard["file"].startswith(f"{PAIRS}-") for shard in found["shards"]):
        raise InputError(
            "these are no event pairs", path=folder, remedy="name a folder of `conjoin pair`"
        )
    return found["shards"]


def event_pair_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of ``EVENT_PAIRS`` of a folder, in its order.

    Raises:
        InputError: as ``pair_shards``; or a file is not as ``pair`` wrote it.
    """
    for shard in pair_shards(folder):
        path = folder / shard["file"]
        if not path.name.startswith(f"{PAIRS}-"):
            continue
        if not path.is_file() or sha256_of(path) != shard["sha256"]:
            what = "missing, or not as pair wrote it"
            raise InputError(what, path=path, remedy=f"{_PAIR} again")
        yield from read_rows(path, EVENT_PAIRS)


CORE_PAIRS = pa.schema(
    [
        _field("pair_id", _TEXT),
        _field("former_core", _TEXT),
        _field("latter_core", _TEXT),
        pa.field("recovered", _TEXT),
    ]
)
"""Columns of ``core_pairs.parquet``: the pairs both of whose events have a core event, each two core events
once; ``recovered``: the word of the former event that the latter one's pronoun or gap stands for."""

CORE_PAIRS_FILE = "core_pairs.parquet"

QUESTION_ROWS = pa.schema(
    [
        _field("question_id", _TEXT),
        _field("doc_id", _TEXT),
        _field("split", _TEXT),
        _field("asks", _TEXT),
        _field("context", _TEXT),
        _field("choices", _TEXTS),
        _field("answer", pa.int32()),
        pa.field("events", _TEXT),
        pa.field("agreement", pa.int32()),
        _field("license", _TEXT),
    ]
)
"""The columns of ``questions.parquet``, which are the fields of ``Question``."""

PSEUDO_QUESTIONS = pa.schema(
    [
        _field("candidate_id", _TEXT),
        _field("sentence_id", _TEXT),
        _field("label", _TEXT),
        _field("context", _TEXT),
        _field("choices", _TEXTS),
        _field("answer", pa.int32()),
        _field("events", _TEXT),
        _field("split", _TEXT),
        pa.field("score", pa.float32()),
        _field("license", _TEXT),
    ]
)
"""Columns of ``candidates-*.parquet`` of questions: ``sentence_id`` is the id of the event pair that the
question was made of, ``label`` its connective, ``answer`` the place of the right choice (from 0),
``events`` its pair of core events; ``split`` divides them such that no pair of core events is on two
sides. All ask for the effect."""

PSEUDO_QUESTION_REJECTS = PSEUDO_QUESTIONS.append(_field("reason", _TEXT))


def question_candidate_id(pair_id: str, context: str, choices: tuple[str, ...], answer: int) -> str:
    """The id of a question made of a pair: a hash of the content, 24 hex digits."""
    return digest_of([pair_id, context, choices, answer])[:24]


def question_text(asks: str, context: str, choices: Sequence[str]) -> str:
    """The context, what is asked, and the choices in brackets, as people read them."""
    return f"{context} Its {asks}: {' '.join(f'[{choice}]' for choice in choices)}"


ARROW = " → "
"""Between two core events."""


def pair_of_events(former_core: str, latter_core: str) -> str:
    """The value of ``events`` of a pair of core events."""
    return f"{former_core}{ARROW}{latter_core}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with choices, one of which is right.

    Attributes:
        question_id: unique in its corpus, whose name it begins with.
        doc_id: questions with one id are drawn together in resampling: those of one context.
        split: one of ``core.types.SPLITS``.
        asks: ``cause`` or ``effect``.
        context: an event.
        choices: others, two or more, all different.
        answer: the place of the right one, from 0.
        events: its pair of core events, as ``pair_of_events`` writes it; None: not known.
        agreement: how many people voted for it; None: not known.
        license: of the text.
    """

    question_id: str
    doc_id: str
    split: str
    asks: Literal["cause", "effect"]
    context: str
    choices: tuple[str, ...]
    answer: int
    events: str | None
    agreement: int | None
    license: str
    tags: None = None

    @property
    def sentence_id(self) -> str:
        """Its id, by the name that draws and candidates have for their sources."""
        return self.question_id

    @property
    def words(self) -> tuple[str, ...]:
        """What blanks divide the context into."""
        return tuple(self.context.split())


def question_row(question: Question) -> dict[str, Any]:
    """The row of a question."""
    return {name: getattr(question, name) for name in QUESTION_ROWS.names}


def read_questions(corpus: Path, splits: AbstractSet[str] | None = None) -> Iterator[Question]:
    """The questions of a corpus in their order.

    Args:
        corpus: the folder.
        splits: those wanted; None: all.

    Raises:
        InputError: ``ingest`` did not finish there, or the file is not as it wrote it.
    """
    require_ingested(corpus, QUESTIONS_FILE)
    for row in read_rows(corpus / QUESTIONS_FILE, QUESTION_ROWS):
        if splits is None or row["split"] in splits:
            yield Question(**(row | {"choices": tuple(row["choices"])}))
