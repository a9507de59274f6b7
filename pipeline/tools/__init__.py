"""Interactive commands outside the DVC graph: ``fill``, ``predict``, ``corpora``."""
