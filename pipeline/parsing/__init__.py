"""Constituency parsers: loading, running and training them, and which one a folder has."""
