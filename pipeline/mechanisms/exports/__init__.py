"""Candidates for tools that do not read Parquet."""
