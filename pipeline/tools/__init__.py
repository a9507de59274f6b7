"""Commands that are not stages of the DVC graph: repro, validate, browse, merge, export, predict, etc."""
