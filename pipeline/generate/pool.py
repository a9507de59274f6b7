"""The pool of attested constituents: every constituent of a corpus's trees, by category and length.

A pool is a folder of plain arrays, mapped into memory, so that workers share what they read of it and a
pool of ten million constituents takes a few hundred megabytes. It is made once from a folder of trees and
a tokenizer, which decides how long a constituent is, and lies in the cache (``core/cache.py``). Donors of
a reference are a pure function of (seed, sentence, span) and the pool.
"""

import json
import mmap
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pipeline.core.cache import cache_folder, cached
from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, read_json, sha256_of, write_json
from pipeline.core.types import COORDINATORS, Attested, Donor, Reference, SourceSentence
from pipeline.corpus.licences import combined
from pipeline.generate.spans import constituent_spans
from pipeline.infill.decoding import key_of, uniform
from pipeline.text.heads import head_tag
from pipeline.text.natural import join_words
from pipeline.text.trees import leaves, parse_tree

COORDINATED = "constituents that hold a coordinator"
NO_TOKENS = "constituents without tokens, or with a special token of the model"
NO_TREE = "sentences without a tree of their words"
NO_TAGS = "constituents whose head has no part of speech"

FORMAT = 1
"""Counts up when a pool is made or written in another way, so that older ones are not read."""

_ARRAYS: dict[str, str] = {
    "sentence": "<i4", "start": "<i4", "end": "<i4",  # of each constituent, in the pool's order
    "first": "<i8",  # of each sentence the number of its first word, and of all words
    "word": "<i8",  # of each word its first byte in ``text``, and of all bytes
    "id": "<i8",  # of each sentence the first byte of its id in ``ids``, and of all bytes
    "license": "<i2",  # of each sentence, into the card's list
    "head": "<i2",  # of each word its tag, into the card's list; none if heads do not matter
    "key": "<u8", "row": "<i4",  # sentences by a hash of their ids, sorted: to find one again
}  # fmt: skip
_TEXTS = ("text", "ids")
_PIECE = 4096  # constituents tokenized together
_TRIES = 8  # times M, and a few more: draws in a large part of the pool before the next is tried


class Trees(Protocol):
    """Sentences with their trees, as ``core.corpus_folder.TreeRows`` and ``plan.GoldRows`` have them."""

    def __len__(self) -> int: ...

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str | None]]:
        """Sentence and bracketing of some consecutive ones."""
        ...


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What a pool is made of.

    Attributes:
        corpus: the corpus folder.
        trees: its sentences with their trees.
        inputs: digests of the files that these come from.
        tokens: makes the tokens of texts as fills; none for a text that cannot be a fill.
        tokenizer: identifies what makes the tokens.
        tags: reads each sentence of the corpus, in its order, with its tags if it has any, for trees
            without; None: heads do not matter.
        coordinators: whether constituents that hold a coordinator are taken, too.
    """

    corpus: Path
    trees: Trees
    inputs: Mapping[str, Any]
    tokens: Callable[[Sequence[str]], list[list[int]]]
    tokenizer: str
    tags: Callable[[], Iterator[tuple[str, Sequence[str] | None]]] | None = None
    coordinators: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """All that the pool depends on."""
        return {
            "format": FORMAT,
            "inputs": dict(self.inputs),
            "tokenizer": self.tokenizer,
            "heads": self.tags is not None,
            "coordinators": self.coordinators,
        }


def open_pool(plan: PoolPlan) -> "Pool":
    """The pool of a plan, built now if the cache does not have it.

    Raises:
        InputError: no tree has a constituent to offer, or the cache cannot be written to.
    """
    kind = [str(plan.corpus.resolve()), plan.tokenizer, plan.tags is not None, plan.coordinators]
    return cached(
        cache_folder() / f"pool-{digest_of(kind)[:16]}",
        digest_of(plan.facts)[:16],
        what="the pool of constituents",
        opened=lambda folder: Pool(folder, plan.facts),
        build=lambda folder: build_pool(plan, folder),
    )


class Pool:
    """A pool that is open.

    Args:
        folder: where it lies.
        facts: what it must have been made of.

    Attributes:
        digest: hex SHA-256 of its files.
        left_out: constituents and sentences that are not in it, by reason.

    Raises:
        FileNotFoundError: it is not there, or not whole.
        InputError: it is the pool of something else.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        card = read_json(folder / "card.json") if (folder / "card.json").is_file() else {}
        sizes = {name: (folder / name).stat().st_size for name in (*_ARRAYS, *_TEXTS)}
        if sizes != card.get("bytes"):
            raise FileNotFoundError(folder)
        if card["facts"] != json.loads(json.dumps(facts)):
            raise InputError(
                "a pool of other trees", path=folder, remedy="remove this folder of the cache"
            )
        self._arrays = {
            name: _mapped(folder / name, kind) for name, kind in _ARRAYS.items() if sizes[name]
        }
        self._text, self._ids = (_bytes(folder / name) for name in _TEXTS)
        self.digest: str = card["digest"]
        self.left_out: dict[str, int] = card["left_out"]
        self._licenses: list[str] = card["licenses"]
        self._tags: list[str] = card["tags"]
        # Of each category the lengths that it has, and where in the pool each begins and the last ends.
        self._places: dict[str, tuple[list[int], list[int]]] = {
            name: (each["lengths"], each["places"]) for name, each in card["categories"].items()
        }

    def __len__(self) -> int:
        return len(self._arrays["sentence"])

    def draw(
        self,
        reference: Reference,
        lengths: Callable[[Sequence[int]], Iterable[range]],
        count: int,
        seed: int,
    ) -> tuple[Attested, ...]:
        """Distinct constituents of the reference's category from other sentences, in the order drawn.

        None equals the reference but for case, and no two each other. Fewer draws give the first of
        these: what one donor is does not depend on how many there are.

        Args:
            reference: what to find company for.
            lengths: which lengths in tokens to try, of those offered: the first that have a donor
                give all of them.
            count: how many at most.
            seed: with the reference it determines the draw.
        """
        offered, places = self._places.get(self._category(reference), ([], [0]))
        for wanted in lengths(offered):
            low = int(np.searchsorted(offered, wanted.start))
            high = int(np.searchsorted(offered, wanted.stop))
            found = self._some(reference, range(places[low], places[high]), count, seed)
            if found:
                return tuple(found)
        return ()

    def _category(self, reference: Reference) -> str:
        if not self._tags:
            return reference.label
        row = self._row(reference.sentence_id)
        if row is None:
            return ""
        first = int(self._arrays["first"][row])
        span = slice(first + reference.span.start, first + reference.span.end)
        tags = [self._tags[code] for code in self._arrays["head"][span]]
        return _category(reference.label, tags)

    def _row(self, sentence_id: str) -> int | None:
        keys = self._arrays["key"]
        place = int(np.searchsorted(keys, _key(sentence_id)))
        while place < len(keys) and keys[place] == _key(sentence_id):
            row = int(self._arrays["row"][place])
            if self._id(row) == sentence_id:
                return row
            place += 1
        return None

    def _some(self, reference: Reference, places: range, count: int, seed: int) -> list[Attested]:
        key = f"{key_of(reference)}\0donor"
        span = slice(reference.span.start, reference.span.end)
        seen = {tuple(word.lower() for word in reference.words[span])}
        found: list[Attested] = []
        for place in _shuffled(places, count, seed, key):
            row = int(self._arrays["sentence"][place])
            donor = Donor(
                self._id(row), int(self._arrays["start"][place]), int(self._arrays["end"][place])
            )
            if donor.sentence_id == reference.sentence_id:
                continue
            words = self._words(row, donor)
            lower = tuple(word.lower() for word in words)
            if lower in seen:
                continue
            seen.add(lower)
            license_ = self._licenses[self._arrays["license"][row]]
            if license_ != reference.license:
                license_ = combined([reference.license, license_])
            found.append(Attested(words, donor, license_))
            if len(found) == count:
                break
        return found

    def _id(self, row: int) -> str:
        begin, end = self._arrays["id"][row : row + 2]
        return str(self._ids[begin:end], "utf-8")

    def _words(self, row: int, donor: Donor) -> tuple[str, ...]:
        first = int(self._arrays["first"][row])
        begin = self._arrays["word"][first + donor.start]
        end = self._arrays["word"][first + donor.end]
        return tuple(str(self._text[begin : end - 1], "utf-8").split("\n"))


def _shuffled(places: range, count: int, seed: int, key: str) -> Iterator[int]:
    """Distinct places in an order drawn by seed and key: all of a few, some of many."""
    tries = _TRIES * (count + 8)
    if len(places) <= tries:
        yield from sorted(places, key=lambda place: uniform(seed, key, place - places.start, 1))
        return
    drawn: set[int] = set()
    for number in range(tries):
        place = places[int(uniform(seed, key, number, 0) * len(places))]
        if place not in drawn:
            drawn.add(place)
            yield place


def _category(label: str, tags: Sequence[str]) -> str:
    return f"{label} {head_tag(label, tags)}"


def _key(sentence_id: str) -> np.uint64:
    return np.uint64(int.from_bytes(sha256(sentence_id.encode()).digest()[:8], "big"))


def _bytes(path: Path) -> Any:
    if not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _mapped(path: Path, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(_bytes(path), kind)


def build_pool(plan: PoolPlan, folder: Path) -> None:
    """Write the pool of a plan into an empty folder.

    Raises:
        InputError: no tree has a constituent to offer; a tree is not of its sentence; heads matter, and
            no sentence has tags.
    """
    writer = _Writer(plan)
    with Meter("pool of constituents", len(plan.trees)) as meter:
        for number, (source, bracketing) in enumerate(plan.trees.read(range(len(plan.trees))), 1):
            writer.add(source, bracketing)
            meter.at(number)
    writer.finish(folder)


class _Writer:
    """Collects sentences and their constituents as numbers; 26 bytes a constituent, 10 a word."""

    def __init__(self, plan: PoolPlan) -> None:
        self._plan = plan
        self._columns = {name: array("i") for name in ("sentence", "start", "end", "length")}
        self._category, self._license, self._head = array("h"), array("h"), array("h")
        self._first, self._word, self._id = array("q", [0]), array("q", [0]), array("q", [0])
        self._texts = {name: bytearray() for name in _TEXTS}
        self._keys = array("Q")
        self._codes: dict[str, dict[str, int]] = {"category": {}, "license": {}, "head": {}}
        self._left_out = Counter[str]()
        self._waiting: list[tuple[int, int, int, str, str]] = []
        self._tagged = plan.tags() if plan.tags is not None else iter(())

    def add(self, source: SourceSentence, bracketing: str | None) -> None:
        """Take a sentence and, if it has a tree of its words, its constituents."""
        row = len(self._first) - 1
        self._words(source)
        if bracketing is None:
            self._left_out[NO_TREE] += 1
            return
        tree = parse_tree(bracketing)
        if leaves(tree) != list(source.words):
            raise InputError(
                "a tree that is not of this sentence",
                sentence_id=source.sentence_id,
                remedy="run `conjoin preparse` again",
            )
        tags: Sequence[str] | None = None
        if self._plan.tags is not None:
            tags = [tag for _, tag in tree.pos()]
            if set(tags) == {"XX"}:  # a parser trained here writes no tags
                tags = next((t for name, t in self._tagged if name == source.sentence_id), None)
            codes = self._codes["head"]
            self._head.extend(
                codes.setdefault(tag, len(codes)) for tag in tags or [""] * len(source.words)
            )
        for span, label in constituent_spans(source.words, tree):
            words = source.words[span.start : span.end]
            if not self._plan.coordinators and any(w.lower() in COORDINATORS for w in words):
                self._left_out[COORDINATED] += 1
                continue
            category = label
            if self._plan.tags is not None:
                if tags is None:
                    self._left_out[NO_TAGS] += 1
                    continue
                category = _category(label, tags[span.start : span.end])
            self._waiting.append((row, span.start, span.end, category, join_words(words).text))
        if len(self._waiting) >= _PIECE:
            self._measure()

    def _words(self, source: SourceSentence) -> None:
        text, ids = self._texts["text"], self._texts["ids"]
        for word in source.words:
            text += word.encode() + b"\n"
            self._word.append(len(text))
        ids += source.sentence_id.encode()
        self._id.append(len(ids))
        self._first.append(len(self._word) - 1)
        self._keys.append(int(_key(source.sentence_id)))
        codes = self._codes["license"]
        self._license.append(codes.setdefault(source.license, len(codes)))

    def _measure(self) -> None:
        """Take in what waits, with its length in tokens."""
        codes = self._codes["category"]
        tokens = self._plan.tokens([text for *_, text in self._waiting])
        for (row, start, end, category, _), ids in zip(self._waiting, tokens, strict=True):
            if not ids:
                self._left_out[NO_TOKENS] += 1
                continue
            for name, value in (("sentence", row), ("start", start), ("end", end)):
                self._columns[name].append(value)
            self._columns["length"].append(len(ids))
            self._category.append(codes.setdefault(category, len(codes)))
        self._waiting.clear()

    def finish(self, folder: Path) -> None:
        """Write the files."""
        self._measure()
        if not self._category:
            if self._left_out[NO_TAGS]:
                raise InputError(
                    "no sentence has parts of speech, which --match head needs",
                    path=self._plan.corpus, remedy="choose --match label",
                )  # fmt: skip
            raise InputError(
                "no tree has a constituent to offer", path=self._plan.corpus,
                remedy="check what preparse printed",
            )  # fmt: skip
        columns = {name: np.frombuffer(each, "i4") for name, each in self._columns.items()}
        # By name, so that the order does not depend on which sentence came first.
        names = sorted(self._codes["category"])
        ranks = {self._codes["category"][name]: rank for rank, name in enumerate(names)}
        category = np.array([ranks[code] for code in range(len(names))], "i2")[
            np.frombuffer(self._category, "i2")
        ]
        order = np.lexsort((columns["length"], category))  # stable: else as in the corpus
        keys = np.frombuffer(self._keys, "u8")
        by_key = np.argsort(keys, kind="stable")
        parts: dict[str, npt.NDArray[Any] | bytearray] = {
            **{name: columns[name][order] for name in ("sentence", "start", "end")},
            "first": np.frombuffer(self._first, "i8"),
            "word": np.frombuffer(self._word, "i8"),
            "id": np.frombuffer(self._id, "i8"),
            "license": np.frombuffer(self._license, "i2"),
            "head": np.array(self._head, "i2"),
            "key": keys[by_key],
            "row": by_key,
            **self._texts,
        }
        for name, part in parts.items():
            kind = _ARRAYS.get(name)
            (folder / name).write_bytes(
                bytes(part) if kind is None else np.asarray(part, kind).tobytes()
            )
        files = [folder / name for name in (*_ARRAYS, *_TEXTS)]
        card = {
            "facts": self._plan.facts,
            "digest": digest_of([sha256_of(path) for path in files]),
            "left_out": dict(sorted(self._left_out.items())),
            "licenses": list(self._codes["license"]),
            "tags": list(self._codes["head"]),
            "categories": _places(names, category[order], columns["length"][order]),
            "bytes": {path.name: path.stat().st_size for path in files},
        }
        write_json(folder / "card.json", card)


def _places(
    names: Sequence[str], category: npt.NDArray[np.int16], length: npt.NDArray[np.int32]
) -> dict[str, dict[str, list[int]]]:
    """Of each category its lengths, and the places where each begins and the last ends."""
    found = {}
    for rank, name in enumerate(names):
        begin, end = np.searchsorted(category, rank), np.searchsorted(category, rank, "right")
        lengths, first = np.unique(length[begin:end], return_index=True)
        places = [*(int(begin) + first).tolist(), int(end)]
        found[name] = {"lengths": lengths.tolist(), "places": places}
    return found
