"""`conjoin annotate`: coordinations of a corpus, by hand, in a local page."""
