"""Candidates chosen from others, by what their rows say and by what a predictor says of them."""
