"""Readers of source formats, one module each."""
