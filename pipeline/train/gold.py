"""The sentences that a parser learned from, so that the predictor may learn from them, too.

A parser of 2,500 gold trees has seen the coordinations in them, which are not in L. A predictor that learns
from these as well is the rival of candidates that such a parser makes. Where another corpus lends the parser,
they are that corpus's.
"""

from pathlib import Path

from pipeline.core.corpus_folder import corpus_around, corpus_name
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
            training split of ``corpus_of_parser``.
    """
    from pipeline.parsing.card import (  # noqa: PLC0415 - stanza takes seconds
        LEARNED,
        what_it_learned,
        where_trained,
    )

    learned = what_it_learned(folder)
    if learned is None:
        raise InputError(
            "a ready parser, of which nobody says what it learned from", path=folder,
            remedy="name the folder of one that conjoin trained, with --gold-of",
        )  # fmt: skip
    trees = set(learned["trees"])
    found = gold_of(
        corpus_of_parser(corpus, folder), trees, where_trained(folder) / LEARNED,
        "the parser learned from",
        "train the parser again, on its corpus as that is now",
    )  # fmt: skip
    return [found[sentence_id] for sentence_id in sorted(trees)]


def corpus_of_parser(corpus: Path, folder: Path) -> Path:
    """The folder of the corpus whose sentences a parser learned from: where it was trained, or ``corpus``.

    Raises:
        InputError: there is no parser, or a card is damaged.
    """
    from pipeline.parsing.card import where_trained  # noqa: PLC0415 - stanza takes seconds

    return corpus_around(where_trained(folder).resolve()) or corpus


def shown_parser(corpus: Path, folder: Path) -> str:
    """A parser's folder as a run records it: its path in its corpus, behind another corpus's name.

    Args:
        corpus: the corpus folder of the run.
        folder: the parser's; of one that lies in no corpus its name says enough.
    """
    if folder.is_relative_to(corpus):
        return str(folder.relative_to(corpus))
    place = folder.resolve()
    if (home := corpus_around(place)) is None:
        return folder.name
    return f"{corpus_name(home)}/{place.relative_to(home)}"
