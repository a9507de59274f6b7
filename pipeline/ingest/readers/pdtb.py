"""Discourse relations in the form of the PDTB 3: lines of 34 columns between pipes, and the text beside them.

Folders ``gold`` and ``raw`` have a file for each document, of the same path but for a suffix; arguments and
connectives are ranges of characters of the text. GDTB, which has the relations of GUM and GENTLE, ships
them so, too.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from pipeline.core.console import warn
from pipeline.core.errors import InputError
from pipeline.core.pairs import EXPLICIT, IMPLICIT, Pair
from pipeline.core.tally import Tally
from pipeline.ingest.archives import documents_within
from pipeline.ingest.document_licences import Licences
from pipeline.ingest.documents import Document, name_documents
from pipeline.ingest.readers.gum import SHIPPED_SPLIT, gum_licences
from pipeline.ingest.splitting import (
    DEFAULT_FRACTIONS,
    Assigned,
    Splitter,
    by_fractions,
    by_lists,
    by_patterns,
)
from pipeline.text.coordinations import is_withheld
from pipeline.text.unpacking import UnpackingAllowance, decoded

_LARGEST = 64 * 2**20  # bytes of a document; the longest of GDTB has 30 KiB
_MOST = 2**22  # characters of all arguments of a document; GDTB's longest has 24,095
_GOLD, _RAW = "gold", "raw"

_COLUMNS = 34
_KIND, _CONNECTIVE_AT, _CONNECTIVE, _ARG1, _ARG2 = 0, 1, 7, 14, 20
_SENSES = (8, 9, 11, 12)  # two of each of two connectives
_RANGES = re.compile(r"\d{1,9}\.\.\d{1,9}(;\d{1,9}\.\.\d{1,9})*")  # no text is longer

_KINDS = {"Implicit", "Explicit", "AltLex", "AltLexC"}
"""Kinds of relations that have senses; EntRel, NoRel and Hypophora have none but their own names."""

_OTHER_KINDS = {"EntRel", "NoRel", "Hypophora"}
_NO_SENSE = {kind.lower() for kind in _OTHER_KINDS}

SENSES = frozenset(
    f"{top}.{name}"
    for top, names in {
        "temporal": "synchronous asynchronous",
        "contingency": "cause cause+belief cause+speechact negative-cause negative-cause+belief "
        "negative-cause+speechact condition condition+speechact negative-condition "
        "negative-condition+speechact purpose negative-purpose",
        "comparison": "concession concession+speechact contrast similarity",
        "expansion": "conjunction disjunction equivalence exception instantiation level-of-detail manner "
        "substitution",
    }.items()
    for name in names.split()
)
"""The senses of the PDTB 3, of its second level."""

_MISSPELT = {"cmparison.concession": "comparison.concession"}  # once in GDTB

_FEW_CUT = 0.2  # of GDTB's pairs hardly any: a clitic is annotated apart from its word
_BYTES = "ranges are of characters, of which ä is one, and not of bytes"

WITHHELD = "pair with underscores for its words (GUM's own from Reddit: run its get_text.py)"


def read_pdtb(
    source: Path,
    tally: Tally,
    *,
    splitter: Splitter,
    licences: Licences,
    allowance: UnpackingAllowance,
    strict: bool = False,
) -> Iterator[Pair]:
    """Yield the relations of all documents in a split that have a sense, in the order of their files.

    Ids are ``pdtb/<document>/<line>``.

    Args:
        source: a folder with ``gold`` and ``raw`` in it, at any depth, or an archive of such; of a folder
            that has neither its one archive is read.
        tally: counts what is kept, relations without a sense, and pairs whose words are withheld.
        splitter: which document is in which split.
        licences: of the documents.
        allowance: what an archive may unpack to.
        strict: a pair whose words are withheld is an error instead.

    Raises:
        InputError: nothing to read, a document without its text, a line that is not of this form, a range
            beyond the text, a kind or sense that the PDTB 3 does not have, arguments without measure; file
            and line are named.
    """
    files = documents_within(source, _is_wanted, f"folder {_GOLD}", _LARGEST, allowance)
    gold = sorted(path for path in files if _GOLD in path.split("/"))
    if not gold:
        raise InputError(
            f"no folder {_GOLD} of relations", path=source,
            remedy="name the folder or archive that has the folders gold and raw of the PDTB 3 or of GDTB",
        )  # fmt: skip
    cut = _CutWords()
    read = [(path, _pairs(path, files, tally, strict, cut)) for path in gold]
    cut.tell()
    names = name_documents([_from_gold_on(path) for path in gold], source)
    documents = [
        Document(name, path, len(pairs)) for name, (path, pairs) in zip(names, read, strict=True)
    ]
    assigned, owed = splitter(documents, tally), licences(documents)
    for document, (_, pairs) in zip(documents, read, strict=True):
        for index, pair in enumerate(pairs):
            split = assigned.split(document, index)
            if split is None:
                tally.refuse("pair of a document in no split", len(pairs), place=document.path)
                break
            tally.keep()
            yield replace(
                pair, pair_id=f"pdtb/{document.name}/{pair.pair_id}", doc_id=document.name,
                split=split, license=owed[document.name],
            )  # fmt: skip


def usual_split(documents: Sequence[Document], tally: Tally) -> Assigned:
    """GUM's own split, the thesis's of the PDTB's sections, or else shares of the documents.

    The thesis trains on sections 2 to 20, chooses by 0 and 1, and tests on 21 and 22.
    """
    names = [document.name for document in documents]
    if any(name.startswith(("GUM_", "GENTLE_")) for name in names):
        return by_lists(SHIPPED_SPLIT)(documents, Tally())  # which lists more than GDTB has
    if any(name.startswith("wsj_") for name in names):
        sections = {name[:6] for name in names}
        splits = {f"{number:02d}": "dev" if number < 2 else "train" for number in range(21)}
        splits |= {"21": "test", "22": "test"}
        wanted = [f"{split}=wsj_{n}*" for n, split in splits.items() if f"wsj_{n}" in sections]
        return by_patterns(wanted)(documents, tally)
    return by_fractions(DEFAULT_FRACTIONS)(documents, tally)


def usual_licences(otherwise: str) -> Licences:
    """GUM's by genre, the LDC's of the Wall Street Journal, else the one given."""

    def find(documents: Sequence[Document]) -> dict[str, str]:
        of_gum = gum_licences(documents)
        return {
            name: "LDC-User-Agreement" if name.startswith("wsj_")
            else licence if name.startswith(("GUM_", "GENTLE_"))
            else otherwise
            for name, licence in of_gum.items()
        }  # fmt: skip

    return find


def _is_wanted(path: str) -> bool:
    parts = path.split("/")
    hidden = any(part.startswith(".") for part in parts)
    return not hidden and (_GOLD in parts[:-1] or _RAW in parts[:-1])


def _from_gold_on(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[parts.index(_GOLD) :])


def _pairs(
    path: str, files: dict[str, tuple[str, bytes]], tally: Tally, strict: bool, cut: "_CutWords"
) -> list[Pair]:
    """The relations of a document that have a sense; their ids are the numbers of their lines."""
    place, data = files[path]
    beside = _text_of(path, files)
    text = decoded(files[beside][1], files[beside][0]).replace("\r\n", "\n")
    found: list[tuple[Pair, frozenset[int], frozenset[int]]] = []
    explicit = set[tuple[frozenset[int], frozenset[int]]]()
    length = 0
    for number, line in enumerate(decoded(data, place).split("\n"), 1):
        if not line.strip():
            continue
        row = _Relation(line.rstrip("\r").split("|"), place, number, text)
        senses, kind = row.senses(), row.columns[_KIND].lower()
        if not senses:
            tally.refuse("relation without a sense")
            continue
        length += row.length
        if length > _MOST:
            raise row.fault(f"up to here the arguments have more than {_MOST:,} characters")
        first, second = row.argument(_ARG1), row.argument(_ARG2)
        cut.count(row.cuts_words(), f"{place}:{number}")
        words = first.split(), second.split()
        if any(map(is_withheld, words)):
            if strict:
                raise row.fault(WITHHELD, "get the text, or go without --strict")
            tally.refuse(WITHHELD, place=f"{place}:{number}")
            continue
        own = row.covered(_ARG1), row.covered(_ARG2)
        if kind == EXPLICIT:  # whose connective stands within either argument's clause
            connective = row.covered(_CONNECTIVE_AT)
            explicit |= {(own[0], own[1] | connective), (own[0] | connective, own[1])}
        pair = Pair(
            pair_id=str(number), doc_id="", split="", arg1=first, arg2=second,
            words1=tuple(words[0]), words2=tuple(words[1]), senses=senses, kind=kind,
            connective=row.connective, beside_explicit=False, license="",
        )  # fmt: skip
        found.append((pair, *own))
    return [
        replace(pair, beside_explicit=pair.kind == IMPLICIT and (first, second) in explicit)
        for pair, first, second in found
    ]


def _text_of(path: str, files: dict[str, tuple[str, bytes]]) -> str:
    """The file with a document's text: of its path in ``raw``, or else the one that differs in the suffix.

    One that is another document's text is none of it.

    Raises:
        InputError: there is none, or there are several.
    """
    beside = PurePosixPath(_moved(path, _GOLD, _RAW))
    if str(beside) in files:
        return str(beside)
    wanted = {_composed(beside.name), _composed(beside.stem)}
    found = sorted(
        each
        for each in files
        if (other := PurePosixPath(each)).parent == beside.parent
        and _moved(each, _RAW, _GOLD) not in files
        and wanted & {_composed(other.name), _composed(other.stem)}
    )
    if len(found) != 1:
        wanted_name = f"{beside.parent / beside.stem}.*"
        there = f"there are {' and '.join(found)}" if found else f"there is no {wanted_name}"
        raise InputError(
            f"no text for this document: {there}", path=files[path][0],
            remedy=f"call it {wanted_name}, as its relations are called, with any suffix",
        )  # fmt: skip
    return found[0]


def _moved(path: str, one: str, other: str) -> str:
    """The same path with another folder in the place of one."""
    return "/".join(other if part == one else part for part in path.split("/"))


def _composed(name: str) -> str:
    """A name with each letter and its marks as one character, as some systems have them and others not."""
    return unicodedata.normalize("NFC", name)


class _CutWords:
    """Counts pairs with an argument that begins or ends inside a word, which ranges of bytes make of most."""

    def __init__(self) -> None:
        self._pairs, self._cut, self._first = 0, 0, ""

    def count(self, cut: bool, place: str) -> None:
        """Count a pair."""
        self._pairs += 1
        self._cut += cut
        self._first = self._first or (place if cut else "")

    def tell(self) -> None:
        """Warn where they are many."""
        if self._cut > _FEW_CUT * self._pairs:
            warn(
                f"{self._cut:,} of {self._pairs:,} pairs have an argument that begins or ends inside a word "
                f"(first: {self._first}); {_BYTES}"
            )


class _Relation:
    """A relation, a line of a document.

    Args:
        columns: between its pipes.
        place: its file.
        number: of the line, from 1.
        text: of the document.

    Raises:
        InputError: it has not 34 columns.
    """

    def __init__(self, columns: Sequence[str], place: str, number: int, text: str) -> None:
        self.columns, self._place, self._number, self._text = columns, place, number, text
        if len(columns) != _COLUMNS:
            raise self.fault(f"{len(columns)} columns, where the PDTB 3 has {_COLUMNS}")

    def fault(self, what: str, remedy: str = "mend or remove the line") -> InputError:
        """What is wrong with the line."""
        return InputError(what, path=self._place, line=self._number, remedy=remedy)

    @property
    def connective(self) -> str | None:
        """The first connective; None where there is none."""
        said = self.columns[_CONNECTIVE].strip()
        return said if said.strip("_") else None

    def senses(self) -> tuple[str, ...]:
        """Its senses of the second level, each once; none of a relation that has none."""
        kind = self.columns[_KIND]
        if kind in _OTHER_KINDS:
            return ()
        if kind not in _KINDS:
            raise self.fault(f"the PDTB 3 has no relations of the kind {kind[:60]!r}")
        found = list[str]()
        for column in _SENSES:
            said = self.columns[column].strip()
            if not said or said.lower() in _NO_SENSE:
                continue
            sense = ".".join(said.lower().split(".")[:2])
            sense = _MISSPELT.get(sense, sense)
            if sense not in SENSES:
                raise self.fault(
                    f"the PDTB 3 has no sense {said[:60]!r}",
                    "name one of the second level, such as Contingency.Cause, or remove the line",
                )
            found.append(sense)
        return tuple(dict.fromkeys(found))

    @property
    def length(self) -> int:
        """Characters that its ranges have, however often each."""
        columns = (_CONNECTIVE_AT, _ARG1, _ARG2)
        return sum(end - start for column in columns for start, end in self._ranges(column))

    def argument(self, column: int) -> str:
        """The text of an argument; its pieces, and what stands on several lines, are joined by a blank."""
        pieces = (self._text[start:end] for start, end in self._ranges(column))
        text = " ".join(" ".join(pieces).split())
        if not text:
            raise self.fault(f"Arg{1 if column == _ARG1 else 2} has no words")
        return text

    def cuts_words(self) -> bool:
        """Whether an argument begins or ends between two letters or digits of the text."""
        text = f" {self._text} "
        return any(
            text[place].isalnum() and text[place + 1].isalnum()
            for column in (_ARG1, _ARG2)
            for each in self._ranges(column)
            for place in each
        )

    def covered(self, column: int) -> frozenset[int]:
        """The places of the characters, without blanks, that a column's ranges have."""
        return frozenset(
            place
            for start, end in self._ranges(column)
            for place in range(start, end)
            if not self._text[place].isspace()
        )

    def _ranges(self, column: int) -> list[tuple[int, int]]:
        said = self.columns[column].strip()
        if not said:
            return []
        if not _RANGES.fullmatch(said):
            raise self.fault(
                f"column {column + 1} is no ranges of characters such as 3..17: {said[:40]!r}"
            )
        ranges = []
        for each in said.split(";"):
            start, end = map(int, each.split(".."))
            if start > end:
                raise self.fault(f"the range {each} ends before it begins")
            if end > len(self._text):
                raise self.fault(
                    f"the range {each} lies beyond the text, which has {len(self._text):,} characters",
                    f"is it the text that was annotated? {_BYTES}",
                )
            ranges.append((start, end))
        for (_, before), (after, _) in pairwise(sorted(ranges)):
            if after < before:
                raise self.fault(f"ranges that overlap, so have a word twice: {said[:40]!r}")
        return ranges
