"""GENIA as a newer treebank would have it: in brackets, its prenominal noun phrases labelled NML.

    python tests/prenominal.py SENTENCES.parquet FOLDER

writes the trees of an ingested corpus, a file for each document.
"""

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence
from pipeline.text.trees import is_tag, one_line, parse_tree


def relabelled(tree: Tree) -> Tree:
    """A copy in which an NP before a noun of its own NP is NML, and so are the NPs that it joins."""
    return _copied(tree, modifies=False)


def _copied(node: Tree, *, modifies: bool) -> Tree:
    if is_tag(node):
        return Tree(node.label(), list(node))
    nouns = [at for at, child in enumerate(node) if is_tag(child) and child.label()[:2] == "NN"]
    last = max(nouns, default=-1) if node.label() == "NP" else -1
    joins = modifies and any(is_tag(child) and child.label() == "CC" for child in node)
    children = [
        _copied(child, modifies=child.label() == "NP" and (joins or at < last))
        for at, child in enumerate(node)
    ]
    return Tree("NML" if modifies else node.label(), children)


def write_brackets(sentences: Iterable[Sentence], folder: Path) -> None:
    """Write the relabelled trees, a file for each document."""
    folder.mkdir(parents=True, exist_ok=True)
    for document, group in groupby(sentences, key=lambda each: each.doc_id):
        trees = [one_line(relabelled(parse_tree(each.tree))) for each in group if each.tree]
        (folder / f"{document}.mrg").write_text("".join(f"{tree}\n" for tree in trees), "utf-8")


if __name__ == "__main__":
    write_brackets(read_sentences(Path(sys.argv[1])), Path(sys.argv[2]))
