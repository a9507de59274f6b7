"""``conjoin orphans``."""
