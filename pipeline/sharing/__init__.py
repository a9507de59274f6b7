"""Commands around a corpus of candidates that is shared: outside the graph of stages."""
