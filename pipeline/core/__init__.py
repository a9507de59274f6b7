"""What every room speaks in: types, schemas, files, errors, settings, fingerprints, metrics."""
