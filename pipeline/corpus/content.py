"""What rows of candidates say, as keys by which equal ones are found: in SQL, as ids, as 64 bits.

Three questions have three answers. Whether two rows are one example in training (``CONTENT``): they have
equal words, coordinator and conjuncts; neither the label counts, nor the sentence they were made of, nor the
model that wrote the fill. Whether a row has the id that it should (``content_ids``): so has a row of one
sentence, its words, reference and structure. Whether training may tell two rows apart (``example_keys``): all
that it reads of a row counts.
"""

import hashlib
from hashlib import blake2b
from json.encoder import encode_basestring

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus.digest import raw_texts, span_texts, with_elements

_UNIT, _FIELD = "\x1f", "\x1e"  # between words and between columns; ASCII's own separators


def _joined(words: str) -> str:
    return f"array_to_string({words}, chr(31))"


def words_key(words: str) -> str:
    """SQL for 128 bits of a list of words."""
    return f"md5_number({_joined(words)})"


_SPANS = """array_to_string([span."start" || '-' || span."end" for span in conjuncts], ' ')"""

TEXT = words_key("words")
"""SQL for the key of a row's words."""

CONTENT = f"md5_number(concat_ws(chr(30), {_joined('words')}, coordinator, {_SPANS}))"
"""SQL for the key of a row's words, coordinator and conjuncts."""

REFUSAL = """md5_number(concat_ws(chr(30), reference."start", reference."end", fill, reason))"""
"""SQL for the key of what else distinguishes rejects: a reject without a sentence of its own keeps the
source's words."""

IDENTITY = ("sentence_id", "words", "coordinator", "conjuncts", "reference")
"""The columns of which an id is the hash."""


def content_ids(batch: pa.RecordBatch) -> pa.StringArray:
    """What the ids of the rows should be, by their content: 24 hex digits of each.

    As ``core.types.candidate_id`` has it: the beginning of the SHA-256 of the canonical JSON of
    ``[sentence_id, words, coordinator, [reference, *conjuncts]]``.

    Args:
        batch: rows without nulls in the columns of ``IDENTITY``.
    """
    parts = [
        "[", _json(batch.column("sentence_id")),
        ",[", pc.binary_join(with_elements(batch.column("words"), _json), ","),
        "],", batch.column("coordinator").cast(pa.string()),
        ",[", _span(batch.column("reference")),
        pc.binary_join(with_elements(batch.column("conjuncts"), lambda spans: _span(spans, ",")), ""),
        "]]",
    ]  # fmt: skip
    texts = pc.binary_join_element_wise(*parts, "")
    return pa.array(
        [hashlib.sha256(text).hexdigest()[:24] for text in raw_texts(texts)], pa.string()
    )


def _span(spans: pa.StructArray, before: str = "") -> pa.StringArray:
    return pc.binary_join_element_wise(f"{before}[", span_texts(spans, ","), "]", "")


def _json(strings: pa.StringArray) -> pa.StringArray:
    """Each string as JSON: words repeat, so each is written once."""
    codes = pc.dictionary_encode(strings)
    written = list(map(encode_basestring, codes.dictionary.to_pylist()))
    return pa.array(written, pa.string()).take(codes.indices)


def sentence_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of each row's ``sentence_id``, shape (rows,): equal ids, equal keys."""
    codes = pc.dictionary_encode(batch.column("sentence_id"))
    keys: npt.NDArray[np.uint64] = keys_of_ids(codes.dictionary)[codes.indices.to_numpy()]
    return keys


def keys_of_ids(ids: pa.Array) -> npt.NDArray[np.uint64]:
    """The key of each of some sentence ids, shape (ids,)."""
    return _digests(ids)


def example_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of all that training reads of each row but the sentence's id, shape (rows,)."""
    return _digests(
        pc.binary_join_element_wise(
            batch.column("candidate_id"),
            batch.column("label"),
            batch.column("coordinator").cast(pa.string()),
            pc.binary_join(with_elements(batch.column("conjuncts"), span_texts), _UNIT),
            pc.binary_join(batch.column("words").cast(pa.list_(pa.string())), _UNIT),
            _FIELD,
        )
    )


def _digests(texts: pa.Array) -> npt.NDArray[np.uint64]:
    values = texts.cast(pa.binary()).to_numpy(zero_copy_only=False)
    joined = b"".join([blake2b(value, digest_size=8).digest() for value in values])
    # The bytes' own order, on any machine.
    return np.frombuffer(joined, dtype=">u8").astype(np.uint64)
