"""Presets: the grids of the paper's tables and figures, as values to put over params.yaml."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.ground.errors import SettingsError

__all__ = ["GRID", "as_exp_run", "preset_values"]

GRID = (
    "corpora",
    "lms",
    "generations",
    "releases",
    "labelled",
    "seeds",
    "lm_seeds",
    "systems",
)
"""The keys of params.yaml that span the matrix: a preset sets these and nothing else."""

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
    preset = presets.get(name) if name else {}
    if not isinstance(preset, Mapping):
        known = ", ".join(presets) or "none"
        raise SettingsError(f"preset {name!r}: no such preset; there are: {known}", path=path)
    if unknown := sorted(set(preset) - set(GRID)):
        raise SettingsError(
            f"presets.{name}.{unknown[0]}: a preset sets only {', '.join(GRID)}", path=path
        )
    chosen = list(corpora or preset.get("corpora") or document.get("corpora") or ())
    ingest = document.get("ingest")
    for corpus in chosen:
        if isinstance(ingest, Mapping) and corpus not in ingest:
            raise SettingsError(
                f"corpus {corpus!r}: section ingest has no such entry; "
                f"there are: {', '.join(key for key in ingest if key != 'default')}",
                path=path,
            )
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
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
