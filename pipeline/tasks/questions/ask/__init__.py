"""The stage ``ask``: event pairs become questions with four choices (thesis, section 2.3.4)."""
