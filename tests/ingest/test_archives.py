"""Archives of articles: read as a stream, in any order, without links, within limits."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hostile.archives import tar
from hostile.xml import DOGS, article

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.ingest import archives
from pipeline.ingest.archives import members
from pipeline.ingest.readers.genia import SHIPPED_SPLIT, read_genia
from pipeline.text.unpacking import UnpackingAllowance


def found(data: bytes, allowance: str = "1MiB", largest: int = 1000) -> list[tuple[str, bytes]]:
    with io.BufferedReader(io.BytesIO(data)) as raw:  # type: ignore[arg-type]
        return list(members(raw, Path("a.tar"), ".xml", largest, UnpackingAllowance(allowance)))


def test_members_come_as_they_stand() -> None:
    """Those of the suffix, with their content; links of other names are passed by."""
    link = ("l", None, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})
    data = tar(("b.xml", b"one", {}), link, ("README", b"no", {}), ("d/a.xml", b"two", {}))
    assert found(data) == found(gzip.compress(data)) == [("b.xml", b"one"), ("d/a.xml", b"two")]


@pytest.mark.parametrize("target", ["nowhere", "x.xml", "/etc/passwd", "../../x"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_not_followed(kind: bytes, target: str) -> None:
    """To nothing, to themselves, or out of the archive: named by their own name."""
    data = tar(("x.xml", None, {"type": kind, "linkname": target}))
    with pytest.raises(
        InputError, match=r"a\.tar/x\.xml: a member that is a link, a sparse file or no file"
    ):
        found(data)


def test_holes_are_not_read() -> None:
    """A few bytes could be any number of them, which no limit on what is unpacked counts."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("x.xml")
        member.size = 1
        member.pax_headers = {"GNU.sparse.size": "30000000", "GNU.sparse.map": "0,1"}
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InputError, match="a sparse file or no file"):
        found(packed.getvalue(), largest=10**9)


def test_everything_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of a member, bytes in all, and members; each says which."""
    data = tar(*[(f"{n}.xml", b"x" * 900, {}) for n in range(4)])
    assert len(found(data)) == 4
    with pytest.raises(InputError, match=r"a\.tar/0\.xml: a member of more than"):
        found(data, largest=899)
    more = gzip.compress(tar(("other", bytes(2**20), {})))
    with pytest.raises(InputError, match=r"more than 1MiB; .* --largest-unpacked"):
        found(more)
    assert found(more, "2MiB") == []
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    with pytest.raises(InputError, match="more than 3 members; unpack it and name the folder"):
        found(data)


def test_a_damaged_header_is_not_the_end() -> None:
    """Tarfile would take it for that, and give fewer articles."""
    data = bytearray(tar(("a.xml", b"one", {}), ("b.xml", b"two", {})))
    data[1024 + 148] ^= 1
    with pytest.raises(InputError, match="not a readable archive"):
        found(bytes(data))


def test_sentences_come_in_the_order_of_their_articles_names(tmp_path: Path) -> None:
    """However the archive has them."""
    numbers = (SHIPPED_SPLIT / "train.pmids").read_text().split()[:3]
    made = [(f"d/{n}.xml", article(DOGS, pmid=n).encode(), {}) for n in numbers]
    rows = []
    for order in (made, made[::-1]):
        path = tmp_path / "a.tar.gz"
        path.write_bytes(gzip.compress(tar(*order)))
        rows.append([s.doc_id for s in read_genia(path, Tally())])
    assert rows[0] == rows[1] == [n.lstrip("0") for n in sorted(numbers)]
