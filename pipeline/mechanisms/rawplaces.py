"""Whether the raw text that a grid's language models are to read is there, before hours go by."""

from collections.abc import Iterable
from pathlib import Path

from pipeline.ground.errors import InputError
from pipeline.mechanisms.cells import Cell
from pipeline.mechanisms.commands import settings_of
from pipeline.settings.pretrain import Pretrain

__all__ = ["check_texts"]


def check_texts(cells: Iterable[Cell]) -> None:
    """Hold ``texts`` of every language model that is trained here against the disk.

    Raises:
        InputError: a file or folder is not there; the line says what to put in it.
        SettingsError: a command or params.yaml holds what is no setting.
    """
    for cell in cells:
        if cell.stage != "pretrain" or not cell.command.startswith("conjoin "):
            continue
        settings = settings_of(cell.command, Pretrain)
        absent = (place for place in settings.texts if not _holds_something(place))
        if settings.ready is None and (place := next(absent, None)):
            setting = f"pretrain.{settings.corpus.name}.texts"
            raise InputError(
                f"no raw text for the language models ({setting})",
                path=place,
                remedy="put .txt, .txt.gz or .txt.xz files of sentences or running text there, or do "
                f"without: --set '{setting}=[]'",
            )


def _holds_something(place: Path) -> bool:
    return place.is_file() or any(path.is_file() for path in place.rglob("*"))
