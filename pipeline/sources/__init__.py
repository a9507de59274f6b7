"""Sources of candidates: their protocol, and what makes a folder of a source's rows, unit by unit."""
