"""``conjoin fill``."""
