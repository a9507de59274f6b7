"""``conjoin fill``: coordinate a span of one sentence and look at the result."""

from collections.abc import Sequence

from pipeline.core.console import say
from pipeline.core.corpus_folder import coordinators_of
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.families import family_names, family_of, papers_families
from pipeline.core.types import (
    REFERENCE_LABELS,
    UNLABELLED,
    Candidate,
    Reference,
    Reject,
    Span,
    bracketed,
)
from pipeline.infill import InfillRequest, fill, load_infiller, load_ranker, request_of
from pipeline.infill.attested_fills import NO_DONOR, fill_attested, parsed_pool
from pipeline.infill.base import TOO_LONG, UNUSABLE_SOURCE, Fill
from pipeline.infill.candidates import rows_of
from pipeline.infill.families.known import check_language_model
from pipeline.models.loading import locate_lm
from pipeline.text.natural import join_words, split_words
from pipeline.trying.fill.settings import FillSettings


def run(settings: FillSettings) -> None:
    """Print the coordinated sentence of each language model, with brackets and scores.

    Raises:
        InputError: the span is not a part of the sentence or is all of it, or the sentence is longer
            than a model allows or holds its mask or sentinel strings; attested: the corpus has no trees,
            or none with a constituent of the label.
        SettingsError: a decoding that cannot give as many fills; attested without a label, or --match
            other than label, for which a bare sentence has no tags or tree; a label for free fills.
        ModelError: a model is missing or cannot fill masks.
    """
    known = coordinators_of(settings.corpus)
    if "coordinator" not in settings.model_fields_set:
        settings = settings.model_copy(update={"coordinator": known[0]})
    words = tuple(split_words(settings.sentence))
    span = find_span(words, settings.span)
    attested = settings.fills == "attested"
    _check(settings, attested=attested)
    reference = Reference("given", words, span, settings.label or UNLABELLED, "unknown")
    names = papers_families() if settings.lm == "both" else (settings.lm,)
    if settings.model and len(names) > 1:
        raise ModelError("--model needs to know its family", remedy=f"add --lm {family_names()}")
    request = request_of(settings)
    for lm in names:
        where = locate_lm(lm, settings.model, settings.corpus, settings.seed)
        fills = (_attested if attested else _free)(
            settings, family_of(lm), where, request, reference
        )
        if fills[0].reason == NO_DONOR:
            raise InputError(
                f"no constituent of {settings.corpus} has the label {settings.label!r}",
                remedy="name one of: " + ", ".join(REFERENCE_LABELS),
            )
        check_source(lm, fills)
        for outcome in rows_of([reference], [fills], settings, frozenset(known))[0]:
            say(f"{lm}: {_shown(outcome)}")


def _check(settings: FillSettings, *, attested: bool) -> None:
    if not attested and settings.label:
        raise SettingsError(
            "a label is for attested fills", remedy="add --fills attested, or leave --label out"
        )
    if attested and not settings.label:
        raise SettingsError(
            "attested fills are constituents of the span's label, which is not given",
            remedy="add --label, e.g. --label NP",
        )
    if attested and settings.match != "label":
        raise SettingsError(
            f"a sentence given here has no tags and no tree, which --match {settings.match} needs",
            remedy="leave it at --match label",
        )


def _free(
    _: FillSettings, family: str, where: str, request: InfillRequest, reference: Reference
) -> list[Fill]:
    return fill(load_infiller(family, where, request), [reference])[0]


def _attested(
    settings: FillSettings, family: str, where: str, request: InfillRequest, reference: Reference
) -> list[Fill]:
    pool = parsed_pool(
        settings.corpus,
        check_language_model(family, where),
        coordinators=settings.coordinators_in_fills,
    )
    ranker = load_ranker(family, where, request)
    return fill_attested(ranker, pool, [reference], count=settings.pool, seed=settings.seed)[0]


def _shown(outcome: Candidate | Reject) -> str:
    candidate = outcome.candidate if isinstance(outcome, Reject) else outcome
    score = "" if candidate.score is None else f"  (score {candidate.score:.2f})"
    verdict = f"  rejected: {outcome.reason}" if isinstance(outcome, Reject) else ""
    donor = candidate.donor
    place = f"  from {donor.sentence_id}, words {donor.start} to {donor.end - 1}" if donor else ""
    return f"{bracketed(candidate.words, candidate.conjuncts)}{score}{place}{verdict}"


def check_source(lm: str, fills: Sequence[Fill]) -> None:
    """Refuse a sentence that the model could not be given, of which ``fills`` tell.

    Raises:
        InputError: it is longer than the model allows, or holds its mask or sentinel strings.
    """
    if fills[0].reason in UNUSABLE_SOURCE:
        remedy = "shorten or change the sentence"
        if fills[0].reason == TOO_LONG:  # which may be a causal LM's prompt alone
            remedy = "shorten the sentence, or name a --model that reads more tokens"
        raise InputError(f"{lm}: {fills[0].reason}", remedy=remedy)


def find_span(words: tuple[str, ...], text: str) -> Span:
    """The words of a sentence that have ``text`` as natural text, or that it is cut into; the first such.

    Raises:
        InputError: there is no such place at word boundaries, or it is the whole sentence.
    """
    natural, wanted = join_words(words), text.strip()
    # As a sentence is: "cannot" is two words, an apostrophe straight.
    cut = tuple(split_words(text))
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if natural.slice(start, end) == wanted or words[start:end] == cut:
                if end - start == len(words):
                    raise InputError("the span is the whole sentence", remedy="choose a part of it")
                return Span(start, end)
    raise InputError(
        f"the span {text!r} is not in the sentence at word boundaries",
        remedy=f"copy a part of: {natural.text}",
    )
