"""The cells that a command is about: those of dvc.yaml for an experiment and options.

An experiment's cells stand in ``cells.yaml``, which dvc.yaml reads. Those of the default one stay there,
for plain ``dvc repro``; those of another, and what it changes in params.yaml, while the command runs.
"""

import re
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from typing_extensions import TypedDict

from pipeline.core.console import say
from pipeline.core.documents import parse_yaml, read_json, read_yaml
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import folder_lock, write_json, write_text
from pipeline.core.names import nearest
from pipeline.experiments.cells import Cell, Cells
from pipeline.experiments.expansion import CELLS, as_text, cells_of
from pipeline.experiments.experiment import DEFAULT, FOLDER, LISTS, read_experiment
from pipeline.experiments.settings import GridSettings

PARAMS = Path("params.yaml")
_KEPT = Path(".dvc/tmp/params-over.json")
"""Files as they were and as they were changed: a killed process cannot put them back, the next one can."""
_BEFORE = Path(".dvc/tmp")


class _Kept(TypedDict):
    """A file; ``before`` is None where there was none."""

    before: str | None
    after: str


@contextmanager
def files_over(settings: GridSettings, *, keep: bool = False) -> Iterator[dict[str, Any]]:
    """params.yaml and cells.yaml as the experiment has them inside the block, and as they were after it.

    Args:
        settings: the experiment, its corpora, and KEY=VALUE to put over it: a list of the experiment, or a
            dotted place of params.yaml that must exist (the last part may be new).
        keep: leave them so.

    Yields:
        params.yaml as it is in the block.

    Raises:
        InputError: there is no DVC project or params.yaml here, or another process has its values there.
        SettingsError: params.yaml or the experiment is malformed, or there is no such place.
    """
    if not _KEPT.parent.parent.is_dir():
        raise InputError(
            "no usable DVC pipeline: no folder .dvc here", remedy="run in the project's root"
        )
    with folder_lock(_KEPT.parent, "params-over.lock", patience=5.0):
        _put_back()
        if not PARAMS.is_file():
            if settings.set or settings.experiment:
                raise InputError("no such file", path=PARAMS, remedy="run in the project's root")
            yield {}
            return
        before = _parse(read_yaml(PARAMS))
        document, cells = _wanted(settings, before)
        changed: dict[str, _Kept] = {}
        if document != before:
            text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
            changed[str(PARAMS)] = {"before": _text(PARAMS), "after": text}
        if cells is not None and cells != _text(CELLS):
            changed[str(CELLS)] = {"before": _text(CELLS), "after": cells}
        usual = settings.experiment in ("", DEFAULT) and not (settings.set or settings.corpus)
        if changed and not (keep or usual):
            write_json(_KEPT, changed)
        try:
            for name, each in changed.items():
                write_text(Path(name), each["after"])
            yield document
        finally:
            _put_back()


def _wanted(settings: GridSettings, before: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """params.yaml, and the text of cells.yaml; None where a project has no experiments."""
    what = f"{settings.stage}.set"
    if not settings.experiment and not (FOLDER / f"{DEFAULT}.yaml").is_file():
        document = _apart(before)
        for pair in settings.set:
            _set(document, pair, what)
        return document, None
    lists: dict[str, Any] = {"corpora": settings.corpus} if settings.corpus else {}
    pairs = []
    for pair in settings.set:
        key, equals, value = pair.partition("=")
        if equals and key in LISTS:
            lists[key] = parse_yaml(value, what=f"{what} = {pair!r}")
        else:
            pairs.append(pair)
    experiment = read_experiment(settings.experiment or DEFAULT, before, lists, PARAMS)
    document = _apart(experiment.params)
    for pair in pairs:
        _set(document, pair, what)
    return document, as_text(cells_of(replace(experiment, params=document), PARAMS))


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _parse(found: Any) -> dict[str, Any]:
    document = found or {}
    if not isinstance(document, dict):
        raise SettingsError("must be a mapping of sections", path=PARAMS)
    return document


def _apart(value: Any) -> Any:
    """A copy in which nothing is shared: what one anchor of YAML stands for is changed in one place alone."""
    if isinstance(value, Mapping):
        return {key: _apart(each) for key, each in value.items()}
    return [_apart(each) for each in value] if isinstance(value, list) else value


def _set(document: dict[str, Any], pair: str, what: str) -> None:
    key, equals, value = pair.partition("=")
    *above, last = key.split(".")
    place: Any = document
    for name in above:
        place = place.get(name) if isinstance(place, dict) else None
    if not (equals and all(key.split(".")) and isinstance(place, dict)):
        raise SettingsError(f"{what} = {pair!r}: no such place in {PARAMS}")
    if not above and last not in document:  # nobody would read it
        lists = ", ".join(LISTS)
        raise SettingsError(
            f"{what} = {pair!r}: {last!r} is no section of {PARAMS}, nor a list of an experiment",
            remedy="; ".join(
                filter(None, (nearest(last, [*LISTS, *document]), f"lists are {lists}"))
            ),
        )
    place[last] = parse_yaml(value, what=f"{what} = {pair!r}")


def _put_back() -> None:
    if not _KEPT.is_file():
        return
    kept = read_json(_KEPT, dict[str, _Kept], remedy="remove it")
    for path in (PARAMS, CELLS):
        if (each := kept.get(str(path))) is None:
            continue
        now, before = _text(path), each["before"]
        if now is not None and now not in each.values():
            write_text(_BEFORE / f"before-{path}", before or "")
            say(
                f"{path} was edited meanwhile and stays so; as it was before the run: {_BEFORE}/before-{path}"
            )
        elif before is None:
            path.unlink(missing_ok=True)
        else:
            write_text(path, before)
    _KEPT.unlink()


@contextmanager
def grid(settings: GridSettings) -> Iterator[tuple[Cells, list[Cell], dict[str, Any]]]:
    """The pipeline, the cells that are not skipped, and params.yaml as it is inside the block.

    Raises:
        InputError: there is no DVC pipeline here, or another grid is at work.
        SettingsError: ``skip`` is no regular expression, or leaves nothing to do; no such experiment or
            corpus; ``set`` names no place in params.yaml.
    """
    try:
        skipped = re.compile(settings.skip) if settings.skip else None
    except re.error as error:
        raise SettingsError(f"{settings.stage}.skip = {settings.skip!r}: {error}") from error
    # So that a terminated command, too, stops its cells and puts the files back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with files_over(settings) as document:
        pipeline = Cells()
        cells = [
            c
            for c in pipeline.all
            if skipped is None or not skipped.search(f"{c.name} {c.command}")
        ]
        if not cells:
            raise SettingsError(f"{settings.stage}.skip = {settings.skip!r} leaves no cell")
        yield pipeline, cells, document
