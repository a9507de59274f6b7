"""The check of a corpus that came from anywhere."""
