"""Packed files unpack to no more than is allowed, without the memory that all of it would take."""

import gzip
import lzma
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.pretrain.raw_text import read_sentences
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance, bytes_of, read_whole

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
