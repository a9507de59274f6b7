"""What senses are called in prompts, and how they are defined there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pipeline.core.documents import parse_yaml, read_yaml
from pipeline.core.errors import InputError, SettingsError

_REMEDY = "a file has lines `Contingency.Cause: the situations described in …`"


@dataclass(frozen=True, slots=True)
class Sense:
    """A sense: its name as prompts spell it, and its definition."""

    name: str
    definition: str


class Definitions:
    """Definitions of senses, those of PDTB-3 and a person's own.

    Args:
        place: a YAML file of definitions by name, which go over PDTB-3's; None: there is none.
        senses: of the corpus, which the file may define beside PDTB-3's.

    Raises:
        InputError: the file is none of definitions, or defines a sense that is neither's.
    """

    def __init__(self, place: Path | None = None, senses: Sequence[str] = ()) -> None:
        own = {} if place is None else _checked(read_yaml(place), place)
        there = {name.casefold() for name in (*_of_pdtb(), *senses)}
        if other := next((name for name in own if name.casefold() not in there), None):
            raise InputError(
                f"{other!r} is no sense of the corpus, nor of the PDTB 3", path=place,
                remedy=f"the corpus has {', '.join(senses)}",
            )  # fmt: skip
        self._known = {
            name.casefold(): Sense(name, definition)
            for name, definition in {**_of_pdtb(), **own}.items()
        }

    def __getitem__(self, sense: str) -> Sense:
        """The sense that a corpus spells so, in letters of any case.

        Raises:
            SettingsError: nobody has defined it.
        """
        found = self._known.get(sense.casefold())
        if found is None:
            raise SettingsError(
                f"the sense {sense!r} has no definition, which prompts give",
                remedy=f"write one and name the file with --definitions; {_REMEDY}",
            )
        return found

    def require(self, *senses: str) -> None:
        """Check that some senses are defined.

        Raises:
            SettingsError: one is not.
        """
        for sense in senses:
            self[sense]

    def facts(self) -> list[list[str]]:
        """All of them, for a fingerprint."""
        return sorted([each.name, each.definition] for each in self._known.values())


@cache
def _of_pdtb() -> Mapping[str, str]:
    path = files("pipeline") / "resources" / "prompts" / "relations" / "senses.yaml"
    found: Mapping[str, str] = parse_yaml(path.read_text(encoding="utf-8"), what=path.name)
    return found


def _checked(found: Any, place: Path) -> Mapping[str, str]:
    if not isinstance(found, dict) or not found:
        raise InputError("no definitions of senses by name", path=place, remedy=_REMEDY)
    for name, definition in found.items():
        if not (isinstance(name, str) and isinstance(definition, str) and definition.strip()):
            raise InputError(f"{name!r} has no definition in words", path=place, remedy=_REMEDY)
    return found
