"""``conjoin plan``."""
