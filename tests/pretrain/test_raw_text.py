"""Raw text: read as a stream, filtered against held-out sentences, prepared as lines."""

import gzip
import hashlib
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import InputError
from pipeline.core.files import write_text
from pipeline.core.tally import Tally
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.pretrain import raw_text
from pipeline.pretrain.material import held_out_sentences, say_overlap
from pipeline.pretrain.raw_text import (
    BLANK,
    CONTAINS,
    EQUAL,
    SHARES,
    Overlap,
    normal_form,
    prepare,
    read_sentences,
    split_paragraph,
)
from pipeline.text.natural import join_words
from pipeline.text.segmentation import learn_punkt

LONG = tuple(f"w{i}" for i in range(20))
HELD = [
    ("Interleukin-2", "(", "IL-2", ")", "is", "not", "needed", "."),
    ("They", "do", "n't", "bind", "NF-kappa", "B", "."),
    ("Methods", "used", "here", "."),
    LONG,
    ("-LRB-", "--", "''"),
]


def read(
    place: Path, segment: Literal["line", "punkt"] = "line", tally: Tally | None = None
) -> list[str]:
    return list(read_sentences([place], segment, tally))


def test_lines_are_sentences_and_blank_ones_are_counted(tmp_path: Path) -> None:
    """Windows line ends and a mark at the beginning go, odd separators stay, blanks are counted."""
    text = "\ufeffOne.\r\n \t\r\n\r\n  Two\u2028halves\x0cmore.\r\nThree"
    (tmp_path / "a.txt").write_bytes(text.encode())
    tally = Tally()
    assert read(tmp_path / "a.txt", tally=tally) == ["One.", "Two\u2028halves\x0cmore.", "Three"]
    assert tally.refused == {BLANK: 2}


def test_places_are_files_and_folders_packed_or_not(tmp_path: Path) -> None:
    """Places come in the order given, a folder's files in that of their paths."""
    (tmp_path / "f/b").mkdir(parents=True)
    (tmp_path / "f/b/x.txt").write_text("Two.\n")
    (tmp_path / "f/a.txt.gz").write_bytes(gzip.compress(b"One.\n", mtime=0))
    (tmp_path / "f/c.txt.xz").write_bytes(lzma.compress(b"Three."))
    (tmp_path / "f/notes.md").write_text("not read")
    (tmp_path / "zero").write_text("Zero.\n")
    found = list(read_sentences([tmp_path / "zero", tmp_path / "f"], "line"))
    assert found == ["Zero.", "One.", "Two.", "Three."]


def test_punkt_takes_a_line_for_a_paragraph(tmp_path: Path) -> None:
    """Without blank lines a sentence does not go over a line's end."""
    (tmp_path / "a.txt").write_text("Mr. Smith sold it. Then he\nleft it there. Over.\n")
    assert read(tmp_path, "punkt") == [
        "Mr. Smith sold it.", "Then he", "left it there.", "Over.",
    ]  # fmt: skip


@pytest.mark.parametrize("piece", [25, 100_000])
def test_punkt_joins_wrapped_lines(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where blank lines stand between paragraphs, sentences go over line ends, also in pieces."""
    monkeypatch.setattr(raw_text, "_PIECE", piece)
    (tmp_path / "a.txt").write_text("Mr. Smith sold it. Then he\nleft it\nthere. So\n\nOver. End\n")
    assert read(tmp_path, "punkt") == [
        "Mr. Smith sold it.", "Then he left it there.", "So", "Over.", "End",
    ]  # fmt: skip


_WORD = st.sampled_from(["The", "dog", "barks.", "Dr.", "Who?", "e.g.", "it", "(No!)", "x" * 30])


@given(st.lists(_WORD, min_size=1, max_size=60), st.integers(1, 80))
def test_a_paragraph_in_pieces_loses_nothing(words: list[str], piece: int) -> None:
    """Whatever the size of the pieces, the characters are those of the paragraph."""
    text = " ".join(words)
    found = split_paragraph(text, learn_punkt(["The dog barks. It does."]), "a", piece)
    assert "".join("".join(found).split()) == "".join(words)
    assert all(found)


def test_a_long_paragraph_is_cut_as_if_whole() -> None:
    """Pieces of a few sentences have the boundaries of the whole paragraph."""
    cut = learn_punkt(["The dog barks. It does."])
    text = " ".join(f"Dr. No saw item {i}. It was (e.g.) new! Was it?" for i in range(200))
    assert split_paragraph(text, cut, "a", 300) == cut(text)


@pytest.mark.parametrize("segment", ["line", "punkt"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "a.txt: the file is empty"),
        ("a.txt", b" \n\r\n", "a.txt: the file is empty"),
        ("a.txt", b"one\ncaf\xe9\n", "a.txt:2: not UTF-8 text"),
        ("a.txt.xz", lzma.compress(b"One. Two.\n" * 500)[:-30], r"a.txt.xz:\d+: cannot be read"),
        (
            "a.txt.gz",
            gzip.compress(b"One. Two.\n" * 500, mtime=0)[:-12],
            r"a.txt.gz:\d+: cannot be read",
        ),
        ("a.doc", b"x", r"no \.txt, \.txt\.gz or \.txt\.xz file"),
    ],
)
def test_bad_text_is_reported(
    tmp_path: Path, name: str, content: bytes, message: str, segment: Literal["line", "punkt"]
) -> None:
    """Empty, wrongly encoded and truncated files, and folders without text, are one line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, segment)
    assert "\n" not in str(caught.value)


def test_a_missing_place_and_an_endless_line_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that does not exist, and a line longer than memory should hold."""
    with pytest.raises(InputError, match="no such file or folder"):
        read(tmp_path / "no")
    monkeypatch.setattr(raw_text, "_LONGEST", 1000)
    (tmp_path / "a.txt").write_text("x " * 2000)
    with pytest.raises(InputError, match=r"a\.txt:1: a line of more than 1,000 bytes"):
        read(tmp_path)


def test_reading_takes_no_memory_for_a_file(tmp_path: Path) -> None:
    """Three megabytes pass through a tenth of that."""
    with gzip.open(tmp_path / "a.txt.gz", "wt", compresslevel=1) as handle:
        for _ in range(30):
            handle.write("A line of text that is much like the others.\n" * 2300)
    tracemalloc.start()
    count = sum(1 for _ in read_sentences([tmp_path], "line"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 69_000
    assert peak < 300_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don\u2019t (see Fig. 1)!", "do n't -LRB- see Fig. 1 -RRB- !"),
        (
            "\u201cNF-\u03baB cannot,\u201d he\u2019d said",
            "`` NF - \u03baB can not , '' he 'd said",
        ),
        ("the NF-kappa B-binding dogs' 1/2", "The NF - kappa B -binding dogs ' 1\\/2"),
        ("caf\u00e9 \ufb01ne so\u00adft", "cafe\u0301 fine soft"),
        ("I'm gonna lemme gotta; 'tis", "I 'm gon na lem me got ta ; 't is"),
        (
            "\u79c1\u306f\u6771\u4eac\u3067PC\u3092\u8cb7\u3063\u305f\u3002",
            "\u79c1 \u306f \u6771\u4eac \u3067 PC \u3092 \u8cb7\u3063 \u305f \u3002",
        ),
    ],
)
def test_normal_form_of_raw_text_is_that_of_treebank_words(text: str, words: str) -> None:
    """Brackets, quotes, clitics, hyphens and ways of writing the same letter make no difference."""
    assert normal_form(text) == normal_form(words)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Interleukin 2 (IL-2) is not needed", EQUAL),
        ("THEY don't bind NF-kappa-B!", EQUAL),
        ("So they do not bind NF-kappa B.", None),
        ("We know they don't bind NF-kappa B here.", CONTAINS),
        ("The methods used here were new.", None),  # three tokens: only equality counts
        ("Methods used here:", EQUAL),
        ("xinterleukin 2 (IL-2) is not needed", None),
        ("see " + " ".join(LONG[3:16]) + " end", SHARES),
        ("see " + " ".join(LONG[3:15]) + " end", None),
        (" ".join(LONG[:12]) + " and " + " ".join(LONG[12:]), None),
        (" ".join(LONG), EQUAL),
        ("(?!)", None),
        ("", None),
    ],
)
def test_reasons_on_and_off_their_borders(text: str, reason: str | None) -> None:
    """Each reason holds just on its border and not one word off it."""
    assert Overlap(HELD).reason(text) == reason


@pytest.mark.parametrize(
    ("length", "inside"),
    [(3, None), (4, CONTAINS), (12, CONTAINS), (13, SHARES), (14, SHARES)],
)
def test_a_whole_sentence_inside_another_is_found(length: int, inside: str | None) -> None:
    """From four words on, a held-out sentence is found wherever it stands, under its reason."""
    overlap = Overlap([LONG[:length]])
    held = " ".join(LONG[:length])
    assert [overlap.reason(t) for t in (f"a {held}", f"{held} b", f"a {held} b")] == [inside] * 3
    assert overlap.reason(held) == EQUAL


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=16), max_size=4),
       st.lists(st.sampled_from("abc"), max_size=30))  # fmt: skip
def test_the_filter_agrees_with_its_definition(held: list[list[str]], words: list[str]) -> None:
    """The three reasons spelled out, in their order."""

    def has(row: list[str]) -> bool:
        return any(words[i : i + len(row)] == row for i in range(len(words) - len(row) + 1))

    rows = [h[i : i + 13] for h in held for i in range(len(h) - 12)]
    expected = (
        EQUAL if words in held
        else CONTAINS if any(has(h) for h in held if 4 <= len(h) <= 12)
        else SHARES if any(map(has, rows)) else None
    )  # fmt: skip
    assert Overlap(held).reason(" ".join(words)) == expected


ZUM = """\
1\tIch\tich\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgehe\tgehen\tVERB\t_\t_\t0\troot\t_\t_
3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_
3\tzu\tzu\tADP\t_\t_\t6\tcase\t_\t_
4\tdem\tder\tDET\t_\t_\t6\tdet\t_\t_
5\talten\talt\tADJ\t_\t_\t6\tamod\t_\t_
6\tHaus\tHaus\tNOUN\t_\t_\t2\tobl\t_\t_
7\tund\tund\tCCONJ\t_\t_\t8\tcc\t_\t_
8\tHof\tHof\tNOUN\t_\t_\t6\tconj\t_\tSpaceAfter=No
9\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


def test_words_that_are_written_as_one_are_held_out_as_they_are_written(tmp_path: Path) -> None:
    """A treebank has two words where raw text has one."""
    source = tmp_path / "x-ud-test.conllu"
    source.write_text(ZUM)
    ingest.run(
        IngestSettings(
            reader="conllu", source=source, name="x", out=tmp_path / "x", coordinators=["und"]
        )
    )
    overlap = held_out_sentences(tmp_path / "x")
    assert overlap is not None
    assert overlap.reason("Ich gehe zum alten Haus und Hof.") == EQUAL
    assert overlap.reason("ich gehe zu dem alten Haus und Hof .") == EQUAL
    assert overlap.reason("Ich gehe nach Hause.") is None


@pytest.mark.long
def test_every_held_out_sentence_of_genia_is_found(genia: tuple[Path, str]) -> None:
    """Fed as natural text, alone or inside another sentence, none of four words passes."""
    rows = pq.read_table(genia[0] / "sentences.parquet", columns=["split", "words"]).to_pylist()
    held = [row["words"] for row in rows if row["split"] != "train"]
    overlap = Overlap(held)
    long = [words for words in held if len(normal_form(" ".join(words))) >= 4]
    assert len(long) > 2500
    texts = [join_words(words).text for words in long]
    assert {overlap.reason(text) for text in texts} == {EQUAL}
    assert {overlap.reason(f"So {text} It was.") for text in texts} == {CONTAINS, SHARES}


def _own(folder: Path, text: str) -> Path:
    (folder / "text.txt").write_text(text, encoding="utf-8")
    return folder / "text.txt"


@pytest.fixture
def sources(tmp_path: Path) -> Callable[[], tuple[Path, Path]]:
    """Own text and more of it, each with a sentence that is held out."""
    (tmp_path / "more.txt").write_text("A new one. Methods used here. It is old.\n\n" * 2)
    own = _own(tmp_path, "First.\nSee they don't bind NF-kappa B.\nLast\u2028one.\n")
    return lambda: (own, tmp_path / "more.txt")


@pytest.mark.parametrize("drop", [True, False])
def test_prepared_text_is_own_then_more(
    tmp_path: Path, sources: Callable[[], tuple[Path, Path]], drop: bool
) -> None:
    """Own lines come first, overlaps are dropped or noted, and every count is there."""
    own, more = sources()
    done = prepare(own, [more], "punkt", Overlap(HELD), drop, tmp_path / "work")
    clean = ["First.", "Last\u2028one.", *["A new one.", "It is old."] * 2]
    held = {CONTAINS: 1, EQUAL: 2}
    if drop:
        assert list(done.lines()) == clean
        assert (done.own, done.total, done.noted) == (2, 6, {})
        assert done.tally == Tally(6, done.tally.refused)
        assert done.tally.refused == {BLANK: 2, **held}
    else:
        assert len(list(done.lines())) == done.total == done.tally.kept == 9
        assert (done.own, done.noted, done.tally.refused) == (3, held, {BLANK: 2})
    assert list(done.lines()) == list(done.lines())
    assert done.digest == hashlib.sha256(done.path.read_bytes()).hexdigest()


def test_quotes_of_more_text_are_straight(tmp_path: Path) -> None:
    """Books have curved quotes; treebanks, and what generation shows a model, have straight ones."""
    own = _own(tmp_path, "The cell’s own.\n")
    write_text(tmp_path / "more.txt", "“It’s here,” he said.\n")
    done = prepare(own, [tmp_path / "more.txt"], "line", None, True, tmp_path / "work")
    assert list(done.lines()) == ["The cell’s own.", '"It\'s here," he said.']


def test_samples_are_evenly_spaced(tmp_path: Path) -> None:
    """As many lines as asked for, in order, from the first on; all where there are fewer."""
    own = _own(tmp_path, "".join(f"{i}\n" for i in range(10)))
    done = prepare(own, [], "line", None, True, tmp_path)
    assert done.sample(4) == ["0", "2", "5", "7"]
    assert done.sample(10) == done.sample(99) == [str(i) for i in range(10)]
    assert done.sample(0) == []


def test_samples_weigh_own_text(tmp_path: Path) -> None:
    """Own sentences count as often as an epoch has them, of all lines or of some."""
    own = _own(tmp_path, "a\nb\n")
    (tmp_path / "more.txt").write_text("c\nd\ne\n")
    done = prepare(own, [tmp_path / "more.txt"], "line", None, True, tmp_path / "work")
    assert done.sample(99, 3) == list("aaabbbcde")
    assert done.sample(3, 3) == list("abc")


def test_text_may_lack_own_but_not_all(tmp_path: Path) -> None:
    """No own text will do beside other text; none at all, or none that is clean, is an error."""
    (tmp_path / "more.txt").write_text("Methods used here.\n")
    own = _own(tmp_path, "")
    assert prepare(own, [tmp_path / "more.txt"], "line", None, True, tmp_path).own == 0
    with pytest.raises(InputError, match="no sentence to learn from"):
        prepare(own, [], "line", None, True, tmp_path)
    with pytest.raises(InputError, match=r"no sentence.*1 × equals a held-out sentence"):
        prepare(own, [tmp_path / "more.txt"], "line", Overlap(HELD), True, tmp_path)
    with pytest.raises(InputError, match=r"no\.txt: no such file; run `conjoin ingest`"):
        prepare(tmp_path / "no.txt", [], "line", None, True, tmp_path)


def test_text_of_pairs_is_said_to_be_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has relations is not told of a file that such a corpus never has."""
    settings: Any = SimpleNamespace(corpus=tmp_path)
    material: Any = SimpleNamespace(overlap=None)
    say_overlap(material, settings)
    assert "the corpus's own is without a split" in capsys.readouterr().out
    (tmp_path / "relations.parquet").touch()
    say_overlap(material, settings)
    assert "the corpus's own is of training pairs" in capsys.readouterr().out
