"""Sentences to predict for, read one at a time from text, CoNLL-U or treebank brackets."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.text.conllu import looks_like_conllu, read_conllu
from pipeline.text.lines import COLUMNS, GivenSentence, NumberedLines, is_of_columns
from pipeline.text.natural import split_words
from pipeline.text.trees import leaves, trees_of, without_empty

_SUFFIXES = {
    ".txt": "text", ".conllu": "conllu", ".mrg": "ptb", ".ptb": "ptb", ".tree": "ptb", ".trees": "ptb",
}  # fmt: skip
_PACKED = {".gz", ".xz"}
_TREE = re.compile(r"\s*\(\s*[^\s()]*\s*(\(|$)")
_HEAD = 1000  # lines looked at: comments may go before what tells the format


def format_of(lines: NumberedLines) -> str:
    """``text``, ``conllu`` or ``ptb``: by the name's suffix, else by the first lines.

    A line of ten columns after nothing but comments is CoNLL-U; one that begins with two brackets,
    a label between them or not, or with one and a label alone, is a tree; all else is text.

    Raises:
        InputError: the first line is one of a table, of KNP or of CaboCha.
    """
    suffixes = [suffix for suffix in Path(lines.name).suffixes if suffix not in _PACKED]
    if suffixes and suffixes[-1].lower() in _SUFFIXES:
        return _SUFFIXES[suffixes[-1].lower()]
    for line in islice(lines.peek(), _HEAD):
        if looks_like_conllu(line):
            return "conllu"
        if _TREE.match(line):
            return "ptb"
        if line.strip() and not line.startswith("#"):
            if is_of_columns(line):
                raise InputError(
                    COLUMNS,
                    path=lines.name,
                    remedy="give the text alone, or say --format text if it is text",
                )
            break
    return "text"


def read_sentences(lines: NumberedLines, form: str, tally: Tally) -> Iterator[GivenSentence]:
    """Yield the sentences as their lines are read.

    Args:
        lines: of the file.
        form: ``text`` (one sentence per line, in natural spelling), ``conllu``
            or ``ptb``.
        tally: counts blank lines of text as refused.

    Raises:
        InputError: a line or tree of the wrong form, with its number.
    """
    match form:
        case "conllu":
            return read_conllu(lines)
        case "ptb":
            return _trees(lines)
        case _:
            return _text(lines, tally)


def _text(lines: NumberedLines, tally: Tally) -> Iterator[GivenSentence]:
    for number, line in lines:
        if not line.strip():
            tally.refuse("blank line")
            continue
        try:
            yield GivenSentence(tuple(split_words(line)), number)
        except TimeoutError as error:  # nltk stops regular expressions after 5 seconds
            raise lines.problem(
                f"{len(line):,} characters without a break are too much", "break it into sentences"
            ) from error
    tally.refuse("blank line", lines.skipped)


def _trees(lines: NumberedLines) -> Iterator[GivenSentence]:
    """Words of each tree, without empty elements and unescaped."""
    for number, tree in trees_of(lines, lines.name):
        kept = without_empty(tree, Path(lines.name), number)
        yield GivenSentence(tuple(leaves(kept)) if kept else (), number)
