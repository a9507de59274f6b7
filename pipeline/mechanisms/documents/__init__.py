"""The documents of a release: card, licence, citation, Croissant."""
