"""Releases of new argument pairs, which ``synthesize`` made."""
