"""`conjoin repro` and `conjoin plan`: the graph on all cores, and what it will cost."""
