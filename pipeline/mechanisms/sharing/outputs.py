"""Where a command may write: never in what it reads, nor around it."""

from pathlib import Path

from pipeline.ground.errors import InputError

__all__ = ["apart", "resolved"]


def resolved(path: Path) -> Path:
    """The path without symbolic links.

    Raises:
        InputError: its links lead in a circle.
    """
    try:
        found = path.resolve()
        if not found.is_symlink():  # what Python 3.13 leaves of a circle
            return found
        raise RuntimeError
    except (OSError, RuntimeError) as error:  # RuntimeError: until Python 3.12
        raise InputError(
            "its symbolic links lead in a circle",
            path=path,
            remedy="remove them, or name another path",
        ) from error


def apart(out: Path, *sources: Path) -> Path:
    """The place named by ``out``, resolved, if it is none of the sources, in none, and around none.

    Args:
        out: what is to be written.
        sources: what it is made of, which must outlive it.

    Raises:
        InputError: it is, or symbolic links lead in a circle.
    """
    place = resolved(out)
    for source in map(resolved, sources):
        if place == source or place in source.parents or source in place.parents:
            raise InputError(
                f"this cannot take the place of what it is made of ({source.name}), or lie in it",
                path=out, remedy="choose another --out",
            )  # fmt: skip
    return place
