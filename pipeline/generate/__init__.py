"""The stage `generate`: trees → candidates and rejects (§3); called, it is ``pipeline.api.generate``.

A package takes its name in the package above it, so ``from pipeline import generate`` gives this module
once any part of it was imported, and the function of the same name has to be reached through it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    def __call__(self, *args: Any, **given: Any) -> Any:
        return import_module("pipeline.api").generate(*args, **given)


sys.modules[__name__].__class__ = _Called
