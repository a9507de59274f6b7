"""The coordinators of the corpora that rows of candidates were made of, as manifests say them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.core.types import COORDINATORS, USUAL_COORDINATORS
from pipeline.core.words import coordinator_list

_INPUT = "coordinators"


def coordinators_input(coordinators: Sequence[str]) -> dict[str, list[str]]:
    """What the inputs of a run say of its corpus's coordinators; of the usual ones nothing, as ever."""
    usual = tuple(coordinators) == USUAL_COORDINATORS
    return {} if usual else {_INPUT: list(coordinators)}


def coordinators_behind(manifest: Mapping[str, Any] | None) -> frozenset[str]:
    """The coordinators of the corpora behind the rows of a folder, by its manifest; without one the usual."""
    if manifest is None:
        return COORDINATORS
    runs = manifest.get("generations", {"": manifest})
    found = runs.values() if isinstance(runs, dict) else ()
    return coordinators_of_runs(run for run in found if isinstance(run, dict))


def is_english(manifest: Mapping[str, Any]) -> bool:
    """Whether the rows of a folder are English, by their coordinators; else no language is named."""
    return coordinators_behind(manifest) <= COORDINATORS


def coordinators_of_runs(runs: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The coordinators of all corpora behind some runs; where no run is known, the usual ones.

    Args:
        runs: as manifests have them, in whatever form: what is no list of coordinators is not looked at.
    """
    found, none = set[str](), True
    for run in runs:
        none = False
        inputs = run.get("inputs")
        named = inputs.get(_INPUT) if isinstance(inputs, dict) else None
        try:
            found.update(USUAL_COORDINATORS if named is None else coordinator_list(named))
        except ValueError:
            found |= COORDINATORS
    return COORDINATORS if none else frozenset(found)
