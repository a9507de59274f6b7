"""The folder of a released predictor: by what it is known, and whether all in it is as it was written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.cards.predictors import PredictorManifest
from pipeline.core.claims import Listed
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.licences import terms
from pipeline.corpus.manifest import CHECKSUMS, read_sums
from pipeline.models.checkpoint_files import shapes_in
from pipeline.release.package import checked_files

CARD, WEIGHTS = "predictor.json", "model.safetensors"  # as in tasks/model_folder.py, without torch
RUN_CARD = "run.json"
DOCUMENTS = ("README.md", "LICENSE", RUN_CARD, MANIFEST)
"""What a release has besides the predictor's own files and the checksums."""

_SUFFIXES = {".json", ".txt", ".model", ".jinja", ".safetensors"}
"""Of a predictor's own files: none of a pickle, which runs code when it is read."""

_AGAIN = "make the release again with `conjoin release`"


def is_predictor_release(place: Path) -> bool:
    """Whether a folder is the release of a predictor, as its manifest says."""
    return _said(place).get("kind") == "predictor"


def _said(place: Path) -> Mapping[str, Any]:
    try:
        found: Any = read_json(place / MANIFEST, object)
    except InputError:
        return {}
    return found if isinstance(found, Mapping) else {}


def earlier_predictor(place: Path) -> Listed:
    """The files of a release of a predictor that stands at a place; None where none does.

    One that is not as the sums have it, such as a README.md that somebody edited, is none of it.
    """
    own = _said(place).get("files")
    if not is_predictor_release(place) or not isinstance(own, Mapping):
        return None
    try:
        sums = {line.name: line.sha256 for line in read_sums(place / CHECKSUMS)}
    except InputError:
        return None
    names = (*own, CARD, *DOCUMENTS)
    written = [n for n in names if (place / n).is_file() and sha256_of(place / n) == sums.get(n)]
    return {CHECKSUMS, *written}


def checked_predictor(place: Path) -> tuple[PredictorManifest, list[Path]]:
    """The manifest of a release of a predictor, and all its files, each held against its digest.

    Raises:
        InputError: a file is missing, altered, or one too many; the manifest or the licence is not one; a
            file is of a kind that no predictor has, such as a pickle.
        ModelError: the weights are no safetensors.
    """
    manifest: PredictorManifest = read_json(place / MANIFEST, PredictorManifest, remedy=_AGAIN)
    files = checked_files(place)
    own = manifest["files"]
    names = {path.relative_to(place).as_posix() for path in files}
    listed = {*own, CARD, *DOCUMENTS, CHECKSUMS}
    for name in sorted(names ^ listed):
        what = "a file that no predictor has" if name in names else "missing"
        raise InputError(f"{what}, by {MANIFEST}", path=place / name, remedy=_AGAIN)
    for name in own:
        path = place / name
        if path.suffix not in _SUFFIXES or _is_packed(path):
            raise InputError(
                "a kind of file that no predictor has: it could run code when it is read",
                path=path, remedy=_AGAIN,
            )  # fmt: skip
    saved = read_json(place / CARD, remedy=_AGAIN)
    found = {name: sha256_of(place / name) for name in own}
    if saved.get("files") != found or own != found or saved.get("format") != manifest["predictor"]:
        raise InputError(f"{MANIFEST} and {CARD} are of two predictors", path=place, remedy=_AGAIN)
    if not terms(manifest["license"]).redistributable:
        raise InputError(
            f"licence {manifest['license'][:200]!r}: {terms(manifest['license']).why}",
            path=place, remedy="name another with `conjoin release --license`, if you may",
        )  # fmt: skip
    shapes_in(place / WEIGHTS)
    return manifest, files


def _is_packed(path: Path) -> bool:
    """Whether a file begins as pickles do, or as the archives that torch keeps them in."""
    with path.open("rb") as file:
        head = file.read(4)
    return path.suffix != ".safetensors" and head.startswith((b"\x80", b"PK\x03\x04"))
