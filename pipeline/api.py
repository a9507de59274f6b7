"""What programs call: fill a span, generate from references, predict coordinations (docs/python.md).

These wrap what ``conjoin fill``, ``generate`` and ``predict`` do, with the same defaults, which are the
paper's. A sentence is text, of which Penn Treebank words are made, or a list of such words; spans are
half-open word indices. Everything that can go wrong is a ``ConjoinError`` with a one-line message, so what
is given is checked where it comes in.
"""

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, TypeVar, Unpack

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from pipeline.core.device import best_device
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.families import FAMILY_FACTS, family_names
from pipeline.core.files import digest_of
from pipeline.core.settings import DecodingSettings, shown
from pipeline.core.types import (
    UNLABELLED,
    Candidate,
    Reference,
    Reject,
    Span,
    bracketed,
)
from pipeline.core.words import coordinator
from pipeline.infill import Infiller, InfillRequest, load_infiller, request_of
from pipeline.infill import fill as fill_all
from pipeline.infill.candidates import rows_of
from pipeline.infill.families.known import family_of_checkpoint
from pipeline.models.loading import locate
from pipeline.tasks.coordination.model import CoordinationPredictor as Model
from pipeline.tasks.named_predictor import find_predictor
from pipeline.text.lines import GivenSentence
from pipeline.text.natural import join_words, split_words
from pipeline.trying.fill.command import check_source, find_span
from pipeline.trying.predict.answers import Found, SentenceAnswer, Skipped, answers

__all__ = [
    "Coordinated",
    "Generated",
    "Predicted",
    "PredictedCoordination",
    "Predictor",
    "Skipped",
    "fill",
    "generate",
]

Sentence = str | Sequence[str]
"""Text, or treebank words."""

Part = str | tuple[int, int] | Span
"""A part of a sentence: its text, or the words from ``start`` up to ``end``."""

Referenced = tuple[Sentence, Part] | tuple[Sentence, Part, str]
"""A reference: a sentence, its span to coordinate and, if it is a constituent, the span's label."""


class DecodingOptions(TypedDict, total=False):
    """How fills are chosen (§3.1, §3.2); what is left out has the paper's value.

    ``decoding`` is greedy, one fill; ``sample`` (``temperature``, ``top_p``, ``seed``) and ``n-best``
    (``beams``) give ``n``. Without ``sync`` only S′(1) is
    filled; ``synchronize`` is f of Eq. 1 and 2, applied to ``scores``. ``coordinator`` is the word to
    insert, and without ``coordinators_in_fills`` a fill that holds one is a reject. Without ``unbalanced`` so
    is a conjunct whose brackets or quotes do not balance.
    """

    decoding: Literal["greedy", "sample", "n-best"]
    n: int
    temperature: float
    top_p: float
    beams: int | None
    seed: int
    sync: bool
    synchronize: Literal["min", "mean"]
    scores: Literal["logits", "logprobs"]
    coordinator: str
    coordinators_in_fills: bool
    unbalanced: bool


def _encoded(text: str) -> str:
    text.encode()  # half a character raises a ValueError
    return text


def _family(name: str) -> str:
    if name not in FAMILY_FACTS:
        raise ValueError("no family")
    return name


def _place(path: str | Path) -> str | Path:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # a name of the hub, or the loader says what is missing
    except OSError as error:  # too long for a name, or in a folder that may not be read
        raise ValueError(error.strerror) from error
    return path


def _index(value: object) -> int:
    """A whole number of any make (numpy's too), but no truth value."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError("no whole number") from error


_T = TypeVar("_T")
_Index = Annotated[int, BeforeValidator(_index)]
_TEXT: TypeAdapter[str] = TypeAdapter(Annotated[str, AfterValidator(_encoded)])
_COORDINATORS = TypeAdapter(
    tuple[Annotated[str, AfterValidator(_encoded), AfterValidator(coordinator)], ...]
)
_PLACE: TypeAdapter[str | Path] = TypeAdapter(Annotated[str | Path, AfterValidator(_place)])
_PAIR = TypeAdapter(tuple[_Index, _Index])
_POSITIVE: TypeAdapter[int] = TypeAdapter(Annotated[_Index, Field(ge=1)])
_FAMILY: TypeAdapter[str | None] = TypeAdapter(Annotated[str, AfterValidator(_family)] | None)


def _checked(
    what: str,
    value: object,
    form: TypeAdapter[_T],
    expected: str,
    refusal: type[ConjoinError] = InputError,
) -> _T:
    """An argument, if it is of a form.

    Raises:
        ConjoinError: it is not: a ``refusal`` that says so.
    """
    try:
        return form.validate_python(value, strict=True)
    except ValidationError as error:
        raise refusal(f"{what} must be {expected}, was: {shown(value)}") from error


def _each(what: str, values: object, expected: str) -> Iterator[Any]:
    """The parts of an argument that is several things, and no text.

    Raises:
        InputError: it is one thing.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be {expected}, was: {shown(values)}")
    return iter(values)


class _Settings(DecodingSettings):
    stage: ClassVar[str] = "decoding"  # as messages call it


@dataclass(frozen=True, slots=True)
class Coordinated:
    """A sentence with the coordination that was put there (§3.1), or with what was refused.

    Attributes:
        source: the number of its reference, from 0.
        words: the coordinated sentence; of a reject without a fill, the source sentence.
        text: the same as natural text.
        coordinator: index of the inserted coordinator; -1 where there is no fill.
        conjuncts: the reference span and the fill, spans in ``words``; empty where there is no fill.
        label: of the reference span; ``X`` where none was given.
        fill: what the model wrote.
        score: mean synchronized log-probability per token of the fill; the next two are those under
            S′(1) and S′(2) alone. None where undefined.
        score_append: under S′(1).
        score_prepend: under S′(2); None without synchronization.
        reason: why it is a reject; None of a candidate.
    """

    source: int
    words: tuple[str, ...]
    text: str
    coordinator: int
    conjuncts: tuple[Span, ...]
    label: str
    fill: str
    score: float | None
    score_append: float | None
    score_prepend: float | None
    reason: str | None = None

    @property
    def bracketed(self) -> str:
        """The words with brackets around the conjuncts, as in Table 4."""
        return bracketed(self.words, self.conjuncts)


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of references: both in their order, and of each reference best first."""

    candidates: list[Coordinated]
    rejects: list[Coordinated]


def fill(
    sentence: Sentence,
    span: Part,
    model: str | Path,
    *,
    label: str = UNLABELLED,
    family: str | None = None,
    **decoding: Unpack[DecodingOptions],
) -> list[Coordinated]:
    """Coordinate a span of one sentence: ``conjoin fill`` (§3.1, §3.2).

    The model stays loaded until another one, or another decoding, is asked for.

    Args:
        sentence: text or words.
        span: what to coordinate: a part of it, but not all. Of equal parts of a text, the first.
        model: a model folder or a name of the hub.
        label: of the span, for the result alone.
        family: ``bert`` or ``t5``; None: the first that the checkpoint is of.
        decoding: see ``DecodingOptions``.

    Returns:
        One for each fill, best first; of one that generation would reject ``reason`` says why.

    Raises:
        InputError: the sentence has no such part or an empty word, is longer than the model allows, or
            holds its mask or sentinel strings.
        SettingsError: a decoding or family that is unknown or out of range.
        ModelError: there is no such model, or it cannot fill masks.
    """
    reference = _reference(sentence, span, label, "given")
    settings, filler = _filler(model, family, decoding)
    fills = fill_all(filler, [reference])
    check_source(settings.lm, fills[0])
    return [_coordinated(0, row) for row in rows_of([reference], fills, settings)[0]]


def generate(
    references: Iterable[Referenced],
    model: str | Path,
    *,
    family: str | None = None,
    batch_tokens: int = 16_384,
    **decoding: Unpack[DecodingOptions],
) -> Generated:
    """Coordinate many spans: ``conjoin generate`` without files (§3).

    What comes of a reference depends on its sentence and span, not on the others, but for the last bits
    of a score.

    Args:
        references: of each ``(sentence, span)`` or ``(sentence, span, label)``.
        model: a model folder or a name of the hub.
        family: as in ``fill``.
        batch_tokens: tokens read together, padding included.
        decoding: see ``DecodingOptions``.

    Raises:
        InputError: a sentence has no such part, or an empty word; the message has the number of its
            reference. A sentence that the model cannot take is a reject.
        SettingsError, ModelError: as ``fill``.
    """
    size = _checked("batch_tokens", batch_tokens, _POSITIVE, "at least 1", SettingsError)
    known = list(_references(references))
    settings, filler = _filler(model, family, decoding)
    rows = rows_of(known, fill_all(filler, known, size), settings)
    made = [_coordinated(number, row) for number, own in enumerate(rows) for row in own]
    return Generated(
        [each for each in made if each.reason is None],
        [each for each in made if each.reason is not None],
    )


def _references(references: Iterable[Referenced]) -> Iterator[Reference]:
    several = "a list of (sentence, span) or (sentence, span, label)"
    for number, given in enumerate(_each("references", references, several)):
        try:
            parts = tuple(_each("it", given, several.removeprefix("a list of ")))
            if len(parts) not in (2, 3):
                raise InputError(f"it has {len(parts)} parts", remedy=f"give {several}")
            sentence, span, *label = parts
            if not isinstance(sentence, str):
                sentence = list(_words(sentence))
            # Draws go by sentence and span, so equal sentences have one name and others another.
            name = digest_of(_text("the sentence", sentence))[:24]
            yield _reference(sentence, span, label[0] if label else UNLABELLED, name)
        except InputError as error:
            raise InputError(f"reference {number}: {error}") from error


def _text(what: str, value: Any) -> Any:
    """A value that is, if it is text, whole."""
    return _checked(what, value, _TEXT, "text in Unicode") if isinstance(value, str) else value


def _reference(sentence: Sentence, span: Part, label: str, name: str) -> Reference:
    words = _words(sentence)
    label = _checked("the label", label, _TEXT, "text")
    return Reference(name, words, _span(words, span), label, "unknown")


def _words(sentence: Sentence) -> tuple[str, ...]:
    if isinstance(sentence, str):
        return tuple(split_words(_text("the sentence", sentence)))
    words = tuple(_each("the sentence", sentence, "text or a list of words"))
    for number, word in enumerate(words):
        _checked(f"word {number}", word, _TEXT, "text")
        if len(word.split()) != 1 or word.strip() != word:
            raise InputError(
                f"word {number} is {word!r}", remedy="a word is not empty and has no blank"
            )
    return words


def _span(words: tuple[str, ...], part: Part) -> Span:
    if isinstance(part, str):
        return find_span(words, _text("the span", part))
    pair = (part.start, part.end) if isinstance(part, Span) else part
    expected = "a part of the text or (start, end) in words"
    span = Span(*_checked("the span", tuple(_each("the span", pair, expected)), _PAIR, expected))
    if not 0 <= span.start < span.end <= len(words) or len(span) == len(words):
        raise InputError(
            f"the span ({span.start}, {span.end}) is not a part of a sentence of {len(words)} words",
            remedy="words count from 0, the end is not included, and the whole sentence is no part",
        )
    return span


def _filler(
    model: str | Path, family: str | None, decoding: DecodingOptions
) -> tuple[_Settings, Infiller[Any]]:
    family = _checked("family", family, _FAMILY, family_names(), SettingsError)
    where = locate(str(_checked("model", model, _PLACE, "a folder or a name", ModelError)))
    if family is None:
        family = family_of_checkpoint(where)
    settings = _Settings.build({**decoding, "lm": family}, None)
    # A model that was trained again in the same folder is another one.
    files = tuple(sorted((p.name, p.stat().st_mtime_ns) for p in Path(where).glob("*")))
    return settings, _loaded(family, where, request_of(settings), files)


@lru_cache(maxsize=1)
def _loaded(
    family: str, where: str, request: InfillRequest, _: tuple[tuple[str, int], ...]
) -> Infiller[Any]:
    return load_infiller(family, where, request)


def _coordinated(source: int, row: Candidate | Reject) -> Coordinated:
    reason = row.reason if isinstance(row, Reject) else None
    one = row.candidate if isinstance(row, Reject) else row
    return Coordinated(
        source, one.words, join_words(one.words).text, one.coordinator, one.conjuncts, one.label,
        one.fill, one.score, one.score_append, one.score_prepend, reason,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PredictedCoordination:
    """A coordinator's most probable structure (§5.1, Eq. 3).

    Attributes:
        coordinator: its word index.
        word: as it is written.
        span: from the first word of the first conjunct to the last of the last.
        conjuncts: all that ``span`` is cut into; two, on either side of the coordinator, where the predictor
            has not learned where conjuncts end.
        probability: of ``span`` among all pairs of endpoints; not calibrated.
        alternatives: the ``n`` most probable spans with their probabilities, this one first.
    """

    coordinator: int
    word: str
    span: Span
    conjuncts: tuple[Span, ...]
    probability: float
    alternatives: tuple[tuple[Span, float], ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """A sentence's words, its coordinations in order, and what has no prediction, with the reason."""

    words: tuple[str, ...]
    coordinations: tuple[PredictedCoordination, ...]
    skipped: tuple[Skipped, ...]

    @property
    def bracketed(self) -> list[str]:
        """The words with brackets around the conjuncts, once for each coordination."""
        return [bracketed(self.words, each.conjuncts) for each in self.coordinations]


class Predictor:
    """A trained predictor that reads sentences: ``conjoin predict``.

    Args:
        model: the model, on the device that shall do the work.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @classmethod
    def load(cls, path: str | Path) -> "Predictor":
        """The predictor of a folder or of the hub, on the GPU if there is one.

        Args:
            path: a folder, ``RUN/predictor`` or a release, or ``owner/name@revision``, which is fetched.

        Raises:
            ModelError: no predictor is there, one of another format version, or a damaged one; the hub has
                no such repository or revision, or cannot be reached.
            InputError: its card is not what conjoin writes.
        """
        named = _checked("path", path, _PLACE, "a folder", ModelError)
        folder = find_predictor(named)
        return cls(Model.load(folder).to(best_device()))

    def predict(
        self,
        sentences: Iterable[Sentence],
        *,
        n: int = 1,
        coordinators: Iterable[str] | None = None,
    ) -> list[Predicted]:
        """The coordinations of each sentence, in the order given.

        Args:
            sentences: each text or words, and not a text alone.
            n: alternatives of each coordinator, as many as it has.
            coordinators: words that count as one, in any case; a text is one word. None: those of the
                corpus that the predictor learned from, of an English one the usual five.

        Raises:
            InputError: ``sentences`` is one text, or a sentence has an empty word; the message has the
                number of the sentence, from 0.
            SettingsError: ``n`` is below 1, or a coordinator is no single word.
        """
        n = _checked("n", n, _POSITIVE, "at least 1", SettingsError)
        if isinstance(sentences, str):
            raise InputError("one text instead of several", remedy="put it into a list: [text]")
        if coordinators is None:
            coordinators = self._model.coordinators
        if isinstance(coordinators, str):
            coordinators = [coordinators]
        listed = tuple(coordinators) if isinstance(coordinators, Iterable) else coordinators
        words = _checked("coordinators", listed, _COORDINATORS, "a list of words", SettingsError)
        known, given = frozenset(map(str.lower, words)), _given(sentences)
        return [_predicted(each) for each in answers(self._model, given, coordinators=known, n=n)]


def _given(sentences: Iterable[Sentence]) -> Iterator[GivenSentence]:
    for number, sentence in enumerate(_each("sentences", sentences, "a list of them")):
        try:
            yield GivenSentence(_words(sentence), number + 1)
        except InputError as error:
            raise InputError(f"sentence {number}: {error}") from error


def _predicted(answer: SentenceAnswer) -> Predicted:
    words = answer.sentence.words
    found, skipped = [], []
    for entry in answer.entries:
        if not isinstance(entry, Found):
            skipped.append(Skipped(entry.coordinator, entry.reason))
            continue
        best, k = entry.best[0], entry.coordinator
        others = tuple((one.span, one.probability) for one in entry.best)
        found.append(
            PredictedCoordination(k, words[k], best.span, best.conjuncts, best.probability, others)
        )
    return Predicted(words, tuple(found), tuple(skipped))
