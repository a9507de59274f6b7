"""The ``pair`` stage: training sentences in, event pairs out, and which of them consist of core events."""

from functools import partial
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.core.questions import CORE_PAIRS_FILE
from pipeline.core.tally import Tally
from pipeline.sources.making import RowMaking, make_candidates
from pipeline.tasks.questions.pair.basic import write_core_pairs
from pipeline.tasks.questions.pair.joined import JoinedClausesSource
from pipeline.tasks.questions.pair.settings import TREEBANK, PairSettings

ALGORITHM = 1
"""Raise it when a code change changes the pairs made from the same settings, sentences and trees."""


def _check(folder: Path, tally: Tally) -> None:
    if not tally.kept:
        raise InputError(
            "no sentence gave a pair", path=folder,
            remedy="look at the reasons above; --parser names a parser for sentences without trees",
        )  # fmt: skip


def run(settings: PairSettings) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        ConjoinError: as ``JoinedClausesSource``.
        InputError: another run writes to the output folder; or no pair was found, when all is written.
    """
    source = JoinedClausesSource(settings)
    making = RowMaking(
        algorithm=ALGORITHM,
        packages=("nltk", "pyarrow", "stanza", "torch"),
        shown=frozenset({"parser"}),
        covered=frozenset({"parser"}),
        check=_check,
        whole=CORE_PAIRS_FILE,
        make_whole=partial(write_core_pairs, settings=settings),
    )
    inputs = [] if source.folder is None else [source.folder]
    make_candidates(settings, source, settings.out or default_out(settings), making, inputs)


def default_out(settings: PairSettings) -> Path:
    """Where shards go if no folder is named."""
    name = settings.parser if settings.parser == TREEBANK else Path(settings.parser).resolve().name
    return settings.corpus / "pairs" / name
