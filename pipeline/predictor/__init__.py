"""The coordination predictor: encoder and endpoint scorer (§2)."""
