"""Studies and measurements: scripts that import each other by their whole names.

Each puts its own clone on Python's path, whichever is installed: what is kept lies beside it.
"""
