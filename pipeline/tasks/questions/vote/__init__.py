"""``conjoin vote``: people say of event pairs whether one is a cause of the other (thesis, section 2.4.3)."""
