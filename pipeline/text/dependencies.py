"""Dependency trees of Universal Dependencies, read from CoNLL-U and written back.

A sentence comes in as its lines and stays what they say: comments, words, multiword tokens and
empty nodes in their order. What is checked is what whoever reads a tree relies on: each word has
one head in the sentence, one word has none, and no word is above itself. The enhanced layer (DEPS)
is text until somebody asks for it, since many files have one that does not fit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BufferedReader, BytesIO
from unicodedata import category

from pipeline.core.errors import InputError
from pipeline.core.words import is_without_control
from pipeline.text.conllu import read_conllu
from pipeline.text.coordinations import WITHHELD, is_withheld
from pipeline.text.lines import GivenSentence, NumberedLines

DEEPEST = 400
"""Words that may stand above one another; in English EWT it is 26 at most."""

ABSENT = "_"
"""What a column without a value has."""

CONTROL = "sentence with a control character"
"""Why a sentence is not written: it would steer a terminal, or read in another order than it has."""

NodeNumber = tuple[int, int]
"""The number of a node of the enhanced layer: ``(8, 0)`` is word 8, ``(8, 1)`` the empty node 8.1."""


@dataclass(frozen=True, slots=True)
class TreebankWord:
    """A line of a word: its ten columns."""

    number: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int
    deprel: str
    deps: str
    misc: str

    @property
    def relation(self) -> str:
        """The universal relation: ``obl`` of ``obl:tmod``."""
        return self.deprel.partition(":")[0]

    @property
    def line(self) -> str:
        """The line as CoNLL-U has it."""
        return "\t".join(
            (str(self.number), self.form, self.lemma, self.upos, self.xpos, self.feats,
             str(self.head), self.deprel, self.deps, self.misc)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A multiword token such as ``3-4 don't``.

    Attributes:
        first: number of its first word.
        last: of its last.
        columns: the other nine, as they stand.
    """

    first: int
    last: int
    columns: tuple[str, ...]

    @property
    def form(self) -> str:
        """As it is written."""
        return self.columns[0]

    @property
    def misc(self) -> str:
        """Its MISC column."""
        return self.columns[-1]


@dataclass(frozen=True, slots=True)
class Empty:
    """An empty node such as ``8.1``: its number and the other nine columns, as they stand."""

    node: NodeNumber
    columns: tuple[str, ...]


@dataclass(frozen=True)
class DependencyTree:
    """A sentence with its basic tree.

    Attributes:
        words: in their order; word n is ``words[n - 1]``.
        tokens: the multiword tokens.
        empty: the empty nodes.
        comments: the lines before the words, with their ``#``.
        name: the ``sent_id``; None without one.
        line: the line of the file it begins on.
    """

    words: tuple[TreebankWord, ...]
    tokens: tuple[Token, ...] = ()
    empty: tuple[Empty, ...] = ()
    comments: tuple[str, ...] = ()
    name: str | None = None
    line: int = 0

    def word(self, number: int) -> TreebankWord:
        """The word of a number, from 1."""
        return self.words[number - 1]

    @cached_property
    def _below(self) -> dict[int, list[TreebankWord]]:
        below: dict[int, list[TreebankWord]] = {}
        for word in self.words:
            below.setdefault(word.head, []).append(word)
        return below

    def children(self, number: int) -> Sequence[TreebankWord]:
        """The words whose head a word is, in their order."""
        return self._below.get(number, ())

    def subtree(self, number: int) -> set[int]:
        """The numbers of a word and of all below it."""
        found, waiting = {number}, [number]
        while waiting:
            below = [each.number for each in self.children(waiting.pop())]
            found.update(below)
            waiting += below
        return found

    @cached_property
    def characters(self) -> str:
        """What is written, without its spaces: alike however it is cut into words."""
        inside = {n for token in self.tokens for n in range(token.first, token.last + 1)}
        written = {token.first: token.form for token in self.tokens}
        written |= {word.number: word.form for word in self.words if word.number not in inside}
        whole = "".join(form for _, form in sorted(written.items()))
        return "".join(c for c in whole if category(c) != "Zs")

    @property
    def forms(self) -> tuple[str, ...]:
        """The words as they are written."""
        return tuple(word.form for word in self.words)

    @property
    def relations(self) -> int:
        """How many relations there are, subtypes counted apart."""
        return len({word.deprel for word in self.words})

    @property
    def text(self) -> str:
        """The sentence's text, of its tokens and their ``SpaceAfter``."""
        inside = {n for token in self.tokens for n in range(token.first, token.last + 1)}
        units = {token.first: (token.form, token.misc) for token in self.tokens}
        units |= {w.number: (w.form, w.misc) for w in self.words if w.number not in inside}
        parts = [form + ("" if glued(misc) else " ") for _, (form, misc) in sorted(units.items())]
        return "".join(parts).strip()

    @property
    def rows(self) -> list[str]:
        """The lines of the sentence, without the blank one that ends it."""
        tokens = {token.first: token for token in self.tokens}
        empty: dict[int, list[Empty]] = {}
        for each in self.empty:
            empty.setdefault(each.node[0], []).append(each)

        def nodes(after: int) -> Iterator[str]:
            for each in empty.get(after, ()):
                yield "\t".join((shown(each.node), *each.columns))

        lines = [*self.comments, *nodes(0)]
        for word in self.words:
            if token := tokens.get(word.number):
                lines.append("\t".join((f"{token.first}-{token.last}", *token.columns)))
            lines += [word.line, *nodes(word.number)]
        return lines


def rows_of(tree: DependencyTree) -> str:
    """The lines of a sentence as one text, without comments and without the blank line that ends it."""
    return "\n".join(row for row in tree.rows if not row.startswith("#"))


def tree_in(rows: str, name: str) -> DependencyTree:
    """The tree of a sentence by its lines of CoNLL-U.

    Args:
        rows: as of ``rows_of``.
        name: what the sentence is called, which messages say.

    Raises:
        InputError: they are not those of one sentence with a tree.
    """
    lines = NumberedLines(name, BufferedReader(BytesIO(rows.encode())), BytesIO())
    found = list(read_trees(lines))
    if len(found) != 1:
        what = f"{len(found)} sentences where one is due"
        raise InputError(what, path=name, remedy="run `conjoin ingest` again")
    return replace(found[0], name=name)


def why_unwritten(tree: DependencyTree) -> str:
    """Why nothing is written of a sentence, whatever is asked for; empty if it may be."""
    if is_withheld(tree.forms):
        return WITHHELD
    # Tabs part columns, and stand in comments.
    rows = "".join(tree.rows).replace("\t", "")
    return "" if is_without_control(rows) else CONTROL


def glued(misc: str) -> bool:
    """Whether no space follows, by a MISC column."""
    return "SpaceAfter=No" in misc.split("|")


def with_space(misc: str, together: bool) -> str:
    """A MISC column that says whether a space follows."""
    parts = [each for each in misc.split("|") if each not in (ABSENT, "SpaceAfter=No")]
    return "|".join(sorted([*parts, *["SpaceAfter=No"] * together], key=str.lower)) or ABSENT


_OTHERS = re.compile(r"Cxn|Check|Entity|Bridge|SplitAnte|Coref|Promoted|SpacesAfter|SpacesBefore")
"""Attributes of MISC that speak of other words, or of the text between them."""


def misc_of(misc: str, numbers: Mapping[NodeNumber, NodeNumber]) -> str:
    """A MISC column in a sentence that was made of others, where words have other numbers and neighbours.

    Args:
        misc: as it was.
        numbers: of the nodes that are there, as they are now.
    """
    kept = []
    for part in misc.split("|"):
        name, _, value = part.partition("=")
        if name == "CopyOf" and is_number(value):
            if (int(value), 0) in numbers:
                kept.append(f"CopyOf={numbers[int(value), 0][0]}")
        elif not _OTHERS.match(name):
            kept.append(part)
    return "|".join(kept) or ABSENT


def shown(node: NodeNumber) -> str:
    """The number of a node as CoNLL-U has it."""
    return f"{node[0]}.{node[1]}" if node[1] else str(node[0])


def read_trees(lines: NumberedLines) -> Iterator[DependencyTree]:
    """Yield the dependency trees of CoNLL-U.

    Raises:
        InputError: no CoNLL-U, or a sentence that is no tree; file, line and sentence are named.
    """
    for given in read_conllu(lines):
        yield tree_of(given, lines.name)


def tree_of(given: GivenSentence, path: str) -> DependencyTree:
    """The dependency tree of a sentence in CoNLL-U.

    Args:
        given: as ``read_conllu`` yields it.
        path: the file, for the errors.

    Raises:
        InputError: it is no tree.
    """
    comments = [row for row in given.rows if row.startswith("#")]
    words: list[TreebankWord] = []
    tokens: list[Token] = []
    empty: list[Empty] = []
    places: list[int] = []  # the line of each word
    fault = _Fault(path, given.name and given.name[:100])
    for line, row in enumerate(given.rows, given.line):
        if row.startswith("#"):
            continue
        first, *rest = row.split("\t")
        if "-" in first:
            begin, _, end = first.partition("-")
            tokens.append(Token(int(begin), int(end), tuple(rest)))
        elif "." in first:
            empty.append(Empty((len(words), int(first.partition(".")[2])), tuple(rest)))
        else:
            words.append(_word(first, rest, line, fault))
            places.append(line)
    _check_heads(words, places, fault)
    return DependencyTree(
        tuple(words), tuple(tokens), tuple(empty), tuple(comments),
        given.name, given.line,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Fault:
    path: str
    name: str | None

    def __call__(self, line: int, what: str, remedy: str) -> InputError:
        return InputError(what, path=self.path, line=line, sentence_id=self.name, remedy=remedy)


def is_number(text: str) -> bool:
    """Whether a column names a node: digits, and no more of them than a sentence has use for."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def _word(number: str, rest: Sequence[str], line: int, fault: _Fault) -> TreebankWord:
    form, lemma, upos, xpos, feats, head, deprel, deps, misc = rest
    if not is_number(head):
        remedy = (
            "this file has no trees: parse it first"
            if head == ABSENT
            else "HEAD is the number of another word, or 0 of the root"
        )
        raise fault(line, f"HEAD of word {number} is {head[:20]!r}, no number", remedy)
    if deprel in ("", ABSENT):
        raise fault(line, f"word {number} has no DEPREL", "name its relation to its head")
    return TreebankWord(int(number), form, lemma, upos, xpos, feats, int(head), deprel, deps, misc)


def _check_heads(words: Sequence[TreebankWord], places: Sequence[int], fault: _Fault) -> None:
    """Refuse what is no tree of one root, or is deeper than anything reads."""
    for word, line in zip(words, places, strict=True):
        if word.head > len(words):
            raise fault(line, f"HEAD of word {word.number} is {word.head}, and there are {len(words)} words",
                        "HEAD is the number of a word of the sentence")  # fmt: skip
    roots = [word.number for word in words if word.head == 0]
    if len(roots) > 1:
        raise fault(places[roots[1] - 1], f"{len(roots)} words have HEAD 0, of which one may: "
                    f"{', '.join(map(str, roots[:5]))}", "attach the others to it")  # fmt: skip
    depths = {0: 0}
    for word in words:
        path = []
        at = word.number
        while at not in depths:
            path.append(at)
            depths[at] = -1  # above itself, if it is met again
            at = words[at - 1].head
        if depths[at] < 0:
            circle = [*path[path.index(at) :], at]
            shown_ = " → ".join(map(str, circle[:8])) + (" → …" if len(circle) > 8 else "")
            raise fault(
                places[at - 1], f"HEADs go in a circle: {shown_}", "attach one of them elsewhere"
            )
        for number in reversed(path):
            depths[number] = depths[words[number - 1].head] + 1
    if (deepest := max(depths.values())) > DEEPEST:
        raise fault(places[0], f"a tree of {deepest:,} levels, where {DEEPEST} are the most",
                    "is this a sentence?")  # fmt: skip
    if not roots:
        raise fault(places[0], "no word has HEAD 0", "one word is the root")


Edge = tuple[NodeNumber, str]
"""A relation of the enhanced layer: the head, and what it is called."""


def edges(deps: str) -> list[Edge] | None:
    """The relations of a DEPS column; None if they cannot be read."""
    found = []
    for part in [] if deps == ABSENT else deps.split("|"):
        head, colon, relation = part.partition(":")
        number, _, minor = head.partition(".")
        if not (colon and relation and is_number(number) and is_number(minor or "0")):
            return None
        found.append(((int(number), int(minor or 0)), relation))
    return found


def deps_of(relations: Sequence[Edge]) -> str:
    """The DEPS column of some relations, sorted by head, each once."""
    ordered = sorted(dict.fromkeys(relations))
    return "|".join(f"{shown(head)}:{relation}" for head, relation in ordered) or ABSENT
