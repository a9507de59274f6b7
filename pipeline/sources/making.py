"""A folder of candidates made of a source's units: workers, shards, manifest, card, and what is printed.

The first kind of a source's files has the rows that are kept, the kind ``rejects`` the others.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from pipeline.core.annotation import as_json
from pipeline.core.candidates import HARVESTED
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.claims import Claim, Listed, mark_of
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import inputs_in
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, resolved, sweep
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.parquet import COMPLETIONS, MANIFEST, RECORDS, fingerprint_in
from pipeline.core.settings import SourceSettings
from pipeline.core.tally import Tally
from pipeline.corpus.card import CARD, is_card, write_card
from pipeline.corpus.handing_on import require_home_of_text
from pipeline.executor import launch
from pipeline.executor.growing import same_unit_of_earlier_plan
from pipeline.executor.run import Make, OnBatch, RunReport, run_units
from pipeline.executor.units import (
    UnitContent,
    UnitFolder,
    patterns_of,
    read_or_nothing,
    written_units,
)
from pipeline.sources import dry_run
from pipeline.sources.protocol import AskingSource, CandidateSource, GrowingSource, WordedSource

CANDIDATES = "candidates"
"""The kind of rows that training takes, and `datasets` loads by a card; others only lead to such."""

_OF_THE_RUN = {"processes", "out", "own_use", "dry_run"}
"""Settings that change no row, and that the command in the manifest never shows."""


@dataclass(frozen=True, slots=True)
class RowMaking:
    """What a stage says of the rows that its sources make.

    Attributes:
        algorithm: the stage's number.
        packages: whose versions the rows depend on.
        shown: settings that the command in the manifest shows even where they are the default.
        covered: settings that the fingerprint has as inputs or as the model.
        facts: what it has besides the settings, as if it were one.
        check: looks at the finished folder and its counts, says what could be better, and raises where its
            candidates are of no use; None: nothing does.
        whole: a file that is made of all units; "": there is none.
        make_whole: makes it, anew by every run, when the units stand (``UnitFolder.write_whole``).
    """

    algorithm: int
    packages: Sequence[str]
    shown: Set[str]
    covered: Set[str] = frozenset()
    facts: Mapping[str, str | int] = field(default_factory=dict)
    check: Callable[[Path, Tally], None] | None = None
    whole: str = ""
    make_whole: Callable[[UnitFolder], None] | None = None


def make_candidates(
    settings: SourceSettings,
    source: CandidateSource[Any],
    out: Path,
    making: RowMaking,
    inputs: Sequence[Path] = (),
    *,
    replayed: Path | None = None,
    home: Path | None = None,
) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Args:
        settings: the stage's.
        source: made from them.
        out: the folder of the candidates.
        making: what the stage says of its rows.
        inputs: what is read beside the corpus.
        replayed: an earlier output whose completions are read; it may be ``out``.
        home: the corpus folder that the rows' text is of; None: the one that the settings name.

    Raises:
        ConjoinError: of the source.
        InputError: another run writes to the output folder, or something else is in it, or completions that
            are read and would be removed; or it lies outside the corpus folder, and a licence keeps the text
            there.
        ConjoinError: of ``making.check``.
    """
    if replayed is not None and resolved(replayed) != resolved(out):
        inputs = [*inputs, replayed]
    elif replayed is not None:
        _require_completions_of(len(source.sizes), out)
    claim = Claim(
        out, settings.stage, [*inputs_in(home or settings.corpus), *inputs],
        partial(_earlier, stage=settings.stage, making=making, kinds=tuple(source.schemas)),
        parts=[*patterns_of(source.schemas), CARD, *filter(None, [making.whole])],
    )  # fmt: skip
    claim.check()
    kind = next(iter(source.schemas))
    if not settings.own_use:
        require_home_of_text(out, home or settings.corpus, source.text_file, source.added)

    items = lru_cache(maxsize=1)(source.items)  # a unit's are read to make it, and for its record

    def units(device: torch.device) -> UnitFolder:
        fingerprint = _fingerprint(settings, source, device, making)
        # Where the corpus lies is no fact of its rows: equal rows have equal manifests.
        known = {} if home else {"corpus": Path("data", settings.corpus.resolve().name)}
        named = settings.model_copy(update=known)
        command = named.shown_command(settings.usual() - making.shown | _OF_THE_RUN)
        record = as_json(source.annotation())
        content = None
        if isinstance(source, GrowingSource):
            content = UnitContent(lambda index: _content_of_unit(*items(index)), source.told)
        return UnitFolder(
            out, len(source.sizes), source.schemas, fingerprint, command, record, content, source.notes
        )  # fmt: skip

    if settings.dry_run:
        torch.set_num_threads(settings.threads)
        _forecast(settings, source, units(best_device()))
        return
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(
            settings.command_line(), settings.processes, out, gpus=source.gpus, claim=claim
        )
    with launch.working(out, settings.threads, claim) as worker:
        folder = units(worker.device)

        def prepare() -> Make:
            rows_of = source.prepare(worker.device)

            def make(index: int, on_batch: OnBatch) -> None:
                asked, lacking = items(index)
                if isinstance(source, AskingSource):
                    source.keep_in(folder.answers(index))
                rows, notes = rows_of(asked, on_batch)
                if isinstance(source, AskingSource):
                    source.settle()
                files = source.tables(rows)
                refused = Counter(row["reason"] for row in files["rejects"])
                tally = Tally(len(files[kind]), refused)
                folder.write(index, files, tally, {**notes, **lacking})

            return make

        report = run_units(
            worker, folder, source.sizes, prepare, what=settings.stage, items=source.called,
            words=source.words if isinstance(source, WordedSource) else (),
        )  # fmt: skip
        if report:
            if kind == CANDIDATES:
                _write_card(folder)
            _summary(folder, report, kind, source.called)
            if making.make_whole:
                making.make_whole(folder)
    if report and making.check:
        making.check(out, folder.tally())


def _content_of_unit(items: Sequence[Any], lacking: Mapping[str, int]) -> list[Any]:
    """What the items of a unit say, and the counts of what gave none, where there are any."""
    counted = {name: count for name, count in lacking.items() if count}
    return [*map(_content, items), *([counted] if counted else [])]


def _content(item: Any) -> dict[str, Any]:
    """What an item says; the coordinators of a sentence's corpus are among the inputs."""
    return {name: value for name, value in asdict(item).items() if name != "coordinators"}


def _require_completions_of(count: int, out: Path) -> None:
    """Check that a folder's completions are of as many units as a run will make: others it would remove.

    Raises:
        InputError: they are not.
    """
    for path in sorted((out / RECORDS).glob(f"{COMPLETIONS}-*-of-*.jsonl")):
        if not path.stem.endswith(f"-of-{count:05d}"):
            raise InputError(
                f"its completions are replayed, and are not of {count:,} units, so this run would remove "
                f"them, {path.name} first",
                path=out, remedy="name another --out",
            )  # fmt: skip


def _earlier(out: Path, stage: str, making: RowMaking, kinds: Sequence[str]) -> Listed:
    """The files that earlier runs of the stage wrote into a folder; None where there are none of runs.

    Raises:
        InputError: they are another command's.
    """
    manifest, by = read_or_nothing(out / MANIFEST), ""
    command = str(manifest.get("command", "")).split()
    if "selection" in manifest or "generations" in manifest:
        by = "by `conjoin select` or `merge`"
    elif len(command) > 1 and command[1] != stage:
        by = f"by `conjoin {command[1]}`"
    abouts = list((out / RECORDS).glob("about-*.json"))
    for about in abouts:
        settings = read_or_nothing(about).get("settings", {})
        if (settings.get("fills") == HARVESTED) != (making.facts.get("fills") == HARVESTED):
            by = "by another command"
    if by:
        raise InputError(
            f"there is something else here already, {by}", path=out, remedy="name a new folder"
        )
    written = written_units(out, kinds)
    if making.whole and fingerprint_in(out / making.whole) is not None:
        written.add(making.whole)
    # A run that is killed before it has written what it is of has left its mark alone.
    if not abouts and MANIFEST not in written and mark_of(out, stage) is None:
        return None
    return written | {CARD} if is_card(out / CARD) else written


def _fingerprint(
    settings: SourceSettings, source: CandidateSource[Any], device: torch.device, making: RowMaking
) -> Fingerprint:
    """Everything the rows depend on."""
    apart = {"corpus", *_OF_THE_RUN, *making.covered, *source.inert}
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=apart) | dict(making.facts),
        inputs=source.inputs(),
        model=source.model(),
        algorithm=making.algorithm,
        versions=versions_of(*making.packages),
        machine={"device": launch.describe(device)},
    )


def _write_card(folder: UnitFolder) -> None:
    """Let `datasets` load the folder; its manifest stands."""
    manifest = read_json(folder.folder / MANIFEST, CandidatesManifest, needs=["shards"])
    shards = {
        part: [each for each in manifest["shards"] if each["file"].startswith(kind)]
        for part, kind in zip(("train", "rejected"), folder.schemas, strict=True)
    }
    rows = {part: sum(each["rows"] for each in own) for part, own in shards.items()}
    digests = {part: digest_of(own) for part, own in shards.items()}
    sweep(folder.folder / CARD)  # half written, by a run that was killed
    write_card(folder.folder, "Made by", rows, digests, manifest["command"])


def _summary(folder: UnitFolder, report: RunReport, kind: str, items: str) -> None:
    table(f"{kind} in {folder.folder}", ("outcome", "count"), folder.tally().rows())
    _say(folder.notes())
    report.show(items)


def _say(notes: Mapping[str, int]) -> None:
    for note, count in sorted(notes.items()):
        if count:
            say(f"{count:,} {note}")


def _forecast(settings: SourceSettings, source: CandidateSource[Any], folder: UnitFolder) -> None:
    """Print what a run would cost; nothing is written."""
    todo = [unit for unit in folder.unmade() if same_unit_of_earlier_plan(folder, unit) is None]
    if not todo:
        say(f"all {folder.count} units are finished and current, or an earlier run's")
        return
    tried = dry_run.probe_source(source, todo, best_device())
    if tried is None:
        say(f"{len(todo)} units to make, none of which has any {source.called}")
        return
    dry_run.show(
        source.called, tried, units=(len(todo), folder.count),
        items=sum(source.sizes[unit] for unit in todo),
        words=sum(source.words[unit] for unit in todo) if isinstance(source, WordedSource) else 0,
        processes=settings.processes, out=folder.folder, kept=isinstance(source, AskingSource),
    )  # fmt: skip
    _say(source.notes)
