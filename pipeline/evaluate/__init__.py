"""The stage `evaluate`: predictors → accuracy."""
