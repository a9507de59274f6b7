"""The ``generate`` stage: a source's units in, shards of candidates and rejects out (§3)."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pipeline.core.console import say, table
from pipeline.core.documents import read_json
from pipeline.core.files import digest_of
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.parquet import MANIFEST
from pipeline.core.tally import Tally
from pipeline.corpus.card import write_card
from pipeline.executor import launch
from pipeline.executor.run import Make, OnBatch, Report, run_units
from pipeline.executor.units import UnitFolder
from pipeline.generate import dry_run
from pipeline.generate.settings import Generate
from pipeline.generate.sources import SCHEMAS, CandidateSource, source_of, tables

ALGORITHM = 3
"""Raise it when a code change changes the rows made from the same settings, inputs and model."""

_SHOWN = {"lm", "sync", "decoding", "spans", "seed"}
"""Settings that the command in the manifest shows even where they are the default."""

_OF_THE_RUN = {"processes", "out", "dry_run"}
"""Settings that it never shows."""


def run(settings: Generate) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        ConjoinError: as ``source_of``.
        InputError: another run writes to the output folder.
    """
    out, source = settings.out or default_out(settings), source_of(settings)

    def units(device: torch.device) -> UnitFolder:
        fingerprint = _fingerprint(settings, source, device)
        # Where the corpus lies is no fact of its rows: equal rows have equal manifests.
        named = settings.model_copy(update={"corpus": Path("data", settings.corpus.resolve().name)})
        command = named.shown_command(settings.usual() - _SHOWN | _OF_THE_RUN)
        return UnitFolder(out, len(source.sizes), SCHEMAS, fingerprint, command)

    if settings.dry_run:
        torch.set_num_threads(settings.threads)
        _forecast(settings, source, units(launch.device()))
        return
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(settings.command_line(), settings.processes, out)
    with launch.working(out, settings.threads) as worker:
        folder = units(worker.device)

        def prepare() -> Make:
            rows_of = source.prepare(worker.device)

            def make(index: int, on_batch: OnBatch) -> None:
                items, lacking = source.items(index)
                rows, notes = rows_of(items, on_batch)
                files = tables(rows)
                refused = Counter(row["reason"] for row in files["rejects"])
                tally = Tally(len(files["candidates"]), refused)
                # What concerns the whole run is noted once, with the first unit.
                whole = {} if index else source.notes
                folder.write(index, files, tally, {**notes, **lacking, **whole})

            return make

        if report := run_units(
            worker, folder, source.sizes, prepare, what="generate", items=source.called
        ):
            _write_card(folder)
            _summary(folder, report, source.called)


def _write_card(folder: UnitFolder) -> None:
    """Let `datasets` load the folder; its manifest stands."""
    manifest = read_json(folder.folder / MANIFEST)
    digests = {
        part: digest_of([each for each in manifest["shards"] if each["file"].startswith(kind)])
        for part, kind in zip(("train", "rejected"), SCHEMAS, strict=True)
    }
    write_card(folder.folder, "Made by", digests, manifest["command"])


def default_out(settings: Generate) -> Path:
    """Where shards go if no folder is named: dvc.yaml's generations have the same names."""
    kind = f"{settings.lm}-{'sync' if settings.sync else 'no-sync'}"
    if settings.fills != "free":
        usual = settings.pool == Generate.model_fields["pool"].default
        kind = f"{settings.fills}-{kind}" if usual else f"{settings.fills}-{settings.pool}-{kind}"
    if settings.trees == "treebank":
        kind += "-gold"
    if settings.decoding != "greedy":
        kind += f"-{settings.decoding}"
    if settings.coordinators:
        kind += "-coordinators"
    if settings.arity != "two":
        kind += "-arity"
    if settings.targets is not None:
        kind += "-targets"
    return settings.corpus / "candidates" / kind / f"seed-{settings.seed}"


def _fingerprint(
    settings: Generate, source: CandidateSource[Any], device: torch.device
) -> Fingerprint:
    """Everything the rows depend on."""
    apart = {"corpus", "processes", "out", "model", "given", "targets", "dry_run", *source.inert}
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=apart),
        inputs=source.inputs(),
        model=source.model(),
        algorithm=ALGORITHM,
        versions=versions_of("pyarrow", "tokenizers", "torch", "transformers"),
        machine={"device": launch.describe(device)},
    )


def _summary(folder: UnitFolder, report: Report, items: str) -> None:
    table(f"candidates in {folder.folder}", ("outcome", "count"), folder.tally().rows())
    _say(folder.notes())
    report.show(items)


def _say(notes: Mapping[str, int]) -> None:
    for note, count in sorted(notes.items()):
        if count:
            say(f"{count:,} {note}")


def _forecast(settings: Generate, source: CandidateSource[Any], folder: UnitFolder) -> None:
    """Print what a run would cost; nothing is written."""
    todo = folder.unmade()
    if not todo:
        say(f"all {folder.count} units are finished and current")
        return
    tried = dry_run.probe_source(source, todo, launch.device())
    if tried is None:
        say(f"{len(todo)} units to make, none of which has any {source.called}")
        return
    dry_run.show(
        source.called, tried, units=(len(todo), folder.count),
        items=sum(source.sizes[unit] for unit in todo),
        processes=settings.processes, out=folder.folder,
    )  # fmt: skip
    _say(source.notes)
