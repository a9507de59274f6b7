"""Paths as they are published: where things lay on a machine is nobody's business."""

import shlex
from pathlib import Path

from pipeline.settings.base import Settings

__all__ = ["shown_command", "shown_place"]


def shown_place(path: Path) -> str:
    """The last two parts of an absolute path; a relative one as it is."""
    return "/".join(path.parts[1:][-2:]) if path.is_absolute() else str(path)


def shown_command(settings: Settings) -> str:
    """The command line that makes these settings, its absolute paths cut as ``shown_place`` cuts."""
    values = {name: getattr(settings, name) for name in type(settings).model_fields}
    cut = {
        name: Path(shown_place(value)) for name, value in values.items() if isinstance(value, Path)
    }
    return shlex.join(["conjoin", *settings.model_copy(update=cut).command_line()])
