"""The canonical digest of rows: the same from plain Python, other shards, orders and column types."""

import hashlib
import struct
from typing import Any

import pyarrow as pa
import pytest
from tiny import candidate

from pipeline.core.schema import candidate_row
from pipeline.core.types import COLUMNS
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.rows import RELEASED
from pipeline.text.columns import natural_columns

DONORS = tuple(each.name for each in COLUMNS if each.since > 1 and each.digest)


def rows(count: int = 12) -> list[dict[str, Any]]:
    made = [{**candidate_row(candidate(n)), "generation": "0f"} for n in range(count)]
    made[1] |= {"fill": "a\\b\x1ec\x1fd", "words": ["a\\N", "\x1f", "é", "\\", "z"], "score": -1.5}
    made[2] |= {"score": 0.1, "conjuncts": [], "words": []}
    made[4] |= {"donor": {"sentence_id": "a-\x1f1", "start": 2, "end": 5}}
    made[4] |= {"middle_donors": [{"sentence_id": f"b\\{n}", "start": n, "end": 7} for n in (0, 3)]}
    made[5] |= {"gap": {"at": 7, "start": 3, "end": 5}}
    made[3] |= {"conjuncts": [{"start": 1, "end": None}, {"start": 3, "end": 4}]}
    return made


def plain(row: dict[str, Any]) -> int:
    """The digest of one row as docs/release.md defines it, without pyarrow."""

    def text(value: Any) -> str:
        if value is None:
            return "\\N"
        if isinstance(value, str):
            return value.replace("\\", "\\\\").replace("\x1e", "\\e").replace("\x1f", "\\f")
        if isinstance(value, float):
            return str(struct.unpack("<I", struct.pack("<f", value))[0])
        if isinstance(value, dict):
            span = "\\N" if None in value.values() else f"{value['start']}-{value['end']}"
            first = [text(value[name]) for name in ("sentence_id", "at") if name in value]
            return "\x1f".join([*first, span])
        return "\x1f".join(map(text, value)) if isinstance(value, list) else str(value)

    names = [name for name in RELEASED.names if name not in DONORS or row[name] is not None]
    names = [name for name in names if name not in ("text", "offsets")]
    joined = "\x1e".join(text(row[name]) for name in names)
    return int(hashlib.sha256(joined.encode()).hexdigest(), 16)


def digest(*tables: pa.Table) -> str:
    parts = []
    for table in tables:
        part = RowDigest()
        for batch in table.to_batches(max_chunksize=5):
            part.add(batch)
        parts.append(part)
    return RowDigest.united(parts).hex()


def test_the_digest_is_the_documented_one() -> None:
    """Plain Python over dictionaries gives the digest that the batches give."""
    expected = sum(map(plain, rows())) % 2**256
    assert digest(pa.Table.from_pylist(rows(), schema=RELEASED)) == f"{expected:064x}"


def test_order_shards_and_column_types_do_not_matter() -> None:
    """Rows in another order, in seven shards, in wider or dictionary types: the same digest."""
    table = pa.Table.from_pylist(rows(), schema=RELEASED)
    backwards = table.take(list(range(len(table)))[::-1])
    assert digest(*(backwards.slice(n * 2, 2) for n in range(7))) == digest(table)
    wide = table.set_column(
        5, "coordinator", table["coordinator"].cast(pa.int64())
    ).set_column(7, "label", table["label"].dictionary_encode())  # fmt: skip
    wide = wide.set_column(2, "words", wide["words"].cast(pa.large_list(pa.large_string())))
    assert digest(wide) == digest(table)


def test_without_donors_the_digest_is_that_of_earlier_versions() -> None:
    """A column that is null in every row makes no difference, so that old releases stay valid."""
    table = pa.Table.from_pylist([each | dict.fromkeys(DONORS) for each in rows()], schema=RELEASED)
    assert digest(table) == digest(table.drop_columns([*DONORS]))
    assert digest(table) != digest(pa.Table.from_pylist(rows(), schema=RELEASED))


def test_text_and_offsets_are_no_part_of_a_row() -> None:
    """With them, with nulls in their place and without the columns rows have one digest."""
    whole = pa.Table.from_pylist(
        [each | natural_columns(each["words"]) for each in rows()], schema=RELEASED
    )
    bare = pa.Table.from_pylist(rows(), schema=RELEASED)
    assert None not in whole["text"].to_pylist()
    assert digest(whole) == digest(bare) == digest(bare.drop_columns(["text", "offsets"]))


@pytest.mark.parametrize(
    "change",
    [
        {"words": ["a", "b c"]}, {"words": ["a b", "c"]}, {"words": ["a", "b", "c"]}, {"words": ["abc"]},
        {"score": None}, {"score": 1e-38}, {"score": -0.0}, {"score": 0.0}, {"fill": "\\N"}, {"fill": ""},
        {"reference": {"start": 1, "end": 12}}, {"reference": {"start": 11, "end": 2}},
        {"conjuncts": [{"start": 0, "end": 1}]}, {"generation": "10"},
        {"donor": {"sentence_id": "a", "start": 1, "end": 2}},
        {"donor": {"sentence_id": "a", "start": 1, "end": 3}},
        {"middle_donors": [{"sentence_id": "a", "start": 1, "end": 3}]},
    ],
)  # fmt: skip
def test_every_value_counts(change: dict[str, Any]) -> None:
    """No two of these rows have the same digest."""
    row = rows()[0] | {"score": 0.5}
    first, second = (pa.Table.from_pylist([each], schema=RELEASED) for each in (row, row | change))
    assert digest(first) != digest(second)
