"""The stage `ingest`: raw corpus → sentences.parquet, raw text, draws of L."""
