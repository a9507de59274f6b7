"""Raw text of any size for language models: read, filtered, prepared, and stored as tokens."""
