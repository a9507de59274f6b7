"""Whether a release is byte for byte what was written: its files against ``SHA256SUMS``."""

from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.corpus.manifest import CHECKSUMS, read_sums

_REMEDY = "make the release again, or get it again"


def checked_files(folder: Path) -> list[Path]:
    """All files of a release, ``SHA256SUMS`` included, each held against its checksum.

    Hidden files at the top (``.git``, a hub's ``.cache``) are no part of a release.

    Raises:
        InputError: there are no checksums, a file is missing, altered, or not listed.
    """
    sums = folder / CHECKSUMS
    if not sums.is_file():
        raise InputError(f"no {CHECKSUMS} here", path=folder, remedy="name what `release` wrote")
    listed: dict[str, str] = {}
    for line in read_sums(sums):
        if line.name is None:
            raise InputError("not a line of checksums", path=sums, line=line.number, remedy=_REMEDY)
        listed[line.name] = line.sha256
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
    visible = {name for name in there if not name.startswith(".")}
    for name in sorted(visible - listed.keys() - {CHECKSUMS}):
        raise InputError(
            f"a file that {CHECKSUMS} does not list", path=folder / name,
            remedy="remove it; a release is sent as it was written",
        )  # fmt: skip
    for name, expected in listed.items():
        path = folder / name
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"missing, but {CHECKSUMS} lists it", path=path, remedy=_REMEDY)
        if sha256_of(path) != expected:
            raise InputError(f"not the file that {CHECKSUMS} lists", path=path, remedy=_REMEDY)
    return [*(folder / name for name in sorted(listed)), sums]
