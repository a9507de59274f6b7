"""Checkpoints of a single file: a .gguf in place of configuration, weights and tokenizer."""

from importlib.util import find_spec
from pathlib import Path

from pipeline.core.errors import ModelError

CHECKPOINT = "name the folder of a Hugging Face checkpoint: config.json, safetensors and tokenizer"


def single_file(where: str | Path) -> str | None:
    """The name of the .gguf that a folder has in place of a checkpoint's own files; of a hub name None.

    Raises:
        ModelError: there are several, or the package that reads one is not installed.
    """
    folder = Path(where)
    if not folder.is_dir() or (folder / "config.json").is_file():
        return None
    found = sorted(path.name for path in folder.glob("*.gguf"))
    if len(found) > 1:
        raise ModelError(
            f"{len(found)} files .gguf here", path=folder, remedy="leave one of them in the folder"
        )
    if found and find_spec("gguf") is None:
        raise ModelError(
            "only a .gguf here, which needs the package gguf",
            path=folder,
            remedy="pip install gguf, or " + CHECKPOINT,
        )
    return found[0] if found else None


def own_files(where: str | Path) -> Path | None:
    """The folder, if a checkpoint's own files are to be in it; None of a hub name and of a single file.

    Raises:
        ModelError: as ``single_file``.
    """
    folder = Path(where)
    return folder if folder.is_dir() and single_file(folder) is None else None
