"""``nlp.add_pipe("conjoin", config={"predictor": "RUN/predictor"})``: coordinations in spaCy's documents.

It does what ``conjoin predict`` does, by the same code (``answers.py``).
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakSet

import srsly
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch, raise_error
from thinc.util import get_torch_default_device

from pipeline import __version__
from pipeline.core.device import device_called
from pipeline.core.errors import ModelError, SettingsError
from pipeline.models.words import TOO_LONG
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.text.lines import GivenSentence
from pipeline.trying.predict.answers import Found, Parse, SentenceAnswer, answers
from pipeline.trying.predict.parser import copy_parser, parser_of
from pipeline.trying.predict.settings import ComponentSettings

COORDINATIONS, CONJUNCTS = "coordinations", "conjuncts"
"""Names of the span groups."""

_STORED = "conjoin"
"""Name of the attribute in which coordinators have their answer, as plain data: so any Doc can be saved."""

_PREDICTOR, _PARSER = "predictor", "parser"  # folders of a saved component

_made_here: WeakSet[Language] = WeakSet()
"""Pipelines that got their first component in this process, and not from a saved one."""


class CoordinationFinder:
    """A component that finds the conjuncts of every coordinator.

    It sets:

    - ``doc.spans["coordinations"]``: a span per coordination, from the first word of the first conjunct to
      the last word of the last, in the order of the coordinators. Its label is the constituent's where a
      parser knows it, else empty.
    - ``doc.spans["conjuncts"]``: their conjuncts, in order; the ``id_`` is that of their coordination, a
      number that counts from 1 in the document. Earlier groups of these names are replaced.
    - ``token._.conjuncts``: of a coordinator its conjuncts, in order; of any other token an empty tuple.
    - ``token._.coordination_probability``: of a coordinator the predictor's probability of the outer
      boundary; else, and where it has none (the parser's answer in a sentence too long for it), None.
    - ``token._.conjuncts_missing``: of a coordinator without conjuncts the reason; else None.
    - ``span._.conjuncts``, ``.coordinator``, ``.coordination_probability``: the same of a span of the first
      group; of any other an empty tuple, None and None.

    Sentences are ``doc.sents`` where something set their boundaries (a parser, a sentencizer, which must come
    before), else the whole document is one. Words are its tokens, one to one, but for those of blanks alone,
    which a span has inside where they are inside. A predictor has learned a treebank's words; spaCy's differ
    in places: it parts words at hyphens.

    A coordinator that gets no answer (at the edge of its sentence, in a sentence longer than the encoder can
    read) has the reason, and ``skipped`` counts it; of long sentences, and of those that the parser has no
    tree of, a ``UserWarning`` tells as well.

    Saving a pipeline saves predictor and parser with it, and their folders are no longer needed; settings are
    those of config.cfg, or what ``spacy.load`` is given instead. So a component of a saved pipeline reads no
    folder before it is used, while one that is made anew does at once. Without a predictor it waits for
    ``from_disk`` or ``from_bytes``.

    Args:
        name: in its pipeline.
        settings: see there.

    Attributes:
        skipped: how many coordinators had no answer so far, by reason.
        unparsed: how many sentences the parser had no tree of, by reason.

    Raises:
        SettingsError: another's attribute has one of the names above; at the first use, no such device.
        ModelError, InputError: at the first use, as ``CoordinationPredictor.load`` and ``parser_of``.
    """

    def __init__(self, name: str, settings: ComponentSettings) -> None:
        self.name, self._settings = name, settings
        self.skipped, self.unparsed = Counter[str](), Counter[str]()
        self._predictor: CoordinationPredictor | None = None
        self._parse: Parse | None = None
        self._parser = settings.parser
        self._kept: TemporaryDirectory[str] | None = None
        self._on_error: Callable[..., Any] = raise_error
        _add_attributes()

    def __call__(self, doc: Doc) -> Doc:
        """Find the coordinations of a document, in place."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Find those of documents, ``batch_size`` at a time: their sentences are encoded together.

        Yields:
            The documents in their order; without those of a batch that failed, where an error handler was set
            that goes on.
        """
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            try:
                self._annotate(docs)
            # Whatever it is, spaCy's protocol hands it to the pipeline's handler.
            except Exception as error:
                self._on_error(self.name, self, docs, error)
            else:
                yield from docs

    def __getstate__(self) -> dict[str, Any]:
        # For processes that are not forked; a parser cannot be pickled, and is read again.
        return {**self.__dict__, "_parse": None, "_kept": None}

    def get_error_handler(self) -> Callable[..., Any]:
        """What is called with a batch that failed; it raises, unless another was set."""
        return self._on_error

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        """Set that (``nlp.set_error_handler``)."""
        self._on_error = error_handler

    def load(self) -> CoordinationPredictor:
        """The predictor, on its device; it and the parser are read if they were not.

        Raises:
            ModelError: there is none, or it cannot be loaded.
            InputError: its card is damaged; there is no parser.
            SettingsError: there is no such device.
        """
        settings = self._settings
        if self._predictor is None:
            if settings.predictor is None:
                raise ModelError(
                    f"the component {self.name!r} has no predictor",
                    remedy='name its folder: config={"predictor": "RUN/predictor"}',
                )
            self._predictor = self._placed(CoordinationPredictor.load(settings.predictor))
        if self._parse is None and self._parser is not None:
            own = map(str.lower, self._predictor.coordinators)
            self._parse = parser_of(self._parser, self._coordinators(self._predictor).union(own))
        return self._predictor

    def _coordinators(self, predictor: CoordinationPredictor) -> frozenset[str]:
        named = self._settings.coordinators or predictor.coordinators
        return frozenset(word.lower() for word in named)

    def _placed(self, predictor: CoordinationPredictor) -> CoordinationPredictor:
        return predictor.to(_device(self._settings.device))

    def to_disk(self, path: Path | str, *, exclude: Sequence[str] = ()) -> None:
        """Write predictor and parser to a folder.

        Raises:
            ModelError: there is no predictor, or the parser cannot be copied.
            InputError: the folder cannot be written to.
        """
        del exclude  # there is nothing that is spaCy's
        folder = Path(path)
        predictor = self.load()
        folder.mkdir(parents=True, exist_ok=True)
        predictor.save(folder / _PREDICTOR)
        if self._parser is not None:
            copy_parser(self._parser, folder / _PARSER)

    def from_disk(self, path: Path | str, *, exclude: Sequence[str] = ()) -> "CoordinationFinder":
        """Read what ``to_disk`` wrote; where it wrote nothing, what the settings name stays.

        A parser is read if the settings have one.

        Raises:
            ModelError, InputError: something is damaged.
            SettingsError: there is no such device.
        """
        del exclude
        folder = Path(path).absolute()
        if (folder / _PREDICTOR).is_dir():
            self._predictor = self._placed(CoordinationPredictor.load(folder / _PREDICTOR))
        if self._parser is not None and (folder / _PARSER).is_dir():
            self._parser, self._parse = folder / _PARSER, None
            if self._predictor is not None:  # whose coordinators are looked for
                self.load()
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The files that ``to_disk`` writes, in one piece.

        Raises:
            ModelError, InputError: as there.
        """
        with TemporaryDirectory() as folder:
            self.to_disk(folder, exclude=exclude)
            files = {
                file.relative_to(folder).as_posix(): file.read_bytes()
                for file in sorted(Path(folder).rglob("*"))
                if file.is_file()
            }
        packed: bytes = srsly.msgpack_dumps(files)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> "CoordinationFinder":
        """Read what ``to_bytes`` made.

        Raises:
            ModelError: it did not make that.
            ModelError, InputError, SettingsError: as ``from_disk``.
        """
        kept = TemporaryDirectory()
        for name, content in _unpacked(data).items():
            file = Path(kept.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self.from_disk(kept.name, exclude=exclude)
        if self._parser is not None:
            self._kept = kept  # a parser is saved again from its files
        else:
            kept.cleanup()
        return self

    def _annotate(self, docs: Sequence[Doc]) -> None:
        predictor = self.load()
        known = self._coordinators(predictor)
        places = [(number, tokens) for number, doc in enumerate(docs) for tokens in _sentences(doc)]
        given = (
            GivenSentence(tuple(docs[number][i].text for i in tokens), line)
            for line, (number, tokens) in enumerate(places, 1)
        )
        found = answers(
            predictor,
            given,
            coordinators=known,
            batch_tokens=self._settings.batch_tokens,
            parse=self._parse,
            tau=self._settings.tau,
        )
        groups = [_Groups(doc) for doc in docs]
        for (number, tokens), answer in zip(places, found, strict=True):
            self._take(groups[number], tokens, answer, known)
        for each in groups:
            each.close()

    def _take(
        self,
        groups: "_Groups",
        tokens: Sequence[int],
        answer: SentenceAnswer,
        known: AbstractSet[str],
    ) -> None:
        """Put the answer to a sentence, whose words are these tokens, into its document."""
        if answer.beside and answer.beside.unparsed:
            self.unparsed[answer.beside.unparsed] += 1
            self._tell(f"the parser has no tree of a sentence: {answer.beside.unparsed}")
        for entry in answer.entries:
            if isinstance(entry, Found):
                groups.add(tokens, entry)
                continue
            places = [entry.coordinator] if entry.coordinator is not None else []
            if entry.reason == TOO_LONG:
                self._tell(
                    f"coordinators without conjuncts: {TOO_LONG}; set sentence boundaries before, as by "
                    'nlp.add_pipe("sentencizer", first=True)'
                )
                if not places:  # the sentence is refused as a whole
                    words = map(str.lower, answer.sentence.words)
                    places = [k for k, word in enumerate(words) if word in known]
            for k in places:
                self.skipped[entry.reason] += 1
                groups.miss(tokens[k], entry.reason)

    def _tell(self, what: str) -> None:
        # Python shows equal ones once, and counts are kept beside.
        warnings.warn(f"[{self.name}] {what}", UserWarning, stacklevel=2)


def component_of(nlp: Language, name: str, given: Mapping[str, Any]) -> CoordinationFinder:
    """The component of a pipeline.

    Args:
        nlp: the pipeline.
        name: of the component there.
        given: its settings, as a config has them.

    Raises:
        SettingsError: a setting of the wrong type or out of range; as ``CoordinationFinder``.
        ModelError, InputError: no predictor of coordination is there, or no parser; unless it was saved with
            the pipeline, or none is named.
    """
    if given["coordinators"] == []:
        raise SettingsError("conjoin.coordinators = []: name at least one, or leave it out")
    made = CoordinationFinder(name, ComponentSettings.build(given, None))
    # What is saved with a pipeline says so in its meta.json, which is read before components are made.
    saved = nlp not in _made_here and _STORED in nlp.meta
    if not saved:
        _made_here.add(nlp)
        nlp.meta[_STORED] = __version__
        if given["predictor"] is not None:
            made.load()
    return made


def _device(name: str) -> torch.device:
    """The device of a setting.

    Raises:
        SettingsError: there is none here.
    """
    if name != "spacy":
        return device_called(name)
    # Of what spaCy may work on, conjoin knows GPUs of CUDA alone.
    where: torch.device = get_torch_default_device()
    return where if where.type == "cuda" else torch.device("cpu")


def _unpacked(data: bytes) -> dict[str, bytes]:
    """The files in bytes that a component was saved to.

    Raises:
        ModelError: they are no such bytes.
    """
    problem = ModelError(
        "these are no bytes of a saved component", remedy="save the pipeline again"
    )
    try:
        found = srsly.msgpack_loads(data)
    except (ValueError, TypeError, srsly.msgpack.UnpackException) as error:
        raise problem from error
    if not isinstance(found, dict):
        raise problem
    for name, content in found.items():
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise problem
        parts = PurePosixPath(name).parts
        if parts[:1] not in ((_PREDICTOR,), (_PARSER,)) or ".." in parts or "\0" in name:
            raise problem
    return found


def _sentences(doc: Doc) -> Iterator[list[int]]:
    """The tokens that are words, of each sentence that has any."""
    parts = doc.sents if doc.has_annotation("SENT_START") else [doc]
    for part in parts:
        if tokens := [token.i for token in part if token.text.strip()]:
            yield tokens


class _Groups:
    """What becomes of a document.

    Args:
        doc: the document, from which what an earlier component has set is taken.
    """

    def __init__(self, doc: Doc) -> None:
        self._doc = doc
        self._coordinations: list[Span] = []
        self._conjuncts: list[Span] = []
        stored = ("._.", _STORED)
        for key in [key for key in doc.user_data if isinstance(key, tuple) and key[:2] == stored]:
            del doc.user_data[key]

    def add(self, tokens: Sequence[int], found: Found) -> None:
        """Put in a coordination of a sentence, whose words are these tokens."""
        k, number = tokens[found.coordinator], len(self._coordinations) + 1
        spans = [(tokens[span.start] - k, tokens[span.end - 1] + 1 - k) for span in found.conjuncts]
        # Relative to the coordinator: documents can be joined.
        self._doc[k]._.set(_STORED, {
            "conjuncts": [list(each) for each in spans],
            "label": found.structure[0].label if found.structure else "",
            "number": number,
            "probability": found.ranked[0].probability,
        })  # fmt: skip
        conjuncts = _conjuncts(self._doc[k])
        self._conjuncts += conjuncts
        first, last = conjuncts[0], conjuncts[-1]
        self._coordinations.append(
            Span(self._doc, first.start, last.end, label=first.label, span_id=first.id)
        )

    def miss(self, token: int, reason: str) -> None:
        """Put in why a coordinator has no conjuncts."""
        self._doc[token]._.set(_STORED, {"reason": reason})

    def close(self) -> None:
        """Hand the groups to the document."""
        self._doc.spans[COORDINATIONS] = self._coordinations
        self._doc.spans[CONJUNCTS] = self._conjuncts


def _stored(token: Token, key: str) -> Any:
    return (token._.get(_STORED) or {}).get(key)


def _conjuncts(token: Token) -> tuple[Span, ...]:
    offsets = _stored(token, "conjuncts") or ()
    label, number, k = _stored(token, "label"), _stored(token, "number"), token.i
    return tuple(
        Span(token.doc, k + start, k + end, label=label, span_id=str(number))
        for start, end in offsets
    )


def _probability(token: Token) -> float | None:
    found: float | None = _stored(token, "probability")
    return found


def _reason(token: Token) -> str | None:
    found: str | None = _stored(token, "reason")
    return found


def _coordinator(span: Span) -> Token | None:
    """The coordinator whose coordination a span is; of several with one boundary that of the span's id."""
    for token in span:
        offsets = _stored(token, "conjuncts")
        if not offsets:
            continue
        same = (token.i + offsets[0][0], token.i + offsets[-1][1]) == (span.start, span.end)
        if same and span.id_ in ("", str(_stored(token, "number"))):
            return token
    return None


def _conjuncts_of_span(span: Span) -> tuple[Span, ...]:
    token = _coordinator(span)
    return () if token is None else _conjuncts(token)


def _probability_of_span(span: Span) -> float | None:
    token = _coordinator(span)
    return None if token is None else _probability(token)


_ATTRIBUTES: tuple[tuple[Any, str, dict[str, Any]], ...] = (
    (Token, _STORED, {"default": None}),
    (Token, "conjuncts", {"getter": _conjuncts}),
    (Token, "coordination_probability", {"getter": _probability}),
    (Token, "conjuncts_missing", {"getter": _reason}),
    (Span, "conjuncts", {"getter": _conjuncts_of_span}),
    (Span, "coordinator", {"getter": _coordinator}),
    (Span, "coordination_probability", {"getter": _probability_of_span}),
)


def _add_attributes() -> None:
    """Add the attributes to spaCy's classes, all or none.

    Raises:
        SettingsError: another's has one of the names.
    """
    for kind, name, given in _ATTRIBUTES:
        if kind.has_extension(name) and kind.get_extension(name)[2] is not given.get("getter"):
            raise SettingsError(
                f"{kind.__name__.lower()}._.{name} is an attribute of something else",
                remedy=f"remove it, {kind.__name__}.remove_extension({name!r}), or give it another name",
            )
    for kind, name, given in _ATTRIBUTES:
        if not kind.has_extension(name):
            kind.set_extension(name, **given)
