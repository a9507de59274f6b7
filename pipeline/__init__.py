"""conjoin: coordination generation by synchronized text-infilling, and the training that filters it.

One package per stage, what several stages share below them, and the commands outside the graph above them;
imports run downwards only (docs/architecture.md). Programs import ``conjoin``.
"""

__version__ = "0.1.0"
