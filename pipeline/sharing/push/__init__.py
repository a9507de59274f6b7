"""``conjoin push``."""
