"""Looking inside a corpus: its rows in a local web page, or a sample of them in one file."""
