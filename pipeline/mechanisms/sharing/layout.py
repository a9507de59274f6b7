"""What lies at a path: candidates as ``generate`` wrote them, a release, or one Parquet file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.ground.errors import InputError
from pipeline.mechanisms.shards import candidate_shards
from pipeline.mechanisms.sharing.manifests import is_release, read_manifest

__all__ = ["Kind", "Shards", "find_shards"]

Kind = Literal["candidates", "release", "stand-off", "file"]


@dataclass(frozen=True, slots=True)
class Shards:
    """The files of a corpus, and what its manifest says.

    Attributes:
        place: the folder, or the file.
        kind: ``candidates``: as ``generate`` or ``merge`` wrote them; ``release``: with text;
            ``stand-off``: a release without the source's words; ``file``: a single Parquet file.
        accepted: files of usable candidates, in order.
        rejects: files of rejects, in order.
        manifest: ``manifest.json``; None where there is none.
    """

    place: Path
    kind: Kind
    accepted: tuple[Path, ...]
    rejects: tuple[Path, ...]
    manifest: Mapping[str, Any] | None


def find_shards(place: Path) -> Shards:
    """The files of a corpus. They are not opened, so they may be damaged, or be of other columns.

    Raises:
        InputError: there is nothing, generation was interrupted here, or the manifest is not one:
            the key that is missing or of another form is named.
    """
    if place.is_file():
        return Shards(place, "file", (place,), (), None)
    if not place.is_dir():
        raise InputError("no such file or folder", path=place, remedy=_REMEDY)
    manifest = read_manifest(place)
    released = is_release(place, manifest)
    layouts = _RELEASE if released else _CANDIDATES
    candidate_shards(place)  # refuses a folder in which generation was interrupted
    accepted, rejects = (tuple(sorted(place.glob(layout))) for layout in layouts)
    if not accepted and not rejects:
        raise InputError("neither candidates nor a release of them", path=place, remedy=_REMEDY)
    kind: Kind = "candidates"
    if released:
        kind = "stand-off" if (manifest or {}).get("stand_off") else "release"
    return Shards(place, kind, accepted, rejects, manifest)


_CANDIDATES = ("candidates-*.parquet", "rejects-*.parquet")
_RELEASE = ("data/train-*.parquet", "rejected/train-*.parquet")
_REMEDY = (
    "name a folder of candidates (candidates-*.parquet), a release (data/train-*.parquet) "
    "or a Parquet file"
)
