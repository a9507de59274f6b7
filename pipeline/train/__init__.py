"""The stage `train`: L and candidates → predictor (Algorithm 1)."""
