"""conjoin: coordination generation by synchronized text-infilling, and the training that filters it.

Three floors, imports only downwards: ``stages`` (and the interactive ``tools``) read files, call
``mechanisms`` and write files; ``mechanisms`` do the science; ``ground`` and ``settings`` hold the
types, schemas and options everything else speaks in.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
