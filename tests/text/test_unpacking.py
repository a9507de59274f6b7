"""Packed files unpack to no more than is allowed, without the memory that all of it would take."""

import gzip
import lzma
import resource
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Literal

import pytest

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.ingest.readers.text import read_text
from pipeline.pretrain.raw_text import read_sentences
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance, bytes_of, read_whole
from pipeline.trying.predict.sentences import read_sentences as predict_sentences

PACKERS = [gzip.compress, lzma.compress]
REFUSED = r"packed files unpack to more than 1MiB; .* allow more by --largest-unpacked"


def test_sizes_are_numbers_with_units() -> None:
    """Powers of two, with or without a blank."""
    assert (bytes_of("3MiB"), bytes_of("2 GiB"), bytes_of("1TiB")) == (3 * 2**20, 2**31, 2**40)


@pytest.mark.parametrize("pack", PACKERS)
def test_an_allowance_is_for_all_files_together(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """Each alone would do; what is not packed does not count."""
    for name in "ab":
        (tmp_path / f"{name}.txt.gz").write_bytes(pack(b"the dog\n" * 90_000))
    (tmp_path / "c.txt").write_bytes(b"the dog\n" * 200_000)
    plain = list(read_sentences([tmp_path / "c.txt"], "line", None, UnpackingAllowance("1MiB")))
    assert len(plain) == 200_000
    assert (
        len(list(read_sentences([tmp_path], "line", None, UnpackingAllowance("2MiB")))) == 380_000
    )
    with pytest.raises(InputError, match=rf"b\.txt\.gz: {REFUSED}"):
        list(read_sentences([tmp_path], "line", None, UnpackingAllowance("1MiB")))


@pytest.mark.parametrize("pack", PACKERS)
def test_a_bomb_takes_no_memory(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Of 256 MiB, a hundredth at most is ever there."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(bytes(2**16)) * 4096)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=REFUSED):
        read_whole(path, UnpackingAllowance("1MiB"))
    with pytest.raises(InputError, match=r"more than 1,048,576 bytes"), open_lines(path) as lines:
        next(lines)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10  # KiB


def test_lines_ahead_are_bounded(tmp_path: Path) -> None:
    """A thousand lines of sixteen megabytes are not kept to see what they are."""
    path = tmp_path / "long.txt"
    path.write_bytes((b"x" * 600 + b"\n") * 100)
    with open_lines(path, 1000) as lines:
        assert len(list(lines.peek())) == 2
        assert len(list(lines)) == 100


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\nc\xff", "3: not UTF-8"),
        (b"a\n\0", "2: a NUL"),
        ("ab".encode("utf-16-le"), "1: a NUL"),
    ],
)
def test_what_is_no_text_is_reported_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """Read whole or by lines."""
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"f:{message}"):
        read_whole(path)
    with pytest.raises(InputError, match=rf"f:{message}"), open_lines(path) as lines:
        list(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("ahead", [0, 9])
def test_empty_lines_are_passed_over_and_counted(
    tmp_path: Path, pack: Callable[[bytes], bytes], end: str, ahead: int
) -> None:
    """Of those in a row the first is handed out; the others have their numbers all the same."""
    path = tmp_path / "text"
    text = f"one\n{end * 99_999}two\n{end}three\n \n\t\n{end}{end}"
    path.write_bytes(pack(text.encode()))
    with open_lines(path) as lines:
        list(islice(lines.peek(), ahead))
        found = list(lines)
    assert found == [
        (1, "one"), (2, ""), (100_001, "two"), (100_002, ""), (100_003, "three"),
        (100_004, " "), (100_005, "\t"), (100_006, ""),
    ]  # fmt: skip
    assert lines.skipped == 99_999


@pytest.mark.parametrize("segment", ["line", "punkt"])
def test_readers_of_text_count_every_blank_line(
    tmp_path: Path, segment: Literal["line", "punkt"]
) -> None:
    """Whoever reads it: ingest, pretrain and predict."""
    path = tmp_path / "text.txt"
    path.write_text("The dog ran home.\n" + "\n" * 5 + "A man saw it.\n \n\nHe ran.\n")
    tallies = [Tally() for _ in range(3)]
    assert len(list(read_text(path, tallies[0], segment=segment, license_="L"))) == 3
    assert len(list(read_sentences([path], segment, tallies[1]))) == 3
    with open_lines(path) as lines:
        assert len(list(predict_sentences(lines, "text", tallies[2]))) == 3
    assert [tally.refused["blank line"] for tally in tallies] == [7, 7, 7]
