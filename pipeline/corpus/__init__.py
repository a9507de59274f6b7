"""A corpus of candidates, from here or from elsewhere: layout, manifest, digest, licences, SQL."""
