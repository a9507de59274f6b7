"""Whether the rows of a corpus are what they must be: one set of rules, for validate and for who writes."""
