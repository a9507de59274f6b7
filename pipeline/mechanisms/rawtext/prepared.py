"""The text that a language model learns from: the corpus's own and more of it, one file of lines."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.ground.errors import InputError
from pipeline.ground.files import atomic, read_json, write_json
from pipeline.ground.tally import Tally
from pipeline.mechanisms.rawtext.overlap import Overlap
from pipeline.mechanisms.rawtext.reading import read_sentences

__all__ = ["Prepared", "prepare", "prepared_in"]

_LINES, _FACTS = "prepared.txt", "prepared.json"
_QUOTES = str.maketrans("’‘“”", "''\"\"")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Kept sentences in ``path``, one per line, the corpus's own first.

    ``own`` of all ``total`` lines are the corpus's own. ``tally`` counts lines kept and refused,
    ``noted`` the overlaps that were kept. ``digest`` is the SHA-256 of the file.
    """

    path: Path
    own: int
    total: int
    tally: Tally
    noted: Counter[str]
    digest: str

    def lines(self) -> Iterator[str]:
        """The sentences in order, from the beginning at each call."""
        # Other separators than "\n" occur inside sentences.
        with self.path.open(encoding="utf-8", newline="\n") as handle:
            for line in handle:
                yield line.removesuffix("\n")

    def sample(self, count: int, repeat: int = 1) -> list[str]:
        """``count`` evenly spaced sentences, own ones each standing ``repeat`` times in a row.

        All there are if that is no more.
        """
        repeated = self.own * repeat
        total = repeated + self.total - self.own
        count = min(count, total)
        places = (i * total // count for i in range(count))
        wanted = (p // repeat if p < repeated else p - repeated + self.own for p in places)
        found: list[str] = []
        following = next(wanted, None)
        for number, line in enumerate(self.lines()):
            while number == following:
                found.append(line)
                following = next(wanted, None)
        return found


def prepare(  # noqa: PLR0917 (each is of a type of its own)
    own: Path,
    more: Sequence[Path],
    segment: Literal["line", "punkt"],
    overlap: Overlap | None,
    drop: bool,
    folder: Path,
) -> Prepared:
    """Write the sentences to learn from to a working file in ``folder``.

    Args:
        own: the corpus's ``text.txt``, a sentence a line; it may be empty if there is ``more``.
        more: further files and folders of text.
        segment: how the sentences of ``more`` are found (``reading.read_sentences``).
        overlap: what must not be learnt from, of own text as of any; None: everything may.
        drop: whether overlapping sentences are left out; else they are counted in ``noted`` only.
        folder: where the file goes.

    Raises:
        InputError: ``own`` is missing, no sentence is left, or what ``read_sentences`` raises.
    """
    if not own.is_file():
        raise InputError("no such file", path=own, remedy="run `conjoin ingest`")
    tally, noted, digest = Tally(), Counter[str](), hashlib.sha256()
    counts: list[int] = []
    path = folder / _LINES
    sources: list[Iterator[str]] = [iter(())]
    if own.stat().st_size:
        sources = [read_sentences([own], "line", tally)]
    if more:
        sources.append(map(_straight, read_sentences(more, segment, tally)))
    with atomic(path) as temporary, temporary.open("wb") as handle:
        for source in sources:
            for sentence in _clean(source, overlap, drop, tally, noted):
                data = f"{sentence}\n".encode()
                digest.update(data)
                handle.write(data)
            counts.append(tally.kept)
    if not tally.kept:
        raise InputError("no sentence to learn from", path=own, remedy=_remedy(tally))
    made = Prepared(path, counts[0], tally.kept, tally, noted, digest.hexdigest())
    facts = {"own": made.own, "tally": tally.to_dict(), "noted": noted, "digest": made.digest}
    write_json(folder / _FACTS, facts)
    return made


def prepared_in(folder: Path) -> Prepared:
    """What ``prepare`` wrote there, for a further process.

    Raises:
        InputError: nothing.
    """
    facts = read_json(folder / _FACTS)
    tally = Tally.from_dict(facts["tally"])
    noted = Counter(facts["noted"])
    return Prepared(folder / _LINES, facts["own"], tally.kept, tally, noted, facts["digest"])


def _straight(sentence: str) -> str:
    """Straight quotes, which treebanks have, and so the sentences that generation shows a model."""
    return sentence.translate(_QUOTES)


def _clean(
    sentences: Iterable[str],
    overlap: Overlap | None,
    drop: bool,
    tally: Tally,
    noted: Counter[str],
) -> Iterator[str]:
    for sentence in sentences:
        reason = overlap.reason(sentence) if overlap else None
        if reason and drop:
            tally.refuse(reason)
            continue
        if reason:
            noted[reason] += 1
        tally.keep()
        yield sentence


def _remedy(tally: Tally) -> str | None:
    refused = ", ".join(f"{count:,} × {reason}" for reason, count in tally.rows()[1:])
    return f"refused: {refused}" if refused else None
