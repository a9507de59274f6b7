"""The stage `release`: a folder of candidates → a dataset repository."""
