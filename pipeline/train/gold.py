"""The sentences that a parser learned from, so that the predictor may learn from them, too.

A parser of 2,500 gold trees has seen the coordinations in them, which are not in L. A predictor that learns
from these as well is the rival of candidates that such a parser makes.
"""

from pathlib import Path

from pipeline.core.draws import gold_of
from pipeline.core.errors import InputError
from pipeline.core.types import Sentence


def sentences_of_parser(corpus: Path, folder: Path) -> list[Sentence]:
    """Those whose trees a parser learned from, not those that chose its epoch, in the order of their ids.

    Args:
        corpus: the corpus folder.
        folder: the parser's.

    Raises:
        InputError: there is no parser, nothing says what it learned from, or a sentence is not one of the
            corpus's training split.
    """
    from pipeline.parsing.card import LEARNED, what_it_learned  # noqa: PLC0415 - stanza takes seconds

    learned = what_it_learned(folder)
    if learned is None:
        raise InputError(
            "a ready parser, of which nobody says what it learned from", path=folder,
            remedy="name the folder of one that conjoin trained, with --gold-of",
        )  # fmt: skip
    trees = set(learned["trees"])
    found = gold_of(
        corpus, trees, folder / LEARNED, "the parser learned from",
        "name a parser that was trained on this corpus as it is now",
    )  # fmt: skip
    return [found[sentence_id] for sentence_id in sorted(trees)]
