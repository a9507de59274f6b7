"""Sentences as token ids: encoded, stored in mapped files, packed and selected without copies."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from pipeline.core.claims import atomic_folder, clear_left
from pipeline.core.console import Meter
from pipeline.core.documents import read_json
from pipeline.core.files import write_json
from pipeline.core.tally import Tally
from pipeline.pretrain.raw_text import Prepared
from pipeline.text.natural import NaturalText, find_words

_FILES = ("store.json", "bounds.bin", "ids.bin", "begins.bin")
_NAME = "tokens"  # the store's own folder below the one it is given
_BLOCK = 4096  # sentences encoded together
_LETTERS = 1 << 22  # characters after which a block ends earlier


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence as token ids ``[tokens]``; ``begins`` marks the first token of each word."""

    ids: NDArray[np.int64]
    begins: NDArray[np.bool_]


def encode_texts(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[NaturalText], longest: int
) -> tuple[list[Text], Tally]:
    """Sentences as token ids without special tokens.

    Longer ones are cut; the tally keeps whole sentences, and counts the cut ones and those left out
    under a reason.
    """
    tally = Tally()
    found: list[Text] = []
    if not texts:
        return found, tally
    special = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    encoding = tokenizer(
        [text.text for text in texts],
        add_special_tokens=False,
        return_offsets_mapping=True,
        verbose=False,
    )
    for text, ids, offsets in zip(
        texts, encoding["input_ids"], encoding["offset_mapping"], strict=True
    ):
        if not ids:
            tally.refuse("no tokens")
        elif special.intersection(ids):
            tally.refuse("contains a special token of the model")
        else:
            words = {start for start, _ in text.offsets}
            # A SentencePiece-like token may include the space before it, or be that space alone:
            # then the token after it begins at the same character and goes on with the word.
            starts = [begin + (text.text[begin : begin + 1] == " ") for begin, _ in offsets]
            begins = np.array([start in words for start in starts])
            begins[1:] &= np.diff(starts) > 0
            begins[0] = True
            found.append(Text(np.array(ids[:longest], dtype=np.int64), begins[:longest]))
            if len(ids) > longest:
                tally.refuse(f"cut to {longest} tokens")
            else:
                tally.keep()
    return found, tally


class _Texts(Sequence[Text], ABC):
    """Texts that are looked up one at a time; a slice is a view of them."""

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> "SelectedTexts": ...
    def __getitem__(self, index: int | slice) -> "Text | SelectedTexts":
        if isinstance(index, slice):
            return SelectedTexts(self, np.arange(len(self))[index])
        return self._at(range(len(self))[index])

    @abstractmethod
    def _at(self, index: int) -> Text:
        """The text of an index from 0."""


class TokenStore(_Texts):
    """The sentences that ``build_store`` wrote, mapped: only what is looked at is in memory.

    ``own`` is how many of its first sentences are the corpus's own, ``lengths`` the tokens of each
    sentence ``[sentences]``.

    Args:
        folder: what ``build_store`` was given; any number of processes may open it.

    Raises:
        InputError: there is no store.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / _NAME
        known = read_json(place / "store.json")
        self.own = int(known["own"])
        self.tally = Tally.from_dict(known["tally"])
        self._bounds = _mapped(place / "bounds.bin", np.dtype(np.int64))
        self._ids = _mapped(place / "ids.bin", np.dtype(known["dtype"]))
        self._begins = _mapped(place / "begins.bin", np.dtype(np.bool_))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence, ``[sentences]``."""
        return np.diff(self._bounds)

    def _at(self, index: int) -> Text:
        begin, end = self._bounds[index], self._bounds[index + 1]
        return Text(self._ids[begin:end].astype(np.int64), self._begins[begin:end].astype(np.bool_))


def _mapped(path: Path, dtype: np.dtype[np.generic]) -> NDArray[Any]:
    if not path.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))


def clear_store(folder: Path) -> None:
    """Remove a store, and what a killed run left half written of one; but nobody else's files.

    Args:
        folder: what ``build_store`` was given.
    """
    place = folder / _NAME
    clear_left(place)
    for name in _FILES:
        (place / name).unlink(missing_ok=True)
    with suppress(OSError):  # somebody's file is there, or nothing was
        place.rmdir()


def build_store(
    tokenizer: PreTrainedTokenizerBase, prepared: Prepared, longest: int, folder: Path
) -> tuple[TokenStore, Tally]:
    """Encode the prepared sentences into ``folder``, block by block.

    Sentences, order and tally are those of ``encode_texts``; the store may be empty.

    Args:
        tokenizer: of the model that is to learn from them.
        prepared: the sentences.
        longest: tokens a sentence may have; longer ones are cut.
        folder: where the store goes, in a folder of its own.
    """
    small = max(tokenizer.get_vocab().values(), default=0) < 1 << 16
    dtype = np.dtype(np.uint16 if small else np.uint32)
    tallies: list[Tally] = []
    total, own, left = 0, 0, prepared.own
    with (
        atomic_folder(folder / _NAME) as place,
        Meter("tokens of sentences", prepared.total) as meter,
    ):
        with (
            (place / "ids.bin").open("wb") as ids,
            (place / "begins.bin").open("wb") as begins,
            (place / "bounds.bin").open("wb") as bounds,
        ):
            bounds.write(np.zeros(1, dtype=np.int64).tobytes())
            for block in _blocks(prepared):
                for part, of_own in ((block[:left], True), (block[left:], False)):
                    texts, tally = encode_texts(tokenizer, [find_words(t) for t in part], longest)
                    tallies.append(tally)
                    own += len(texts) if of_own else 0
                    for text in texts:
                        ids.write(text.ids.astype(dtype).tobytes())
                        begins.write(text.begins.tobytes())
                    ends = total + np.cumsum([len(text.ids) for text in texts], dtype=np.int64)
                    bounds.write(ends.tobytes())
                    total = int(ends[-1]) if texts else total
                left = max(0, left - len(block))
                meter.advance(len(block))
        tally = Tally.merged(tallies)
        write_json(
            place / "store.json", {"dtype": dtype.name, "own": own, "tally": tally.to_dict()}
        )
    return TokenStore(folder), tally


def _blocks(prepared: Prepared) -> Iterator[list[str]]:
    """The sentences in blocks of bounded number and length."""
    block: list[str] = []
    letters = 0
    for line in prepared.lines():
        block.append(line)
        letters += len(line)
        if len(block) == _BLOCK or letters >= _LETTERS:
            yield block
            block, letters = [], 0
    if block:
        yield block


def lengths_of(texts: Sequence[Any]) -> NDArray[np.int64]:
    """Tokens of each text ``[texts]``, without touching the tokens of a store or a view of one."""
    known = getattr(texts, "lengths", None)
    if known is not None:
        return np.asarray(known)
    return np.array([len(text.ids) for text in texts], dtype=np.int64)


class SelectedTexts(_Texts):
    """Some of ``texts`` in the order of ``indices``, which may repeat; nothing is copied."""

    def __init__(self, texts: Sequence[Text], indices: Sequence[int] | NDArray[np.integer]) -> None:
        self._texts = texts
        self._indices = np.asarray(indices, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._indices)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text, ``[texts]``."""
        return np.asarray(lengths_of(self._texts)[self._indices])

    def _at(self, index: int) -> Text:
        return self._texts[int(self._indices[index])]


class Packed(_Texts):
    """Consecutive sentences joined, as ``packed`` says; ``own`` runs are of the corpus's own text."""

    def __init__(self, texts: Sequence[Text], starts: NDArray[np.int64], own: int) -> None:
        self._texts, self._starts = texts, starts  # of the runs, and where the last one ends
        self.own = own

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each run, ``[runs]``."""
        return np.add.reduceat(lengths_of(self._texts), self._starts[:-1])

    def _at(self, index: int) -> Text:
        run = [self._texts[i] for i in range(self._starts[index], self._starts[index + 1])]
        if len(run) == 1:
            return run[0]
        return Text(np.concatenate([t.ids for t in run]), np.concatenate([t.begins for t in run]))


def packed(texts: Sequence[Text], tokens: int, own: int = 0) -> Packed:
    """Consecutive sentences joined as long as they have no more than ``tokens`` together.

    A sentence that has more by itself is a run of its own. Runs are joined when they are looked up.

    Args:
        texts: sentences in the order of the text.
        tokens: that a run may have.
        own: how many of the first sentences are the corpus's own, which no run joins with others.
    """
    starts: list[int] = []
    room, runs = -1, 0
    for index, length in enumerate(lengths_of(texts).tolist()):
        if index == own:
            room, runs = -1, len(starts)
        if length > room:
            starts.append(index)
            room = tokens
        room -= length
    runs = len(starts) if own >= len(texts) else runs
    return Packed(texts, np.array([*starts, len(texts)], dtype=np.int64), runs)
