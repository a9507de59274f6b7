"""A finished run → a model repository: what is released of its predictor, and under which terms."""
