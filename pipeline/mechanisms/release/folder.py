"""The folder of a release: which one may be replaced, what stands in it besides rows, its checksums."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import yaml

from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json, sha256_of
from pipeline.ground.parquet import MANIFEST
from pipeline.mechanisms.sharing.outputs import apart
from pipeline.mechanisms.sharing.sums import CHECKSUMS

__all__ = ["PROVENANCE", "copy_provenance", "replaceable", "write_checksums"]

PROVENANCE = "provenance"
_PROJECT = ("dvc.yaml", "params.yaml")
_OWN = re.compile(
    r"README\.md|LICENSE|CITATION\.cff|croissant\.json|manifest\.json|SHA256SUMS"
    r"|(data|rejected)/train-[^/]*\.parquet|provenance/(dvc|params)\.yaml"
)
"""The files that a release has. Its sums do not tell: they may have been made again over others."""


def replaceable(out: Path, *sources: Path) -> Path:
    """The folder of a release to be, resolved; what is not a release is never replaced.

    Args:
        out: the folder named.
        sources: what the release is made of, which must outlive it.

    Raises:
        InputError: there is something else than a release, or it holds or is in a source.
    """
    place = apart(out, *sources)
    if not place.exists():
        return place
    remedy = "choose another --out, or remove it yourself"
    if not place.is_dir():
        raise InputError("there is a file of this name", path=out, remedy=remedy)
    if not any(place.iterdir()):
        return place
    if not _is_release(place):
        raise InputError("this folder is not a release and not empty", path=out, remedy=remedy)
    strange = [name for name in _names(place) if not _OWN.fullmatch(name)]
    if strange:
        raise InputError(
            f"the release there has {len(strange)} files that are not its own, first {strange[0]}",
            path=out, remedy=remedy,
        )  # fmt: skip
    return place


def _is_release(place: Path) -> bool:
    if not (place / MANIFEST).is_file():
        return False
    try:
        manifest = read_json(place / MANIFEST)
    except InputError:
        return False
    return isinstance(manifest, dict) and {"conjoin", "format", "shards"} <= manifest.keys()


def _names(folder: Path) -> Iterator[str]:
    """Every file's name relative to the folder, sorted."""
    files = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    yield from sorted(path.relative_to(folder).as_posix() for path in files)


def copy_provenance(folder: Path, project: Path, *sources: Path) -> None:
    """Copy dvc.yaml and params.yaml of a project into ``provenance/``, if they are conjoin's.

    Args:
        folder: of the release.
        project: the project's folder.
        sources: what the release is made of; if none of it lies in the project, nothing is copied,
            for then the project has nothing to do with it.
    """
    if not any(project.resolve() in source.resolve().parents for source in sources):
        return
    try:
        document = yaml.safe_load((project / "dvc.yaml").read_text(encoding="utf-8"))
        ours = "generate" in document["stages"]
    except (OSError, yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        return
    for name in _PROJECT if ours else ():
        if (project / name).is_file():
            (folder / PROVENANCE).mkdir(exist_ok=True)
            shutil.copyfile(project / name, folder / PROVENANCE / name)


def write_checksums(folder: Path) -> None:
    """Write ``SHA256SUMS``, which ``sha256sum -c`` reads, of every other file of the folder."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    lines = [f"{sha256_of(folder / name)}  {name}\n" for name in _names(folder)]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
