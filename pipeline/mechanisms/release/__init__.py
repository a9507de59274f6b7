"""Corpora to share: what a release is made of, how it is checked, looked into and handed on."""
