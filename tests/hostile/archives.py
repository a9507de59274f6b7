"""GENIA's archive: links, bombs, damage, and headers that lie."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator

from hostile.case import Case, damaged, piping, writing
from hostile.xml import DOGS, PMID, article

_NAME = f"{PMID}.xml"
_GOOD = article(DOGS).encode()
_COMMAND = ["ingest", "genia", "a.tar.gz", "--out", "out"]


def tar(
    *members: tuple[str, bytes | None, dict[str, object]], form: int = tarfile.PAX_FORMAT
) -> bytes:
    """An archive of members: name, content or None, and fields of the header."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content, fields in members:
            member = tarfile.TarInfo(name)
            member.size = len(content or b"")
            for key, value in fields.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content or b""))
    return buffer.getvalue()


def _header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def _pax(record: bytes) -> bytes:
    padded = record + b"\0" * (-len(record) % 512)
    return _header("h", len(record), tarfile.XHDTYPE) + padded


def _table() -> Iterator[tuple[str, bytes, str]]:
    good = tar((_NAME, _GOOD, {}))
    end = b"\0" * 1024
    yield "as it should be", gzip.compress(good), "ok"
    yield "packed by xz", lzma.compress(good), "ok"
    yield "packed by bzip2", bz2.compress(good), "ok"
    yield "not packed", good, "ok"
    yield (
        "in an older format",
        gzip.compress(tar((_NAME, _GOOD, {}), form=tarfile.USTAR_FORMAT)),
        "ok",
    )
    yield "a long name", gzip.compress(tar(("d/" * 200 + _NAME, _GOOD, {}))), "ok"
    yield (
        "other members beside it",
        gzip.compress(
            tar(
                ("README", b"x", {}),
                ("l", None, {"type": tarfile.SYMTYPE, "linkname": "/"}),
                (_NAME, _GOOD, {}),
            )
        ),
        "ok",
    )
    for kind, what in ((tarfile.SYMTYPE, "symbolic"), (tarfile.LNKTYPE, "hard")):
        for target in ("nowhere.xml", "x.xml", "/etc/passwd", "../../../etc/passwd", _NAME, ""):
            member = ("x.xml", None, {"type": kind, "linkname": target})
            yield (
                f"a {what} link to {target!r}",
                gzip.compress(tar((_NAME, _GOOD, {}), member)),
                "refused",
            )
    for kind in (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, b"Z"):
        yield (
            f"a member of type {kind!r}",
            gzip.compress(tar(("x.xml", None, {"type": kind}))),
            "refused",
        )
    for name in ("/abs/x.xml", "../../x.xml", "caf\udce9.xml", "a\nb.xml", "\x1b[2J.xml"):
        yield f"the name {name!r}", gzip.compress(tar((name, _GOOD, {}))), "any"
    for size in (1, 100, 600, len(good) // 2, len(good) - 1):
        yield f"cut off at {size}", gzip.compress(good[:size]), "any"
    packed = gzip.compress(good)
    for share in (0.01, 0.3, 0.9, 0.99):
        yield f"packed data cut off at {share:.0%}", packed[: int(len(packed) * share)], "refused"
    yield "the packing's checksum is wrong", packed[:-8] + b"\1\2\3\4" + packed[-4:], "refused"
    yield "xz cut off", lzma.compress(good)[:-20], "refused"
    yield "nothing", b"", "refused"
    yield "nothing, packed", gzip.compress(b""), "refused"
    yield "no member", gzip.compress(tar()), "refused"
    yield "text", b"this is no archive", "refused"
    yield "zeros", bytes(100_000), "refused"
    yield "a zip", b"PK\3\4" + bytes(1000), "refused"
    yield "an article without end", gzip.compress(_header(_NAME, 2**40) + _GOOD), "refused"
    yield "17 MiB in an article", gzip.compress(tar((_NAME, bytes(17 * 2**20), {}))), "refused"
    yield "a negative size", gzip.compress(_header(_NAME, -512) + end), "refused"
    yield (
        "a long name without end",
        gzip.compress(_header("n", 2**33, tarfile.GNUTYPE_LONGNAME) + end),
        "refused",
    )
    yield (
        "a long name of a megabyte",
        gzip.compress(_header("n", 2**20, tarfile.GNUTYPE_LONGNAME) + b"x" * 2**20 + good),
        "refused",
    )
    yield (
        "2,000 headers of one member",
        gzip.compress(_pax(b"9 a=bcde\n") * 2_000 + good),
        "refused",
    )
    for record in (
        b"99999999999999999999 a=b\n", b"0 a=b\n", b"x", b"7 size=-9\n", b"22 size=9999999999999\n",
        b"20 GNU.sparse.map=x\n", b"23 GNU.sparse.major=x\n", b"9" * 10_000, b"12 path=\xff\xfe\n",
        b"25 GNU.sparse.realsize=x\n", b"14 mtime=nan\n\n",
    ):  # fmt: skip
        yield f"the attributes {record[:24]!r}", gzip.compress(_pax(record) + good), "any"
    bad = bytearray(good)
    bad[148:156] = b"0000000\0"
    yield "a wrong checksum", gzip.compress(bytes(bad)), "refused"
    yield "a wrong checksum of the second member", gzip.compress(good[:-9216] + bytes(bad)), "any"
    yield (
        "more than is allowed",
        gzip.compress(tar(("x", bytes(3 * 2**20), {}), (_NAME, _GOOD, {}))),
        "refused",
    )


def cases(n: int, seed: int) -> Iterator[Case]:
    """The table of hostile archives, and damaged copies of a good one up to ``n`` cases."""
    count = 0
    for name, content, expect in _table():
        count += 1
        limit = ["--largest-unpacked", "2MiB"] if "allowed" in name else []
        make = writing("a.tar.gz", content)
        yield Case(f"archive: {name}", [*_COMMAND, *limit], make, expect)  # type: ignore[arg-type]
    yield Case("archive: a named pipe", _COMMAND, piping("a.tar.gz"))
    yield Case(
        "archive: a folder of that name", _COMMAND, lambda folder: os.mkdir(folder / "a.tar.gz")
    )
    yield Case("archive: none", _COMMAND, lambda _: None)
    many = tar(*[(f"{number}", b"", {}) for number in range(3_000)], form=tarfile.USTAR_FORMAT)
    yield Case("archive: 3,000 members", _COMMAND, writing("a.tar.gz", gzip.compress(many)))
    good = tar(
        ("README", b"x" * 100, {}),
        (_NAME, _GOOD, {}),
        ("d/y.xml", article(DOGS, pmid="1").encode(), {}),
    )
    pack: list[Callable[[bytes], bytes]] = [gzip.compress, lzma.compress, bytes]
    for number in range(count + 4, n):
        packing = pack[number % 3]
        outside = number % 2
        content = (
            damaged(packing(good), number, seed)
            if outside
            else packing(damaged(good, number, seed))
        )
        yield Case(f"archive: damaged {number}", _COMMAND, writing("a.tar.gz", content), "any")
