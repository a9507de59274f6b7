"""Natural text as a source of candidates: a parser's coordinations of sentences outside L.

Boundaries and label are those of the parser's tree by the corpus's own rule (``text.coordinations``). The
gold annotation of these sentences is not looked at; nor may the parser have seen it, so what it learned
from is left out, and so are word-for-word copies of that and of L.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch

from pipeline.core.annotation import Annotation
from pipeline.core.console import warn
from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around, draw_file, units_of
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError
from pipeline.core.families import is_model_name
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.parquet import read_batches
from pipeline.core.schema import SENTENCES, coordinators_in, read_sentences
from pipeline.core.types import (
    UNLABELLED,
    Candidate,
    Coordination,
    Reject,
    Sentence,
    candidate_id,
    holds_coordinator,
    is_label,
)
from pipeline.corpus.coordinators import coordinators_input
from pipeline.executor.run import OnBatch
from pipeline.harvest.parsers import parser_of
from pipeline.harvest.settings import TREEBANK, HarvestSettings
from pipeline.parsing.annotated import annotation_of_parser
from pipeline.parsing.card import (
    corpus_parser,
    learned_from,
    loaded_from,
    parser_identity,
    read_card,
    where_trained,
)
from pipeline.parsing.levels import TOO_DEEP
from pipeline.parsing.parser import Parsed, own_tags
from pipeline.sources.protocol import CoordinationFiles
from pipeline.text.coordinations import (
    UNBALANCED,
    UNWORDED,
    as_read,
    is_balanced,
    is_worded,
    ptb_coordinations,
)
from pipeline.text.natural import join_words

OF_L = "sentences with a coordinator left out: labelled or validation sentences of L"
COPIES = "sentences with a coordinator left out: word for word one of these"
LEARNED_FROM = "sentences with a coordinator left out: the parser learned from them"
UNPARSED = "coordinators in sentences without a tree"
UNFOUND = "coordinators at which the tree joins nothing"
EARLIER = "coordinators whose structure has a later one"
STRANGE = "a label that is no candidate's"


_WORDS = pa.schema([SENTENCES.field(name) for name in ("sentence_id", "words")])

Made = tuple[list[Candidate | Reject], dict[str, int]]


class NaturalTextSource(CoordinationFiles):
    """Sentences of the training split with a coordinator; see ``sources.protocol.CandidateSource``.

    Raises:
        InputError: the corpus, the draw or the parser is missing, nothing says which sentences the
            parser learned from, L has no trees to train one on, or no sentence is left.
        ModelError: the corpus took the treebank's own trees and has no parser.
    """

    called = "sentences"
    told: Set[str] = frozenset({"limit", "sentences", "draw", "learned"})
    sizes: Sequence[int]
    words: Sequence[int]
    notes: Mapping[str, int]

    def __init__(self, settings: HarvestSettings) -> None:
        self._settings, self._source = settings, settings.corpus / SENTENCES_FILE
        draw = read_draw(settings.corpus, settings.seed, settings.labelled)
        self._drawn = {sentence.sentence_id for part in draw for sentence in part}
        self._open()
        self._known = {sentence.words for part in draw for sentence in part}
        self._known.update(self._words_learned())
        left_out: Counter[str] = Counter({OF_L: 0, LEARNED_FROM: 0, COPIES: 0})

        def wanted(sentence: Sentence) -> bool:
            if not _is_natural(sentence):
                return False
            reason = self._why_left_out(sentence)
            left_out.update([reason] if reason else [])
            return reason is None

        self._rows, self.sizes, self.words = units_of(
            self._source, wanted, settings.unit, settings.limit
        )
        self.at_once = settings.batch_size
        if not self._rows:
            reasons = ", ".join(f"{count:,} {what}" for what, count in left_out.items() if count)
            raise InputError(
                f"no training sentence with a coordinator is left{reasons and f' ({reasons})'}",
                path=self._source, remedy="harvest from a corpus with more training text",
            )  # fmt: skip
        self.notes = left_out
        trained = {"tags", "parser_epochs", "parser_hidden", "parser_lm", "parser_lm_rate"}
        inert = trained if settings.parser != "labelled" else set[str]()
        if settings.parser == TREEBANK:  # no parser is called
            inert |= {"batch_size"}
        inert |= {"parser_patience", "mixed_precision"}  # the parser that they make has a checksum
        if settings.limit is None:  # which leaves rows as they were before there was one
            inert |= {"limit"}
        if not settings.parser_lm_rate:  # as they were before an encoder could learn
            inert |= {"parser_lm_rate"}
        if settings.trees is None:  # which leaves rows as they were before trees had names
            inert |= {"trees"}
        if not is_model_name(settings.parser_lm):  # where it lies is no fact of the rows
            inert |= {"parser_lm"} if settings.parser_lm is not None else set()
        self.inert: Set[str] = inert

    @property
    def knows_what_was_learned(self) -> bool:
        """Whether sentences that the parser learned from are left out; those of a ready one are not known."""
        return bool(self._learned)

    def inputs(self) -> dict[str, Any]:
        """The sentences, the draw, and what the parser learned from."""
        draw = draw_file(self._settings.seed, self._settings.labelled)
        return {
            "sentences": sha256_of(self._source),
            "draw": sha256_of(self._settings.corpus / draw),
            "learned": digest_of(sorted(self._learned)),
            **coordinators_input(coordinators_in(self._source)),
        }

    def model(self) -> str:
        """The parser's name and checksum."""
        known = parser_identity(read_card(self._folder))
        return f"{known['name']} sha256:{known['sha256']}"

    def annotation(self) -> Annotation:
        """What the parser learned from; the draw only says what is left out."""
        return annotation_of_parser(self._folder)

    def items(self, unit: int) -> tuple[list[Sentence], dict[str, int]]:
        """The sentences of a unit, without their annotation."""
        found = read_sentences(self._source, self._is_wanted, self._rows[unit])
        return [replace(sentence, tree=None, coordinations=()) for sentence in found], {}

    def words_of(self, items: Sequence[Sentence]) -> int:
        """The words that the parser reads."""
        return sum(len(sentence.words) for sentence in items)

    def _is_wanted(self, sentence: Sentence) -> bool:
        return _is_natural(sentence) and self._why_left_out(sentence) is None

    def _open(self) -> None:
        """Find the parser, and what it learned from."""
        self._folder = parser_of(self._settings)
        self.gpus = not loaded_from(self._folder).endswith(".pt")
        self._learned = learned_from(self._folder)

    def _why_left_out(self, sentence: Sentence) -> str | None:
        """Why a sentence with a coordinator is left out; None: it is harvested."""
        if sentence.sentence_id in self._drawn:
            return OF_L
        if sentence.sentence_id in self._learned:
            return LEARNED_FROM
        return COPIES if sentence.words in self._known else None

    def _words_learned(self) -> Iterator[tuple[str, ...]]:
        """The words of the sentences that the parser learned from, of the corpus that has them."""
        if not self._learned:
            return
        around = corpus_around(where_trained(self._folder).resolve())
        if around is None:
            return
        wanted = pa.array(sorted(self._learned))
        for batch in read_batches(around / SENTENCES_FILE, _WORDS):
            found = batch.filter(pc.is_in(batch.column("sentence_id"), value_set=wanted))
            yield from map(tuple, found.column("words").to_pylist())

    def prepare(self, device: torch.device) -> Callable[[Sequence[Sentence], OnBatch], Made]:
        """Load the parser; returns what makes the rows of sentences."""
        del device  # stanza has its own ways
        parser, size = corpus_parser(self._folder), self.at_once
        unbalanced = self._settings.unbalanced

        def make(sentences: Sequence[Sentence], on_batch: OnBatch) -> Made:
            rows: list[Candidate | Reject] = []
            notes = Counter({UNFOUND: 0, EARLIER: 0})
            words = [sentence.words for sentence in sentences]
            tags = own_tags(parser, sentences)
            outcomes = parser.outcomes(words, tags, at_once=size, on_batch=on_batch)
            for sentence, parsed in zip(sentences, outcomes, strict=True):
                if parsed.reason == TOO_DEEP:  # so rare, and so strange, that one wants to see it
                    warn(f"sentence {sentence.sentence_id} is left out: its parse is {TOO_DEEP}")
                rows += rows_of(sentence, parsed, notes, unbalanced=unbalanced)
            return rows, dict(notes)

        return make


def _is_natural(sentence: Sentence) -> bool:
    return sentence.split == "train" and holds_coordinator(sentence.words, sentence.coordinators)


def rows_of(
    sentence: Sentence, parsed: Parsed, notes: Counter[str], *, unbalanced: bool = False
) -> Iterator[Candidate | Reject]:
    """The rows of a sentence's tree, as ``rows_at`` makes them; see there.

    Args:
        sentence: as there.
        parsed: its tree, or why there is none.
        notes: as there; and counts the coordinators of a sentence without a tree.
        unbalanced: as there.
    """
    if parsed.tree is None:
        notes[f"{UNPARSED}: {parsed.reason}"] += len(_places(sentence))
        return
    structures = ptb_coordinations(as_read(parsed.tree, sentence.coordinators))
    yield from rows_at(sentence, structures, notes, unbalanced=unbalanced)


def rows_at(
    sentence: Sentence,
    structures: Sequence[Coordination],
    notes: Counter[str],
    *,
    unbalanced: bool = False,
) -> Iterator[Candidate | Reject]:
    """A row for each structure that one of the corpus's coordinators links, in the order of these.

    Args:
        sentence: its words alone are used, its id, its licence and its corpus's coordinators.
        structures: those of its tree.
        notes: counts what no row tells: coordinators that link nothing in this tree.
        unbalanced: whether brackets and quotes of a conjunct need not balance.
    """
    found = {each.coordinator: each for each in structures}
    for place in _places(sentence):
        structure = found.get(place)
        if structure is not None:
            yield _row(sentence, structure, unbalanced)
        else:
            notes[EARLIER if any(_links(each, place) for each in structures) else UNFOUND] += 1


def _places(sentence: Sentence) -> list[int]:
    """Where a sentence has one of its corpus's coordinators."""
    return [i for i, word in enumerate(sentence.words) if word.lower() in sentence.coordinators]


def _links(structure: Coordination, place: int) -> bool:
    """Whether a coordinator stands between conjuncts of a structure that has its own later on."""
    inside = any(span.start <= place < span.end for span in structure.conjuncts)
    return structure.start <= place < structure.coordinator and not inside


def _row(sentence: Sentence, structure: Coordination, unbalanced: bool) -> Candidate | Reject:
    words, conjuncts = sentence.words, structure.conjuncts
    said = [words[span.start : span.end] for span in conjuncts]
    first, last = conjuncts[0], conjuncts[-1]
    candidate = Candidate(
        candidate_id=candidate_id(
            sentence.sentence_id, words, structure.coordinator, first, conjuncts
        ),
        sentence_id=sentence.sentence_id,
        words=words,
        coordinator=structure.coordinator,
        conjuncts=conjuncts,
        label=structure.label,
        reference=first,
        fill=join_words(words[last.start : last.end]).text,
        score=None,
        score_append=None,
        score_prepend=None,
        license=sentence.license,
    )
    if not all(map(is_worded, said)):
        return Reject(candidate, UNWORDED)
    if not unbalanced and not all(map(is_balanced, said)):
        return Reject(candidate, UNBALANCED)
    if not is_label(structure.label):
        # Even a reject's label must be one.
        return Reject(replace(candidate, label=UNLABELLED), STRANGE)
    return candidate
