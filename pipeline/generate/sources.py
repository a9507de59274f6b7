"""Sources of candidates that a language model writes or chooses, one module each (§3).

The stage knows only the protocol of ``sources.protocol``. Another source is a module beside
``free_infilling``, a line in ``SOURCES`` and its name among the choices of ``fills`` in
``core/settings.py``.
"""

from collections.abc import Callable
from typing import Any

from pipeline.generate.attested import AttestedInfilling
from pipeline.generate.free_infilling import FreeInfilling
from pipeline.generate.proposed import ProposedInfilling
from pipeline.generate.settings import GenerateSettings
from pipeline.sources.protocol import CandidateSource

SOURCES: dict[str, Callable[[GenerateSettings], CandidateSource[Any]]] = {
    "free": FreeInfilling,
    "attested": AttestedInfilling,
}


def source_of(settings: GenerateSettings) -> CandidateSource[Any]:
    """The source that ``settings.fills`` names, or that of a model behind an address.

    Raises:
        ConjoinError: of the source: its inputs or its model are missing, or settings do not go together.
    """
    if settings.proposes:
        return ProposedInfilling(settings)
    return SOURCES[settings.fills](settings)
