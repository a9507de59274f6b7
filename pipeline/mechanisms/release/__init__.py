"""A corpus as a dataset repository, with the words of its source or without."""
