"""``conjoin agree``: sentences on which two parsers agree, drawn to be like a treebank."""
