"""The stage `generate`: trees → candidates and rejects (§3)."""
