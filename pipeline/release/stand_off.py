"""Rows without their source's words: what `release --stand-off` does to rows.

A stand-off row has ids, offsets and generated text; its sentence is put together from the source's words
by a reader who has them. So is an attested fill, which the row only points to. A language model may
write the source's own words into a gap, and these must not be handed on, so a row whose generated text
repeats its source is withheld: it is left out, and counted.

Generated text repeats the source if it is the reference, has a run of words of its sentence, or contains
a whole sentence of the source. Texts are compared by letters and digits, since a language model writes
natural text and a treebank has its own words, and some models write neither capitals nor accents.

Of a harvested row, whose words are all the source's, nothing but the coordinator is handed on: ids and
offsets point into the sentence.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.structures import laid_out, structure_of
from pipeline.core.types import COORDINATORS, Span
from pipeline.corpus.digest import RowDigest
from pipeline.release.readable import (
    free_texts,
    require_no_text,
    require_own_id,
    require_readable,
)
from pipeline.release.shards import CONFIGS, DONATED, DONATED_MIDDLE, SOURCE, STAND_OFF
from pipeline.text.natural import join_words

RUN = 4
"""Words in a row that count as the source's own, and words that a sentence has to count as one."""

_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\s+")
_UNSEEN = frozenset({"Mn", "Me", "Cf"})  # accents of their own, soft hyphens, joiners
_HEAD = 8  # characters that a text is looked up by


class Repeats:
    """Finds the source's text in generated text.

    Args:
        sentences: the words of every sentence of the source. Kept of each: eight characters and two
            numbers, or less.
    """

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self._long = _Table(_HEAD)  # letters and digits alone
        self._short: set[str] = set()  # the same of fewer; found only where words begin and end
        self._exact = _Table(RUN)  # all but spaces, where there is one word: it may coincide
        for words in sentences:
            if len(words) < RUN:
                continue
            text = _plain(" ".join(words))
            parts = _WORD.findall(text)
            letters = "".join(parts)
            if len(parts) < 2:
                self._exact.add(_GAP.sub("", text))
            elif len(letters) < _HEAD:
                self._short.add(letters)
            else:
                self._long.add(letters)

    def holds_sentence(self, text: str) -> bool:
        """Whether a text has a sentence of the source in it, of eight letters or more."""
        return self._long.within(_letters(_plain(text)))

    def found(
        self,
        word: str | None,
        fill: str,
        words: Sequence[str],
        source: Sequence[str],
        reference: Sequence[str],
    ) -> bool:
        """Whether a fill repeats the source, alone or after its coordinator.

        Args:
            word: the coordinator before it; None if there is none.
            fill: as the language model wrote it.
            words: the words it became.
            source: the words of its own source sentence.
            reference: those of the reference span.
        """
        own = _plain(" ".join(reference))
        natural, joined = _plain(fill), _plain(" ".join(words))
        letters = _letters(natural)
        if _GAP.sub("", joined) == _GAP.sub("", own) or (letters and letters == _letters(own)):
            return True
        before = "" if word is None else f"{_plain(word)} "
        texts = {before + natural, before + joined}
        parts = {tuple(_WORD.findall(text)) for text in texts}
        plain = {"".join(each) for each in parts}
        return bool(
            any(map(self._long.within, plain))
            or any(map(self._exact.within, {_GAP.sub("", text) for text in texts}))
            or (self._short and any(not self._short.isdisjoint(_short(each)) for each in parts))
            or _share_run((before + joined).split(), plain, _plain(" ".join(source)))
        )


def _plain(text: str) -> str:
    """Without case, accents and what is not seen; the same however its characters are composed."""
    if text.isascii():
        return text.lower()
    seen = "".join(c for c in normalize("NFKD", text) if category(c) not in _UNSEEN)
    return seen.casefold()


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text))


def _short(parts: Sequence[str]) -> Iterator[str]:
    """The texts of fewer than ``_HEAD`` characters that whole words in a row make."""
    for begin in range(len(parts)):
        for text in accumulate(parts[begin:]):
            if len(text) >= _HEAD:
                break
            yield text


def _share_run(tokens: Sequence[str], texts: Iterable[str], source: str) -> bool:
    """Whether a run of the source's words stands in a fill, however that is cut into words.

    Args:
        tokens: the fill's words, punctuation too.
        texts: its letters and digits.
        source: the plain text of the sentence.
    """
    spaced = f" {source} "
    if any(f" {' '.join(run)} " in spaced for run in _runs(tokens)):
        return True
    runs = ["".join(run) for run in _runs(_WORD.findall(source))]
    return any(run in text for text in texts for run in runs)


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    return (words[i : i + RUN] for i in range(len(words) - RUN + 1))


class _Table:
    """A set of texts, kept as beginnings and hashes; tells whether a text contains one of them."""

    def __init__(self, head: int) -> None:
        self._head = head
        self._heads: set[str] = set()
        self._whole: set[int] = set()
        self._lengths: set[int] = set()

    def add(self, text: str) -> None:
        self._heads.add(text[: self._head])
        self._whole.add(hash(text))
        self._lengths.add(len(text))

    def within(self, text: str) -> bool:
        head, heads = self._head, self._heads
        begins = [i for i in range(len(text) - head + 1) if text[i : i + head] in heads]
        return any(
            hash(text[begin : begin + length]) in self._whole
            for begin in begins
            for length in self._lengths
            if length <= len(text) - begin
        )


REPEATS, STRANGE = "generated text repeats the source", "coordinator could be any text"
"""Why rows are withheld."""

_READ = {
    "candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "reference", "fill", "license",
    "donor", "middle_donors", "gap", "reason", "source", "donated", "donated_middle",
}  # fmt: skip
_BESIDE = [field.name for field in (SOURCE, DONATED, DONATED_MIDDLE)]
_LONGEST = 20  # characters of a coordinator at most; what is longer could be any text


_Inserted = tuple[str | None, list[str]]
"""The coordinator as written, None if there is none, and the words of all fills."""

_Parts = tuple[str | None, str | None, list[str] | None]
"""The columns ``word``, ``fill`` and ``fill_words`` of a stand-off row."""


def donated_fill(row: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The fill, and the words of all fills, of an attested row; None if a donor is no span of its sentence.

    Args:
        row: with its donors and, as ``donated`` and ``donated_middle``, what the source has there.
    """
    donors = [*(row["middle_donors"] or ()), row["donor"]]
    every = [*(row["donated_middle"] or ()), row["donated"]]
    if len(donors) != len(every):
        return None
    for donor, words in zip(donors, every, strict=True):
        start, end = donor["start"], donor["end"]
        if words is None or not 0 <= start < end or len(words) != end - start:
            return None
    if row["gap"] is not None:
        start, low, high = row["donor"]["start"], row["gap"]["start"], row["gap"]["end"]
        if not start < low < high < row["donor"]["end"]:
            return None
        every[-1] = every[-1][: low - start] + every[-1][high - start :]
    return join_words(every[-1]).text, [word for words in every for word in words]


def rebuilt_words(row: Mapping[str, Any]) -> list[str]:
    """The words of the generated sentence, from a stand-off row and its source's words as ``source``.

    The row has its ``fill_words``, also where they are donors'. Empty where its spans are not what
    generation builds.
    """
    source, word = row["source"], row["word"]
    if word is None:
        return list(source)
    reference, spans = _span(row["reference"]), list(map(_span, row["conjuncts"]))
    structure = structure_of(word, row["coordinator"], spans, reference)
    if structure is None:
        return []
    own = source[reference.start : reference.end]
    fills = cut_fills(row["fill_words"], spans)
    words = laid_out(structure, [own, *fills]).words
    return [*source[: reference.start], *words, *source[reference.end :]]


def cut_fills(words: Sequence[str], conjuncts: Sequence[Span]) -> list[Sequence[str]]:
    """The words of all fills, cut into those of each; the last has all that are left."""
    ends = list(accumulate(len(span) for span in conjuncts[1:]))
    return [words[start:end] for start, end in pairwise([0, *ends[:-1], len(words)])]


def _span(span: Mapping[str, int]) -> Span:
    return Span(span["start"], span["end"])


class StandOff:
    """Takes the source's words out of rows, and proves of each that it can be rebuilt.

    Args:
        repeats: what finds the source's text in generated text.
        coordinators: the corpus's, in lower case, which natural text may have at a structure.

    Attributes:
        withheld: by configuration, how many rows were left out for which reason.
        digests: by configuration, the digest of the rows that were not, as they are with text.
    """

    def __init__(self, repeats: Repeats, coordinators: AbstractSet[str] = COORDINATORS) -> None:
        self._repeats, self._coordinators = repeats, coordinators
        self.withheld: Mapping[str, Counter[str]] = {c: Counter() for c in CONFIGS}
        self.digests: Mapping[str, RowDigest] = {config: RowDigest() for config in CONFIGS}
        self._foreign, self._first = 0, ""

    def convert(self, batches: Iterable[pa.RecordBatch], config: str) -> Iterator[pa.RecordBatch]:
        """The rows that may be handed on, in the form of a stand-off release.

        A row that is not of the sentence beside it is left out; the caller calls ``require_own``
        before it uses the others.

        Args:
            batches: rows as in a release with text, and the columns of ``with_source``.
            config: ``train`` or ``rejected``.

        Raises:
            InputError: an id, a label, a reason or a licence could be text.
        """
        schema = STAND_OFF[config]
        for batch in batches:
            require_readable(batch)
            read = batch.select([name for name in batch.schema.names if name in _READ])
            found = [self._judged(row, config) for row in read.to_pylist()]
            part = batch.filter(pa.array([each is not None for each in found], pa.bool_()))
            self.digests[config].add(part.drop_columns(_BESIDE))
            kept = [each for each in found if each is not None]
            new = {
                name: [each[i] for each in kept]
                for i, name in enumerate(("word", "fill", "fill_words"))
            }
            columns = [
                pa.array(new[f.name], f.type) if f.name in new else part.column(f.name)
                for f in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def require_own(self, source: Path) -> None:
        """Refuse rows that are not proven to be made from the source's sentences.

        It cannot be known what they repeat, nor can they be rebuilt.

        Raises:
            InputError: there are such rows.
        """
        if self._foreign:
            raise InputError(
                f"{self._foreign:,} rows are not what this corpus has under their sentence's id with a "
                "coordinator and a fill, their donor's where they name one, put in",
                path=source, sentence_id=self._first,
                remedy="name the corpus that they were made from with --corpus",
            )  # fmt: skip

    def require_no_text(self, manifest: Mapping[str, Any]) -> None:
        """Refuse a manifest in which a sentence of the source stands.

        Raises:
            InputError: one does.
        """
        require_no_text(manifest, self._repeats.holds_sentence)

    def _judged(self, row: Mapping[str, Any], config: str) -> _Parts | None:
        """What a row that may be handed on says of its text; None of any other, which is counted."""
        if _is_natural(row):
            require_own_id(row)
            word = row["words"][row["coordinator"]]
            if word.lower() in self._coordinators and not self._free_text_repeats(row):
                return word, None, None
            self.withheld[config][STRANGE] += 1
            return None
        inserted = None if row["source"] is None else _inserted(row)
        if inserted is None:
            self._first = self._first or row["sentence_id"]
            self._foreign += 1
            return None
        require_own_id(row)
        word, words = inserted
        source, span = row["source"], row["reference"]
        reference = source[span["start"] : span["end"]]
        if word is not None and len(word) > _LONGEST:
            why = STRANGE
        elif self._free_text_repeats(row):
            why = REPEATS
        elif row["donor"] is not None:
            return word, None, None  # nothing of the fill is handed on, whatever it repeats
        elif self._repeated(row, word, words, reference):
            why = REPEATS
        else:
            return word, row["fill"], words
        self.withheld[config][why] += 1
        return None

    def _repeated(
        self, row: Mapping[str, Any], word: str | None, words: list[str], reference: Sequence[str]
    ) -> bool:
        """Whether a fill repeats the source, or all of them with what stands between."""
        found, source = self._repeats.found, row["source"]
        if len(row["conjuncts"]) < 3:
            return found(word, row["fill"], words, source, reference)
        *middle, last = cut_fills(words, list(map(_span, row["conjuncts"])))
        together = row["words"][row["conjuncts"][0]["end"] : row["conjuncts"][-1]["end"]]
        return found(word, row["fill"], last, source, reference) or any(
            found(None, join_words(each).text, each, source, reference)
            for each in (*middle, together)
        )

    def _free_text_repeats(self, row: Mapping[str, Any]) -> bool:
        """Whether what was written by hand beside a row's text repeats its source."""
        source = row["source"]
        return any(self._repeats.found(None, t, t.split(), source, ()) for t in free_texts(row))


def _is_natural(row: Mapping[str, Any]) -> bool:
    """Whether a row is its source's sentence, and its fill the last of two or more conjuncts there."""
    words, spans, at = row["words"], row["conjuncts"], row["coordinator"]
    if row["donor"] is not None or not words or words != row["source"] or len(spans) < 2:
        return False
    first, last = spans[0], spans[-1]
    inside = 0 <= first["start"] < first["end"] <= at < last["start"] < last["end"] <= len(words)
    return bool(inside and first == row["reference"] and natural_fill(row) == row["fill"])


def natural_fill(row: Mapping[str, Any]) -> str:
    """The fill of a harvested row: the text of its last conjunct in its ``source``."""
    last = row["conjuncts"][-1]
    return join_words(row["source"][last["start"] : last["end"]]).text


def _inserted(row: Mapping[str, Any]) -> _Inserted | None:
    """Coordinator and words of the fills; None if the row is not its source with these put in.

    Only if it is can it be rebuilt, and does it show that the source's sentence is its own. Without a
    usable fill a reject is the source itself: no coordinator, and no words.
    """
    words, at, reference = row["words"], row["coordinator"], _span(row["reference"])
    word, fills = None, list[str]()
    if at != -1:
        after = len(words) - (len(row["source"]) - reference.end)  # where the source goes on
        spans = list(map(_span, row["conjuncts"]))
        # The last conjunct is the last fill: otherwise the end of a longer sentence could pass for one.
        if not (0 <= reference.start < at < after and spans and spans[-1].end == after):
            return None
        if structure_of(words[at], at, spans, reference) is None:
            return None
        word = words[at]
        fills = [each for span in spans[1:] for each in words[span.start : span.end]]
    if row["donor"] is not None and donated_fill(row) != (row["fill"], fills):
        return None
    rebuilt = rebuilt_words({**row, "word": word, "fill_words": fills})
    return (word, fills) if words and rebuilt == words else None
