"""Studies and measurements: scripts that import each other by their whole names, of the same clone."""
