"""Tasks: what is learned and predicted, behind one protocol."""
