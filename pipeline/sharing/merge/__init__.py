"""``conjoin merge``."""
