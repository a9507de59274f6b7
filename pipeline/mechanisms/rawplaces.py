"""Whether the raw text that a grid's language models are to read is there, before hours go by."""

from collections.abc import Iterable
from pathlib import Path

from pipeline.ground.errors import InputError
from pipeline.mechanisms.cells import Cell
from pipeline.mechanisms.commands import settings_of
from pipeline.mechanisms.segmenting import text_files
from pipeline.settings.pretrain import Pretrain

__all__ = ["check_texts"]


def check_texts(cells: Iterable[Cell]) -> None:
    """Hold ``texts`` of every language model that is trained on raw text here against the disk.

    Raises:
        InputError: a file or folder is not there; the line says what to put in it.
        SettingsError: a command or params.yaml holds what is no setting.
    """
    for cell in cells:
        if cell.stage != "pretrain" or not cell.command.startswith("conjoin "):
            continue
        settings = settings_of(cell.command, Pretrain)
        if settings.ready is not None or settings.objective == "twins":
            continue  # neither reads raw text, though the corpus's `texts` are its settings too
        if (place := next((p for p in settings.texts if not _holds_text(p)), None)) is not None:
            setting = f"pretrain.{settings.corpus.name}.texts"
            raise InputError(
                f"no raw text for the language models ({setting})",
                path=place,
                remedy="put .txt, .txt.gz or .txt.xz files of sentences or running text there, or do "
                f"without: --set '{setting}=[]'",
            )


def _holds_text(place: Path) -> bool:
    """Whether ``pretrain`` would find a file there."""
    try:
        return bool(text_files(place))
    except InputError:
        return False
