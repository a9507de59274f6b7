"""From documents that a reader has read to sentences: names, splits and licences, alike for every reader."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Sentence
from pipeline.ingest.document_licences import Licences
from pipeline.ingest.documents import Document, name_documents
from pipeline.ingest.splitting import Splitter


@dataclass(frozen=True, slots=True)
class UniversalSentence(Sentence):
    """A sentence with its dependency tree.

    Attributes:
        rows: its lines of CoNLL-U, without comments.
        parsed: whether the tree is a parser's, of which ``tags``, ``tree`` and ``coordinations`` say nothing.
    """

    rows: str = ""
    parsed: bool = False


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """What a reader keeps of a sentence; ``number`` tells it from the others of its document.

    ``rows`` are its lines of CoNLL-U, where it has some.
    """

    number: int | str
    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    tree: str | None
    coordinations: tuple[Coordination, ...]
    rows: str | None = None


def sentences_of_documents(
    read: Sequence[tuple[str, Sequence[ReadSentence]]],
    source: Path,
    tally: Tally,
    *,
    splitter: Splitter,
    licences: Licences,
    name: str,
) -> Iterator[Sentence]:
    """Yield the sentences of all documents in a split.

    ``doc_id`` is the document's name (``Document``), ``sentence_id`` is ``<name>/<doc_id>/<number>``.

    Args:
        read: of each document its path within the source, and what is kept of it; empty ones are none.
        source: where they are from, for messages.
        tally: counts kept sentences, and those of documents in no split.
        splitter: which document is in which split.
        licences: of the documents.
        name: what ids begin with, the reader's.

    Raises:
        InputError: documents of one name, lists or patterns that do not fit.
    """
    read = [(path, sentences) for path, sentences in read if sentences]
    if not read:
        return
    names = name_documents([path for path, _ in read], source)
    documents = [
        Document(each, path, len(sentences))
        for each, (path, sentences) in zip(names, read, strict=True)
    ]
    assigned, owed = splitter(documents, tally), licences(documents)
    for document, (_, sentences) in zip(documents, read, strict=True):
        outside = 0
        for index, sentence in enumerate(sentences):
            split = assigned.split(document, index)
            if split is None:
                outside += 1
                continue
            tally.keep()
            made = Sentence(
                sentence_id=f"{name}/{document.name}/{sentence.number}",
                doc_id=document.name,
                split=split,
                words=sentence.words,
                tags=sentence.tags,
                tree=sentence.tree,
                coordinations=sentence.coordinations,
                license=owed[document.name],
            )
            yield made if sentence.rows is None else with_rows(made, sentence.rows)
        if outside:  # once, so that the places are three documents
            tally.refuse("tree of a document in no split", outside, place=document.path)


def with_rows(sentence: Sentence, rows: str, *, parsed: bool = False) -> UniversalSentence:
    """A sentence with its dependency tree."""
    known = {each.name: getattr(sentence, each.name) for each in fields(Sentence)}
    return UniversalSentence(**known, rows=rows, parsed=parsed)
