"""What a run will cost before it is started: units, time and disk, from a short probe (``--dry-run``)."""

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import torch

from pipeline.core.console import table
from pipeline.core.parquet import write_rows
from pipeline.sources.protocol import AskingSource, CandidateSource, WordedSource

_T = TypeVar("_T")

_FIRST = 16
"""Items of the first trial, which also warms the caches and is not counted."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What was tried: ``items`` done in ``seconds``, ``size`` bytes when written.

    ``words`` are those of the items, where it is these that take time.
    """

    items: int
    seconds: float
    size: int
    words: int = 0


def probe(
    work: Callable[[Sequence[_T]], int],
    items: Sequence[_T],
    enough: float = 5.0,
    first: int = _FIRST,
    *,
    again: bool = True,
) -> Probe:
    """Do some of the work and time it.

    Each trial is twice as large as the one before, until one takes ``enough`` seconds or takes all
    items; the last counts, since small batches are slower than those of the run.

    Args:
        work: does items and returns their size in bytes.
        items: one unit's.
        enough: seconds of the last trial.
        first: items of the first.
        again: whether an item takes as long a second time; else each trial has other ones.
    """

    def trial(place: int, count: int) -> Probe:
        begun = time.perf_counter()
        written = work(items[place : place + count])
        return Probe(count, time.perf_counter() - begun, written)

    place, count = 0, min(first, len(items))
    tried = trial(place, count)
    while again or place + count < len(items):
        place += 0 if again else count
        count = min(2 * count, len(items) - place)
        tried = trial(place, count)
        if tried.seconds >= enough or count == len(items):
            break
    return tried


def probe_source(
    source: CandidateSource[Any], units: Iterable[int], device: torch.device, enough: float = 5.0
) -> Probe | None:
    """Make the first items of the first of some units that has any; None if none has.

    Args:
        source: of the candidates.
        units: numbers of units.
        device: where the model runs.
        enough: seconds of the last trial.
    """
    sample = next((items for items, _ in map(source.items, units) if items), None)
    if sample is None:
        return None
    make = source.prepare(device)
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "trial.parquet"

        def work(items: Sequence[Any]) -> int:
            written = 0
            for kind, rows in source.tables(make(items, lambda *_: None)[0]).items():
                write_rows(path, source.schemas[kind], rows)
                written += path.stat().st_size
            return written

        if isinstance(source, AskingSource):
            # What was answered is not asked again; and a few long answers tell what others take.
            return probe(work, sample, enough, first=1, again=False)
        if isinstance(source, WordedSource):
            # Whole batches, as in the run.
            tried = probe(work, sample, enough, first=max(1, source.at_once // 2))
            return replace(tried, words=source.words_of(sample[: tried.items]))
        return probe(work, sample, enough)


_LONG = 600.0  # seconds a unit, from which on it is said what losing one costs


def show(
    what: str,
    tried: Probe,
    *,
    units: tuple[int, int],
    items: int,
    processes: int,
    out: Path,
    words: int = 0,
    kept: bool = False,
) -> None:
    """Print what a run would do.

    Args:
        what: what the items are called.
        tried: the probe.
        units: units to make, and all units.
        items: items in the units to make.
        processes: worker processes, each as fast as the one that was tried.
        out: folder that would be written to.
        words: of the items, where the probe has them.
        kept: what a unit has of them outlives the worker.
    """
    todo, every = units
    times = words / tried.words if tried.words else items / tried.items
    sample = f"{tried.items:,} tried in {tried.seconds:.1f} s"
    seconds = times * tried.seconds / min(processes, max(todo, 1))
    written = times * tried.size
    existing = next(p for p in (out, *out.absolute().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    rows = [
        ("units", f"{todo:,} to make of {every:,}"),
        (what, f"{items:,}" + (f" of {words:,} words" if tried.words else "")),
        ("speed", f"{_rate(tried)} {what}/s a process ({sample})"),
        ("time", f"{duration(seconds)} with {processes} at work, start-up aside"),
        ("disk", f"{size(written)} of {size(free)} free"),
    ]
    if not kept and (one := times * tried.seconds / max(todo, 1)) >= _LONG:
        rows.insert(
            1, ("a unit", f"{duration(one)}, which a kill can cost; --unit makes smaller ones")
        )
    table(f"what a run would write to {out}", ("", "estimate"), rows)


def _rate(tried: Probe) -> str:
    """Items a second; of slow ones with so many digits that it is no zero."""
    rate = tried.items / tried.seconds
    digits = 0 if rate >= 10 else 1 if rate >= 1 else 2
    return f"{rate:,.{digits}f}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    hours, rest = divmod(round(seconds), 3600)
    if hours:
        return f"{hours} h {rest // 60} min"
    return f"{rest // 60} min {rest % 60} s" if rest >= 60 else f"{rest} s"


def size(count: float) -> str:
    """Bytes as a person says them."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
