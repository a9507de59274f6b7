"""A ``.spacy`` file: spaCy's own ``DocBin``, with the conjuncts as a span group that ``spancat`` learns from.

spaCy is an optional extra (``pip install '.[spacy]'``), imported when a file is written.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline.core.claims import Listed
from pipeline.core.console import say
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.sharing.export.protocol import Format, Item, Unwritable, require_plain, written
from pipeline.text.dependencies import ABSENT, DependencyTree
from pipeline.text.natural import join_words

CONJUNCTS, COORDINATIONS, COORDINATORS = "sc", "coordinations", "coordinators"
"""Names of the span groups; ``sc`` is the one that ``spancat`` looks for by default."""

_OFFERED = 3, 12
"""Words of the longest spans that spancat looks at: by default, and by the command of docs/parsers.md."""

_ATTRIBUTES = "TAG", "SPACY"
_OF_HEADS = "HEAD", "DEP", "POS", "LEMMA", "MORPH"
"""Attributes of words: of all documents, and of those with a dependency tree."""

_MISSING = "spaCy is not installed"
_BEGIN = b"version"  # the first key of what a DocBin holds


class SpacyDocs:
    """One file of documents, each a sentence.

    The group ``sc`` has the conjuncts under the label of their structure, ``coordinations`` whole structures,
    ``coordinators`` the coordinators under their word; spans of one structure have its number as ``id``.
    Where the corpus has dependency trees, each has heads, relations, parts of speech, lemmas and features.
    """

    trees, dependencies, caution = False, True, ""
    folder = False

    def require_writer(self) -> None:
        """See ``Format``: spaCy."""
        _require_spacy()

    def earlier(self, out: Path, formats: Iterable[Format]) -> Listed:
        """See ``Format``: a DocBin."""
        del formats  # no other is one
        return () if _is_doc_bin(out) else None

    def write(self, out: Path, items: Iterable[Item], tally: Tally) -> None:
        """See ``Format``."""
        spacy = _require_spacy()
        from spacy.tokens import DocBin  # noqa: PLC0415 - an optional extra

        vocabulary = spacy.blank("en").vocab
        docs = DocBin(attrs=[*_ATTRIBUTES, "SENT_START"], store_user_data=True)
        lengths: Counter[int] = Counter()
        for doc in written(items, lambda item: _doc(vocabulary, item), tally):
            if not len(docs) and doc.has_annotation(
                "DEP"
            ):  # then all have, and heads tell sentences
                docs = DocBin(attrs=[*_ATTRIBUTES, *_OF_HEADS], store_user_data=True)
            docs.add(doc)
            lengths.update(len(span) for span in doc.spans[CONJUNCTS])
        out.write_bytes(docs.to_bytes())
        _say_lengths(lengths)


def _say_lengths(lengths: Counter[int]) -> None:
    """Say how many conjuncts ``spancat`` would never be shown."""
    total = lengths.total()
    beyond = [sum(n for length, n in lengths.items() if length > most) for most in _OFFERED]
    if beyond[0]:
        usual, more = (
            f"{count:,} ({100 * count / total:.0f} %) have more than {most} words"
            for count, most in zip(beyond, _OFFERED, strict=True)
        )
        say(
            f"of {total:,} conjuncts {usual}, the most that spancat looks at by default; {more}; "
            f"the longest has {max(lengths)}: set its suggester's sizes"
        )


def _require_spacy() -> Any:
    try:
        import spacy  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise InputError(
            _MISSING,
            remedy="install the extra: pip install '.[spacy]' in conjoin's folder, or take another --format",
        ) from error
    return spacy


def _doc(vocabulary: Any, item: Item) -> Any:
    from spacy.tokens import Doc, Span  # noqa: PLC0415 - an optional extra

    if item.no_heads:
        raise Unwritable(item.no_heads)
    words = list(item.words)
    require_plain(words, "\t\n\r", "a word with a tab or line end, or without characters")
    offsets = join_words(words).offsets
    spaces = [one[1] < two[0] for one, two in pairwise(offsets)]
    known: dict[str, Any] = {"tags": list(item.tags) if item.tags else None}
    known["sent_starts"] = [True, *[False] * (len(words) - 1)]
    if item.heads is not None:
        known = _analysis(item.heads)
    doc = Doc(vocabulary, words=words, spaces=[*spaces, False], **known)
    groups: dict[str, list[Any]] = {CONJUNCTS: [], COORDINATIONS: [], COORDINATORS: []}
    for number, each in enumerate(item.structures, 1):
        name = str(number)
        groups[CONJUNCTS] += [
            Span(doc, s.start, s.end, each.label, span_id=name) for s in each.conjuncts
        ]
        groups[COORDINATIONS].append(Span(doc, each.start, each.end, each.label, span_id=name))
        at = each.coordinator
        groups[COORDINATORS].append(Span(doc, at, at + 1, each.word.lower(), span_id=name))
    for group, spans in groups.items():
        doc.spans[group] = spans
    doc.user_data = {"id": item.name, "license": item.license}
    return doc


def _analysis(tree: DependencyTree) -> dict[str, list[Any]]:
    """What spaCy calls the columns of a dependency tree; its root has itself as head."""
    words = tree.words
    return {
        "heads": [(word.head or word.number) - 1 for word in words],
        "deps": ["ROOT" if word.head == 0 else word.deprel for word in words],
        "pos": [_known(word.upos) for word in words],
        "tags": [_known(word.xpos) or _known(word.upos) for word in words],
        "lemmas": [word.lemma for word in words],
        "morphs": [_known(word.feats) for word in words],
    }


def _known(column: str) -> str:
    return "" if column == ABSENT else column


def _is_doc_bin(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(256)
    try:
        return _BEGIN in zlib.decompressobj().decompress(begin)[:16]
    except zlib.error:
        return False


SPACY = SpacyDocs()
