"""A treebank in CoNLL-U as ``gap`` reads it: its files, and under which terms its sentences stand."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.core.corpora import SourceNotice
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular, utf8_name
from pipeline.corpus.licences import UNKNOWN
from pipeline.text.dependencies import ABSENT, DependencyTree
from pipeline.text.unpacking import read_at_most

_RELATIONS = frozenset(
    [
        "acl",
        "advcl",
        "advmod",
        "amod",
        "appos",
        "aux",
        "case",
        "cc",
        "ccomp",
        "clf",
        "compound",
        "conj",
        "cop",
        "csubj",
        "dep",
        "det",
        "discourse",
        "dislocated",
        "expl",
        "fixed",
        "flat",
        "goeswith",
        "iobj",
        "list",
        "mark",
        "nmod",
        "nsubj",
        "nummod",
        "obj",
        "obl",
        "orphan",
        "parataxis",
        "punct",
        "reparandum",
        "root",
        "vocative",
        "xcomp",
    ]
)
"""The relations of Universal Dependencies 2, without subtypes."""

_NAME = re.compile(r".+\.conllu(\.gz|\.xz)?", re.IGNORECASE)
_LICENCE = re.compile(r"(licen[cs]e|copying)(\.(txt|md))?", re.IGNORECASE)
_LARGEST_LICENCE = 2**20

_KNOWN = {
    "en_ewt-ud": (
        "CC-BY-SA-4.0",
        SourceNotice(
            "UD English EWT, the English Web Treebank in Universal Dependencies (Silveira et al., 2014)",
            "https://github.com/UniversalDependencies/UD_English-EWT",
            "UD English EWT: (c) its authors, under CC BY-SA 4.0. conjoin changed the sentences by leaving "
            "out verbs, and hands them on under the same licence.",
        ),
    ),
}
"""Licence and notice of treebanks, by what the names of their files begin with."""


@dataclass(frozen=True, slots=True)
class SentenceOrigin:
    """Where sentences are from.

    Attributes:
        license: SPDX expression, or ``unknown``.
        notice: how whoever hands them on names the treebank.
        texts: the licence files beside the treebank: their names and what is in them.
    """

    license: str
    notice: SourceNotice
    texts: tuple[tuple[str, bytes], ...]


def treebank_files(source: Path) -> list[Path]:
    """The files of a treebank: the one named, or those of a folder and below that are called ``.conllu``.

    Raises:
        InputError: there is none, a name is not UTF-8, or a link leads out of the folder.
    """
    if not source.exists():
        raise InputError("no such file or folder", path=source, remedy="check the name")
    require_regular(source)
    if not source.is_dir():
        return [source]
    found = files_within(source, (path for path in source.rglob("*") if _NAME.fullmatch(path.name)))
    if not found:
        raise InputError(
            "no file of CoNLL-U in this folder", path=source,
            remedy="name a file, or a folder of .conllu files, also packed (.xz, .gz)",
        )  # fmt: skip
    for path in found:
        utf8_name(path.relative_to(source).as_posix(), path)
    return found


def require_universal(tree: DependencyTree, path: Path) -> None:
    """Check that a sentence has relations of Universal Dependencies and no others, where they may stand.

    Raises:
        InputError: it has another, as trees of other schemes and of the first version of this one have; a
            ``root`` with a head, or a word without one that is called otherwise; or a multiword token
            with a place in the tree.
    """
    for word in tree.words:
        if word.relation not in _RELATIONS:
            what = f"relation {word.deprel[:40]!r} is none of Universal Dependencies 2"
            raise _fault(what, word.line, tree, path)
        if (word.relation == "root") != (word.head == 0):
            what = f"word {word.number} has HEAD {word.head} and is called {word.deprel[:40]!r}"
            raise _fault(f"{what}: root and 0 go together", word.line, tree, path)
    for token in tree.tokens:
        if {*token.columns[5:7]} != {ABSENT}:
            number = f"{token.first}-{token.last}"
            line = "\t".join((number, *token.columns))
            raise _fault(f"multiword token {number} with HEAD or DEPREL", line, tree, path)


def _fault(what: str, line: str, tree: DependencyTree, path: Path) -> InputError:
    return InputError(
        what, path=path, line=tree.line + tree.rows.index(line),
        sentence_id=tree.name and tree.name[:100], remedy="convert the treebank",
    )  # fmt: skip


def origin_of(files: list[Path], named: str | None) -> SentenceOrigin:
    """Licence and notice of a treebank.

    Args:
        files: of it.
        named: the licence that somebody named; None: that of the treebank, if its files' names tell.

    Raises:
        InputError: there are several treebanks, by the licence files in their folders.
    """
    found = {prefix for prefix in _KNOWN for path in files if path.name.startswith(prefix)}
    alone = len(found) == 1 and all(path.name.startswith(tuple(found)) for path in files)
    license_, notice = UNKNOWN, SourceNotice("a treebank that whoever ran conjoin supplied")
    if alone:
        license_, notice = _KNOWN[found.pop()]
        if named not in (None, license_):
            notice = replace(notice, attribution="")  # whoever names another answers for it
    terms = [
        path
        for folder in sorted({path.parent for path in files})
        for path in files_within(folder, folder.iterdir())
        if _LICENCE.fullmatch(path.name)
    ]
    if len({path.parent for path in terms}) > 1:
        raise InputError(
            f"several treebanks, for there are several licences, as {terms[0]}", path=terms[-1],
            remedy="name one of the folders at a time",
        )  # fmt: skip
    texts = (
        (path.name, read_at_most(path, _LARGEST_LICENCE, kind="licence", remedy="shorten it"))
        for path in terms
    )
    return SentenceOrigin(named or license_, notice, tuple(texts))
