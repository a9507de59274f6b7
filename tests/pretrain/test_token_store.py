"""Sentences as tokens: stored in mapped files, packed and selected."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.pretrain import token_store
from pipeline.pretrain.raw_text import Prepared
from pipeline.pretrain.token_store import (
    SelectedTexts,
    Text,
    TokenStore,
    build_store,
    encode_texts,
    lengths_of,
    packed,
)
from pipeline.text.natural import find_words

LINES = [
    "The old man (near me) saw xylophones.",
    "a [MASK] <extra_id_3> lamp",
    "\u200b",
    "the girl who sold the lamp saw the old harbor",
    "harbors " * 30,
    "don't go.",
]  # fmt: skip


def prepared(folder: Path, lines: list[str], own: int) -> Prepared:
    path = folder / "prepared.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Prepared(path, own, len(lines), Tally(len(lines)), Counter(), "")


def same(one: Text, other: Text) -> bool:
    return (
        one.ids.dtype == other.ids.dtype == np.int64
        and one.begins.dtype == other.begins.dtype == np.bool_
        and one.ids.tolist() == other.ids.tolist()
        and one.begins.tolist() == other.begins.tolist()
    )


@pytest.fixture(params=["bert", "t5"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    """Of each family."""
    return AutoTokenizer.from_pretrained(request.getfixturevalue(f"tiny_{request.param}"))


@pytest.mark.parametrize("block", [1, 4, 100])
def test_a_store_has_what_encoding_gives(
    tokenizer: Any, tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of any size: the same sentences, order and tally as all at once."""
    monkeypatch.setattr(token_store, "_BLOCK", block)
    expected, counts = encode_texts(tokenizer, [find_words(line) for line in LINES * 3], 12)
    found, tally = build_store(tokenizer, prepared(tmp_path, LINES * 3, 7), 12, tmp_path)
    assert len(found) == len(expected)
    assert all(map(same, found, expected))
    assert tally == counts == found.tally
    assert tally.refused["cut to 12 tokens"] >= 3
    assert tally.refused["contains a special token of the model"] == 3
    usable, _ = encode_texts(tokenizer, [find_words(line) for line in (LINES * 3)[:7]], 12)
    assert found.own == len(usable) < 7
    assert found.lengths.tolist() == [len(text.ids) for text in expected]
    assert same(found[-1], expected[-1])
    assert all(map(same, found[1:3], expected[1:3]))
    assert all(map(same, TokenStore(tmp_path), expected))
    with pytest.raises(IndexError):
        found[len(found)]


def test_a_store_is_built_in_blocks(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more sentences or letters than a block's are encoded at once, and the files are small."""
    sizes: list[int] = []
    encode = token_store.encode_texts

    def watched(tokenizer: Any, texts: list[Any], longest: int) -> Any:
        sizes.append(len(texts))
        return encode(tokenizer, texts, longest)

    monkeypatch.setattr(token_store, "encode_texts", watched)
    monkeypatch.setattr(token_store, "_BLOCK", 10)
    monkeypatch.setattr(token_store, "_LETTERS", 500)
    lines = ["a lamp"] * 95 + ["lamp " * 300] * 3
    found, _ = build_store(tokenizer, prepared(tmp_path, lines, 0), 64, tmp_path)
    assert sum(sizes) == len(found) == 98
    assert max(sizes) == 10
    assert sizes[-1] == 1
    files = {path.name: path.stat().st_size for path in (tmp_path / "tokens").iterdir()}
    tokens = int(found.lengths.sum())
    assert (files["ids.bin"], files["begins.bin"]) == (2 * tokens, tokens)


def test_wide_vocabularies_have_wide_ids(tiny_bert: Path, tmp_path: Path) -> None:
    """An id beyond 65,535 comes back as it was."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.add_tokens([f"extra{i}" for i in range(66_000)])
    found, _ = build_store(tokenizer, prepared(tmp_path, ["a extra65999"], 1), 64, tmp_path)
    assert found[0].ids[-1] == len(tokenizer) - 1 > 1 << 16


def test_nothing_usable_and_no_store(tokenizer: Any, tmp_path: Path) -> None:
    """A store may be empty, with its reasons; one that was not built is an error."""
    found, tally = build_store(tokenizer, prepared(tmp_path, LINES[1:2], 1), 64, tmp_path)
    assert (len(found), found.own, tally.kept, tally.seen) == (0, 0, 0, 1)
    assert list(packed(found, 10)) == []
    with pytest.raises(InputError, match="no such file"):
        TokenStore(tmp_path / "no")


def _texts(lengths: list[int]) -> list[Text]:
    ends = np.cumsum(lengths).tolist()
    return [
        Text(np.arange(end - n, end), np.arange(n) % 2 == 0)
        for n, end in zip(lengths, ends, strict=True)
    ]


@given(st.lists(st.integers(1, 12), max_size=30), st.integers(1, 20))
def test_packing_joins_neighbours_and_never_exceeds(lengths: list[int], tokens: int) -> None:
    """All tokens in order; runs fit unless they are one sentence, and no two would fit as one."""
    texts = _texts(lengths)
    runs = packed(texts, tokens)
    assert [t for run in runs for t in run.ids.tolist()] == list(range(sum(lengths)))
    begins = [bool(flag) for run in runs for flag in run.begins]
    assert begins == [bool(flag) for text in texts for flag in text.begins]
    sizes = [len(run.ids) for run in runs]
    assert sizes == lengths_of(runs).tolist()
    assert all(size <= tokens or size in lengths for size in sizes)
    starts = {int(text.ids[0]): len(text.ids) for text in texts}
    for run, following in zip(runs, list(runs)[1:], strict=False):
        assert len(run.ids) + starts[int(following.ids[0])] > tokens
    if max(lengths, default=0) <= tokens:
        assert max(sizes, default=0) <= tokens


def test_packing_by_hand() -> None:
    """Joined up to the last token that fits; a long sentence stands alone."""
    runs = packed(_texts([3, 4, 3, 1, 12, 2, 8]), 10)
    assert [len(run.ids) for run in runs] == [10, 1, 12, 10]
    assert len(runs[-1].ids) == 10
    assert [len(run.ids) for run in runs[1:3]] == [1, 12]
    with pytest.raises(IndexError):
        runs[4]


def test_a_selection_is_a_view_that_may_repeat() -> None:
    """Texts in the order of the indices, again if asked for again; slices are selections."""
    texts = _texts([3, 4, 5])
    some = SelectedTexts(texts, [2, 0, 2, 1])
    assert [len(text.ids) for text in some] == [5, 3, 5, 4]
    assert some.lengths.tolist() == [5, 3, 5, 4]
    assert some[0] is texts[2]
    assert some[-1] is texts[1]
    assert [len(text.ids) for text in some[1:3]] == [3, 5]
    assert [len(run.ids) for run in packed(some, 8)] == [8, 5, 4]
    assert len(SelectedTexts(texts, [])) == 0
    assert lengths_of(SelectedTexts(texts, [])).tolist() == []
    with pytest.raises(IndexError):
        some[4]
