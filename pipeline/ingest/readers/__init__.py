"""The registry of readers: one module per source format, and here which settings it takes.

A new reader is a module in this folder, a line here, and an entry in ``core/corpora.py``, which has its
licence, what ``conjoin corpora`` and a release say of it, and whether it reads documents that options of
``ingest`` split and license (``by_document``); ``document_sentences`` makes the sentences of such. It yields
sentences whose ids are unique and begin with the reader's name and a slash (``ptb/wsj_0201/1``), for which
the stage puts the corpus's, and whose split is one of ``core.types.SPLITS``; see ``core.types.Sentence`` for
the other fields. What it cannot keep it counts in the tally by reason, with the place. A reader of argument
pairs stands in ``PAIR_READERS`` and yields ``core.pairs.Pair``, with ids of the same form; one of
predicates in ``PREDICATE_READERS``, and yields sentences with them; one of questions in ``QUESTION_READERS``,
and yields ``core.questions.Question``.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from pipeline.core.corpora import CORPORA
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.pairs import Pair
from pipeline.core.questions import Question
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.ingest.document_licences import Licences, from_file, one_for_all
from pipeline.ingest.readers import gum
from pipeline.ingest.readers.asked import read_asked
from pipeline.ingest.readers.conllu import has_parses, read_parsed, read_universal
from pipeline.ingest.readers.corrected import read_corrected
from pipeline.ingest.readers.genia import read_genia
from pipeline.ingest.readers.pdtb import read_pdtb, usual_licences, usual_split
from pipeline.ingest.readers.ptb import read_ptb
from pipeline.ingest.readers.ptb_ext import read_ptb_ext
from pipeline.ingest.readers.question_lines import read_ecare, read_kuci
from pipeline.ingest.readers.text import read_text, read_unlabelled
from pipeline.ingest.readers.treebank import read_treebank
from pipeline.ingest.readers.wac import AnnotatedSentence, own_licences, read_wac
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.splitting import (
    DEFAULT_FRACTIONS,
    Splitter,
    by_folds,
    by_fractions,
    by_lists,
    by_patterns,
)
from pipeline.text.segmentation import has_text
from pipeline.text.unpacking import UnpackingAllowance
from pipeline.world import (
    generate_clauses,
    generate_pairs,
    generate_questions,
    generate_sentences,
    generate_text,
)

READERS: dict[str, Callable[[IngestSettings, Tally], Iterator[Sentence]]] = {
    "world": lambda s, tally: _counted(generate_sentences(s.source, s.sentences, s.seed), tally),
    "genia": lambda s, tally: read_genia(
        s.source, tally, split_lists=s.split_lists, allowance=UnpackingAllowance(s.largest_unpacked)
    ),
    "ptb": lambda s, tally: read_ptb(s.source, tally, license_=_licence(s)),
    "ptb-ext": lambda s, tally: read_ptb_ext(s.source, tally, license_=_licence(s)),
    "gum": lambda s, tally: _treebank(
        s,
        tally,
        _splitter(s) or by_lists(gum.SHIPPED_SPLIT),
        _licences(s, partial(gum.gum_licences, otherwise=_licence(s)), known=True),
    ),
    "treebank": lambda s, tally: _treebank(
        s,
        tally,
        _splitter(s) or by_fractions(DEFAULT_FRACTIONS),
        _licences(s, one_for_all(_licence(s))),
    ),
    "conllu": lambda s, tally: read_universal(
        s.source,
        tally,
        splitter=_splitter(s),
        licences=_licences(s, one_for_all(_licence(s))),
        allowance=UnpackingAllowance(s.largest_unpacked),
    ),
    "text": lambda s, tally: read_text(
        s.source,
        tally,
        segment=s.segment,
        license_=_licence(s),
        allowance=UnpackingAllowance(s.largest_unpacked),
    ),
    "corrected": lambda s, tally: read_corrected(
        s.source, s.corpus_of(), tally, allowance=UnpackingAllowance(s.largest_unpacked)
    ),
}
"""Reader name → the sentences of ``settings.source``; what is kept and refused goes into the tally."""

PAIR_READERS: dict[str, Callable[[IngestSettings, Tally], Iterator[Pair]]] = {
    "pdtb": lambda s, tally: read_pdtb(
        s.source,
        tally,
        splitter=_splitter(s) or usual_split,
        licences=_licences(s, usual_licences(_licence(s)), known=True),
        allowance=UnpackingAllowance(s.largest_unpacked),
        strict=s.strict,
    ),
    "world-relations": lambda s, tally: _counted(
        generate_pairs(s.source, s.sentences, s.seed), tally
    ),
}
"""Reader name → the argument pairs of ``settings.source``, likewise."""

PREDICATE_READERS: dict[str, Callable[[IngestSettings, Tally], Iterator[AnnotatedSentence]]] = {
    "wac": lambda s, tally: read_wac(
        s.source,
        tally,
        splitter=_splitter(s),
        licences=_licences(s, own_licences(_licence(s)), known=True),
        allowance=UnpackingAllowance(s.largest_unpacked),
        strict=s.strict,
    ),
    "world-arguments": lambda s, tally: _counted(_clauses(s, s.sentences), tally),
}
"""Reader name → the sentences of ``settings.source`` with their predicates, likewise."""

QUESTION_READERS: dict[str, Callable[[IngestSettings, Tally], Iterator[Question]]] = {
    "ecare": lambda s, tally: _lines_of(read_ecare, s, tally),
    "kuci": lambda s, tally: _lines_of(read_kuci, s, tally),
    "asked": lambda s, tally: read_asked(s.source, tally, strict=s.strict),
    "world-questions": lambda s, tally: _counted(
        generate_questions(s.source, s.questions, s.seed), tally
    ),
}
"""Reader name → the questions of ``settings.source``, likewise."""


def unlabelled(settings: IngestSettings, tally: Tally) -> Iterator[Sentence]:
    """The sentences of raw or parsed text that join a treebank; their ids begin with ``text``.

    Raises:
        InputError: text and parses of another are given together.
        SettingsError: parses are to be cut into sentences.
    """
    s = settings
    allowance = UnpackingAllowance(s.largest_unpacked)
    parses = [each for each in s.unlabelled if s.reader == "conllu" and has_parses(each)]
    if parses:
        texts = [each for each in s.unlabelled if each not in parses]
        texts += [each for each in parses if each.is_dir() and has_text(each)]
        if texts:
            raise InputError(
                "raw text beside CoNLL-U that a parser wrote", path=texts[0],
                remedy="give one or the other with --unlabelled",
            )  # fmt: skip
        if s.segment != "line":
            raise SettingsError(
                f"ingest.segment = {s.segment!r}: the sentences of a parse are given",
                remedy="leave --segment out",
            )
        yield from read_parsed(
            parses, tally,
            license_=s.unlabelled_license, most=s.most_unlabelled, allowance=allowance,
        )  # fmt: skip
    elif s.unlabelled:
        yield from read_unlabelled(
            s.unlabelled,
            tally,
            segment=s.segment,
            license_=s.unlabelled_license,
            most=s.most_unlabelled,
            allowance=allowance,
        )


def more_text(settings: IngestSettings) -> Iterator[Sentence]:
    """Further sentences that are written as raw text only: the world can make as many as wanted."""
    if settings.reader == "world":
        s = settings
        yield from generate_sentences(s.source, s.raw, s.seed, first=s.sentences)


def more_pairs(settings: IngestSettings) -> Iterator[Pair]:
    """Further pairs that are written as raw text only."""
    if settings.reader == "world-relations":
        s = settings
        yield from generate_pairs(s.source, s.raw, s.seed, first=s.sentences)


def more_clauses(settings: IngestSettings) -> Iterator[AnnotatedSentence]:
    """Further sentences with predicates that are written as raw text only."""
    if settings.reader == "world-arguments":
        yield from _clauses(settings, settings.raw, first=settings.sentences)


def statements(settings: IngestSettings) -> Iterator[Sentence]:
    """The text of a corpus of questions in which ``pair`` finds event pairs: the world's."""
    if settings.reader == "world-questions":
        yield from generate_text(settings.source, settings.sentences, settings.seed)


def more_statements(settings: IngestSettings) -> Iterator[Sentence]:
    """Further ones that are written as raw text only."""
    s = settings
    yield from generate_text(s.source, s.raw, s.seed, first=s.sentences)


def _lines_of(
    read: Callable[..., Iterator[Question]], settings: IngestSettings, tally: Tally
) -> Iterator[Question]:
    return read(
        settings.source,
        tally,
        license_=_licence(settings),
        allowance=UnpackingAllowance(settings.largest_unpacked),
        strict=settings.strict,
    )


def _clauses(settings: IngestSettings, count: int, first: int = 0) -> Iterator[AnnotatedSentence]:
    for sentence, predicates in generate_clauses(settings.source, count, settings.seed, first):
        yield AnnotatedSentence(sentence, predicates)


def _treebank(
    settings: IngestSettings, tally: Tally, splitter: Splitter, licences: Licences
) -> Iterator[Sentence]:
    return read_treebank(
        settings.source,
        tally,
        splitter=splitter,
        licences=licences,
        allowance=UnpackingAllowance(settings.largest_unpacked),
        strict=settings.strict,
        name=settings.reader,
    )


def _licences(settings: IngestSettings, otherwise: Licences, *, known: bool = False) -> Licences:
    """The licences that the settings' file names, or the reader's own, which it may have ``known``."""
    return from_file(settings.licenses, otherwise, known=known) if settings.licenses else otherwise


def _splitter(settings: IngestSettings) -> Splitter | None:
    """The way of splitting that the settings name; None: the reader's own."""
    if settings.split:
        return by_patterns(settings.split)
    if settings.split_lists:
        return by_lists(settings.split_lists, strict=settings.strict)
    if settings.folds:
        return by_folds(settings.folds, settings.fold)
    return by_fractions(settings.split_fractions) if settings.split_fractions else None


_R = TypeVar("_R")


def _counted(rows: Iterator[_R], tally: Tally) -> Iterator[_R]:
    for row in rows:
        tally.keep()
        yield row


def _licence(settings: IngestSettings) -> str:
    # A forgotten --license must not give rows that look free to share.
    unnamed = settings.license == IngestSettings.model_fields["license"].default
    return CORPORA[settings.reader].licence if unnamed else settings.license
