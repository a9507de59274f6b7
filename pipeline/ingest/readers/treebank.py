"""Any treebank in Penn Treebank brackets: a folder, an archive or a file of trees.

Whatever stands in its files and is no tree that can be kept is counted, with the places of the first few: one
bad tree costs one tree.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.ingest.bracket_files import BracketFile, bracket_files
from pipeline.ingest.document_licences import Licences
from pipeline.ingest.document_sentences import ReadSentence, sentences_of_documents
from pipeline.ingest.splitting import Splitter
from pipeline.text.bracketings import COMMENT, Bracketing, bracketings
from pipeline.text.coordinations import WITHHELD, is_withheld, ptb_coordinations, uncoordinated
from pipeline.text.trees import base_label, parse_tree, read_off, without_empty
from pipeline.text.unpacking import UnpackingAllowance

_NO_TAG = "tree with a word that has no tag of its own"
_MALFORMED = "malformed tree"


def read_treebank(
    source: Path,
    tally: Tally,
    *,
    splitter: Splitter,
    licences: Licences,
    allowance: UnpackingAllowance,
    strict: bool = False,
    name: str = "treebank",
) -> Iterator[Sentence]:
    """Yield the sentences of all documents in a split, with coordination found by ``ptb_coordinations``.

    A document is a file, and the number of a sentence that of its tree: see ``sentences_of_documents``.
    Labels in lower case are raised, and functions behind ``*``, ``_`` and ``/`` go as those behind ``-`` do.

    Args:
        source: a file, an archive or a folder: see ``bracket_files``.
        tally: counts kept trees, all that is not kept, and coordinators in no structure, whose sentences are
            kept, with the places of the first few.
        splitter: which document is in which split.
        licences: of the documents.
        allowance: what packed files may unpack to.
        strict: what is malformed is an error instead.
        name: what ids begin with.

    Raises:
        InputError: nothing to read, documents of one name, lists or patterns that do not fit, or with
            ``strict`` the first malformed tree.
    """
    read = [
        (file.path, list(_trees(file, tally, strict)))
        for file in bracket_files(source, tally, allowance, strict=strict)
    ]
    yield from sentences_of_documents(
        read, source, tally, splitter=splitter, licences=licences, name=name
    )


def _trees(file: BracketFile, tally: Tally, strict: bool) -> Iterator[ReadSentence]:
    """The trees of a file that can be kept, numbered among all; what else stands there is counted."""
    number = 0
    todo = deque(bracketings(file.text))
    while todo:
        found = todo.popleft()
        number += found.text.startswith("(")
        place = f"{file.place}:{found.line}"
        if found.fault == COMMENT:
            tally.refuse(found.fault, place=place)
            continue
        try:
            read = _parsed(found, number, file.place)
        except InputError as error:
            if strict:
                raise
            if pieces := _apart(found):
                todo.extendleft(reversed(pieces))
                number -= 1
                continue
            reason = _reason(error)
            tally.refuse(reason, place=f"{place}: {error.what.removeprefix(f'{reason}: ')}")
            continue
        if read is None:
            tally.refuse("tree of empty elements only", place=place)
        elif is_withheld(read[0].words):
            tally.refuse(WITHHELD, place=place)
        else:
            for reason, count in read[1].items():
                tally.refuse(reason, count, place=place)
            yield read[0]


def _apart(found: Bracketing) -> list[Bracketing]:
    """What is no tree, as the trees of its lines; empty if none of them is one."""
    if "\n(" not in found.text:
        return []
    pieces = list(bracketings(found.text, found.line, apart=True))
    return pieces if len(pieces) > 1 and any(not piece.fault for piece in pieces) else []


def _parsed(found: Bracketing, number: int, place: str) -> tuple[ReadSentence, Counter[str]] | None:
    """What is kept of a tree, and its coordinators in no structure; None: it has no words."""
    if found.fault:
        raise InputError(
            f"{found.fault}: {found.text[:40]!r}", path=place, line=found.line,
            remedy="mend or remove it, or go without --strict",
        )  # fmt: skip
    tree = parse_tree(found.text, path=place, line=found.line)
    cleaned = without_empty(tree, place, found.line)
    if cleaned is None:
        return None
    _usual_labels(cleaned)
    words, tags, text = read_off(cleaned)
    kept = ReadSentence(number, words, tags, text, tuple(ptb_coordinations(cleaned)))
    return kept, uncoordinated(cleaned)


_WITH_FUNCTION = re.compile(r"([A-Za-z]+\$?)[*_/].+")


def _usual_labels(tree: Tree) -> None:
    """Write labels as most treebanks do: np is NP, and of NP*SB, NP_SB and NP/SB the category is NP."""
    for node in tree.subtrees():
        if found := _WITH_FUNCTION.fullmatch(node.label()):
            node.set_label(found[1])
        if base_label(node.label()).islower():
            node.set_label(node.label().upper())


def _reason(error: InputError) -> str:
    """What is wrong with a tree, without its words, so that like is counted with like."""
    what = error.what.partition(": ")[0]
    if what == "malformed brackets":
        return _MALFORMED
    return _NO_TAG if what.startswith("the word ") else what
