"""Shared by all packages: types, schemas, files, errors, settings, fingerprints, metrics."""
