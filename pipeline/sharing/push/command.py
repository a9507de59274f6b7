"""``conjoin push``: a release to a repository of the Hugging Face hub, or what would be sent.

A corpus of candidates goes to a dataset repository, a predictor to a model repository.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from pipeline.core.console import say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST, column_names, read_batches
from pipeline.corpus.checked import require_whole
from pipeline.corpus.handing_on import licences_of, require_permission
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.licences import combined, terms
from pipeline.corpus.validity.checks import require_valid
from pipeline.release.kinds.known import kind_of
from pipeline.release.kinds.rows import require_valid_rows
from pipeline.release.package import checked_files
from pipeline.release.predictors.package import (
    WEIGHTS,
    checked_predictor,
    is_predictor_release,
)
from pipeline.release.readable import require_no_words
from pipeline.release.shards import STAND_OFF
from pipeline.sharing.push.settings import PushSettings

_STALE = ["data/*", "rejected/*", "provenance/*"]
"""What an earlier version may have left in the repository, and would be loaded with this one."""

_STALE_OF_MODEL = [
    "tokenizer*", "vocab.*", "merges.txt", "special_tokens_map.json", "added_tokens.json",
    "chat_template*", "*.model", "*.safetensors", "provenance/*",
]  # fmt: skip
"""The same of a predictor."""


def run(settings: PushSettings) -> None:
    """Show what would be sent, or send it.

    Raises:
        InputError: this is no release, it is damaged or not valid, its rows are not what the manifest says,
            their text must not be handed on, there is no token, or the hub refuses or cannot be reached.
    """
    manifest: Mapping[str, Any]
    if is_predictor_release(settings.release):
        kind: _Kind = "model"
        manifest, files = checked_predictor(settings.release)
    else:
        kind = "dataset"
        shards, manifest = _release(settings.release)
        files = checked_files(settings.release)
        _require_rows(shards, manifest, files)
    _show(settings, kind, manifest, files)
    if settings.dry_run:
        say("Nothing was sent: this was a dry run. Add --no-dry-run to send it.")
        return
    say(f"Sent: {_send(settings, kind, manifest, files)}")


_Kind = Literal["dataset", "model"]


def _release(place: Path) -> tuple[Shards, Mapping[str, Any]]:
    """The files of a release and its manifest."""
    shards = find_shards(place)
    manifest = shards.manifest
    if shards.kind not in {"release", "stand-off"} or manifest is None or "license" not in manifest:
        raise InputError(
            "this is not a release", path=place, remedy="make one with `conjoin release`"
        )
    return shards, manifest


def _require_rows(shards: Shards, manifest: Mapping[str, Any], files: Sequence[Path]) -> None:
    """Refuse a release whose rows must not be sent, whatever its manifest says of them."""
    require_whole(shards)
    own = {*shards.accepted, *shards.rejects}
    for path in files:
        if path.suffix == ".parquet" and path not in own:
            raise InputError(
                f"{MANIFEST} lists no such shard", path=path,
                remedy="remove it; a release is sent as it was written",
            )  # fmt: skip
    kind = kind_of(shards)
    if shards.kind == "stand-off":
        _require_no_text(shards, STAND_OFF if kind is None else kind.stand_off)
    licenses = licences_of(shards)
    if (held := combined(licenses)) != manifest["license"]:
        raise InputError(
            f"{MANIFEST} says {str(manifest['license'])[:_SHOWN]!r}, its rows {held[:_SHOWN]!r}",
            path=shards.place, remedy=_ANEW,
        )  # fmt: skip
    if shards.kind == "release":
        remedy = "make a release with --stand-off"
        if manifest.get("rehydrated"):
            remedy = (
                "it was rebuilt with its source's text: push the stand-off release it came from"
            )
        require_permission(licenses, shards.place, remedy=lambda _: remedy)
    if kind is not None:
        require_valid_rows(kind, shards)
    else:
        require_valid(shards, distinct=True)


def _require_no_text(shards: Shards, allowed: Mapping[str, pa.Schema]) -> None:
    """Refuse columns that no stand-off release has; what stands in the others is asked of each row."""
    for paths, config in ((shards.accepted, "train"), (shards.rejects, "rejected")):
        for path in paths:
            for name in column_names(path):
                if config not in allowed or name not in allowed[config].names:
                    raise InputError(
                        f"{MANIFEST} says that this is a stand-off release, and column {name!r} is here",
                        path=path, remedy=_ANEW,
                    )  # fmt: skip
            if allowed is STAND_OFF:
                for batch in read_batches(path, STAND_OFF[config]):
                    try:
                        require_no_words(batch)
                    except InputError as error:
                        raise InputError(error.what, path=path, remedy=_ANEW) from error


_ANEW = "make the release again with `conjoin release`"
_SHOWN = 200  # characters of a licence in a message


def _show(
    settings: PushSettings, kind: _Kind, manifest: Mapping[str, Any], files: Sequence[Path]
) -> None:
    sizes = [path.stat().st_size for path in files]
    names = [path.relative_to(settings.release).as_posix() for path in files]
    rows = [*zip(names, sizes, strict=True), (f"{len(files)} files", sum(sizes))]
    table(f"{manifest['name']} {manifest['version']}", ("file", "bytes"), rows)
    new = "private" if settings.private else "public"
    say(f"to        {kind} repository {settings.repository} ({new} if it has to be made)")
    if manifest["url"] and settings.repository not in str(manifest["url"]):
        what = "corpus" if kind == "dataset" else "predictor"
        warn(
            f"the card says that the {what} is at {manifest['url']}: `conjoin release --url` changes it"
        )
    say(f"message   {_message(manifest)}")
    say(f"licence   {manifest['license']}: {terms(str(manifest['license'])).why}")
    if kind == "model":
        say("text      none: weights, tokenizer and documents")
    elif manifest["stand_off"]:
        say("text      none of the source: this is a stand-off release")
    say(
        "replaced  files of these names in the repository, whoever edited them there: README.md, too"
    )
    say(f"removed   {', '.join(_stale(kind))} of the repository that are not among these files")


def _stale(kind: _Kind) -> list[str]:
    return _STALE if kind == "dataset" else _STALE_OF_MODEL


def _message(manifest: Mapping[str, Any]) -> str:
    if "files" in manifest:
        return (
            f"{manifest['name']} {manifest['version']} (weights {manifest['files'][WEIGHTS][:16]})"
        )
    digest = manifest["digests"]["train"]
    return f"{manifest['name']} {manifest['version']} (row digest {digest[:16]})"


def _send(
    settings: PushSettings, kind: _Kind, manifest: Mapping[str, Any], files: Sequence[Path]
) -> str:
    """Upload in one commit; returns its address."""
    # The hub's client takes a second to import, which a dry run does not need.
    from huggingface_hub import HfApi, get_token  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415

    if get_token() is None:
        raise InputError(
            "no token of the hub, so nothing was sent",
            remedy="run `hf auth login`, or set HF_TOKEN to a token with write permission",
        )
    api = HfApi(library_name="conjoin", library_version=str(manifest["conjoin"]))
    try:
        api.create_repo(
            settings.repository, repo_type=kind, private=settings.private, exist_ok=True
        )
        commit = api.upload_folder(
            repo_id=settings.repository,
            repo_type=kind,
            folder_path=settings.release,
            allow_patterns=[path.relative_to(settings.release).as_posix() for path in files],
            delete_patterns=_stale(kind),
            commit_message=_message(manifest),
        )
    except HfHubHTTPError as error:
        raise InputError(
            f"the hub refused {settings.repository}: {error.server_message or error}",
            remedy=_REMEDIES.get(error.response.status_code, "try again later"),
        ) from error
    except Exception as error:  # of the HTTP library that the hub's client happens to use
        raise InputError(
            f"the hub cannot be reached: {error}", remedy="check the network and try again"
        ) from error
    return str(commit.commit_url)


_REMEDIES = {
    401: "the token is not valid: run `hf auth login` again, or set HF_TOKEN",
    403: "the token must have write permission, and you must be allowed to write to this owner's "
    "repositories",
    404: "check owner and name, and that the token may see the repository",
}
"""What to do about what the hub answers, by HTTP status."""
