"""Rows without their source's words: what `release --stand-off` does to rows.

Whether generated text repeats its source: the reference, a run of words, or a whole sentence.

Compared by letters and digits, since a language model writes natural text and a treebank has its own
words, and some models write neither capitals nor accents.

Text that only whoever has the source can read: encrypted under the words of its source sentence.

A language model may write the source's own words into a gap. A stand-off release must not hand them
on, and yet be rebuilt exactly. So they are encrypted with a key that is the source sentence itself:
a licence holder has it, nobody else does.

    key    = SHAKE-256("conjoin stand-off 1" ␟ candidate_id ␟ word ␟ word …), 32 bytes; ␟ is U+001F
    tag    = SHAKE-256("tag" + key + text), 16 bytes
    sealed = tag + (text XOR SHAKE-256("text" + key + tag))

The tag makes two texts of one row's id use different streams, and tells a wrong source from the right
one. It depends on the key, so it does not help to guess a short text.

From rows of a stand-off release and the words of their sources to the rows that were released.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import shake_256
from itertools import accumulate
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of

RUN = 4
"""Words in a row that count as the source's own, and words that a sentence has to count as one."""

_WORD_REPEATED = re.compile(r"[^\W_]+")
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
            parts = _WORD_REPEATED.findall(text)
            letters = "".join(parts)
            if len(parts) < 2:
                self._exact.add(_GAP.sub("", text))
            elif len(letters) < _HEAD:
                self._short.add(letters)
            else:
                self._long.add(letters)

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
        parts = {tuple(_WORD_REPEATED.findall(text)) for text in texts}
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
    return "".join(_WORD_REPEATED.findall(text))


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
    runs = ["".join(run) for run in _runs(_WORD_REPEATED.findall(source))]
    return any(run in text for text in texts for run in runs)


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    return (words[i : i + RUN] for i in range(len(words) - RUN + 1))


class _Table:
    """A set of texts, kept as how they begin and hashes, and whether one of them stands in another text."""

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


_WHAT = "conjoin stand-off 1"
_TAG = 16  # bytes


def seal(text: bytes, candidate_id: str, source: Sequence[str]) -> bytes:
    """Encrypt a text under the words of its source sentence."""
    key = _key(candidate_id, source)
    tag = _tag(key, text)
    return tag + _xor(text, key, tag)


def unseal(sealed: bytes, candidate_id: str, source: Sequence[str]) -> bytes | None:
    """The text that was sealed; None if these are not the words it was sealed under."""
    key = _key(candidate_id, source)
    tag, rest = sealed[:_TAG], sealed[_TAG:]
    text = _xor(rest, key, tag)
    return text if _tag(key, text) == tag else None


def _key(candidate_id: str, source: Sequence[str]) -> bytes:
    return shake_256("\x1f".join((_WHAT, candidate_id, *source)).encode()).digest(32)


def _tag(key: bytes, text: bytes) -> bytes:
    return shake_256(b"tag" + key + text).digest(_TAG)


def _xor(text: bytes, key: bytes, tag: bytes) -> bytes:
    stream = shake_256(b"text" + key + tag).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))


_READ_BACK = (
    "candidate_id", "sentence_id", "coordinator", "word", "conjuncts", "reference",
    "fill", "fill_words", "sealed", "source",
)  # fmt: skip


def rebuilt_text(row: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The fill and the words of the generated sentence; None if the source is not the one it was made of.

    Args:
        row: a row of a stand-off release, with the words of its source sentence as ``source``.
    """
    source, fill, words = row["source"], row["fill"], row["fill_words"]
    if row["sealed"] is not None:
        text = unseal(row["sealed"], row["candidate_id"], source)
        if text is None:
            return None
        open_ = json.loads(text)
        if "words" in open_:
            return open_["fill"], open_["words"]
        fill, words = open_["fill"], open_["fill_words"]
    if fill is None or words is None:
        return None
    if row["word"] is None:
        return fill, source
    end = row["reference"]["end"]
    return fill, [*source[:end], row["word"], *words, *source[end:]]


class Rebuilder:
    """Puts the source's words back into rows, and keeps account of where that failed.

    Attributes:
        missing: sentence ids that the source does not have, counted by row.
        locked: rows that other words are sealed under than the source has.
        changed: rows whose content is not what their id says. Only a hint why the digest is another:
            an id that conjoin did not make says nothing.
    """

    def __init__(self) -> None:
        self.missing, self.locked, self.changed = _Fault(), _Fault(), _Fault()

    def rebuild(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows with text.

        Args:
            batches: rows of a stand-off release, with their source's words in column ``source``.
            schema: ``RELEASED`` or ``RELEASED_REJECTS``.

        A row that cannot be rebuilt has no words; whoever keeps the rows asks ``error`` first.
        """
        for batch in batches:
            texts = [self._text(row) for row in batch.select(list(_READ_BACK)).to_pylist()]
            new = {
                "fill": pa.array([fill for fill, _ in texts], schema.field("fill").type),
                "words": pa.array([words for _, words in texts], schema.field("words").type),
            }
            columns = [new[f.name] if f.name in new else batch.column(f.name) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def error(self, source: Path) -> InputError:
        """One line on why the source is not the one the release was made of."""
        faults = {
            "their sentence is not in it": self.missing,
            "sealed under other words": self.locked,
            "rebuilt to other words than were released": self.changed,
        }
        parts = [
            f"{what}: {f.rows:,} rows, first {f.first}" for what, f in faults.items() if f.rows
        ]
        return InputError(
            "this is not the source that the release was made of ("
            + ("; ".join(parts) or "the rows come out with another digest")
            + ")",
            path=source,
            remedy="ingest the very corpus that the release's manifest.json names as its source",
        )

    def _text(self, row: Mapping[str, Any]) -> tuple[str, list[str]]:
        """The row's text, or none in place of it: what is at fault is never written."""
        if row["source"] is None:
            self.missing.add(row)
            return "", []
        text = rebuilt_text(row)
        if text is None:
            self.locked.add(row)
            return "", []
        spans = [[s["start"], s["end"]] for s in (row["reference"], *row["conjuncts"])]
        content = [row["sentence_id"], text[1], row["coordinator"], spans]
        if not str(digest_of(content)).startswith(row["candidate_id"]):
            self.changed.add(row)
        return text


class _Fault:
    """How many rows have a fault, and the sentence of the first."""

    def __init__(self) -> None:
        self.rows, self.first = 0, ""

    def add(self, row: Mapping[str, Any]) -> None:
        self.first = self.first or row["sentence_id"]
        self.rows += 1


_READ = (
    "candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "reference", "fill", "source",
)  # fmt: skip


class StandOff:
    """Takes the source's words out of rows, and proves of each that it can be rebuilt.

    Args:
        repeats: what finds the source's text in generated text.

    Attributes:
        repeating: rows whose generated text is sealed because it repeats the source.
        other: rows sealed because their coordinator could be anything.
        rows: all of them.
    """

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats
        self.rows = self.repeating = self.other = 0
        self._foreign, self._first = 0, ""

    def convert(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows in the form of a stand-off release.

        Args:
            batches: rows as in a release with text, and their source's words in column ``source``.
            schema: ``STAND_OFF`` or ``STAND_OFF_REJECTS``.

        A row that is not of the sentence beside it has no text; whoever keeps the rows asks
        ``require_own`` first.

        Raises:
            InputError: a row does not rebuild exactly, or a label could be text.
        """
        for batch in batches:
            _require_labels(batch)
            rows = batch.select(list(_READ)).to_pylist()
            hidden = [self._hide(row) for row in rows]
            columns = [
                pa.array([each[f.name] for each in hidden], f.type)
                if f.name in _HIDDEN
                else batch.column(f.name)
                for f in schema
            ]
            self.rows += len(batch)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def require_own(self, source: Path) -> None:
        """Refuse rows of which it is not proven that the source's sentences are theirs.

        What they are sealed under would otherwise be another text, which may be public.

        Raises:
            InputError: there are such rows.
        """
        if self._foreign:
            raise InputError(
                f"{self._foreign:,} rows are not what this corpus has under their sentence's id with a "
                "coordinator and a fill put in",
                path=source, sentence_id=self._first,
                remedy="name the corpus that they were made from with --corpus",
            )  # fmt: skip

    def _hide(self, row: Mapping[str, Any]) -> dict[str, Any]:
        inserted = None if row["source"] is None else _inserted(row)
        if inserted is None:
            self._first = self._first or row["sentence_id"]
            self._foreign += 1
            return dict.fromkeys(_HIDDEN)
        hidden = self._without(row, *inserted)
        if rebuilt_text({**row, **hidden}) != (row["fill"], row["words"]):
            raise InputError(
                f"candidate {row['candidate_id']} cannot be rebuilt from its source",
                sentence_id=row["sentence_id"], remedy="report this as a bug",
            )  # fmt: skip
        return hidden

    def _without(
        self, row: Mapping[str, Any], word: str | None, words: Sequence[str]
    ) -> dict[str, Any]:
        """The row's hidden columns as they may be read by anybody."""
        fill, source = row["fill"], row["source"]
        if (word is None and row["conjuncts"]) or (word is not None and not _plain_word(word)):
            self.other += 1
            return _closed(row, None, {"fill": fill, "words": row["words"]})
        reference = source[row["reference"]["start"] : row["reference"]["end"]]
        if self._repeats.found(word, fill, words, source, reference):
            self.repeating += 1
            return _closed(row, word, {"fill": fill, "fill_words": words})
        return {"word": word, "fill": fill, "fill_words": words, "sealed": None}


_HIDDEN = ("word", "fill", "fill_words", "sealed")
_LABEL = re.compile(r"[A-Z][A-Z0-9$-]{0,7}")
_WORD = 20  # characters of a coordinator at most; what is longer could be anything


def _plain_word(word: str) -> bool:
    return len(word) <= _WORD and word.split() == [word]


def _require_labels(batch: pa.RecordBatch) -> None:
    for label in pc.unique(batch.column("label")).to_pylist():
        if not _LABEL.fullmatch(label):
            raise InputError(
                f"label {label[:40]!r} could be text of the source, and labels stay readable",
                remedy="give labels of up to eight capital letters, such as NP, and generate again",
            )


def _closed(row: Mapping[str, Any], word: str | None, text: Mapping[str, Any]) -> dict[str, Any]:
    written = json.dumps(text, ensure_ascii=False, sort_keys=True).encode()
    sealed = seal(written, row["candidate_id"], row["source"])
    return {"word": word, "fill": None, "fill_words": None, "sealed": sealed}


def _inserted(row: Mapping[str, Any]) -> tuple[str | None, Sequence[str]] | None:
    """Coordinator and words of the fill, put in after the reference; None if the row is not so.

    Only then does it show that the source's sentence is its own. Without a usable fill a reject is
    the source itself: no coordinator, and no words.
    """
    words, source, at = row["words"], row["source"], row["coordinator"]
    if at == -1:
        return (None, []) if words and words == source else None
    end = row["reference"]["end"]
    after = len(words) - (len(source) - end)  # where the source goes on
    whole = words[:end] == source[:end] and words[after:] == source[end:]
    # The last conjunct is the fill: otherwise the end of a longer sentence could pass for one.
    filled = row["conjuncts"][-1:] == [{"start": at + 1, "end": after}]
    return (
        (words[at], words[at + 1 : after]) if 0 < end == at < after and whole and filled else None
    )
