"""``conjoin export``: a corpus for tools that do not read Parquet."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import Meter, say, tell, warn
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.corpus.handing_on import for_own_use, require_permission
from pipeline.corpus.licences import terms
from pipeline.sharing.export.formats import FORMATS
from pipeline.sharing.export.items import Items
from pipeline.sharing.export.protocol import Format, Item
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.export.text_file import TextFile
from pipeline.text.coordinations import UNTAGGED

STDOUT = Path("-")


def run(settings: ExportSettings) -> None:
    """Write what is there into ``settings.out``, whole or not at all, or to standard output.

    With ``overwrite`` what begins as an earlier export does is replaced, and nothing else.

    Raises:
        InputError: there is nothing to write, or it is damaged, not valid or without text; ``out`` is part of
            the corpus, an earlier export without ``overwrite``, or something else; a licence forbids to
            hand on the text, without ``own_use``.
        SettingsError: options that do not go together.
    """
    form, tally = FORMATS[settings.format], Tally()
    with Items(settings, trees=form.trees, dependencies=form.dependencies) as items:
        if settings.out == STDOUT:
            if not isinstance(form, TextFile):
                raise InputError(
                    f"{settings.format} is no text, so standard output cannot have it",
                    remedy="name a file or folder with --out",
                )
        else:
            claim = Claim(
                settings.out, "export", [items.place], partial(_earlier, settings, form),
                file=not form.folder,
            )  # fmt: skip
            claim.check()
            form.require_writer()
        if not settings.own_use:
            require_permission(items.licences(), items.place, remedy=for_own_use)
        items.require_valid()
        total = min(items.total, settings.limit or sys.maxsize)
        seen = _Seen()
        with Meter(f"export, {items.what}s", total) as meter:
            items.note = meter.note
            counted = _counted(items, meter, seen)
            if settings.out == STDOUT and isinstance(form, TextFile):
                form.stream(counted, tally)
                _require_some(settings, items, tally)
            else:
                with appearing(claim) as out:
                    form.write(out, counted, tally)
                    _require_some(settings, items, tally)
        _tell(settings, items, tally)
    if form.caution and not items.has_heads:
        warn(form.caution)
    if form.trees and seen.untagged:
        warn(
            f"{seen.untagged:,} trees have words without a tag ({UNTAGGED}): their parser has no tagger "
            "(`conjoin preparse` trains one), or its tags would make other conjuncts of them"
        )
    if seen.licences:
        (tell if settings.out == STDOUT else say)(f"licences: {', '.join(sorted(seen.licences))}")
    for expression in sorted(seen.licences):
        if not terms(expression).redistributable:
            warn(f"licence {expression}: do not pass its text on: {terms(expression).why}")


@dataclass(slots=True)
class _Seen:
    """What is said of an export at the end: licences, and how many trees have words without a tag."""

    licences: set[str] = field(default_factory=set)
    untagged: int = 0


def _earlier(settings: ExportSettings, form: Format, there: Path) -> Listed:
    """The files of what is an earlier export by its beginning.

    There is no record: the formats are other programs', and have no room for one.

    Raises:
        InputError: there is one, and nobody said that it may be replaced.
    """
    found = form.earlier(there, FORMATS.values())
    if found is not None and not settings.overwrite:
        raise InputError(
            "what begins as an earlier export stands there", path=settings.out,
            remedy="replace it with --overwrite, or choose another --out",
        )  # fmt: skip
    return found


def _require_some(settings: ExportSettings, items: Items, tally: Tally) -> None:
    if tally.kept:
        return
    makes_trees = FORMATS[settings.format].trees and items.shards is not None
    trees = "; trees are made of those of `conjoin preparse`" if makes_trees else ""
    why = ", ".join(reason for reason, _ in tally.rows()[1:]) or "there is none"
    raise InputError(
        f"no {items.what} to write as {settings.format} ({why})", path=settings.place,
        remedy=f"choose another --format or corpus{trees}",
    )  # fmt: skip


def _tell(settings: ExportSettings, items: Items, tally: Tally) -> None:
    left = "; left out: " + ", ".join(f"{n:,} with {why}" for why, n in tally.rows()[1:])
    what = items.what if tally.kept == 1 else f"{items.what}s"
    place = "standard output" if settings.out == STDOUT else settings.out
    line = f"{tally.kept:,} {what} written to {place}{left if tally.refused else ''}"
    (tell if settings.out == STDOUT else say)(line)


def _counted(items: Iterable[Item], meter: Meter, seen: _Seen) -> Iterator[Item]:
    for item in items:
        seen.licences.add(item.license)
        seen.untagged += item.tree is not None and UNTAGGED in (item.tags or ())
        yield item
        meter.advance()
