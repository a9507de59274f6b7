"""Where candidates lie in a folder: as ``generate`` wrote them, or as a release of a corpus has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import leads_out, require_regular, utf8_name
from pipeline.core.parquet import MANIFEST, RECORDS

HARVESTED = "harvested"
"""What a run's setting ``fills`` says where its rows are natural text: no word of them was put in."""

LIKE_L = "like-L"
"""What settings say of what is drawn as often as a draw of L has it."""

SERVED = "served:"
"""How a run's ``model`` begins where one behind an address proposed the fills, before its name there."""

_OWN, _RELEASED = "candidates-*.parquet", "data/train-*.parquet"
"""A corpus folder; a release folder, whose other splits and configurations are not candidates."""


def is_proposed(run: Mapping[str, Any]) -> bool:
    """Whether a model behind an address wrote a run's fills, one context at a time."""
    return str(run.get("model")).startswith(SERVED)


def candidate_shards(folder: Path) -> list[Path]:
    """The files of candidates in a corpus folder or a release folder, in order, whichever program made them.

    Raises:
        InputError: generation was interrupted here, so that there may be shards of two runs; or one is
            a pipe or a device, which whoever opens it would wait for, or a link out of a release, or has a
            name that is not UTF-8.
    """
    if is_unfinished(folder):
        raise InputError(
            "generation has not finished here", path=folder,
            remedy="run again what made it (`conjoin generate`, `harvest`, `synthesize`)",
        )  # fmt: skip
    own = sorted(folder.glob(_OWN))
    shards = own or sorted(folder.glob(_RELEASED))
    for path in shards:
        require_regular(path)
        # DVC may keep one's own files elsewhere, and leave links to them.
        if not own and path.is_symlink() and leads_out(folder, path):
            raise InputError(
                "a link that leads out of the release", path=path,
                remedy="put the file itself there, if you trust where the release is from",
            )  # fmt: skip
        utf8_name(path.name, path)
    return shards


def has_candidates(folder: Path) -> bool:
    """Whether a folder has candidates, or a manifest of some: who opens it is told that they are gone.

    Raises:
        InputError: as ``candidate_shards``.
    """
    return bool(candidate_shards(folder)) or (folder / MANIFEST).is_file()


def is_unfinished(folder: Path) -> bool:
    """Whether what makes candidates in a folder has begun there, and has not finished."""
    return (folder / RECORDS).is_dir() and not (folder / MANIFEST).is_file()
