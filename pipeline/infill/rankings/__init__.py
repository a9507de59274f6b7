"""Rankings: by which score a language model chooses among attested fills, one module each."""
