"""`conjoin validate`: whether a corpus is what it says."""
