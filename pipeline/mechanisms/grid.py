"""The cells that a command is about: those of dvc.yaml under params.yaml, a preset and options."""

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.ground.errors import SettingsError
from pipeline.mechanisms.cells import Cell, Cells
from pipeline.mechanisms.overlay import PARAMS, params_over
from pipeline.mechanisms.presets import preset_values
from pipeline.settings.repro import Grid

__all__ = ["grid"]


@contextmanager
def grid(settings: Grid) -> Iterator[tuple[Cells, list[Cell], dict[str, Any]]]:
    """The pipeline, the cells that are not skipped, and params.yaml as the block sees it.

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
