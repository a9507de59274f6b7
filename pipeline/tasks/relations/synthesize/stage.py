"""The ``synthesize`` stage: a run's confusions in, shards of new pairs and rejects out."""

from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.executor.launch import in_launch
from pipeline.sources.making import RowMaking, make_candidates
from pipeline.sources.protocol import CandidateSource
from pipeline.tasks.relations.synthesize.attested import AttestedPairs
from pipeline.tasks.relations.synthesize.confused import Confused, confused
from pipeline.tasks.relations.synthesize.oracle import WorldWriter
from pipeline.tasks.relations.synthesize.prompted import PromptedModel
from pipeline.tasks.relations.synthesize.rows import DOUBTS
from pipeline.tasks.relations.synthesize.settings import MODELS, SynthesizeSettings
from pipeline.tasks.relations.synthesize.written import WrittenPairs

ALGORITHM = 8  # 8: commas that set a connective off go where text is not in tokens, too
"""Raise it when a code change changes the rows made from the same settings, inputs and model."""


def _check(folder: Path, tally: Tally) -> None:
    if not tally.kept:
        raise InputError(
            "no new pair was kept", path=folder,
            remedy="look at the reasons above"
            + ("; --filter none keeps what is only doubtful" if tally.refused.keys() & DOUBTS else ""),
        )  # fmt: skip


_NAMED = (
    "run", "model", "served", "remote", "key_env", "replay", "neighbours", "definitions", "source",
)  # fmt: skip
"""Places of what the inputs and the model tell by its content."""

_MAKING = RowMaking(
    algorithm=ALGORITHM,
    packages=("pyarrow", "tokenizers", "torch", "transformers"),
    shown=frozenset({"writer", "seed"}),
    # Of these the inputs and the model say what matters: a replay makes the rows of what it replays.
    covered=frozenset({*_NAMED, "writer", "filter", "dtype"}),
    check=_check,
)


def run(settings: SynthesizeSettings) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        ConjoinError: of the run, its model, or the writer.
        InputError: another run writes to the output folder; or nothing was kept, when all is written.
    """
    known = confused(settings)
    if not in_launch():
        known.show()
    out = settings.out or default_out(settings)
    named: list[Path] = [settings.run_folder]
    named += [] if settings.definitions is None else [settings.definitions]
    make_candidates(
        settings, source_of(settings, known), out, _MAKING, named, replayed=settings.replay
    )


def source_of(settings: SynthesizeSettings, known: Confused) -> CandidateSource[Any]:
    """The source that ``settings.writer`` names.

    Raises:
        ConjoinError: its inputs or its model are missing.
    """
    if settings.writer in MODELS:
        return WrittenPairs(settings, known, PromptedModel(settings, known))
    if settings.writer == "oracle":
        return WrittenPairs(settings, known, WorldWriter(settings))
    return AttestedPairs(settings, known)


def default_out(settings: SynthesizeSettings) -> Path:
    """Where shards go if no folder is named."""
    name: str = "attested-pairs" if settings.writer == "attested" else settings.writer
    if settings.confused == "random":
        name += "-random"
    if settings.filter is not None:
        name += "-unfiltered" if settings.filter == "none" else f"-filtered-by-{settings.filter}"
    return settings.corpus / "candidates" / name / f"seed-{settings.seed}"
