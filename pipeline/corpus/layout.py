"""What lies at a path: candidates as ``generate`` wrote them, a release, or one Parquet file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.core.candidates import candidate_shards
from pipeline.core.errors import InputError
from pipeline.core.files import leads_out, require_regular
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.manifest import is_release, read_manifest

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


def find_shards(place: Path, also: str = "") -> Shards:
    """The files of a corpus. They are not opened, so they may be damaged, or be of other columns.

    Args:
        place: the folder, or the file.
        also: what else the caller takes, for the remedy where there is nothing: ", or ...".

    Raises:
        InputError: there is nothing, generation was interrupted here, a shard is a pipe or a device, a
            link leads out of a release, or the manifest is not one: the key that is missing or of
            another form is named.
    """
    require_regular(place)
    if place.is_file():
        return Shards(place, "file", (place,), (), None)
    if not place.is_dir():
        raise InputError("no such file or folder", path=place, remedy=_REMEDY + also)
    shards = lying_in(place, read_manifest(place))
    candidate_shards(place)  # refuses a folder in which generation was interrupted
    if not shards.accepted and not shards.rejects:
        if (shards.manifest or {}).get("shards"):
            raise InputError(
                f"all shards that {MANIFEST} lists are gone", path=place,
                remedy="make or get the corpus again",
            )  # fmt: skip
        raise InputError(
            "neither candidates nor a release of them", path=place, remedy=_REMEDY + also
        )
    for path in (*shards.accepted, *shards.rejects):
        require_regular(path)
    if shards.kind != "candidates":
        for path in filter(Path.is_symlink, _entries(place)):
            if leads_out(place, path):
                raise InputError(
                    "a link that leads out of the release", path=path,
                    remedy="put the file itself there, if you trust where the release is from",
                )  # fmt: skip
    return shards


def lying_in(place: Path, manifest: Mapping[str, Any] | None, split: str = "train-") -> Shards:
    """The files that a folder has under the names of a corpus's files, whatever they hold.

    Args:
        place: the folder.
        manifest: its manifest, which may be any JSON object.
        split: what the names of a release's files begin with.
    """
    if not is_release(place, manifest):
        kind: Kind = "candidates"
        layouts = ("candidates-*.parquet", "rejects-*.parquet")
    else:
        kind = "stand-off" if (manifest or {}).get("stand_off") else "release"
        layouts = (f"data/{split}*.parquet", f"rejected/{split}*.parquet")
    accepted, rejects = (tuple(sorted(place.glob(layout))) for layout in layouts)
    return Shards(place, kind, accepted, rejects, manifest)


_REMEDY = (
    "name a folder of candidates (candidates-*.parquet), a release (data/train-*.parquet) "
    "or a Parquet file"
)


_FOLDERS = ("data", "rejected", "provenance")
"""The folders that a release has."""


def _entries(place: Path) -> Iterator[Path]:
    """What lies where a release's files lie, folders of it too; ``.git`` and the like are none of it."""
    yield from (path for path in place.iterdir() if not path.name.startswith("."))
    for folder in filter(Path.is_dir, (place / name for name in _FOLDERS)):
        yield from folder.iterdir()
