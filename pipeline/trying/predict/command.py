"""``conjoin predict``: the coordinations of new sentences, with brackets and probabilities."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import TextIO

from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, plain, plain_json, tell
from pipeline.core.device import best_device
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.named_predictor import find_predictor
from pipeline.text.lines import NumberedLines, open_lines
from pipeline.text.unpacking import UnpackingAllowance
from pipeline.trying.predict.answers import (
    BLOCK,
    Found,
    SentenceAnswer,
    answers,
    conllu,
    jsonl,
    tsv,
)
from pipeline.trying.predict.brat import why_not_for_brat, write_brat
from pipeline.trying.predict.distributed import distributed, phrases_cut
from pipeline.trying.predict.parser import parser_of
from pipeline.trying.predict.sentences import format_of, read_sentences
from pipeline.trying.predict.settings import PredictSettings

FORMS: dict[str, Callable[[SentenceAnswer], str]] = {
    "tsv": tsv, "jsonl": jsonl, "conllu": conllu, "distributed": distributed,
}  # fmt: skip


def run(settings: PredictSettings) -> None:
    """Print the structures of every coordinator, and at the end a summary on standard error.

    When the reader of the output stops (``| head``), this ends too, without a message.

    Raises:
        InputError: the file is missing, without sentences, or malformed somewhere.
        ModelError: the predictor cannot be fetched or loaded.
    """
    # On a terminal rich sends what is printed under a progress bar to the bar's own stream.
    out = sys.stdout
    try:
        allowance = UnpackingAllowance(settings.largest_unpacked)
        with open_lines(settings.text, allowance=allowance) as lines:
            _predict(settings, lines, out)
    except BrokenPipeError:
        # The interpreter would flush the broken stream once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        raise SystemExit(128 + signal.SIGPIPE) from None


def _predict(settings: PredictSettings, lines: NumberedLines, out: TextIO) -> None:
    form = format_of(lines) if settings.format == "auto" else settings.format
    if settings.output == "conllu" and form != "conllu":
        raise InputError(
            f"output conllu is for CoNLL-U input, this is {form}", path=lines.name,
            remedy="choose --output jsonl, or --format conllu if it is",
        )  # fmt: skip
    claim = None
    if settings.out is not None and settings.output == "brat":
        named = [settings.text, settings.predictor, *filter(None, [settings.parser])]
        claim = Claim(settings.out, "predict", [each for each in named if str(each) != "-"])
        claim.check()
    predictor = CoordinationPredictor.load(find_predictor(settings.predictor)).to(best_device())
    known = frozenset(word.lower() for word in settings.coordinators or predictor.coordinators)
    tally, sources, unparsed = Tally(), Counter[str](), Counter[str]()
    sentences, cut, begun = 0, 0, time.monotonic()
    found = answers(
        predictor,
        read_sentences(lines, form, tally),
        coordinators=known,
        n=settings.n_best,
        batch_tokens=settings.batch_tokens,
        # A typed sentence is answered at once.
        block=1 if lines.interactive else BLOCK,
        parse=(
            None
            if settings.parser is None
            else parser_of(settings.parser, known.union(map(str.lower, predictor.coordinators)))
        ),
        tau=settings.tau,
    )
    screen = out.isatty()  # words may be of any make; a file has them as they are
    shown = plain_json if settings.output == "jsonl" else plain
    size = None if screen else lines.size
    with Meter("predict, bytes", size) if size else nullcontext() as meter:

        def counted() -> Iterator[SentenceAnswer]:
            nonlocal sentences
            for answer in found:
                sentences += 1
                if claim is not None and (reason := why_not_for_brat(answer)):
                    tally.refuse(reason)
                    continue
                _count(answer, tally, sources)
                if answer.beside and answer.beside.unparsed:
                    unparsed[answer.beside.unparsed] += 1
                yield answer
                if lines.interactive or sentences % BLOCK == 0:
                    out.flush()
                    if meter:
                        meter.at(lines.position, f"{sentences:,} sentences")
            if not sentences:
                raise InputError(
                    "no sentence here", path=lines.name, remedy=f"it was read as {form}"
                )

        if claim is not None:
            with appearing(claim) as folder:
                write_brat(folder, counted())
        else:
            for answer in counted():
                if settings.output == "distributed":
                    cut += phrases_cut(answer)
                text = FORMS[settings.output](answer)
                out.write(shown(text) if screen else text)
        out.flush()
        if meter:
            meter.at(lines.position)
    shares = f" (the parser’s: {sources['parser']:,})" if settings.parser else ""
    more = [f"without a tree: {_listed(unparsed.most_common())}"] if unparsed else []
    more += [f"phrases cut: {cut:,}"] if cut else []
    tell(
        f"[predict] read as {form}: {sentences:,} sentences, "
        f"{sentences / max(time.monotonic() - begun, 1e-9):,.1f}/s; coordinators predicted: {tally.kept:,}"
        f"{shares}; " + "; ".join([f"skipped: {_listed(tally.rows()[1:]) or 'none'}", *more])
    )


def _count(answer: SentenceAnswer, tally: Tally, sources: Counter[str]) -> None:
    for entry in answer.entries:
        if isinstance(entry, Found):
            tally.keep()
            sources[entry.source] += 1
        else:
            tally.refuse(entry.reason)


def _listed(reasons: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in reasons)
