"""`conjoin predict`: boundaries in new sentences."""
