"""Variants of labelled sentences: the same labels on other words (Konno et al., 2020)."""
