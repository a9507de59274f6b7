"""``conjoin annotate``: a page in which a person annotates the coordinations of a corpus."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.core.claims import Claim, Listed
from pipeline.core.console import Meter, say, shell_line, table
from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_name, require_ingested
from pipeline.core.decisions import DrawnToAnnotate, fault_of_decision
from pipeline.core.errors import InputError
from pipeline.core.local_page import address, listening, opened, serve
from pipeline.core.schema import coordinators_in, read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.trying.annotate.choosing import in_random_order, next_drawn, to_annotate
from pipeline.trying.annotate.questions import progress
from pipeline.trying.annotate.saved import Saved, is_saved, saved
from pipeline.trying.annotate.server import make_app
from pipeline.trying.annotate.settings import AnnotateSettings

ANNOTATED_FILE = "annotated.jsonl"


def run(settings: AnnotateSettings) -> None:
    """Serve the page until Ctrl-C, and say how far the annotation is.

    Raises:
        InputError: of the corpus, the file or the parser; nothing can be annotated; another process writes
            the file, or the port is in use.
        ModelError: of the predictor or the parser.
    """
    source = settings.corpus / SENTENCES_FILE
    out = settings.out or settings.corpus / ANNOTATED_FILE
    inputs = [source, *filter(None, (settings.predictor, settings.parser))]
    claim = Claim(out, "annotate", inputs, _earlier, file=True)
    claim.check()
    require_ingested(settings.corpus)
    known = frozenset(coordinators_in(source))
    with listening(settings.port) as (listener, token):
        tally = Tally()
        chosen = to_annotate(read_sentences(source), settings.split, tally)
        if not chosen:
            raise InputError(
                f"no sentence with a coordinator to annotate in the split {settings.split}",
                path=source, remedy="name another with --split, or ingest more text",
            )  # fmt: skip
        table("sentences to draw from", ("", "count"), tally.rows())
        machines = None
        if settings.predictor is not None:
            from pipeline.trying.annotate.proposals import Machines  # noqa: PLC0415 - torch

            machines = Machines(settings.predictor, settings.parser, known)
        with saved(claim.check()) as file:
            if len(file.decided.drawn) < settings.size:
                sure: Mapping[str, float] = {}
                if machines is not None and settings.by == "disagreement":
                    read = _among(chosen, file.decided.drawn, settings)
                    with Meter("annotate, sentences read", len(read)) as meter:
                        sure = machines.disagreements(read, meter.advance)
                    say(
                        f"predictor and parser say different boundaries in {len(sure):,} of {len(read):,} "
                        f"sentences, and in {len(read) - len(sure):,} none"
                    )
                _draw(file, [each.sentence_id for each in chosen], settings, sure)
            drawn = _drawn(file, source)
            words = {each.sentence_id: each.words for each in drawn}
            proposals = machines.proposals(drawn) if machines else {}
            command = ["conjoin", "ingest", "corrected", str(out), "--of", str(settings.corpus)]
            app = make_app(file, words, proposals, token, shell_line(command), known)
            url = address(listener, token)
            say(
                f"{progress(file.decided, words, known)}: {url} (Ctrl-C ends it; all is saved in {out})"
            )
            with opened(url, settings.open):
                serve(app, listener)
            say(f"{progress(file.decided, words, known)}: {out}; next: {shell_line(command)}")


def _earlier(place: Path) -> Listed:
    """A file of decisions, which is gone on with."""
    return () if is_saved(place) else None


def _among(
    chosen: Sequence[Sentence], before: Sequence[str], settings: AnnotateSettings
) -> list[Sentence]:
    """The sentences that predictor and parser read."""
    own = {each.sentence_id: each for each in chosen if each.sentence_id not in set(before)}
    return [own[each] for each in in_random_order(own, settings.seed)[: settings.among]]


def _draw(
    file: Saved, ids: Sequence[str], settings: AnnotateSettings, sure: Mapping[str, float]
) -> None:
    """Draw sentences and write down which."""
    before = file.decided.drawn
    new = next_drawn(ids, settings.size, settings.seed, before, sure)
    if len(before) + len(new) < settings.size:
        say(f"there are {len(before) + len(new):,} sentences in all, not {settings.size:,}")
    if new:
        file.add(
            DrawnToAnnotate(tuple(new), corpus_name(settings.corpus), settings.by, settings.seed)
        )


def _drawn(file: Saved, source: Path) -> list[Sentence]:
    """The sentences that were drawn, in their order.

    Raises:
        InputError: the corpus has one no longer, or with other words than were decided on.
    """
    wanted = set(file.decided.drawn)
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in wanted)}
    remedy = "annotate into another file with --out"
    for each in file.decided.drawn:
        if each not in found:
            what = f"a sentence that {source} does not have"
            raise InputError(what, path=file.path, sentence_id=each, remedy=remedy)
    for made in file.decided.decisions:
        own = found[made.sentence_id]
        if fault := fault_of_decision(own.words, made, own.coordinators):
            raise InputError(fault, path=file.path, sentence_id=made.sentence_id, remedy=remedy)
    return [found[each] for each in file.decided.drawn]
