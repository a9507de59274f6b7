"""The pool of attested constituents: every constituent of a corpus's trees, by category and length.

A pool is a folder of plain arrays, mapped into memory, so that workers share what they read of it: ten
million constituents take half a gigabyte. It is made once from a folder of trees and a tokenizer, which
decides how long a constituent is, and lies in the cache (``core/cache.py``). What a reference is offered
is a pure function of (seed, sentence, span) and the pool.
"""

import json
import mmap
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import shake_256
from pathlib import Path

from pipeline.core.cache import cache_folder, cached
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.settings import Match
from pipeline.core.types import Attested, Donor, Reference, Span
from pipeline.corpus.licences import combined
from pipeline.infill.decoding import key_of
from pipeline.infill.pool_building import (
    ARRAYS,
    FILES,
    GAP_ARRAYS,
    TEXTS,
    TOKENS,
    PoolPlan,
    build_pool,
    category_of,
    key_of_id,
)
from pipeline.infill.rankings.protocol import ReferenceOptions

_PATIENCE = 256
"""Draws in a row that give nothing new, after which a part of the pool counts as exhausted."""


def open_pool(plan: PoolPlan) -> "Pool":
    """The pool of a plan, built now if the cache does not have it.

    Raises:
        InputError: as ``build_pool``; or the cache cannot be written to.
    """
    return cached(
        cache_folder() / f"pool-{digest_of(plan.kind)[:16]}",
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
        digest: hex SHA-256 of all that is in it.
        left_out: constituents and sentences that are not in it, by reason.

    Raises:
        FileNotFoundError: it is not there, or not whole.
        InputError: it is the pool of something else.
    """

    def __init__(self, folder: Path, facts: Mapping[str, object]) -> None:
        card = read_json(folder / "card.json") if (folder / "card.json").is_file() else {}
        gaps = GAP_ARRAYS if card.get("facts", {}).get("gaps") else {}
        sizes = {name: (folder / name).stat().st_size for name in (*FILES, *gaps)}
        if sizes != card.get("bytes") or card["byteorder"] != sys.byteorder:
            raise FileNotFoundError(folder)
        if card["facts"] != json.loads(json.dumps(facts)):
            raise InputError(
                "a pool of other trees", path=folder, remedy="remove this folder of the cache"
            )
        kinds = {**ARRAYS, **gaps, TOKENS: card["token"]}
        # Of a memoryview a number is read in half the time that an array of numpy takes.
        self._of = {name: _mapped(folder / name).cast(kind) for name, kind in kinds.items()}
        self._texts = {name: _mapped(folder / name) for name in TEXTS}
        self.digest: str = card["digest"]
        self.left_out: dict[str, int] = card["left_out"]
        self._licenses: list[str] = card["licenses"]
        self._match: Match = card["facts"]["match"]
        # Of each category the lengths that it has, and where in the pool each begins and the last ends.
        self._places: dict[str, tuple[list[int], list[int]]] = {
            name: (each["lengths"], each["places"]) for name, each in card["categories"].items()
        }
        self._joined: dict[tuple[str, int], str] = {}

    def __len__(self) -> int:
        return len(self._of["sentence"])

    def draw(
        self,
        reference: Reference,
        lengths: Callable[[Sequence[int]], Iterable[range]],
        count: int,
        seed: int,
    ) -> ReferenceOptions | None:
        """Distinct constituents of the reference's category from other sentences, in the order drawn.

        None equals the reference but for case, and no two each other; nor is one equal to what stands
        beside the reference already, or of the same sentence. Fewer draws give the first of these: what
        one donor is does not depend on how many there are.

        Args:
            reference: what to find company for.
            lengths: which lengths in tokens to try, of those offered: the first that have a donor
                give all of them.
            count: how many at most.
            seed: with the reference it determines the draw.

        Returns:
            None if there is no such constituent.
        """
        offered, places = self._places.get(self._category(reference), ((), (0,)))
        for wanted in lengths(offered):
            low, high = bisect_left(offered, wanted.start), bisect_left(offered, wanted.stop)
            found = self._some(reference, range(places[low], places[high]), count, seed)
            if found:
                tokens = self._of[TOKENS]
                size = {place: offered[bisect_right(places, place) - 1] for place in found}
                begin = {place: self._of["token"][place] for place in found}
                return ReferenceOptions(
                    reference,
                    tuple(found.values()),
                    tuple(tuple(tokens[begin[p] : begin[p] + size[p]]) for p in found),
                )
        return None

    def _category(self, reference: Reference) -> str:
        if self._match == "label":
            return category_of(reference.label, self._match, (), reference.staying)
        row = self._row(reference.sentence_id)
        if row is None or not (tags := self._text("tags", row)):
            return ""
        own = tags.split("\n")[reference.span.start : reference.span.end]
        return category_of(reference.label, self._match, own, reference.staying)

    def _row(self, sentence_id: str) -> int | None:
        keys, key = self._of["key"], key_of_id(sentence_id)
        for place in range(bisect_left(keys, key), len(keys)):
            if keys[place] != key:
                break
            row: int = self._of["row"][place]
            if self._text("ids", row) == sentence_id:
                return row
        return None

    def _some(
        self, reference: Reference, places: range, count: int, seed: int
    ) -> dict[int, Attested]:
        """Donors by their places."""
        sentences, starts, ends = (self._of[name] for name in ("sentence", "start", "end"))
        words, word_ends = self._texts["words"], self._of[TEXTS["words"]]
        span = slice(reference.span.start, reference.span.end)
        placed = reference.placed
        conjuncts = [reference.words[span], *(each.words for each in placed)]
        seen = {"\n".join(words).lower() for words in conjuncts}
        used = {reference.sentence_id, *(each.donor.sentence_id for each in placed if each.donor)}
        found: dict[int, Attested] = {}
        fruitless = 0
        for place in _shuffled(places, f"{seed}\0{key_of(reference)}\0donor", count):
            row, start, end = sentences[place], starts[place], ends[place]
            text = str(words[word_ends[row] : word_ends[row + 1]], "utf-8")
            split = text.split("\n", end)[:end]
            gap = self._gap(place)
            own = [*split[start : gap.start], *split[gap.end :]] if gap else split[start:]
            lower = "\n".join(own).lower()
            if lower in seen or (name := self._text("ids", row)) in used:
                fruitless += 1
                if fruitless == _PATIENCE:
                    break
                continue
            seen.add(lower)
            fruitless = 0
            license_ = self._license(reference.license, row)
            found[place] = Attested(tuple(own), Donor(name, start, end), license_, gap)
            if len(found) == count:
                break
        return found

    def _gap(self, place: int) -> Span | None:
        """The words of its sentence that a clause lacks, where that is what the pool holds."""
        if "gap_start" not in self._of:
            return None
        return Span(*(self._of[name][place] for name in GAP_ARRAYS))

    def _license(self, license_: str, row: int) -> str:
        """A licence together with that of a sentence."""
        pair = license_, self._of["license"][row]
        if pair not in self._joined:
            own = self._licenses[pair[1]]
            self._joined[pair] = own if own == license_ else combined([license_, own])
        return self._joined[pair]

    def _text(self, name: str, row: int) -> str:
        ends = self._of[TEXTS[name]]
        return str(self._texts[name][ends[row] : ends[row + 1]], "utf-8")


def _shuffled(places: range, key: str, about: int) -> Iterator[int]:
    """The places in an order drawn by the key; each as likely to be next as any other left.

    Args:
        places: to be shuffled, lazily.
        key: determines the order.
        about: how many will be looked at, probably.
    """
    moved: dict[int, int] = {}
    numbers: Sequence[int] = ()
    for k, first in enumerate(places):
        if k == len(numbers):
            # More of its bytes begin with the same ones.
            size = 2 * k or about + 8
            numbers = memoryview(shake_256(key.encode()).digest(8 * size)).cast("Q")
        # The bits of 2⁶⁴ that do not divide evenly make one place likelier by 10⁻¹².
        other = places[k + numbers[k] % (len(places) - k)]
        yield moved.get(other, other)
        moved[other] = moved.get(first, first)


def _mapped(path: Path) -> memoryview:
    if not path.stat().st_size:
        return memoryview(b"")
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
