"""The stage ``synthesize``: new pairs of the senses that a run's model takes for others (error-driven)."""
