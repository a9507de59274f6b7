"""`conjoin merge`: several corpora as one."""
