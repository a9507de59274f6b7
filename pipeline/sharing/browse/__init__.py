"""`conjoin browse`: reading a corpus."""
