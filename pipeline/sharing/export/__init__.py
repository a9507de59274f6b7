"""`conjoin export`: other formats."""
