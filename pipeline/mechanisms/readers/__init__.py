"""Readers of corpora: each is a generator of ``Sentence`` that counts what it refuses in a ``Tally``."""
