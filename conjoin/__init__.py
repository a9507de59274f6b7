"""conjoin for programs: ``from conjoin import Predictor, fill, generate`` (docs/python.md).

Everything is imported when it is first asked for, so that ``import conjoin`` needs neither torch nor a
second. The code lies in ``pipeline``.
"""

from typing import TYPE_CHECKING

from pipeline import __version__

if TYPE_CHECKING:
    from pipeline.api import (
        Coordinated,
        Generated,
        Predicted,
        PredictedCoordination,
        Predictor,
        Skipped,
        fill,
        generate,
    )

__all__ = [
    "Coordinated",
    "Generated",
    "Predicted",
    "PredictedCoordination",
    "Predictor",
    "Skipped",
    "__version__",
    "fill",
    "generate",
]


def __getattr__(name: str) -> object:
    """The parts of the API on demand (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pipeline import api  # noqa: PLC0415 - takes seconds

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
