"""``conjoin predict``: the coordinations of new sentences, with brackets and probabilities."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TextIO

from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, plain, plain_json, tell
from pipeline.core.device import best_device
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.text.lines import NumberedLines, open_lines
from pipeline.text.unpacking import UnpackingAllowance
from pipeline.trying.predict.answers import (
    BLOCK,
    FORMS,
    Found,
    SentenceAnswer,
    answers,
    write_brat,
)
from pipeline.trying.predict.parsed import parse_with
from pipeline.trying.predict.sentences import format_of, read_sentences
from pipeline.trying.predict.settings import PredictSettings


def run(settings: PredictSettings) -> None:
    """Print the structures of every coordinator, and at the end a summary on standard error.

    When the reader of the output stops (``| head``), this ends too, without a message.

    Raises:
        InputError: the file is missing, without sentences, or malformed somewhere.
        ModelError: the predictor cannot be loaded.
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
    predictor = CoordinationPredictor.load(settings.predictor).to(best_device())
    tally, sources = Tally(), Counter[str]()
    sentences, begun = 0, time.monotonic()
    found = answers(
        predictor,
        read_sentences(lines, form, tally),
        coordinators=frozenset(word.lower() for word in settings.coordinators),
        n=settings.n_best,
        batch_tokens=settings.batch_tokens,
        # A typed sentence is answered at once.
        block=1 if lines.interactive else BLOCK,
        parse=None if settings.parser is None else parse_with(settings.parser),
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
                for entry in answer.entries:
                    if isinstance(entry, Found):
                        tally.keep()
                        sources[entry.source] += 1
                    else:
                        tally.refuse(entry.reason)
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
                write_brat(folder, counted(), tally)
        else:
            for answer in counted():
                text = FORMS[settings.output](answer)
                out.write(shown(text) if screen else text)
        out.flush()
        if meter:
            meter.at(lines.position)
    shares = f" (the parser’s: {sources['parser']:,})" if settings.parser else ""
    _sum_up(tally, shares, sentences, form, time.monotonic() - begun)


def _sum_up(tally: Tally, shares: str, sentences: int, form: str, seconds: float) -> None:
    """One line: what was read and predicted, what was not, and how fast."""
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in tally.rows()[1:])
    tell(
        f"[predict] read as {form}: {sentences:,} sentences, {sentences / max(seconds, 1e-9):,.1f}/s; "
        f"coordinators predicted: {tally.kept:,}{shares}; skipped: {skipped or 'none'}"
    )
