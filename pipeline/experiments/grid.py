"""The cells that a command is about: those of dvc.yaml under params.yaml, a preset and options.

Presets are the grids of the paper's tables and figures: values to put over params.yaml.
``params_over`` changes params.yaml for the length of a block and restores it, which
``dvc exp run -S`` does not.
"""

import json
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from typing_extensions import TypedDict

from pipeline.core.console import say
from pipeline.core.documents import parse_yaml, read_json, read_yaml
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import folder_lock, write_json, write_text
from pipeline.core.settings import require_entry
from pipeline.experiments.cells import Cell, Cells
from pipeline.experiments.names import check_names
from pipeline.experiments.settings import Grid

PARAMS = Path("params.yaml")
_KEPT = Path(".dvc/tmp/params-over.json")
"""The file as it was and as it was changed: a killed process cannot put it back, the next one can."""
_BEFORE = Path(".dvc/tmp/params-before.yaml")


class _Kept(TypedDict):
    before: str
    after: str


@contextmanager
def params_over(
    values: Callable[[Mapping[str, Any]], Mapping[str, Any]], pairs: Sequence[str], what: str
) -> Iterator[dict[str, Any]]:
    """params.yaml with the given values inside the block, and as it was after it.

    Args:
        values: of the document, what to put over its top level.
        pairs: KEY=VALUE to put over that, at dotted places that must exist (the last may be new).
        what: name of the option that ``pairs`` come from, for errors.

    Yields:
        The document as it stands in the file.

    Raises:
        InputError: there is no DVC project or params.yaml here, or another process has its values
            over that.
        SettingsError: params.yaml is malformed, or has no such place.
    """
    if not _KEPT.parent.parent.is_dir():
        raise InputError(
            "no usable DVC pipeline: no folder .dvc here", remedy="run in the project's root"
        )
    with folder_lock(_KEPT.parent, "params-over.lock", patience=5.0):
        _put_back()
        if not PARAMS.is_file():
            if pairs or values({}):
                raise InputError("no such file", path=PARAMS, remedy="run in the project's root")
            yield {}
            return
        document = _parse(read_yaml(PARAMS))
        before = PARAMS.read_text(encoding="utf-8")
        top = values(document)
        document |= top
        for pair in pairs:
            _set(document, pair, what)
        check_names(document, GRID, PARAMS)
        if not (top or pairs):
            yield document
            return
        after = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
        write_json(_KEPT, {"before": before, "after": after})
        try:
            write_text(PARAMS, after)
            yield document
        finally:
            _put_back()


def _parse(found: Any) -> dict[str, Any]:
    document = found or {}
    if not isinstance(document, dict):
        raise SettingsError("must be a mapping of sections", path=PARAMS)
    return document


def _set(document: dict[str, Any], pair: str, what: str) -> None:
    key, equals, value = pair.partition("=")
    *above, last = key.split(".")
    place: Any = document
    for name in above:
        place = place.get(name) if isinstance(place, dict) else None
    if not (equals and all(key.split(".")) and isinstance(place, dict)):
        raise SettingsError(f"{what} = {pair!r}: no such place in {PARAMS}")
    place[last] = parse_yaml(value, what=f"{what} = {pair!r}")


def _put_back() -> None:
    if not _KEPT.is_file():
        return
    kept = read_json(_KEPT, _Kept, remedy="remove it")
    if PARAMS.is_file() and PARAMS.read_text(encoding="utf-8") not in kept.values():
        write_text(_BEFORE, kept["before"])
        say(f"{PARAMS} was edited meanwhile and stays so; as it was before the run: {_BEFORE}")
    else:
        write_text(PARAMS, kept["before"])
    _KEPT.unlink()


GRID = (
    "corpora", "lms", "generations", "harvests", "selections", "releases", "labelled", "seeds",
    "lm_seeds", "systems",
)  # fmt: skip
"""The keys of params.yaml that span the matrix: a preset sets these and nothing else."""

STAGES = (
    "ingest", "pretrain", "preparse", "generate", "harvest", "train", "evaluate", "audit", "report",
    "release",
)  # fmt: skip
"""The sections of params.yaml with an entry for each corpus."""

_PLAIN = re.compile(r"[A-Za-z][\w./-]*|\d+")


def preset_values(
    document: Mapping[str, Any], name: str, corpora: Sequence[str], path: Path
) -> dict[str, Any]:
    """What to put over params.yaml.

    Args:
        document: params.yaml.
        name: of the preset; empty: none, only ``corpora``.
        corpora: corpora to run on; empty: those of the preset, else of params.yaml.
        path: where the document is from, for errors.

    Raises:
        SettingsError: no such preset, a key that is not of the grid, a corpus without its sections,
            or corpora whose sizes of L differ, which one matrix cannot hold.
    """
    presets = document.get("presets") or {}
    if not isinstance(presets, Mapping):
        raise SettingsError("presets: must be a mapping of presets by name", path=path)
    preset = presets.get(name) if name else {}
    if not isinstance(preset, Mapping):
        known = ", ".join(map(str, presets)) or "none"
        raise SettingsError(f"preset {name!r}: no such preset; there are: {known}", path=path)
    if unknown := sorted(map(str, set(preset) - set(GRID))):
        raise SettingsError(
            f"presets.{name}.{unknown[0]}: a preset sets only {', '.join(GRID)}", path=path
        )
    found = corpora or preset.get("corpora") or document.get("corpora") or []
    if not isinstance(found, list):
        raise SettingsError(f"corpora = {str(found)[:40]!r}: must be a list of names", path=path)
    chosen = list(found)
    for stage in STAGES:
        if isinstance(section := document.get(stage), Mapping):
            for corpus in chosen:
                require_entry(section, stage, str(corpus), path)
    values = {
        key: _of_corpora(value, chosen, f"presets.{name}.{key}", path)
        for key, value in preset.items()
    }
    return values | ({"corpora": chosen} if name or corpora else {})


def _of_corpora(value: Any, corpora: Sequence[str], place: str, path: Path) -> Any:
    if not isinstance(value, Mapping):
        return value
    found = [value.get(corpus, value.get("default")) for corpus in corpora]
    if None in found:
        raise SettingsError(f"{place}: neither default nor the corpus's own", path=path)
    if any(each != found[0] for each in found):
        raise SettingsError(
            f"{place} differs between {' and '.join(corpora)}",
            path=path,
            remedy="run one --corpus after the other",
        )
    return found[0]


def as_exp_run(values: Mapping[str, Any]) -> str:
    """The shell command that runs the same with DVC alone."""
    changes = (f"-S {shlex.quote(f'{key}={_hydra(value)}')}" for key, value in values.items())
    return " ".join(["dvc exp run", *changes])


def _hydra(value: Any) -> str:
    """A value in the grammar of Hydra's overrides, which ``dvc exp run -S`` reads."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_hydra(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_hydra, value)) + "]"
    text = str(value)
    if isinstance(value, int | float):
        return text  # in quotes it would come back as a word
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


@contextmanager
def grid(settings: Grid) -> Iterator[tuple[Cells, list[Cell], dict[str, Any]]]:
    """The pipeline, the cells that are not skipped, and params.yaml as it is inside the block.

    Raises:
        InputError: there is no DVC pipeline here, or another grid is at work.
        SettingsError: ``skip`` is no regular expression, or leaves nothing to do; no such preset or
            corpus; ``set`` names no place in params.yaml.
    """
    try:
        skipped = re.compile(settings.skip) if settings.skip else None
    except re.error as error:
        raise SettingsError(f"{settings.stage}.skip = {settings.skip!r}: {error}") from error
    # So that a terminated command, too, stops its cells and puts params.yaml back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with params_over(
        lambda document: preset_values(document, settings.preset, settings.corpus, PARAMS),
        settings.set,
        f"{settings.stage}.set",
    ) as document:
        pipeline = Cells()
        cells = [c for c in pipeline.all if skipped is None or not skipped.search(c.command)]
        if not cells:
            raise SettingsError(f"{settings.stage}.skip = {settings.skip!r} leaves no cell")
        yield pipeline, cells, document
