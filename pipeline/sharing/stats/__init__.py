"""``conjoin stats``."""
