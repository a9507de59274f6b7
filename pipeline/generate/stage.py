"""The ``generate`` stage: a source's units in, shards of candidates and rejects out (§3)."""

from pathlib import Path

from pipeline.core.console import warn
from pipeline.core.corpus_folder import coordinators_of
from pipeline.core.errors import ModelError
from pipeline.core.tally import Tally
from pipeline.generate.settings import TREEBANK, GenerateSettings
from pipeline.generate.sources import source_of
from pipeline.generate.variety import require_varied
from pipeline.infill.base import TOO_LONG
from pipeline.sources.making import RowMaking, make_candidates

ALGORITHM = 6  # 6: copies are known however they are spelled; lists of numbers stay apart
"""Raise it when a code change changes the rows made from the same settings, inputs and model."""

_MANY_TOO_LONG = 0.05  # of what was tried: fewer are not worth another model


def require_room(tally: Tally) -> None:
    """Say what to do where many references do not fit into the model.

    Raises:
        ModelError: none does.
    """
    count = tally.refused[TOO_LONG]
    remedy = (
        "another --model may read more tokens (of a causal LM the prompt counts, too), or, for bert and t5, "
        "one of `conjoin pretrain` with a greater --max-length"
    )
    if count == tally.seen > 0:
        raise ModelError(f"all of what was tried is {TOO_LONG}", remedy=remedy)
    if count >= _MANY_TOO_LONG * tally.seen > 0:
        warn(f"{count / tally.seen:.0%} of what was tried is {TOO_LONG}: {remedy}")


def _check(folder: Path, tally: Tally) -> None:
    require_room(tally)
    require_varied(folder)


_MAKING = RowMaking(
    algorithm=ALGORITHM,
    packages=("pyarrow", "tokenizers", "torch", "transformers"),
    shown=frozenset({"lm", "sync", "decoding", "spans", "seed"}),
    covered=frozenset({"model", "given", "served", "remote", "key_env", "scorer", "replay"}),
    check=_check,
    facts={"refine": 1},  # a setting that there is no more: finished candidates stay current
)


def run(settings: GenerateSettings) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        ConjoinError: as ``source_of``.
        InputError: another run writes to the output folder.
        ModelError: as ``require_room`` and ``require_varied``, when all is written.
    """
    settings = with_coordinator(settings)
    out = settings.out or default_out(settings)
    named = [settings.given, settings.targets, settings.scorer]
    # A served model's name may look like a path here, and is none.
    named += [] if settings.proposes else [settings.model]
    inputs = [Path(each) for each in named if each]
    make_candidates(settings, source_of(settings), out, _MAKING, inputs, replayed=settings.replay)


def with_coordinator(settings: GenerateSettings) -> GenerateSettings:
    """The settings with the coordinator to insert: unless something is said of it, the corpus's usual one."""
    said = {"coordinator", "coordinators", "targets"} & {
        name for name in settings.model_fields_set if getattr(settings, name) is not None
    }
    if said:
        return settings
    return settings.model_copy(update={"coordinator": coordinators_of(settings.corpus)[0]})


def default_out(settings: GenerateSettings) -> Path:
    """Where shards go if no folder is named: dvc.yaml's generations have the same names."""
    kind = f"{settings.lm}-{'sync' if settings.sync else 'no-sync'}"
    if settings.fills != "free":
        usual = settings.pool == GenerateSettings.model_fields["pool"].default
        kind = f"{settings.fills}-{kind}" if usual else f"{settings.fills}-{settings.pool}-{kind}"
    elif settings.proposes:
        kind = f"served-{kind}"
    if settings.trees == TREEBANK:
        kind += "-gold"
    elif settings.named is not None:
        kind += f"-{settings.trees}-{settings.labelled}"
    if settings.decoding != "greedy":
        kind += f"-{settings.decoding}"
    if settings.ranking and settings.fills != "free":
        kind += f"-{settings.ranking}"
    if settings.coordinators:
        kind += "-coordinators"
    if settings.arity != "two":
        kind += "-arity"
    if settings.gap:
        kind += "-gap"
    if settings.targets is not None:
        kind += "-targets"
    return settings.corpus / "candidates" / kind / f"seed-{settings.seed}"
