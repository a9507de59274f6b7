"""Plain text: lines or punkt's sentences, as treebank tokens."""

import gzip
import lzma
from pathlib import Path

import pytest

from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError, ModelError
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.ingest import stage as ingest
from pipeline.ingest.readers.text import read_text
from pipeline.ingest.settings import IngestSettings


def read(source: Path, segment: str = "line", tally: Tally | None = None) -> list[Sentence]:
    return list(read_text(source, tally or Tally(), segment=segment, license_="L"))


def test_one_sentence_per_line(tmp_path: Path) -> None:
    """Each line that is not blank is a training sentence named after its line."""
    path = tmp_path / "a.txt"
    path.write_text(
        'He said "it isn\'t (5%) 1/2".\n\nThe dog\u2019s bone\u2028fell.\n', encoding="utf-8"
    )
    tally = Tally()
    first, second = read(path, tally=tally)
    assert first == Sentence(
        sentence_id="text/a.txt/1",
        doc_id="a.txt",
        split="train",
        words=("He", "said", "``", "it", "is", "n't", "(", "5", "%", ")", "1/2", "''", "."),
        tags=None,
        tree=None,
        coordinations=(),
        license="L",
    )
    assert second.sentence_id == "text/a.txt/3"
    assert second.words == ("The", "dog", "'s", "bone", "fell", ".")
    assert tally.to_dict() == {"seen": 3, "kept": 2, "refused": {"blank line": 1}}


def test_what_no_word_may_be_is_counted(tmp_path: Path) -> None:
    """Escape sequences, sentinels and lost bytes would stand in every candidate; the sentence is left out."""
    path, tally = tmp_path / "a.txt", Tally()
    lines = [
        "One stays .",
        "A \x1b[31mred word .",
        "A lost \ufffd byte .",
        "An <extra_id_0> of T5 .",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    (kept,) = read_text(path, tally, license_="CC0-1.0")
    assert kept.sentence_id == "text/a.txt/1"
    assert dict(tally.refused) == {
        "sentence with a control character": 1,
        "sentence with a replacement character": 1,
        "sentence with a mask or sentinel of language models": 1,
    }
    assert tally.places["sentence with a control character"] == ["a.txt: line or sentence 2"]


@pytest.mark.parametrize("blank", [False, True])
def test_running_text_is_cut_by_punkt(tmp_path: Path, blank: bool) -> None:
    """Sentences end where punkt says; hard-wrapped lines are joined only where blank lines show it."""
    break_ = "\n" if blank else " "
    text = f"Mr. Smith sold it.  Then{break_}he left.\n" + "\n" * blank + "It is over. Really\n"
    (tmp_path / "a.txt").write_text(text)
    found = [" ".join(s.words) for s in read(tmp_path / "a.txt", "punkt")]
    assert found == ["Mr. Smith sold it .", "Then he left .", "It is over .", "Really"]


def test_folders_and_compressed_files(tmp_path: Path) -> None:
    """Files are read in the order of their paths, packed or not."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.txt").write_text("Two.\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"One.\n", mtime=0))
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(b"Three."))
    (tmp_path / "notes.md").write_text("not read")
    assert [(s.sentence_id, s.words[0]) for s in read(tmp_path)] == [
        ("text/a.txt.gz/1", "One"), ("text/b/x.txt/1", "Two"), ("text/c.txt.xz/1", "Three"),
    ]  # fmt: skip


KNP = (
    "# S-ID:w-1 KNP:5.0\n* 1D\n+ 1D <NE:PERSON:x>\n犬 いぬ 犬 名詞 6 * 0 * 0 NIL\n"
    "が が が 助詞 9 * 0 * 0 NIL\n* -1D\n+ -\n走る はしる 走る 動詞 2 * 0 * 0 NIL\nEOS\n"
)


def test_tabs_and_stars_in_sentences_are_no_table(tmp_path: Path) -> None:
    """A line that is indented or has a tab in it, and a list of points."""
    (tmp_path / "a.txt").write_text("\tA dog ran .\n\tA cat\tran .\n* 3 dogs ran .\nEOS\n")
    assert len(read(tmp_path)) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b" \n\n", "a.txt: the file is empty"),
        ("a.txt", b"caf\xe9\n", "a.txt:1: not UTF-8 text"),
        ("a.txt.xz", b"not packed", "a.txt.xz: cannot be read"),
        ("a.txt.gz", b"not packed", "a.txt.gz: cannot be read"),
        (
            "a.txt",
            b"A dog ran .\n1\tdogs\tNNS\n2\tran\tVBD\n",
            "a.txt:2: words or columns on lines",
        ),
        ("a.txt", KNP.encode(), "a.txt:2: words or columns on lines of their own"),
        ("a.doc", b"x", r"no \.txt, \.txt\.gz or \.txt\.xz file"),
    ],
)
def test_bad_text_is_reported(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """Empty, wrongly encoded and damaged files are named."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path)


def test_missing_source_is_reported(tmp_path: Path) -> None:
    """A path that does not exist is an InputError."""
    with pytest.raises(InputError, match="no such file or folder"):
        read(tmp_path / "no.txt")


def test_stanza_without_its_model_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where stanza's English model is missing the remedy names the download and punkt."""
    stanza = pytest.importorskip("stanza")

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("Resources file not found")

    monkeypatch.setattr(stanza, "Pipeline", missing)
    (tmp_path / "a.txt").write_text("One. Two.")
    with pytest.raises(ModelError, match=r"stanza\.download.*--segment punkt"):
        read(tmp_path / "a.txt", "stanza")


def test_a_draw_of_text_is_not_advised(tmp_path: Path) -> None:
    """Whoever asks for L of a corpus without annotation is told so, and where L may be from."""
    (tmp_path / "a.txt").write_text("The nurse sold the lamp.\n")
    out = tmp_path / "notes"
    ingest.run(
        IngestSettings.build({"reader": "text", "source": tmp_path / "a.txt", "out": out}, None)
    )
    with pytest.raises(
        InputError, match="no sentence of this corpus has annotated coordination"
    ) as said:
        read_draw(out, 0, "250")
    assert "--labelled" not in str(said.value)
