"""Commands for ellipsis in dependency treebanks: ``gap``, ``agree``, ``orphans``."""
