"""Sentences with a connective as a source of event pairs (``sources.protocol.CandidateSource``)."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from nltk.tree import Tree

from pipeline.core.annotation import Annotation
from pipeline.core.corpus_folder import SENTENCES_FILE, require_ingested, units_of
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.questions import EVENT_PAIR_REJECTS, EVENT_PAIRS, PAIRS, event_pair_id
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence
from pipeline.executor.run import OnBatch
from pipeline.parsing.annotated import annotation_of_parser, gold_part
from pipeline.parsing.card import loaded_from, parser_identity, read_card
from pipeline.parsing.parser import AT_ONCE, CARD, Parser, load_parser, tags_to_write
from pipeline.tasks.questions.pair.clauses import (
    LONGEST,
    TOO_LONG,
    JoinedClauses,
    first_connective,
    joined_clauses,
)
from pipeline.tasks.questions.pair.settings import TREEBANK, PairSettings
from pipeline.tasks.questions.pairs import EventPair
from pipeline.text.trees import fitting_tree

WITHOUT = "training sentences without a connective, which are not read"

_MOST_WORDS = 2 * LONGEST + 8
"""Words of a sentence that is parsed: two clauses, a connective, a linking phrase, and marks."""


@dataclass(frozen=True, slots=True)
class RefusedSentence:
    """A sentence that gives no pair."""

    sentence_id: str
    connective: str
    reason: str


class JoinedClausesSource:
    """Training sentences with a connective, and the trees that the corpus or a parser has of them.

    Raises:
        InputError: there is no corpus, parser, or such sentence.
        ModelError: of the parser.
    """

    called = "sentences"
    schemas: Mapping[str, pa.Schema] = {PAIRS: EVENT_PAIRS, "rejects": EVENT_PAIR_REJECTS}
    text_file = SENTENCES_FILE
    added: str | None = None
    at_once = AT_ONCE
    sizes: Sequence[int]
    words: Sequence[int]
    inert: Set[str] = frozenset({"predicates", "slots", "fillers", "most"})  # of the core events

    def __init__(self, settings: PairSettings) -> None:
        self._corpus, self._source = settings.corpus, settings.corpus / SENTENCES_FILE
        require_ingested(settings.corpus, SENTENCES_FILE)
        self.folder = parser_folder_of(settings)
        self._parser = "" if self.folder is None else loaded_from(self.folder, lent=True)
        self.gpus = bool(self._parser) and not self._parser.endswith(".pt")
        seen = 0

        def wanted(sentence: Sentence) -> bool:
            nonlocal seen
            seen += sentence.split == "train"
            return _is_wanted(sentence)

        self._rows, self.sizes, self.words = units_of(
            self._source, wanted, settings.unit, settings.limit
        )
        if not self._rows:
            raise InputError(
                f"none of {seen:,} training sentences has a causal or conditional connective",
                path=self._source, remedy="take a corpus with more training text",
            )  # fmt: skip
        # With a limit the rest is not looked at.
        self.notes: Mapping[str, int] = {WITHOUT: seen - sum(self.sizes)}

    def inputs(self) -> dict[str, Any]:
        """The sentences."""
        return {"sentences": sha256_of(self._source)}

    def model(self) -> str:
        """The parser's name and checksum."""
        if self.folder is None:
            return TREEBANK
        known = parser_identity(read_card(self.folder))
        return f"{known['name']} sha256:{known['sha256']}"

    def annotation(self) -> Annotation:
        """That of the trees, or of what the parser learned from."""
        if self.folder is not None:
            return annotation_of_parser(self.folder)
        return gold_part(
            self._corpus, [each for unit in range(len(self.sizes)) for each in self.items(unit)[0]]
        )

    def items(self, unit: int) -> tuple[list[Sentence], dict[str, int]]:
        """The sentences of a unit; without their own trees if a parser reads them."""
        found = list(read_sentences(self._source, _is_wanted, self._rows[unit]))
        return found if self.folder is None else [replace(s, tree=None) for s in found], {}

    def words_of(self, items: Sequence[Sentence]) -> int:
        """The words that are read."""
        return sum(len(sentence.words) for sentence in items)

    def prepare(
        self, device: torch.device
    ) -> Callable[
        [Sequence[Sentence], OnBatch], tuple[list[EventPair | RefusedSentence], dict[str, int]]
    ]:
        """Load the parser; returns what makes the rows of sentences."""
        del device  # stanza has its own ways
        parser = load_parser(self._parser) if self._parser else None

        def make(
            items: Sequence[Sentence], on_batch: OnBatch
        ) -> tuple[list[EventPair | RefusedSentence], dict[str, int]]:
            rows: list[EventPair | RefusedSentence] = []
            for start in range(0, len(items), self.at_once):
                part = items[start : start + self.at_once]
                rows += map(_row, part, _trees(part, parser))
                on_batch(len(part), self.words_of(part))
            return rows, {}

        return make

    def tables(
        self, rows: Sequence[EventPair | RefusedSentence]
    ) -> dict[str, list[dict[str, Any]]]:
        """The rows of each kind of file."""
        return {
            PAIRS: [asdict(row) for row in rows if isinstance(row, EventPair)],
            "rejects": [asdict(row) for row in rows if isinstance(row, RefusedSentence)],
        }


def parser_folder_of(settings: PairSettings) -> Path | None:
    """The folder of the parser; None: the trees are the corpus's own."""
    if settings.parser == TREEBANK:
        return None
    place = Path(settings.parser)
    folder = place if (place / CARD).is_file() else place / "parser"
    if not (folder / CARD).is_file():
        raise InputError(
            "no parser here", path=place,
            remedy="name a corpus that `conjoin preparse` trained one in, or treebank",
        )  # fmt: skip
    return folder


def _is_wanted(sentence: Sentence) -> bool:
    return sentence.split == "train" and first_connective(sentence.words) is not None


def _is_short(sentence: Sentence) -> bool:
    return len(sentence.words) <= _MOST_WORDS


def _trees(sentences: Sequence[Sentence], parser: Parser | None) -> list[Tree | None]:
    """A tree for each sentence; None also where it is too long for two short clauses."""
    if parser is None:
        return [
            fitting_tree(each.tree, each.words) if _is_short(each) else None for each in sentences
        ]
    short = [each for each in sentences if _is_short(each)]
    found = iter(parser.parse([each.words for each in short], tags_to_write(parser, short)))
    return [next(found) if _is_short(each) else None for each in sentences]


def _row(sentence: Sentence, tree: Tree | None) -> EventPair | RefusedSentence:
    connective = first_connective(sentence.words) or ""
    found: JoinedClauses | str = joined_clauses(tree) if _is_short(sentence) else TOO_LONG
    if isinstance(found, str):
        return RefusedSentence(sentence.sentence_id, connective, found)
    return EventPair(
        pair_id=event_pair_id(sentence.sentence_id, found.former, found.latter, found.connective),
        sentence_id=sentence.sentence_id,
        former=found.former,
        latter=found.latter,
        connective=found.connective,
        former_event=found.former_event,
        latter_event=found.latter_event,
        license=sentence.license,
    )
