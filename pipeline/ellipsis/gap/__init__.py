"""``conjoin gap``: coordinated clauses of a treebank, with the verb of the last left out."""
