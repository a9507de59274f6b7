"""``conjoin fill``: coordinate a span of one sentence and look at the result."""

from pipeline.core.console import say
from pipeline.core.errors import InputError, ModelError
from pipeline.core.settings import family_of
from pipeline.core.types import UNLABELLED, Candidate, Reference, Reject, Span, bracketed
from pipeline.infill import fill, load_infiller, task_of
from pipeline.infill.base import UNUSABLE_SOURCE
from pipeline.infill.candidates import make_candidates
from pipeline.models.loading import locate
from pipeline.text.natural import join_words, split_words
from pipeline.tools.settings import Fill


def run(settings: Fill) -> None:
    """Print the coordinated sentence of each language model, with brackets and scores.

    Raises:
        InputError: the span is not a part of the sentence or is all of it, or the sentence is longer
            than a model allows or holds its mask or sentinel strings.
        SettingsError: a decoding that cannot give as many fills.
        ModelError: a model is missing or cannot fill masks.
    """
    words = tuple(split_words(settings.sentence))
    span = find_span(words, settings.span)
    reference = Reference("given", words, span, UNLABELLED, "unknown")
    names = ("bert", "t5") if settings.lm == "both" else (settings.lm,)
    if settings.model and len(names) > 1:
        raise ModelError("--model needs to know its family", remedy="add --lm bert or --lm t5")
    task = task_of(settings)
    for lm in names:
        where = locate(settings.model or f"models/{lm}", settings.corpus, settings.seed)
        infiller = load_infiller(family_of(lm), where, task)
        fills = fill(infiller, [reference])[0]
        if fills[0].reason in UNUSABLE_SOURCE:
            raise InputError(f"{lm}: {fills[0].reason}", remedy="shorten or change the sentence")
        allowed = settings.coordinators_in_fills
        for outcome in make_candidates(
            reference, fills, settings.coordinator, coordinators_in_fills=allowed
        ):
            say(f"{lm}: {_shown(outcome)}")


def _shown(outcome: Candidate | Reject) -> str:
    candidate = outcome.candidate if isinstance(outcome, Reject) else outcome
    score = "" if candidate.score is None else f"  (score {candidate.score:.2f})"
    verdict = f"  rejected: {outcome.reason}" if isinstance(outcome, Reject) else ""
    return f"{bracketed(candidate.words, candidate.conjuncts)}{score}{verdict}"


def find_span(words: tuple[str, ...], text: str) -> Span:
    """The words of a sentence whose natural text is ``text``; the first place if there are several.

    Raises:
        InputError: there is no such place at word boundaries, or it is the whole sentence.
    """
    natural = join_words(words)
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if natural.slice(start, end) == text.strip():
                if end - start == len(words):
                    raise InputError("the span is the whole sentence", remedy="choose a part of it")
                return Span(start, end)
    raise InputError(
        f"the span {text!r} is not in the sentence at word boundaries",
        remedy=f"copy a part of: {natural.text}",
    )
