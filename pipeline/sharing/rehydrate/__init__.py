"""``conjoin rehydrate``."""
