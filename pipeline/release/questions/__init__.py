"""Releases of questions, which ``ask`` made of event pairs."""
