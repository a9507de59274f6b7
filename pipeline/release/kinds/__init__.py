"""Releases of rows of other tasks than coordination, a kind of rows for each."""
