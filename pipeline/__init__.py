"""conjoin: coordination generation by synchronized text-infilling, and the training that filters it.

One package per stage, what several stages share below them, and the commands outside the graph in
``tools``; imports run downwards only (docs/architecture.md).

For programs there are ``fill``, ``generate`` and ``Predictor`` (docs/python.md). They are imported when
they are first asked for, so that ``import pipeline`` needs neither torch nor a second; their types stand
in ``__init__.pyi``.
"""

from importlib import import_module

__all__ = [
    "Coordinated",
    "Coordination",
    "Generated",
    "Predicted",
    "Predictor",
    "Skipped",
    "__version__",
]
__all__ += ["fill", "generate"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The parts of the API on demand (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("pipeline.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
