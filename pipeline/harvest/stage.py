"""The ``harvest`` stage: training sentences in, their coordinations as shards of candidates out."""

from pathlib import Path

from pipeline.core.candidates import HARVESTED
from pipeline.core.console import warn
from pipeline.harvest.natural_text import NaturalTextSource
from pipeline.harvest.parsed_text import ParsedTextSource
from pipeline.harvest.parsers import parser_kind
from pipeline.harvest.settings import TREEBANK, HarvestSettings
from pipeline.sources.making import RowMaking, make_candidates

ALGORITHM = 5  # 4: copies of L are left out; 5: a parser's *both* stands before the first conjunct
"""Raise it when a code change changes the rows made from the same settings, inputs and parser."""

_MAKING = RowMaking(
    algorithm=ALGORITHM,
    packages=("pyarrow", "stanza", "torch"),
    shown=frozenset({"labelled", "parser", "seed"}),
    facts={"fills": HARVESTED},
)


def run(settings: HarvestSettings) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        ConjoinError: as ``NaturalTextSource`` and ``ParsedTextSource``.
        InputError: another run writes to the output folder.
    """
    parsed = settings.parser == TREEBANK
    source = ParsedTextSource(settings) if parsed else NaturalTextSource(settings)
    if not source.knows_what_was_learned:
        warn(
            "nothing says which sentences this ready parser learned from: those among these it may know "
            "by heart"
        )
    make_candidates(settings, source, settings.out or default_out(settings), _MAKING)


def default_out(settings: HarvestSettings) -> Path:
    """Where shards go if no folder is named."""
    if settings.parser == "labelled":
        name = parser_kind(settings)
    else:
        whose = TREEBANK if settings.parser == TREEBANK else settings.trees
        name = settings.labelled if whose is None else f"{whose}-{settings.labelled}"
    return settings.corpus / "candidates" / f"harvest-{name}" / f"seed-{settings.seed}"
