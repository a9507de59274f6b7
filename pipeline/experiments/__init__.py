"""Experiments: the cells of dvc.yaml that are run, planned and diagnosed."""
