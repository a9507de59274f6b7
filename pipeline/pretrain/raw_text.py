"""The raw text that a language model learns from: read, filtered, and written as one file of lines.

``read_sentences`` reads files of any size in the memory of a paragraph. ``Overlap`` is the
contamination filter: it finds raw sentences that contain a sentence on which models are evaluated.
``prepare`` writes the corpus's own text and more of it.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from pipeline.core.console import Meter
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import atomic, sweep, write_json
from pipeline.core.tally import Tally
from pipeline.text.lines import NumberedLines, open_lines
from pipeline.text.natural import WIDE
from pipeline.text.segmentation import PUNKT_SAMPLE, Segmenter, guarded, learn_punkt, text_files
from pipeline.text.unpacking import UnpackingAllowance

BLANK = "blank line"
"""The reason under which lines of whitespace are counted."""

_LONGEST = 1 << 24  # bytes of a line: a whole book may stand on one
_PIECE = 100_000  # characters of a paragraph that are cut into sentences at once
_AHEAD = 1_000  # lines that tell whether blank lines stand between paragraphs
_OFTEN = 1_000  # lines between two looks at the clock


def read_sentences(
    places: Sequence[Path],
    segment: Literal["line", "punkt"],
    tally: Tally | None = None,
    allowance: UnpackingAllowance | None = None,
) -> Iterator[str]:
    """Yield the sentences of files, and of folders of .txt, .txt.gz and .txt.xz files.

    Args:
        places: files (packed or not, which their first bytes tell) and folders.
        segment: ``line``: one sentence per line. ``punkt``: a line is a paragraph, unless blank
            lines among a file's first thousand show that its paragraphs run over lines. Punkt
            learns its abbreviations from the first five million characters.
        tally: counts the lines of whitespace that are skipped.
        allowance: what packed files may unpack to; None: without limit.

    Raises:
        InputError: a missing or empty file, a folder without text, a file that is not UTF-8 or
            damaged or unpacks to more than is allowed, a line of more than 16 MiB, or a paragraph
            that nltk gives up on.
    """
    files = [path for place in places for _, path in text_files(place)]
    counts = Tally() if tally is None else tally
    cut = learn_punkt(map(_beginning, files)) if segment == "punkt" and files else None
    sizes = [path.stat().st_size for path in files]
    before = 0
    with Meter("read text (bytes)", sum(sizes)) as meter:
        for path, size in zip(files, sizes, strict=True):
            with open_lines(path, _LONGEST, allowance) as lines:
                yield from _sentences(lines, cut, counts, meter, before)
            before += size
            meter.at(before)


def _beginning(path: Path) -> str:
    found: list[str] = []
    length, before = 0, 0
    with open_lines(path, _LONGEST) as lines:
        for number, line in lines:
            found.append("\n" * (number - before - 1) + line)  # with the empty lines that it skips
            length += len(found[-1]) + 1
            before = number
            if length >= PUNKT_SAMPLE:
                break
    return "\n".join(found)


def _sentences(
    lines: NumberedLines, cut: Segmenter | None, tally: Tally, meter: Meter, before: int
) -> Iterator[str]:
    """The sentences of a file; ``before`` bytes were read of others."""
    wrapped = cut is not None and _is_wrapped(lines)
    paragraph: list[str] = []
    length = 0
    empty = True
    for number, line in lines:
        if number % _OFTEN == 0:
            meter.at(before + lines.position)
        text = line.strip()
        empty = empty and not text
        if not text:
            tally.refuse(BLANK)
        elif cut is None:
            yield text
        else:
            paragraph.append(text)
            length += len(text) + 1
        if cut is None or not paragraph or (wrapped and text and length < _PIECE):
            continue
        *done, rest = split_paragraph(" ".join(paragraph), cut, lines.name)
        # Of a paragraph that goes on, the last sentence may as well.
        paragraph = [rest] if wrapped and text and len(rest) < _PIECE else []
        length = len(rest) if paragraph else 0
        yield from done if paragraph else [*done, rest]
    if cut is not None and paragraph:
        yield from split_paragraph(" ".join(paragraph), cut, lines.name)
    tally.refuse(BLANK, lines.skipped)
    if empty:
        raise InputError("the file is empty", path=lines.name, remedy="remove it or fill it")


def _is_wrapped(lines: NumberedLines) -> bool:
    """Whether there are blank lines between others at the beginning of a file."""
    shown = "".join(" t"[bool(line.strip())] for line in islice(lines.peek(), _AHEAD))
    return " " in shown.strip()


def split_paragraph(text: str, cut: Segmenter, name: str, piece: int = _PIECE) -> list[str]:
    """Sentences of a paragraph of any length: at least one, if it has any text.

    Punkt takes much memory, so it gets ``piece`` characters at a time; the last sentence of a piece
    goes into the next, and so is cut where it would be in the whole paragraph.
    """
    found: list[str] = []
    rest, begin = "", 0
    while begin + piece < len(text):
        space = text.rfind(" ", begin, begin + piece)
        end = space + 1 if space >= 0 else begin + piece
        rest += text[begin:end]
        begin = end
        if not rest.strip():
            continue
        # The piece may end where a sentence does, which only what follows would show.
        *done, rest = guarded(cut, rest, name)
        found += done
        if len(rest) > piece:
            found.append(rest)
            rest = ""
        elif space >= 0:
            rest += " "
    rest += text[begin:]
    return [*found, *guarded(cut, rest, name)] if rest.strip() else found


SHORTEST, LONGEST = 4, 12
"""Tokens of the held-out sentences that are looked for whole inside raw ones."""

_ROW = LONGEST + 1

EQUAL = "equals a held-out sentence"
CONTAINS = "contains a held-out sentence"
SHARES = f"shares {_ROW} words in a row with a held-out sentence"
REASONS = (EQUAL, CONTAINS, SHARES)

_BRACKETS = re.compile(r"-[lr][rsc]b-")
_CLITICS = re.compile(r"\s+(?=(?:n't|'(?:s|re|ve|ll|d|m))(?!\w))")
_UNSPLIT = re.compile(
    r"\b(?:can(?=not\b)|(?:gim|lem)(?=me\b)|(?:gon|wan)(?=na\b)|got(?=ta\b))|(?<=')t(?=(?:is|was)\b)"
)
"""First parts of words that treebanks cut in two: cannot, gimme, gonna, 'tis."""
_TOKEN = re.compile(r"[^\W_]+")
_TOKEN_OR_WIDE = re.compile(rf"(?=[^\W_]){WIDE.pattern}|(?:(?!{WIDE.pattern})[^\W_])+")
_PLAIN = {0x2019: "'", 0x2018: "'", **dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))}


def normal_form(text: str) -> list[str]:
    """Runs of letters and digits in lower case; treebank tokens and raw text give the same ones.

    For this ``-LRB-`` and quotes are removed, a hyphen is a space, ``do n't`` is ``don't`` and ``gonna`` is
    ``gon na``. Each Japanese or Chinese character stands alone, for no blank says where a word ends.
    """
    lowered, token = text.lower(), _TOKEN
    if not lowered.isascii():
        token = _TOKEN_OR_WIDE
        lowered = unicodedata.normalize("NFKC", lowered.translate(_PLAIN)).lower()
    if "'" in lowered:
        lowered = _CLITICS.sub("", lowered)
    if "b-" in lowered:
        lowered = _BRACKETS.sub(" ", lowered)
    return token.findall(_UNSPLIT.sub(r"\g<0> ", lowered))


class Overlap:
    """Finds raw sentences that contain one of the held-out sentences, or a good part of one.

    It is built once and used for every line of raw text: almost all lines cost a comparison of sets
    and a look-up per word.

    Args:
        held: treebank words of each held-out sentence (dev and test).
    """

    def __init__(self, held: Iterable[Sequence[str]]) -> None:
        forms = {" ".join(normal_form(" ".join(words))) for words in held} - {""}
        self._whole = forms
        self._rows: set[tuple[str, ...]] = set()
        # A short sentence is looked for where its rarest word is; of equals the longest word.
        self._anchored: defaultdict[str, list[str]] = defaultdict(list)
        times: defaultdict[str, int] = defaultdict(int)
        tokens = [form.split() for form in sorted(forms)]
        for form in tokens:
            for token in form:
                times[token] += 1
        for form in tokens:
            if SHORTEST <= len(form) <= LONGEST:
                anchor = min(form, key=lambda token: (times[token], -len(token), token))
                self._anchored[anchor].append(f" {' '.join(form)} ")
            self._rows.update(_rows(form))
        self._anchors = frozenset(self._anchored)

    def __len__(self) -> int:
        """How many different normal forms are held out."""
        return len(self._whole)

    def reason(self, text: str) -> str | None:
        """The first of ``REASONS`` that holds of a raw sentence; None of a clean one."""
        tokens = normal_form(text)
        joined = " ".join(tokens)
        if joined in self._whole:
            return EQUAL
        if not self._anchors.isdisjoint(tokens):
            padded = f" {joined} "
            for anchor in self._anchors.intersection(tokens):
                if any(form in padded for form in self._anchored[anchor]):
                    return CONTAINS
        return SHARES if any(row in self._rows for row in _rows(tokens)) else None


def _rows(tokens: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(tokens[i:] for i in range(_ROW)), strict=False)


_LINES, _FACTS = "prepared.txt", "prepared.json"
_STRAIGHT = str.maketrans("’‘“”", "''\"\"")


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
    allowance: UnpackingAllowance | None = None,
) -> Prepared:
    """Write the sentences to learn from to a working file in ``folder``.

    Args:
        own: the corpus's ``text.txt``, a sentence a line; it may be empty if there is ``more``.
        more: further files and folders of text.
        segment: how the sentences of ``more`` are found (``read_sentences``).
        overlap: what must not be learnt from, of own text as of any; None: everything may.
        drop: whether overlapping sentences are left out; else they are counted in ``noted`` only.
        folder: where the file goes.
        allowance: what packed files of ``more`` may unpack to; None: without limit.

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
        # Treebanks have straight quotes, and so the sentences that generation shows a model.
        found = read_sentences(more, segment, tally, allowance)
        sources.append(sentence.translate(_STRAIGHT) for sentence in found)
    with atomic(path) as temporary, temporary.open("wb") as handle:
        for source in sources:
            for sentence in source:
                reason = overlap.reason(sentence) if overlap else None
                if reason and drop:
                    tally.refuse(reason)
                    continue
                if reason:
                    noted[reason] += 1
                tally.keep()
                data = f"{sentence}\n".encode()
                digest.update(data)
                handle.write(data)
            counts.append(tally.kept)
    if not tally.kept:
        refused = ", ".join(f"{count:,} × {reason}" for reason, count in tally.rows()[1:])
        remedy = f"refused: {refused}" if refused else None
        raise InputError("no sentence to learn from", path=own, remedy=remedy)
    known = {"own": counts[0], "tally": tally.to_dict(), "noted": noted}
    write_json(folder / _FACTS, {**known, "digest": digest.hexdigest()})
    return prepared_in(folder)


def prepared_in(folder: Path) -> Prepared:
    """What ``prepare`` wrote there, also for a further process.

    Raises:
        InputError: it wrote nothing there.
    """
    facts = read_json(folder / _FACTS)
    tally = Tally.from_dict(facts["tally"])
    noted = Counter(facts["noted"])
    return Prepared(folder / _LINES, facts["own"], tally.kept, tally, noted, facts["digest"])


def clear_prepared(folder: Path) -> None:
    """Remove what ``prepare`` wrote into a folder, or left there half written; but nobody else's files."""
    own = (folder / _LINES, folder / _FACTS)
    sweep(*own)
    for path in own:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # somebody's file is there, or nothing was
        folder.rmdir()
