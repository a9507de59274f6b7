"""Families of language models that fill masks, one module each."""
