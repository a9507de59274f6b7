"""Units of an earlier plan, taken over where they are what the present plan would make.

A run with a greater limit, or of more text, has another fingerprint and other file names, so all of its
units would be made anew. But a unit's rows depend on its own items alone, besides what is alike for all: so
each record has a digest of that, the unit's content (``units.UnitContent``), and one of an earlier plan with
the same content is written again under its new name, as if all had been made at once: byte for byte.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline.core.documents import check_form
from pipeline.core.errors import InputError
from pipeline.core.fingerprint import Output, OutputRecord, differences
from pipeline.core.parquet import COMPLETIONS, MANIFEST, RECORDS, read_rows
from pipeline.core.tally import Tally
from pipeline.executor.units import REMEDY, UnitFacts, UnitFolder


def take_over(folder: UnitFolder) -> str | None:
    """Write units of earlier plans again that have the content of this plan's. Only under the lock.

    Answers of a model that were kept for a unit of an earlier plan are kept for the same unit of this one:
    each is known by its question.

    Returns:
        A line on how many were taken over, or why none could be; None where there are none of other plans.

    Raises:
        InputError: the folder cannot be written to.
    """
    if folder.content is None:
        return None
    taken, why = 0, ""
    for index in range(folder.count):
        _rename_answers(folder, index)
        if folder.is_finished(index):
            continue
        if record := same_unit_of_earlier_plan(folder, index):
            (folder.folder / MANIFEST).unlink(missing_ok=True)  # it speaks of the earlier plan
            _write_again(folder, index, record)
            taken += 1
            continue
        if not why:  # one reason is said
            others = (
                record
                for path, record in _records(folder, index)
                # Of its own name, its state says why it is stale.
                if path != folder.record(index) and _is_whole(folder, record)
            )
            why = next((_why(folder, record) for record in others), "")
    if taken:
        return f"{taken} of {folder.count} shards are an earlier run's, and are not made again"
    return f"no shard of the earlier run stays: {why}" if why else None


def same_unit_of_earlier_plan(folder: UnitFolder, index: int) -> OutputRecord | None:
    """The record of a unit of an earlier plan that has the content of this plan's; None where none has."""
    if folder.content is None or not (found := [each for _, each in _records(folder, index)]):
        return None
    content = folder.content.digest(folder.fingerprint, index)
    same = (each for each in found if each.facts.get("content") == content)
    return next((each for each in same if _is_whole(folder, each)), None)


def _records(folder: UnitFolder, index: int) -> Iterator[tuple[Path, OutputRecord]]:
    """The records of a unit, of whatever plan, that can be read."""
    for path in sorted((folder.folder / RECORDS).glob(f"{index:05d}-of-*.json")):
        try:
            if record := Output(folder.folder, path, folder.fingerprint).read():
                check_form(record.facts, UnitFacts, path=path, remedy=REMEDY)
                yield path, record
        except InputError:
            continue


def _is_whole(folder: UnitFolder, record: OutputRecord) -> bool:
    return not any(facts.fault(folder.folder / name) for name, facts in record.files.items())


def _why(folder: UnitFolder, record: OutputRecord) -> str:
    """Why a unit of another plan is not what this plan would make."""
    if "content" not in record.facts:
        return "it was made by a version that kept no account of each"
    if folder.content is not None and (about := folder.known(record.fingerprint)):
        now = folder.content.common(folder.fingerprint).to_dict()
        before = {section: folder.content.untold(value) for section, value in about.items()}
        if changed := differences(before, now):
            return changed
    return "each has other items now"


def _write_again(folder: UnitFolder, index: int, record: OutputRecord) -> None:
    facts = record.facts
    names = {name.partition("-")[0]: name for name in record.files}
    rows = {
        kind: list(read_rows(folder.folder / names[kind], schema))
        for kind, schema in folder.schemas.items()
    }
    notes = {k: v for k, v in facts["notes"].items() if k not in facts.get("of_run", ())}
    folder.write(index, rows, Tally.from_dict(facts["tally"]), notes)


def _rename_answers(folder: UnitFolder, index: int) -> None:
    own = folder.answers(index)
    for path in sorted((folder.folder / RECORDS).glob(f"{COMPLETIONS}-{index:05d}-of-*.jsonl")):
        if not own.exists():
            path.rename(own)
