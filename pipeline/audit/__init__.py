"""The stage `audit`: candidates → shares of right annotations, by the corpus's grammar."""
