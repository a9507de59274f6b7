"""Arguments of predicates, zero anaphora among them (Konno et al., 2020)."""
