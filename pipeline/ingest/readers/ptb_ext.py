"""PTB.ext, the coordination-annotated Penn Treebank of Ficler & Goldberg (2016).

One tree per line. Conjuncts are the children marked ``-COORD``, words included; the coordinator is
the child ``CC-CC`` (``CC-SHARED`` is none):
``(NP-CCP (NNP-COORD Ways) (CC-CC and) (NNP-COORD Means))``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import files_within
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Sentence
from pipeline.text.coordinations import ONE_SIDED
from pipeline.text.trees import (
    base_label,
    constituents_of,
    is_tag,
    parse_tree,
    read_off,
    unescape,
    without_empty,
)
from pipeline.text.unpacking import read_whole

_COORDINATOR = "CC-CC"
_TRAILING = frozenset({",", ";", ":", "--"})


@dataclass(frozen=True, slots=True)
class Layout:
    """How many lines of the file belong to what, in this order (WSJ sections 00-01, 02-21, 22, 23).

    Lines after these, section 24, are not read.
    """

    skip: int = 3914
    train: int = 39832
    dev: int = 1700
    test: int = 2416

    @property
    def total(self) -> int:
        """Lines the file must have at least."""
        return self.skip + self.train + self.dev + self.test

    def split(self, line: int) -> str | None:
        """The split of a 1-based line, or None."""
        for name, count in (("", self.skip), ("train", self.train), ("dev", self.dev)):
            if line <= count:
                return name or None
            line -= count
        return "test" if line <= self.test else None


def read_ptb_ext(
    source: Path, tally: Tally, *, license_: str, layout: Layout | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of the training, development and test lines.

    ``doc_id`` is ``PTB.ext`` and ``sentence_id`` is ``ptb-ext/<line>``: the file names no documents.

    Args:
        source: the file, or a folder that holds it as ``PTB.ext``.
        tally: counts kept trees, lines outside the layout, and coordinators without two conjuncts.
        license_: recorded with every sentence.
        layout: how the lines divide; that of the released file if None.

    Raises:
        InputError: missing or short file, malformed brackets, a mark of a coordinator on a constituent.
    """
    layout = layout or Layout()
    path = source
    if source.is_dir():
        path = source / "PTB.ext"
        files_within(source, [path])
    lines = read_whole(path).rstrip("\n").split("\n")
    if len(lines) < layout.total:
        raise InputError(
            f"{len(lines):,} lines; the released PTB.ext has at least {layout.total:,}",
            path=path,
            remedy="give the whole file: the splits are counted in lines",
        )
    with Meter("ingest ptb-ext", len(lines)) as meter:
        for number, line in enumerate(lines, 1):
            meter.advance()
            split = layout.split(number)
            if split is None:
                tally.refuse("line outside training, development and test lines")
                continue
            tree = without_empty(parse_tree(line, path=path, line=number), path, number)
            if tree is None:
                tally.refuse("tree of empty elements only")
                continue
            tally.keep()
            _free_trailing(tree)
            for node in tree.subtrees(lambda node: node.label() == _COORDINATOR):
                if not is_tag(node):
                    raise InputError(
                        f"{_COORDINATOR} is not the tag of a word", path=path, line=number,
                        remedy="mend the tree",
                    )  # fmt: skip
            coordinations = _coordinations(tree, tally)
            words, tags, text = read_off(tree)
            yield Sentence(
                sentence_id=f"ptb-ext/{number}",
                doc_id="PTB.ext",
                split=split,
                words=words,
                tags=tags,
                tree=text,
                coordinations=tuple(coordinations),
                license=license_,
            )


def _is_conjunct(child: Tree) -> bool:
    return "COORD" in child.label().split("-")[1:]


def _free_trailing(tree: Tree) -> None:
    """Where two conjuncts touch, make a separator at the end of the first their sibling, in place."""
    for node in list(tree.subtrees(lambda t: not is_tag(t))):
        for i in range(len(node) - 2, -1, -1):
            first, second = node[i], node[i + 1]
            if not (_is_conjunct(first) and _is_conjunct(second)) or is_tag(first):
                continue
            if _ends_with_separator(first):
                node.insert(i + 1, _pop_last(first))


def _ends_with_separator(node: Tree) -> bool:
    """Whether the last of a constituent's words is a separator, and not its only one."""
    several = False
    while not is_tag(node):
        several = several or len(node) > 1
        node = node[-1]
    return several and node[0] in _TRAILING


def _pop_last(node: Tree) -> Tree:
    """Take the last word with its tag off a constituent, and what that leaves empty."""
    last: Tree = node[-1]
    if is_tag(last):
        node.pop()
        return last
    word = _pop_last(last)
    if not len(last):
        node.pop()
    return word


def _coordinations(tree: Tree, tally: Tally) -> list[Coordination]:
    found: list[Coordination] = []
    for node, spans in constituents_of(tree):
        marks = [i for i, child in enumerate(node) if child.label() == _COORDINATOR]
        if marks:
            conjuncts = [i for i, child in enumerate(node) if _is_conjunct(child)]
            linking = [i for i in marks if conjuncts and conjuncts[0] < i < conjuncts[-1]]
            if linking:
                found.append(
                    Coordination(
                        coordinator=spans[linking[-1]].start,
                        word=unescape(node[linking[-1]][0]),
                        label=base_label(node.label()),
                        conjuncts=tuple(spans[i] for i in conjuncts),
                    )
                )
            else:
                tally.refuse(ONE_SIDED)
    return sorted(found, key=lambda c: c.coordinator)
