"""Treebanks of Universal Dependencies in CoNLL-U: a folder of files, or one file; and parses of other text.

Coordinations and constituents are read off the trees (``text/dependency_phrases.py``), so that all that works
with brackets works with these. The trees are kept as well. Of a parser's trees nothing else is: that nobody
annotated these sentences is so, and what the parser takes for a coordination is none that L could have.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipeline.core.console import Meter, say
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular, utf8_name
from pipeline.core.tally import Tally
from pipeline.core.types import USUAL_SPLITS, Sentence
from pipeline.core.words import fault_of_word
from pipeline.ingest.document_licences import Licences
from pipeline.ingest.document_sentences import (
    ReadSentence,
    UniversalSentence,
    sentences_of_documents,
    with_rows,
)
from pipeline.ingest.documents import Document
from pipeline.ingest.splitting import DEFAULT_FRACTIONS, Assigned, Splitter, by_fractions
from pipeline.text.dependencies import DependencyTree, glued, read_trees, rows_of, why_unwritten
from pipeline.text.dependency_phrases import UNJOINED, phrases_of
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance

_NAME = re.compile(r"(.*)\.conllu(\.gz|\.xz)?", re.IGNORECASE)
_DOCUMENT = re.compile(r"#\s*newdoc\b(?:\s+id\s*=\s*(.*))?")
_SPLIT = re.compile(rf"(?:.*[-_.])?({'|'.join(USUAL_SPLITS)})(?:[-_.].*)?", re.IGNORECASE)

BLANK = "sentence with a blank in a word"
_KEPT = "structure that is no coordination here, its sentence is kept: "
_NOT_KEPT = "sentence with a structure that cannot be read: "
_MOST_GLUED = 0.5
"""Share of the words that no space may follow: in EWT it is 13 %, in Chinese or Japanese nearly all."""


def read_universal(
    source: Path,
    tally: Tally,
    *,
    splitter: Splitter | None,
    licences: Licences,
    allowance: UnpackingAllowance,
    name: str = "conllu",
) -> Iterator[Sentence]:
    """Yield the sentences of all documents in a split.

    A document is what ``# newdoc`` begins, else a file; a sentence is called by its ``sent_id``, else by its
    number among all of its document. Conjuncts that no coordinator joins ("A, B, C") are counted; a sentence
    with a structure that cannot be read is left out, for it would pass for one without.

    Args:
        source: a folder with ``.conllu`` files at any depth, plain or packed by gzip or xz, or one file.
        tally: counts kept sentences, those that are not, and structures that are none here, by reason.
        splitter: which document is in which split; None: by the names of files, as Universal Dependencies
            have them (``en_ewt-ud-train.conllu``), or by shares of the documents where one has no such name.
        licences: of the documents.
        allowance: what packed files may unpack to.
        name: what ids begin with.

    Raises:
        InputError: nothing to read, no CoNLL-U, or a sentence that is no tree: file and line are named; or
            no spaces part most of its words.
    """
    require_regular(source)
    paths = _files(source)
    if not paths:
        raise InputError(
            "no file *.conllu here", path=source, remedy="name the folder that has them"
        )
    read = _read(paths, source, tally, allowance, _sentence)
    yield from sentences_of_documents(
        read, source, tally,
        splitter=splitter or _by_names([own for own, _ in read]), licences=licences, name=name,
    )  # fmt: skip


def has_parses(source: Path) -> bool:
    """Whether a file or folder that is given as unlabelled text has CoNLL-U."""
    return bool(_files(source) if source.is_dir() else _NAME.fullmatch(source.name))


def read_parsed(
    sources: Sequence[Path],
    tally: Tally,
    *,
    license_: str,
    most: int | None,
    allowance: UnpackingAllowance,
) -> Iterator[UniversalSentence]:
    """Yield sentences that a parser read, or ``most`` of them, evenly spread: all in ``train``.

    They have no tags, trees and coordinations, which are people's, but for the parser's dependency tree. A
    document is a file (its name below the source), or what ``# newdoc`` begins in it; ids begin with ``text``
    as those of raw text.

    Args:
        sources: as of ``read_universal``.
        tally: counts sentences, and those that are not kept.
        license_: recorded with every sentence.
        most: how many to take; None: all.
        allowance: what packed files may unpack to.

    Raises:
        InputError: as of ``read_universal``; or two sources have a file of the same name.
    """
    read: list[tuple[str, list[ReadSentence]]] = []
    names = set[str]()
    for source in sources:
        require_regular(source)
        found = _read(_files(source), source, tally, allowance, _parsed_sentence)
        own = {path for path, _ in found}
        if same := sorted(own & names):
            raise InputError(
                f"two unlabelled texts have a document {same[0]!r}", path=source,
                remedy="give the folder above both, or rename one",
            )  # fmt: skip
        names |= own
        read += found
    every = [(path, sentence) for path, own in read for sentence in own]
    taken = len(every) if most is None else min(most, len(every))
    tally.refuse("sentence beyond --most-unlabelled", len(every) - taken)
    for path, sentence in (every[index * len(every) // taken] for index in range(taken)):
        tally.keep()
        made = Sentence(
            f"text/{path}/{sentence.number}",
            path,
            "train",
            sentence.words,
            None,
            None,
            (),
            license_,
        )
        yield with_rows(made, sentence.rows or "", parsed=True)


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    every = files_within(source, source.rglob("*"))
    return sorted(path for path in every if _NAME.fullmatch(path.name))


_Kept = Callable[[DependencyTree, int, str, Tally], ReadSentence | None]
"""What is kept of a sentence, by its tree, its number in its document and its place; None: it is not."""


def _read(
    paths: Sequence[Path], source: Path, tally: Tally, allowance: UnpackingAllowance, kept: _Kept
) -> list[tuple[str, list[ReadSentence]]]:
    """The documents of some files."""
    read: list[tuple[str, list[ReadSentence]]] = []
    glue = _Glue()
    with Meter("ingest", len(paths)) as meter:
        for path in paths:
            own = path.relative_to(source).as_posix() if path != source else path.name
            utf8_name(own, path)
            with open_lines(path, allowance=allowance) as lines:
                read += _documents(own, glue.counted(read_trees(lines)), str(path), tally, kept)
            meter.advance()
    glue.require_spaces(source)
    return read


def _documents(
    own: str, trees: Iterator[DependencyTree], place: str, tally: Tally, kept: _Kept
) -> list[tuple[str, list[ReadSentence]]]:
    """The documents of a file, each with a path: that of the file and the document's name."""
    found: list[tuple[str, list[ReadSentence]]] = []
    names = set[str]()
    number = 0
    for tree in trees:
        begins = next(filter(None, map(_DOCUMENT.fullmatch, tree.comments)), None)
        if begins or not found:
            path = own
            if begins and begins[1]:
                # A document's name may have anything in it, and stands in ids.
                path = f"{own}/{begins[1].strip().replace('/', '_')}.conllu"
            elif begins and found:
                path = f"{own}/{len(found) + 1}.conllu"
            found.append((path, []))
            names, number = set(), 0
        number += 1
        sentence = kept(tree, number, f"{place}:{tree.line}", tally)
        if sentence is None:
            continue
        if str(sentence.number) in names:
            raise InputError(
                "two sentences of a document with this sent_id, or with none and this number", path=place,
                line=tree.line, sentence_id=str(sentence.number)[:100], remedy="name them apart",
            )  # fmt: skip
        names.add(str(sentence.number))
        found[-1][1].append(sentence)
    return found


def _sentence(tree: DependencyTree, number: int, where: str, tally: Tally) -> ReadSentence | None:
    """What is kept of a sentence that people annotated."""
    if not _is_written(tree, where, tally):
        return None
    phrases = phrases_of(tree)
    if unread := [reason for reason in phrases.refused if reason != UNJOINED]:
        tally.refuse(_NOT_KEPT + unread[0], place=where)
        return None
    if count := phrases.refused[UNJOINED]:
        tally.refuse(_KEPT + UNJOINED, count, place=where)
    return ReadSentence(
        tree.name or number, tree.forms, phrases.tags, phrases.bracketing, phrases.coordinations,
        rows_of(tree),
    )  # fmt: skip


def _parsed_sentence(
    tree: DependencyTree, number: int, where: str, tally: Tally
) -> ReadSentence | None:
    """What is kept of a sentence that a parser read."""
    if not _is_written(tree, where, tally):
        return None
    if fault := next(filter(None, map(fault_of_word, tree.forms)), None):
        tally.refuse(f"sentence with {fault}", place=where)
        return None
    return ReadSentence(tree.name or number, tree.forms, None, None, (), rows_of(tree))


def _is_written(tree: DependencyTree, where: str, tally: Tally) -> bool:
    """Whether a sentence can be kept at all; else the reason is counted."""
    reason = why_unwritten(tree)
    if not reason and any(character.isspace() for form in tree.forms for character in form):
        reason = BLANK
    if reason:
        tally.refuse(reason, place=where)
    return not reason


class _Glue:
    """Counts words, and those that no space follows."""

    def __init__(self) -> None:
        self._units = self._glued = 0

    def counted(self, trees: Iterator[DependencyTree]) -> Iterator[DependencyTree]:
        """Pass trees on."""
        for tree in trees:
            inside = {n for token in tree.tokens for n in range(token.first, token.last + 1)}
            ends = [each.misc for each in tree.tokens]
            ends += [each.misc for each in tree.words if each.number not in inside]
            self._units += len(ends)
            self._glued += sum(map(glued, ends))
            yield tree

    def require_spaces(self, source: Path) -> None:
        """Refuse a language without spaces between words, of which no text could be made here or split again.

        Raises:
            InputError: it is one.
        """
        if self._glued > _MOST_GLUED * self._units:
            raise InputError(
                f"no space follows {self._glued / self._units:.0%} of the words (SpaceAfter=No)",
                path=source, remedy="only languages that part words by spaces can be read",
            )  # fmt: skip


def _by_names(paths: Sequence[str]) -> Splitter:
    """Split by the word train, dev or test in the name of each document's file; by shares where none has one.

    Raises:
        InputError: some have one, and others do not.
    """
    splits = [_SPLIT.fullmatch(_file(path)) for path in paths]
    if not any(splits):
        return by_fractions(DEFAULT_FRACTIONS)
    if unnamed := [path for path, found in zip(paths, splits, strict=True) if not found]:
        raise InputError(
            f"its name has none of {', '.join(USUAL_SPLITS)}, as the other files' names have",
            path=Path(unnamed[0]), remedy="rename it, or say --split-fractions 80,10,10",
        )  # fmt: skip

    def assign(documents: Sequence[Document], tally: Tally) -> Assigned:
        del tally
        say("split: by the names of the files")
        named = {path: found[1].lower() for path, found in zip(paths, splits, strict=True) if found}
        return Assigned({document.name: named[document.path] for document in documents})

    return assign


def _file(path: str) -> str:
    """The name of a document's file without the ending."""
    parts = path.split("/")
    file = next((part for part in parts if _NAME.fullmatch(part)), parts[-1])
    found = _NAME.fullmatch(file)
    return found[1] if found else file
