"""``conjoin models``."""
