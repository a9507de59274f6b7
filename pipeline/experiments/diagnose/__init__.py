"""``conjoin diagnose``."""
