"""Questions without their source's words, and the words put back by who has the source.

A row says of its context and of each choice which words of which sentence they are, and has a digest of that
sentence. All that is left out is rebuilt and compared before a row is handed on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.parquet import MANIFEST, read_batches
from pipeline.core.questions import event_pair_rows, pair_shards, question_candidate_id
from pipeline.core.schema import read_sentences
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import generations
from pipeline.release.kinds.protocol import RowKind
from pipeline.release.questions.places import (
    ClausePlace,
    events_at,
    in_order,
    place_of_clause,
    places_of_events,
    sentence_digest,
    text_at,
)
from pipeline.release.readable import require_no_text
from pipeline.release.rehydrate import another_source
from pipeline.release.shards import CONFIGS
from pipeline.release.stand_off import Repeats
from pipeline.text.clauses import ClauseWording, context_text

NOT_IN_A_ROW = "a clause whose words do not stand in a row in its sentence"
OTHER_WORDS = "core events with a word that is none of its sentence"

Sentences = Mapping[str, tuple[str, ...]]
"""The words of sentences by id."""


def pairs_behind(shards: Shards, corpus: Path) -> dict[str, Path]:
    """The folders in a corpus of the event pairs that questions were made of, by the run that made these.

    Raises:
        InputError: one of them is damaged.
    """
    places = (path.parent for path in sorted(corpus.glob(f"pairs/*/{MANIFEST}")))
    known = {digest_of(pair_shards(folder)): folder for folder in places}
    wanted = {
        key: (run.get("inputs") or {}).get("pairs") for key, run in generations(shards).items()
    }
    return {key: known[digest] for key, digest in wanted.items() if digest in known}


class _Clauses:
    """The event pairs of a folder, by id, and their effects by the text that questions have of them."""

    def __init__(self, folder: Path) -> None:
        self.pairs = {row["pair_id"]: row for row in event_pair_rows(folder)}
        sides = (row[side] for row in self.pairs.values() for side in ("former", "latter"))
        self.wording = ClauseWording(sides)
        self.effects: dict[str, Mapping[str, Any]] = {}
        for row in self.pairs.values():
            self.effects.setdefault(self.wording.clause(row["latter"]), row)


class HiddenQuestions:
    """Takes the words out of questions (``HidingWords``).

    Kept in memory: the event pairs, and the sentences that they are of.

    Args:
        folders: of ``pairs_behind``.
        corpus: whose text they are of.
        kind: whose columns and rules rows have.

    Raises:
        InputError: a file cannot be read.
    """

    def __init__(self, folders: Mapping[str, Path], corpus: Path, kind: RowKind) -> None:
        self._source, self._kind = corpus / SENTENCES_FILE, kind
        self.withheld: Mapping[str, Counter[str]] = {each: Counter() for each in CONFIGS}
        self.digests: Mapping[str, RowDigest] = {each: RowDigest() for each in CONFIGS}
        read = {folder: _Clauses(folder) for folder in set(folders.values())}
        self._clauses = {key: read[folder] for key, folder in folders.items()}
        self._sentences = sentences_of(
            self._source,
            {row["sentence_id"] for each in read.values() for row in each.pairs.values()},
        )

    def convert(self, batches: Iterable[pa.RecordBatch], config: str) -> Iterator[pa.RecordBatch]:
        """See ``HidingWords``."""
        schema = self._kind.stand_off[config]
        for batch in batches:
            made = list(map(self._hidden, batch.to_pylist()))
            self.withheld[config].update(each for each in made if isinstance(each, str))
            rows = [each for each in made if not isinstance(each, str)]
            for row in rows:
                if fault := self._kind.fault(row, usable=config == "train"):
                    raise InputError(
                        f"a row that could have text of the source has {fault[1]}",
                        path=self._source, sentence_id=row["candidate_id"], remedy=self._kind.again,
                    )  # fmt: skip
            kept = pa.array([not isinstance(each, str) for each in made], pa.bool_())
            self.digests[config].add(batch.filter(kept))
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def require_no_text(self, manifest: Mapping[str, Any]) -> None:
        """See ``HidingWords``."""
        repeats = Repeats(sentence.words for sentence in read_sentences(self._source))
        require_no_text(manifest, repeats.holds_sentence)

    def _hidden(self, row: Mapping[str, Any]) -> dict[str, Any] | str:
        """A row without its words, or why it is withheld.

        Raises:
            InputError: it is not what its event pair and others of the folder make.
        """
        clauses = self._clauses[row["generation"]]
        pair = clauses.pairs[row["sentence_id"]]
        texts = list(enumerate(row["choices"]))
        effects = [pair if n == row["answer"] else clauses.effects.get(t) for n, t in texts]
        places, known = list[ClausePlace](), True
        for side, each in (("former", pair), *(("latter", effect) for effect in effects)):
            words = None if each is None else self._sentences.get(each["sentence_id"])
            if each is None or words is None:
                raise self._foreign(row)
            lowered = clauses.wording.lowers(each[side])
            place = place_of_clause(each["sentence_id"], each[side], words, lowered=lowered)
            if place is None and not in_order(each[side], words):
                raise self._foreign(row)
            if place is None:
                known = False
            else:
                places.append(place)
        own = self._sentences[pair["sentence_id"]]
        form = places_of_events(row["events"], own)
        if not known or form is None:
            return OTHER_WORDS if known else NOT_IN_A_ROW
        hidden = {
            **{name: value for name, value in row.items() if name not in _LEFT_OUT},
            "context_at": places[0].span,
            "choices_at": [place.span for place in places[1:]],
            "lowered": [number for number, place in enumerate(places) if place.lowered],
            "digests": [place.digest for place in places],
            "events_at": form,
        }
        if rebuilt(hidden, self._sentences) != {name: row[name] for name in _LEFT_OUT}:
            raise self._foreign(row)
        return hidden

    def _foreign(self, row: Mapping[str, Any]) -> InputError:
        return InputError(
            f"question {row['candidate_id']} is not what its event pair and the others beside it make",
            path=self._source, sentence_id=row["sentence_id"],
            remedy="name the corpus that the questions were made of with --corpus",
        )  # fmt: skip


_LEFT_OUT = ("context", "choices", "events")


def sentences_of(source: Path, wanted: set[str]) -> Sentences:
    """The words of some sentences by id, as far as a ``sentences.parquet`` has them."""
    return {
        sentence.sentence_id: sentence.words
        for sentence in read_sentences(source)
        if sentence.sentence_id in wanted
    }


def rebuilt(row: Mapping[str, Any], sentences: Sentences) -> dict[str, Any] | str:
    """What was left out of a row; or what its source lacks: the first of ``_FAULTS`` that holds."""
    places = [row["context_at"], *row["choices_at"]]
    there = [sentences.get(place["sentence_id"]) for place in places]
    words = [each for each in there if each is not None]
    if len(words) < len(places):
        return _MISSING
    if [sentence_digest(each) for each in words] != row["digests"]:
        return _OTHERS
    texts = [
        text_at(place, each, lowered=number in row["lowered"])
        for number, (place, each) in enumerate(zip(places, words, strict=True))
    ]
    events = events_at(row["events_at"], words[0])
    known = [text for text in texts if text is not None]
    if len(known) < len(texts) or events is None:
        return _SHORT
    context = context_text(row["label"], known[0])
    return {"context": context, "choices": known[1:], "events": events}


_MISSING = "a sentence of theirs is not in it"
_OTHERS = "a sentence of theirs has other words there"
_SHORT = "a sentence of theirs is shorter there"
_CHANGED = "rebuilt to other words than were released"


class RebuiltQuestions:
    """Puts the words back into questions (``PuttingBack``).

    Args:
        source: a ``sentences.parquet``.
        kind: whose columns rows have.
    """

    def __init__(self, source: Path, kind: RowKind) -> None:
        self._source, self._stand_off = source, kind.stand_off
        self.released = kind.released
        self._failed = dict.fromkeys((_MISSING, _OTHERS, _SHORT, _CHANGED), 0)
        self._first = dict.fromkeys(self._failed, "")

    @contextmanager
    def rows(self, files: Sequence[Path], config: str) -> Iterator[Iterator[pa.RecordBatch]]:
        """See ``PuttingBack``."""
        columns = pa.schema(
            [self._stand_off[config].field(name) for name in ("context_at", "choices_at")]
        )
        wanted = {
            place["sentence_id"]
            for batch in self._batches(files, columns)
            for row in batch.to_pylist()
            for place in (row["context_at"], *row["choices_at"])
        }
        sentences = sentences_of(self._source, wanted)
        yield self._rebuilt(files, config, sentences)

    def error(self, source: Path) -> InputError:
        """See ``PuttingBack``."""
        parts = [
            f"{what}: {rows:,} rows, first {self._first[what]}"
            for what, rows in self._failed.items()
            if rows
        ]
        return another_source(source, parts)

    def _batches(self, files: Sequence[Path], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in files:
            yield from read_batches(path, schema)

    def _rebuilt(
        self, files: Sequence[Path], config: str, sentences: Sentences
    ) -> Iterator[pa.RecordBatch]:
        schema = self.released[config]
        for batch in self._batches(files, self._stand_off[config]):
            made = [row | self._words(row, sentences) for row in batch.to_pylist()]
            rows = [{name: row[name] for name in schema.names} for row in made]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def _words(self, row: Mapping[str, Any], sentences: Sentences) -> dict[str, Any]:
        found = rebuilt(row, sentences)
        if isinstance(found, str):
            places = (row["context_at"], *row["choices_at"])
            ids = (place["sentence_id"] for place in places)
            lacking = (
                each
                for each, digest in zip(ids, row["digests"], strict=False)
                if found != _MISSING or each not in sentences
                if found != _OTHERS or sentence_digest(sentences[each]) != digest
            )
            return self._fault(found, next(lacking, row["candidate_id"]))
        content = (row["sentence_id"], found["context"], tuple(found["choices"]), row["answer"])
        if question_candidate_id(*content) != row["candidate_id"]:
            self._fault(_CHANGED, row["candidate_id"])
        return found

    def _fault(self, what: str, first: str) -> dict[str, Any]:
        self._first[what] = self._first[what] or first
        self._failed[what] += 1
        return {"context": "", "choices": [], "events": ""}
