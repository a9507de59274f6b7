"""``python -m pipeline``: the same as ``conjoin``, for launchers that want a module."""

from pipeline.cli import main

main()
