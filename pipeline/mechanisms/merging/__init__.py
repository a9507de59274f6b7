"""Several corpora as one."""
