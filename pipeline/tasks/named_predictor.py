"""Where a predictor is that somebody named: a folder, or a repository of the Hugging Face hub.

Of a repository the files are fetched that its ``predictor.json`` lists, and only when it is named; loading
holds them against the digests there. With HF_HUB_OFFLINE nothing is asked of the network, and what was
fetched before is taken.
"""

import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from pipeline.core.corpora import ARGUMENTS, COORDINATION, QUESTIONS, RELATIONS
from pipeline.core.documents import FileName, read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.models.loading import loading
from pipeline.tasks.model_folder import CARD

TASK_OF_FORM = {
    "conjoin-predictor": COORDINATION,
    "conjoin-relations": RELATIONS,
    "conjoin-arguments": ARGUMENTS,
    "conjoin-questions": QUESTIONS,
}
"""The task of a model, by what its card calls itself."""

_HUB_NAME = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w./-]+))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class SavedCard(TypedDict):
    """What every ``predictor.json`` has: its form, its version, and the digest of each file beside it."""

    format: str
    version: int
    files: dict[FileName, str]


def find_predictor(name: str | Path) -> Path:
    """The folder of a predictor: that of the name, or one into which it is fetched from the hub.

    A name of the hub is taken for a mistyped folder if its owner is a folder here; with a revision
    (``owner/name@main``) it never is. What is wrong with a folder, loading says.

    Raises:
        ModelError: there is no such repository or revision, it cannot be reached, or has no predictor, or one
            of another format.
    """
    found = _HUB_NAME.fullmatch(str(name))
    folder = Path(name)
    if found is None or os.path.lexists(folder) or (not found[2] and folder.parent.is_dir()):
        return folder
    return _fetched(found[1], found[2])


def read_saved_card(folder: Path) -> SavedCard:
    """What a ``predictor.json`` of any task says of the files beside it.

    Raises:
        ModelError: it is of another format.
        InputError: it is not JSON.
    """
    found: Any = read_json(folder / CARD, object, remedy="get the predictor again")
    form = found.get("format") if isinstance(found, Mapping) else None
    try:
        card: SavedCard = read_json(folder / CARD, SavedCard)
    except InputError as error:
        raise _another_format(folder, form) from error
    if card["format"] not in TASK_OF_FORM:
        raise _another_format(folder, form)
    return card


def _another_format(folder: Path | str, form: object) -> ModelError:
    return ModelError(
        f"a predictor of another format: {str(form)[:80]!r}", path=folder,
        remedy="name a predictor that this version of conjoin trained or released",
    )  # fmt: skip


def _fetched(repository: str, revision: str | None) -> Path:
    where = f"{repository}@{revision}" if revision else repository
    first = _snapshot(repository, revision, [CARD], where)
    if not (first / CARD).is_file():
        raise ModelError(
            f"no predictor there: this repository of the hub has no {CARD}", path=where,
            remedy="name one that `conjoin release` and `push` made of a run",
        )  # fmt: skip
    card = read_saved_card(first)
    # The very commit whose card was read, whatever is pushed meanwhile.
    commit = first.name if _COMMIT.fullmatch(first.name) else revision
    return _snapshot(repository, commit, [CARD, *map(glob.escape, card["files"])], where)


def _snapshot(repository: str, revision: str | None, files: list[str], where: str) -> Path:
    """The hub's folder with those files that a repository has of some patterns."""
    # The hub's client takes a second to import, and most predictors are folders.
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import RevisionNotFoundError  # noqa: PLC0415

    with loading(where, "a predictor"):
        try:
            return Path(snapshot_download(repository, revision=revision, allow_patterns=files))
        except RevisionNotFoundError as error:
            raise ModelError(
                f"the repository {repository} of the hub has no revision {revision!r}",
                remedy="check it: a branch, a tag or a commit",
            ) from error
