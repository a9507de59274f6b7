"""Words, trees, coordinations in trees, CoNLL-U, segmentation of running text."""
