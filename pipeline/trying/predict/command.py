"""``conjoin predict``: the coordinations of new sentences, with brackets and probabilities."""

import os
import signal
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TextIO

from pipeline.core.console import Meter, plain, plain_json, tell
from pipeline.core.device import best_device
from pipeline.core.errors import InputError, ModelError
from pipeline.core.tally import Tally
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.named_predictor import find_predictor
from pipeline.text.lines import NumberedLines, open_lines
from pipeline.text.unpacking import UnpackingAllowance
from pipeline.trying.predict.answers import BLOCK, FORMS, Found, Parse, answers
from pipeline.trying.predict.sentences import format_of, read_sentences
from pipeline.trying.predict.settings import PredictSettings


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
    predictor = CoordinationPredictor.load(find_predictor(settings.predictor)).to(best_device())
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
        parse=None if settings.parser is None else _parse(settings.parser),
        tau=settings.tau,
    )
    screen = out.isatty()  # words may be of any make; a file has them as they are
    shown = plain_json if settings.output == "jsonl" else plain
    size = None if screen else lines.size
    with Meter("predict, bytes", size) if size else nullcontext() as meter:
        for answer in found:
            sentences += 1
            for entry in answer.entries:
                if isinstance(entry, Found):
                    tally.keep()
                    sources[entry.source] += 1
                else:
                    tally.refuse(entry.reason)
            text = FORMS[settings.output](answer)
            out.write(shown(text) if screen else text)
            if lines.interactive or sentences % BLOCK == 0:
                out.flush()
                if meter:
                    meter.at(lines.position, f"{sentences:,} sentences")
        out.flush()
        if meter:
            meter.at(lines.position)
    if not sentences:
        raise InputError("no sentence here", path=lines.name, remedy=f"it was read as {form}")
    shares = f" (the parser’s: {sources['parser']:,})" if settings.parser else ""
    _sum_up(tally, shares, sentences, form, time.monotonic() - begun)


def _parse(folder: Path) -> Parse:
    """The parser of a folder, or of a corpus folder.

    Raises:
        InputError: there is none.
        ModelError: it cannot be loaded, or reads part-of-speech tags, which text does not have.
    """
    # Stanza takes seconds, and not everybody asks for a parser.
    from pipeline.evaluate.parsers import structures_in  # noqa: PLC0415
    from pipeline.parsing.card import corpus_parser  # noqa: PLC0415
    from pipeline.parsing.parser import CARD  # noqa: PLC0415

    places = [place for place in (folder, folder / "parser") if (place / CARD).is_file()]
    if not places:
        raise InputError(
            "no parser here",
            path=folder,
            remedy="name the folder of one, or of a corpus that has one",
        )
    parser = corpus_parser(places[0])
    if parser.needs_tags:
        raise ModelError(
            "this parser reads part-of-speech tags, which are not predicted here", path=folder,
            remedy="train one with --tags none",
        )  # fmt: skip
    return lambda sentences: structures_in(parser, sentences).found


def _sum_up(tally: Tally, shares: str, sentences: int, form: str, seconds: float) -> None:
    """One line: what was read and predicted, what was not, and how fast."""
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in tally.rows()[1:])
    tell(
        f"[predict] read as {form}: {sentences:,} sentences, {sentences / max(seconds, 1e-9):,.1f}/s; "
        f"coordinators predicted: {tally.kept:,}{shares}; skipped: {skipped or 'none'}"
    )
