"""Coordination: the outer boundary of each coordinator's structure (§2)."""
