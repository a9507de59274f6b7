"""``conjoin corpora``."""
