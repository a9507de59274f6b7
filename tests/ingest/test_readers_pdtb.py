"""Relations in the PDTB's form: what is kept of a line, GDTB's counts, and what is wrong with bad ones."""

import tarfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import app
from pipeline.core.corpus_folder import require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.pairs import Pair, read_pairs
from pipeline.ingest.readers.pdtb import WITHHELD
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run

SHARED = Path(__file__).resolve().parents[3] / "shared"

TEXT = "She left because it rained . Trains stood still , so he walked home .\nThen he slept ."
PLACE = {
    "kind": 0, "connective_at": 1, "connective": 7, "sense": 8, "sense_b": 9, "of_second": 11, "arg1": 14,
    "arg2": 20,
}  # fmt: skip


def pipes(**columns: Any) -> str:
    """A line of 34 columns: of kind, connective, sense and so on as given, the others empty."""
    found = [""] * 34
    for name, value in columns.items():
        found[PLACE[name]] = value
    return "|".join(found)


def at(words: str, text: str = TEXT) -> str:
    """The range of some words."""
    start = text.index(words)
    return f"{start}..{start + len(words)}"


IMPLICIT = pipes(
    kind="Implicit", connective="then", sense="Temporal.Asynchronous.Precedence", arg1=at("he walked home"),
    arg2=at("he slept"),
)  # fmt: skip
EXPLICIT = pipes(
    kind="Explicit", connective_at=at("because"), connective="because", sense="Contingency.Cause.Reason",
    arg1=at("She left"), arg2=at("it rained"),
)  # fmt: skip


def write(folder: Path, documents: Mapping[str, Sequence[str]], text: str = TEXT) -> Path:
    """Documents of some lines, each with the same text."""
    for path, lines in documents.items():
        for kind, content in (("gold", "".join(f"{line}\n" for line in lines)), ("raw", text)):
            (folder / kind / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / kind / path).write_text(content)
    return folder


def ingest(source: Path, out: Path, **given: Any) -> list[Pair]:
    usual = {"reader": "pdtb", "name": "small", "source": source, "out": out, "least": 1}
    run(IngestSettings.build(usual | given, None))
    return list(read_pairs(out, kinds=None))


GERMAN = (
    "Müllers blieben früher zu Hause. Die Großmutter war krank. Äpfel sind überall günstig. "
    "Süßkirschen kosten das Doppelte. Grüne Bänke stehen in Köln. Weiße Schwäne schwimmen.\n"
)


def german(
    folder: Path, by: Callable[[str], int] = len, suffixes: tuple[str, str] = ("", "")
) -> Path:
    """Ten documents of three pairs, with the ranges that ``by`` counts, and umlauts in their names, too."""
    parts = [part.strip() for part in GERMAN.split(".") if part.strip()]

    def place(part: str) -> str:
        start = GERMAN.index(part)
        return f"{by(GERMAN[:start])}..{by(GERMAN[: start + len(part)])}"

    senses = ("Contingency.Cause.Reason", "Comparison.Contrast", "Expansion.Conjunction")
    lines = [
        pipes(kind="Implicit", sense=sense, arg1=place(parts[2 * n]), arg2=place(parts[2 * n + 1]))
        for n, sense in enumerate(senses)
    ]
    for number in range(10):
        for kind, suffix, text in zip(
            ("gold", "raw"), suffixes, ("\n".join(lines), GERMAN), strict=True
        ):
            path = folder / kind / f"stück{number:02}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


def test_another_language_and_other_suffixes(tmp_path: Path) -> None:
    """Characters are counted, however many bytes they have; gold/x.pipe has its text in raw/x.txt."""
    plain = ingest(german(tmp_path / "plain"), tmp_path / "a")
    first = plain[0]
    assert (first.doc_id, first.arg1) == ("stück00", "Müllers blieben früher zu Hause")
    assert first.words2 == ("Die", "Großmutter", "war", "krank")
    others = german(tmp_path / "named", suffixes=(".pipe", ".txt"))
    assert ingest(others, tmp_path / "b") == plain
    # The same name, as another system writes it.
    apart = german(tmp_path / "apart", suffixes=(".pipe", ".txt"))
    for path in list((apart / "raw").iterdir()):
        path.rename(path.with_name(unicodedata.normalize("NFD", path.name)))
    assert ingest(apart, tmp_path / "c") == plain
    for path in list((apart / "gold").iterdir()):
        path.rename(path.with_name(unicodedata.normalize("NFD", path.name)))
    split = ["dev=stück08", "test=stück09", "train=stück0[0-7]"]
    found = Counter(pair.split for pair in ingest(apart, tmp_path / "d", split=split))
    assert found == {"train": 24, "dev": 3, "test": 3}
    (apart / "raw/stück00.text").write_text("")
    with pytest.raises(InputError, match=r"there are raw/st.* and raw/st.*; call it raw/st"):
        ingest(apart, tmp_path / "e")
    named = german(tmp_path / "two", suffixes=(".pipe", ".txt"))
    (named / "gold/stück00.txt").write_text("")  # whose text it is, then
    with pytest.raises(
        InputError, match=r"there is no raw/stück00\.\*; call it .* with any suffix"
    ):
        ingest(named, tmp_path / "e")


def test_ranges_of_bytes_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They lie ever further off, so most begin inside a word; in the end they lie beyond the text."""

    def of_bytes(text: str) -> int:
        return len(text.encode())

    source = german(tmp_path / "in", of_bytes)
    with pytest.raises(InputError, match=r"lies beyond the text.*characters, of which ä is one"):
        ingest(source, tmp_path / "out")
    for path in (source / "raw").iterdir():
        path.write_text(GERMAN + "Und so ging es noch lange weiter.\n")
    ingest(source, tmp_path / "out")
    said = " ".join(capsys.readouterr().err.split())
    assert "pairs have an argument that begins or ends inside a word (first: " in said
    assert "and not of bytes" in said
    ingest(german(tmp_path / "right"), tmp_path / "right-out")
    assert "inside a word" not in capsys.readouterr().err


def test_what_is_kept_of_a_line(tmp_path: Path) -> None:
    """Arguments as the text has them, without a connective; senses of the second level, each once."""
    pieces = f"{at('Trains')};{at('still')}"
    lines = [
        IMPLICIT,
        EXPLICIT,
        pipes(kind="Implicit", sense="Contingency.Cause.Reason", arg1=at("She left"),
              arg2=at("because it rained")),
        pipes(kind="AltLex", sense="Contingency.Cause.Result", sense_b="Cmparison.Concession",
              of_second="Contingency.Cause+Belief.Reason+Belief", arg1=pieces,
              arg2=at("home .\nThen he")),
        pipes(kind="EntRel", sense="EntRel", arg1=at("She"), arg2=at("he walked")),
        pipes(kind="Implicit", sense="NoRel", arg1=at("She"), arg2=at("he walked")),
        "",
    ]  # fmt: skip
    documents = {f"00/d{n}": lines for n in range(10)}
    pairs = [pair for pair in ingest(write(tmp_path / "in", documents), tmp_path / "out")
             if pair.doc_id == "d3"]  # fmt: skip
    first, second, beside, other = pairs
    assert first.pair_id == "small/d3/1"
    assert (first.arg1, first.arg2, first.connective) == ("he walked home", "he slept", "then")
    assert (first.kind, first.senses) == ("implicit", ("temporal.asynchronous",))
    assert first.words1 == ("he", "walked", "home")
    assert (second.kind, second.connective, second.arg2) == ("explicit", "because", "it rained")
    assert [pair.beside_explicit for pair in pairs] == [False, False, True, False]
    assert beside.connective is None
    assert (other.arg1, other.arg2) == ("Trains still", "home . Then he")
    assert other.senses == (
        "contingency.cause",
        "comparison.concession",
        "contingency.cause+belief",
    )
    card = read_json(tmp_path / "out/ingest.json")
    assert card["task"] == "relations"
    assert card["refused"] == {"relation without a sense": 20}
    assert card["senses"] == ["contingency.cause", "temporal.asynchronous"]
    assert card["splits"]["dev"]["implicit"] == 2
    assert Counter(pair.split for pair in ingest(tmp_path / "in", tmp_path / "out")) == {
        "train": 32, "dev": 4, "test": 4,
    }  # fmt: skip
    require_ingested(tmp_path / "out", "relations.parquet", "text.txt")


def test_senses_are_the_frequent_ones_and_draws_are_of_them(tmp_path: Path) -> None:
    """In the order of their training counts; rare ones stay in the file, and in no draw."""
    rare = pipes(kind="Implicit", sense="Expansion.Manner", arg1=at("he walked"), arg2=at("home"))
    cause = pipes(kind="Implicit", sense="Contingency.Cause", arg1=at("it rained"), arg2=at("home"))
    documents = {f"00/wsj_02{n:02d}": [IMPLICIT, IMPLICIT, cause] for n in range(8)}
    documents |= {"00/wsj_0001": [IMPLICIT, rare], "01/wsj_2101": [cause], "02/wsj_0299": [rare]}
    source, out = write(tmp_path / "in", documents), tmp_path / "out"
    pairs = ingest(source, out, least=8, labelled=["10", "full"])
    assert read_json(out / "ingest.json")["senses"] == [
        "temporal.asynchronous",
        "contingency.cause",
    ]
    assert Counter(pair.split for pair in pairs) == {"train": 25, "dev": 2, "test": 1}
    assert {pair.license for pair in pairs} == {"LDC-User-Agreement"}
    full = read_json(out / "draws/seed-0/full.json")
    assert (len(full["labelled"]), len(full["validation"])) == (20, 4)
    small = read_json(out / "draws/seed-0/10.json")
    assert (len(small["labelled"]), len(small["validation"])) == (10, 2)
    assert "small/wsj_0299/1" not in {*full["labelled"], *full["validation"]}
    with pytest.raises(InputError, match="1 senses have 9 implicit training pairs or more"):
        ingest(source, out, least=9)


def test_an_archive_gives_what_its_folder_gives(tmp_path: Path) -> None:
    """Named itself, or alone in the folder that is named."""
    documents = {
        f"00/d{n}": [IMPLICIT, EXPLICIT, EXPLICIT.replace("Explicit", "Implicit")] for n in range(9)
    }
    source = write(tmp_path / "in", documents)
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed/all.tar.gz", "w:gz") as archive:
        archive.add(source, "data")
    of_folder = ingest(source, tmp_path / "one")
    assert ingest(tmp_path / "packed", tmp_path / "two") == of_folder
    assert ingest(tmp_path / "packed/all.tar.gz", tmp_path / "three") == of_folder


def test_marks_of_windows_are_no_text(tmp_path: Path) -> None:
    """A byte-order mark shifts no range, and a line ends where its newline is."""
    cause = EXPLICIT.replace("Explicit", "Implicit")
    source = write(tmp_path / "in", {"00/d": [IMPLICIT, cause]})
    plain = ingest(source, tmp_path / "one")
    for path in source.rglob("d"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert ingest(source, tmp_path / "two") == plain
    odd = IMPLICIT.replace("then", "then\x0c\u2028")
    assert len(ingest(write(tmp_path / "odd", {"00/d": [odd, cause]}), tmp_path / "three")) == 2


def test_another_corpus_in_its_place_leaves_nothing_behind(tmp_path: Path) -> None:
    """Argument pairs where sentences were: their file goes, and the folder is of the new task."""
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees/a.mrg").write_text("( (NP (NN oil) (CC and) (NN gas)) )\n" * 9)
    run(IngestSettings.build({"reader": "treebank", "source": tmp_path / "trees", "out": tmp_path / "out",
                              "labelled": ["5"]}, None))  # fmt: skip
    assert (tmp_path / "out/sentences.parquet").is_file()
    ingest(write(tmp_path / "in", {f"00/d{n}": [IMPLICIT, EXPLICIT.replace("Explicit", "Implicit")]
                                   for n in range(9)}), tmp_path / "out")  # fmt: skip
    assert not (tmp_path / "out/sentences.parquet").exists()
    assert read_json(tmp_path / "out/ingest.json")["task"] == "relations"


LONG = pipes(kind="Implicit", sense="Contingency.Cause", arg1="3..9999", arg2=at("home"))
BAD = {
    "columns": ("Implicit|3..4", r"00/d0:2: 2 columns, where the PDTB 3 has 34"),
    "sense": (
        IMPLICIT.replace("Temporal", "Tempral"),
        r"00/d0:2: .* no sense 'Tempral\.Asynchronous",
    ),
    "beyond": (
        LONG,
        r"00/d0:2: the range 3\.\.9999 lies beyond the text, which has \d+ characters",
    ),
    "no range": (LONG.replace("3..9999", "3-9"), r"00/d0:2: column 15 is no ranges .*'3-9'"),
    "backwards": (
        LONG.replace("3..9999", "9..3"),
        r"00/d0:2: the range 9\.\.3 ends before it begins",
    ),
    "empty": (LONG.replace("3..9999", ""), r"00/d0:2: Arg1 has no words"),
    "digits": (LONG.replace("9999", "9" * 5000), r"00/d0:2: column 15 is no ranges .*'3\.\.9999"),
    "overlap": (
        LONG.replace("3..9999", "9..20;0..10"),
        r"00/d0:2: ranges that overlap, so have a word twice: '9\.\.20;0\.\.10'",
    ),
    "kind": (
        IMPLICIT.replace("Implicit", "Implict"),
        r"00/d0:2: .* no relations of the kind 'Implict'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(tmp_path: Path, name: str) -> None:
    """With its file and number, and what to do; nothing is written."""
    line, message = BAD[name]
    source = write(tmp_path / "in", {"00/d0": [IMPLICIT, line]})
    with pytest.raises(InputError, match=message):
        ingest(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_arguments_have_a_measure(tmp_path: Path) -> None:
    """Each may have the whole text, so a file of many lines could have it without end."""
    line = pipes(kind="Implicit", sense="Contingency.Cause", arg1="0..1100000", arg2="0..1100000")
    source = write(tmp_path / "in", {"00/d0": [line, line]}, "w" * 1_100_000)
    said = r"00/d0:2: up to here the arguments have more than 4,194,304 characters"
    with pytest.raises(InputError, match=said):
        ingest(source, tmp_path / "out")


def test_a_pair_with_a_control_character_is_left_out(tmp_path: Path) -> None:
    """In an argument or the connective, counted; or it is an error, with --strict."""
    lines = [IMPLICIT, EXPLICIT, EXPLICIT.replace("Explicit", "Implicit"),
             IMPLICIT.replace("then", "\u202ethen")]  # fmt: skip
    source = write(tmp_path / "in", {f"00/d{n}": lines for n in range(10)})
    (source / "raw/00/d3").write_text(TEXT.replace("walked", "wal\x1bed"))
    pairs = ingest(source, tmp_path / "out")
    assert len(pairs) == 29
    refused = read_json(tmp_path / "out/ingest.json")["refused"]
    assert refused == {"pair with a control character": 11}
    with pytest.raises(InputError, match="pair with a control character"):
        ingest(source, tmp_path / "strict", strict=True)


def test_a_document_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    """For its name goes into the ids of pairs."""
    source = write(tmp_path / "in", {"00/caf\udce9": [IMPLICIT]})
    with pytest.raises(InputError, match="the name of this file is not UTF-8"):
        ingest(source, tmp_path / "out")


def test_what_is_no_such_corpus_is_said(tmp_path: Path) -> None:
    """Nothing there, no folder of relations, a document without its text, a file, text that is not UTF-8."""
    with pytest.raises(InputError, match="no such file or folder"):
        ingest(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no folder gold of relations"):
        ingest(tmp_path / "empty", tmp_path / "out")
    source = write(tmp_path / "in", {"00/d0": [IMPLICIT]})
    (source / "raw/00/d0").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="raw/00/d0:1: not UTF-8"):
        ingest(source, tmp_path / "out")
    (source / "raw/00/d0").unlink()
    with pytest.raises(InputError, match=r"gold/00/d0: no text .* raw/00/d0"):
        ingest(source, tmp_path / "out")
    with pytest.raises(InputError, match="a file, and no archive"):
        ingest(source / "gold/00/d0", tmp_path / "out")


def test_withheld_words_are_counted_or_an_error(tmp_path: Path) -> None:
    """As where Reddit's are blanked: with the remedy, and where."""
    blank = "".join("_" if letter.isalpha() else letter for letter in TEXT)
    source = write(tmp_path / "in", {"00/GUM_reddit_macroeconomics": [IMPLICIT]}, blank)
    with pytest.raises(
        InputError, match=r"no pair to keep; refused: 1 × pair with und.*get_text\.py"
    ):
        ingest(source, tmp_path / "out")
    with pytest.raises(InputError, match=r"macroeconomics:1: pair with underscores"):
        ingest(source, tmp_path / "out", strict=True)
    assert "get_text.py" in WITHHELD


def test_options_of_sentences_are_refused(tmp_path: Path) -> None:
    """Raw text that joins a treebank joins no relations."""
    with pytest.raises(SettingsError, match="the reader pdtb takes no --unlabelled"):
        ingest(tmp_path, tmp_path / "out", unlabelled=[tmp_path / "more.txt"])


@pytest.fixture(scope="module")
def gdtb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = SHARED / "data/gdtb"
    if not source.exists():
        pytest.skip("needs ../shared, which is not part of the repository")
    out = tmp_path_factory.mktemp("gdtb") / "gdtb"
    run(
        IngestSettings.build(
            {"reader": "pdtb", "source": source, "out": out, "labelled": ["full"]}, None
        )
    )
    return out


def test_gdtb_is_as_it_was_counted(gdtb: Path) -> None:
    """Pairs by split and kind, senses with twenty pairs or more, and what stands beside explicit ones."""
    card = read_json(gdtb / "ingest.json")
    splits = card["splits"]
    assert {name: counts["implicit"] for name, counts in splits.items()} == {
        "train": 3347, "dev": 556, "test": 571, "test2": 305,
    }  # fmt: skip
    assert {name: counts["of_these_senses"] for name, counts in splits.items()} == {
        "train": 3324, "dev": 547, "test": 563, "test2": 299,
    }  # fmt: skip
    assert {name: counts["explicit"] for name, counts in splits.items()} == {
        "train": 5937, "dev": 916, "test": 932, "test2": 471,
    }  # fmt: skip
    assert sum(counts["beside_explicit"] for counts in splits.values()) == 379
    assert card["labels"]["train"] == {
        "expansion.conjunction": 829, "temporal.asynchronous": 616, "contingency.cause": 543,
        "expansion.level-of-detail": 536, "contingency.purpose": 350, "expansion.equivalence": 110,
        "expansion.instantiation": 97, "expansion.manner": 82, "comparison.contrast": 79,
        "comparison.concession": 59, "expansion.substitution": 23,
    }  # fmt: skip
    counts = [card["labels"]["train"][sense] for sense in card["senses"]]
    assert counts == sorted(counts, reverse=True)
    assert card["draws"] == {"seed-0/full": {"labelled": 2770, "validation": 554}}


def test_gdtb_has_one_sense_a_pair_and_a_licence_by_genre(gdtb: Path) -> None:
    """No implicit pair has two; explicit ones of the confused senses are there to be attested."""
    pairs = list(read_pairs(gdtb, kinds=None))
    implicit = [pair for pair in pairs if pair.kind == "implicit"]
    assert len(implicit) == 4779
    assert {len(pair.senses) for pair in implicit} == {1}
    assert Counter(pair.license for pair in implicit) == {
        "unknown": 1469, "CC-BY-NC-SA-3.0": 974, "CC-BY-SA-3.0": 703, "CC-BY-2.5": 675,
        "CC-BY-NC-SA-4.0": 563, "CC-BY-4.0": 395,
    }  # fmt: skip
    explicit = Counter(
        sense
        for pair in pairs
        if pair.kind == "explicit" and pair.split == "train"
        for sense in pair.senses
    )
    assert {name: explicit[name] for name in ("comparison.concession", "comparison.contrast")} == {
        "comparison.concession": 613, "comparison.contrast": 354,
    }  # fmt: skip
    assert (explicit["contingency.condition"], explicit["expansion.equivalence"]) == (399, 14)
    words = sorted(len(pair.words) for pair in implicit)
    assert words[len(words) * 95 // 100] == pytest.approx(71, abs=1)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a folder of candidates in it."""
    folder = tmp_path_factory.mktemp("ingested")
    documents = {f"00/d{n}": [IMPLICIT, EXPLICIT.replace("Explicit", "Implicit")] for n in range(9)}
    ingest(write(folder / "in", documents), folder / "out")
    (folder / "out/candidates/made/seed-0").mkdir(parents=True)
    return folder / "out"


@pytest.mark.parametrize(
    "command",
    [
        ["preparse"], ["generate", "--lm", "t5"], ["harvest"], ["audit"], ["browse"], ["stats"],
        ["export", "--format", "conllu", "--out", "x"], ["select", "--out", "x"],
        ["merge", "--out", "x"],
    ],
)  # fmt: skip
def test_commands_of_coordination_alone_refuse_it(
    ingested: Path,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The corpus, and candidates in it, in a line that names the task, before anything else is read."""
    monkeypatch.chdir(ingested.parent)
    of_candidates = {"browse", "stats", "export", "select", "merge"}
    place = ingested / "candidates/made/seed-0" if command[0] in of_candidates else ingested
    places = [str(place)] * (1 + (command[0] == "merge"))
    with pytest.raises(SystemExit) as ended:
        app([command[0], *places, *command[1:]])
    assert ended.value.code == 2
    assert "one of the task 'relations'" in capsys.readouterr().err
