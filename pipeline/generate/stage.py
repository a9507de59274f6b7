"""The ``generate`` stage: trees of U in, shards of candidates and rejects out (§3)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow
import tokenizers
import torch
import transformers

from pipeline.core.console import say, table
from pipeline.core.files import sha256_of
from pipeline.core.fingerprint import code_digest
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import CANDIDATES, REJECTS, candidate_row, reject_row
from pipeline.core.tally import Tally
from pipeline.core.tree_rows import TREES_FOLDER
from pipeline.core.types import Candidate, Reference, Reject
from pipeline.executor import launch
from pipeline.executor.run import Make, OnBatch, Report, run_units
from pipeline.executor.units import UnitFolder
from pipeline.generate import dry_run as forecast
from pipeline.generate.plan import Plan, make_plan, seeds_of
from pipeline.generate.settings import Generate
from pipeline.infill import Infiller, fill, load_infiller, task_of
from pipeline.infill.candidates import make_candidates
from pipeline.models.language_models import check_language_model
from pipeline.models.loading import identity, locate

CUT = "fills cut at three times the reference's length"
"""Fills that T5 did not end by itself: the paper's limit is kept (§3.2.2), but not in silence."""

WITHOUT = "sentences without a reference span"

_SHOWN = {"lm", "sync", "decoding", "spans", "seed"}
"""Settings that the command in the manifest shows even where they are the default."""

_OF_THE_RUN = {"processes", "out", "dry_run"}
"""Settings that it never shows."""

_SCHEMAS = {"candidates": CANDIDATES, "rejects": REJECTS}


def run(settings: Generate) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        InputError: no trees, no reference spans, or another run writes to the output folder.
        SettingsError: a decoding that cannot give as many fills, or spans=given without a file.
        ModelError: the model lacks a mask token or sentinels.
    """
    out, task = settings.out or default_out(settings), task_of(settings)
    plan = make_plan(settings)
    where = locate(settings.model or f"models/{settings.lm}", settings.corpus, settings.seed)
    check_language_model(settings.family, where)  # before any worker is launched

    def load(device: torch.device) -> Infiller[Any]:
        dtype = getattr(torch, settings.dtype)
        return load_infiller(settings.family, where, task, dtype=dtype, device=device)

    def units(device: torch.device) -> UnitFolder:
        command = settings.shown_command(settings.usual() - _SHOWN | _OF_THE_RUN)
        return UnitFolder(out, plan.units, _SCHEMAS, _about(settings, where, device), command)

    if settings.dry_run:
        torch.set_num_threads(settings.threads)
        _forecast(settings, plan, units(launch.device()), lambda: load(launch.device()))
        return
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(settings.command_line(), settings.processes, out)
    with launch.working(out, settings.threads) as worker:
        folder = units(worker.device)

        def prepare() -> Make:
            infiller = load(worker.device)

            def make(index: int, on_batch: OnBatch) -> None:
                references, without = plan.references(index)
                rows, notes = decode_unit(references, infiller, settings, on_batch)
                _write(folder, index, rows, {**notes, WITHOUT: without})

            return make

        sizes = [plan.pairs_at_most(index) for index in range(plan.units)]
        if report := run_units(worker, folder, sizes, prepare, what="generate", items="pairs"):
            _summary(folder, report)


def decode_unit(
    unit: Sequence[Reference],
    infiller: Infiller[Any],
    settings: Generate,
    on_batch: OnBatch = lambda *_: None,
) -> tuple[list[Candidate | Reject], Counter[str]]:
    """The rows of one unit, in the order of its references, and counts of what they do not say.

    The batches are a pure function of the unit and the settings, so whoever decodes the unit gets
    the same floating-point sums.
    """
    fills = fill(infiller, unit, settings.batch_tokens, on_batch)
    rows = [
        row
        for reference, found in zip(unit, fills, strict=True)
        for row in make_candidates(reference, found, settings.coordinator)
    ]
    return rows, Counter({CUT: sum(each.cut for found in fills for each in found)})


def _write(
    folder: UnitFolder, index: int, rows: Sequence[Candidate | Reject], notes: Mapping[str, int]
) -> None:
    kept = [candidate_row(row) for row in rows if isinstance(row, Candidate)]
    rejects = [row for row in rows if isinstance(row, Reject)]
    tally = Tally(len(kept), Counter(reject.reason for reject in rejects))
    files = {"candidates": kept, "rejects": [reject_row(reject) for reject in rejects]}
    folder.write(index, files, tally, notes)


def default_out(settings: Generate) -> Path:
    """Where shards go if no folder is named: dvc.yaml's generations have the same names."""
    kind = f"{settings.lm}-{'sync' if settings.sync else 'no-sync'}"
    if settings.trees == "treebank":
        kind += "-gold"
    if settings.decoding != "greedy":
        kind += f"-{settings.decoding}"
    return settings.corpus / "candidates" / kind / f"seed-{settings.seed}"


def _about(settings: Generate, where: str, device: torch.device) -> dict[str, Any]:
    """Everything the rows depend on; its digest is the shards' fingerprint."""
    given = settings.given
    apart = {"corpus", "processes", "out", "model", "given", "dry_run"} | _inert(settings)
    return {
        "settings": settings.model_dump(mode="json", exclude=apart),
        "model": identity(where),
        "inputs": {
            **_trees(settings),
            "given": sha256_of(given) if given else None,
        },
        "code": code_digest(__name__),
        "versions": {
            "pyarrow": pyarrow.__version__,
            "tokenizers": tokenizers.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "device": launch.describe(device),
    }


def _trees(settings: Generate) -> dict[str, Any]:
    """What the spans are drawn from; a parser that was trained again is nothing to gold trees."""
    folder = settings.corpus / TREES_FOLDER
    if settings.trees == "parsed":
        return {"trees": sha256_of(folder / MANIFEST)}
    return {
        "sentences": sha256_of(settings.corpus / "sentences.parquet"),
        "seeds": seeds_of(folder),
    }


def _inert(settings: Generate) -> set[str]:
    """Settings that change no row beside the others; nor do they make a shard stale."""
    inert = set()
    if settings.decoding != "sample":
        inert |= {"temperature", "top_p"}
    if settings.decoding != "n-best" or settings.family == "bert":
        inert |= {"beams"}
    if settings.spans == "given":
        inert |= {"references"}
    return inert


def _summary(folder: UnitFolder, report: Report) -> None:
    table(f"candidates in {folder.folder}", ("outcome", "count"), folder.tally().rows())
    for note, count in sorted(folder.notes().items()):
        if count:
            say(f"{count:,} {note}")
    report.show("pairs")


def _forecast(
    settings: Generate, plan: Plan, folder: UnitFolder, load: Callable[[], Infiller[Any]]
) -> None:
    """Print what a run would cost; nothing is written."""
    todo = folder.unmade()
    units, pairs = (len(todo), plan.units), sum(map(plan.pairs_at_most, todo))
    if not todo:
        say(f"all {plan.units} units are finished and current")
        return
    infiller = load()
    with TemporaryDirectory() as scratch:

        def work(references: Sequence[Reference]) -> int:
            rows, notes = decode_unit(references, infiller, settings)
            trial = UnitFolder(Path(scratch), 1, _SCHEMAS, {})
            _write(trial, 0, rows, notes)
            return sum(trial.path(kind, 0).stat().st_size for kind in _SCHEMAS)

        # The first unit that has references; make_plan saw to it that there is one.
        units_of_todo = (plan.references(index)[0] for index in todo)
        sample = next((each for each in units_of_todo if each), None)
        if sample is None:
            say(f"{len(todo)} units to make, none of which has a reference span")
            return
        tried = forecast.probe(work, sample)
    forecast.show(
        "pairs", tried, units=units, items=pairs, processes=settings.processes, out=folder.folder
    )
