"""Commands that try a model or a predictor on a few sentences."""
