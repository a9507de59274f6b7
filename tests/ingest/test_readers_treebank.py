"""Any treebank in brackets: every way of splitting, licences by document, what is malformed, names."""

import gzip
import io
import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.text.bracketings import bracketings

TREE = "(S (NP (NNS dogs) (CC and) (NNS cats)) (VP (VBD ran)))\n"
PLAIN = "(S (NP (NN milk)) (VP (VBD fell)))\n"


def ingested(source: Path, out: Path, **given: Any) -> list[Sentence]:
    run(IngestSettings.build({"reader": "treebank", "source": source, "out": out, **given}, None))
    return list(read_sentences(out / "sentences.parquet"))


def refused(out: Path) -> dict[str, int]:
    found: dict[str, int] = read_json(out / "ingest.json")["refused"]
    return found


def docs(folder: Path, count: int = 10) -> Path:
    """Documents doc-0, doc-1, ... in the folders of even and odd ones, two trees in each."""
    for number in range(count):
        path = folder / ("even", "odd")[number % 2] / f"doc-{number}.mrg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TREE + PLAIN)
    return folder


def by_split(sentences: list[Sentence]) -> dict[str, set[str]]:
    return {
        split: {s.doc_id for s in sentences if s.split == split}
        for split in dict.fromkeys(s.split for s in sentences)
    }


def test_what_a_treebank_may_look_like(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ends of lines, roots, layouts and labels of all kinds; nothing is dropped without being counted."""
    source = tmp_path / "trees"
    source.mkdir()
    (source / "a.parse").write_bytes(
        b"\xef\xbb\xbf# a comment (S (X y))\r\n*x*x*\r\n"
        b"( (S (NP-SBJ=1 (DT the) (NN dog)) (VP (VBD ran)\r\n\r\n"
        b"  (CC and) (VBD hid)) (. .)) )(TOP (S (NN one)))\r\n(S1 (s (np (nn tea)) (cc or) (np (nn milk))))"
    )
    (source / "b.txt").write_text(
        "(ROOT\n  (S (NP (NN/NNP x\\/y)\n (HYPH -)) (VP (-NONE- *T*) (VBD ran))))\n\n(NP\n(NN a)\n(NN b))"
        "\n(S (-LRB- () (NN z) (-RRB- )))\n(S (-LRB- \\() (SYM \\) (NN C:\\) (-RRB- \\)))\n"
    )
    (source / "README").write_text("(not read)")
    (source / ".hidden").write_text(TREE)
    found = ingested(source, tmp_path / "own")
    assert [s.tree for s in found] == [
        "(S1 (S (NP (DT the) (NN dog)) (VP (VBD ran) (CC and) (VBD hid)) (. .)))",
        "(S1 (S (NN one)))",
        "(S1 (S (NP (NN tea)) (CC or) (NP (NN milk))))",
        "(S1 (S (NP (NN x/y) (HYPH -)) (VP (VBD ran))))",
        "(S1 (NP (NN a) (NN b)))",
        "(S1 (S (-LRB- -LRB-) (NN z) (-RRB- -RRB-)))",
        "(S1 (S (-LRB- -LRB-) (SYM -BACKSLASH-) (NN C:-BACKSLASH-) (-RRB- -RRB-)))",
    ]
    assert [s.sentence_id for s in found][:4] == ["own/a/1", "own/a/2", "own/a/3", "own/b/1"]
    assert [len(s.coordinations) for s in found] == [1, 0, 1, 0, 0, 0, 0]
    assert [s.words for s in found[-2:]] == [("(", "z", ")"), ("(", "\\", "C:\\", ")")]
    assert refused(tmp_path / "own") == {
        "comment line outside brackets": 2, "file of no trees, by its name": 1, "hidden file": 1,
    }  # fmt: skip
    said = capsys.readouterr().out
    assert f"comment line outside brackets: {source}/a.parse:1" in said
    assert "Table 1" not in said
    assert "too few training sentences with coordination for a draw (1): no labelled sets" in said


def test_functions_are_no_part_of_a_label_however_they_are_written(tmp_path: Path) -> None:
    """Behind a hyphen, an equals sign, a star, a low line or a slash: the same tree and coordination."""
    path = tmp_path / "trees.mrg"
    tree = (
        "(S{0}X (NP{0}SB (NNS{0}HD dogs) (CC{0}CD and) (NNS cats)) "
        "(VP{0}HD (VBD ran) (PRP$ its)) (-NONE- *))\n"
    )
    path.write_text("".join(tree.format(sign) for sign in "-=*_/"))
    found = ingested(path, tmp_path / "own")
    assert len(found) == 5
    assert {(s.tree, s.tags, s.coordinations) for s in found} == {
        (
            "(S1 (S (NP (NNS dogs) (CC and) (NNS cats)) (VP (VBD ran) (PRP$ its))))",
            ("NNS", "CC", "NNS", "VBD", "PRP$"),
            found[0].coordinations,
        )
    }
    assert [each.word for each in found[0].coordinations] == ["and"]


def test_held_out_sentences_that_stand_in_training_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted in the record and named; the sentences stay where the splits put them."""
    source = tmp_path / "trees"
    source.mkdir()
    (source / "train.mrg").write_text(TREE + PLAIN)
    (source / "test.mrg").write_text(PLAIN + "(S (NP (NN tea)) (VP (VBD fell)))\n")
    found = ingested(source, tmp_path / "own", split=["train=train", "test=test"])
    assert len(found) == 4
    assert read_json(tmp_path / "own/ingest.json")["held_out_in_training"] == 1
    assert "warning: 1 sentences of other splits stand in" in capsys.readouterr().out


BAD: dict[str, tuple[str | bytes, str]] = {
    "a tree never closed": ("(S (NP (NN x))\n", "a tree that is never closed"),
    "stray text": ("stray words\n", "text outside brackets"),
    "a bracket too many": ("(S (NN x)))\n", "a ')' too many"),
    "a word without tag": ("(S (NP (NN x) word))\n", "tree with a word that has no tag of its own"),
    "two words under a tag": ("(S (NN x y))\n", "tree with a word that has no tag of its own"),
    "an empty tree": ("()\n", "a tree without words"),
    "500 levels": ("(NP " * 500 + "(NN x)" + ")" * 500 + "\n", "a tree of more than 400 levels"),
    "empty elements only": ("(S (-NONE- *))\n", "tree of empty elements only"),
    "a word that is lost": ("(S (NN gas) (HYPH ) (VBN powered))\n", "a node without words"),
    "two roots": ("(ROOT (S (NN x))\n(ROOT (S (NN y)))\n)\n", "a tree that is never closed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_tree_costs_one_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """It is counted with its line, and the trees around it stay; --strict stops there in one line."""
    text, reason = BAD[name]
    path = tmp_path / "trees.mrg"
    path.write_text(TREE + PLAIN + str(text) + PLAIN + TREE)
    found = ingested(path, tmp_path / "own")
    assert len([s for s in found if s.words[-1] in ("ran", "fell")]) == 4
    assert refused(tmp_path / "own")[reason] == 1
    assert f"{reason}: {path}:3" in capsys.readouterr().out
    if name != "empty elements only":
        with pytest.raises(InputError, match=r"trees\.mrg:3: ") as caught:
            ingested(path, tmp_path / "own", strict=True)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b"  \n", "empty file"),
        (b"(S (NN caf\xe9))\n", "file that is not UTF-8 text"),
        (TREE.encode("utf-16"), "file that is not UTF-8 text"),
        (b"hello\n", "file without a tree in brackets"),
    ],
)
@pytest.mark.parametrize("name", ["bad.mrg", "bad.mrg.gz"])
def test_a_file_that_cannot_be_read_is_counted(
    tmp_path: Path, content: bytes, reason: str, name: str
) -> None:
    """The others are read; alone it leaves nothing, and the message says why; packed or not."""
    source = docs(tmp_path / "trees", 3)
    (source / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert len(ingested(source, tmp_path / "own")) == 6
    assert refused(tmp_path / "own") == {reason: 1}
    with pytest.raises(InputError, match=f"no sentence to keep; refused: 1 × {reason} .*bad.mrg"):
        ingested(source / name, tmp_path / "own")
    if reason != "file without a tree in brackets":
        with pytest.raises(InputError, match=r"bad\.mrg"):
            ingested(source, tmp_path / "own", strict=True)


def test_faults_that_make_up_for_each_other() -> None:
    """A bracket that one tree lacks and another has too many does not make one tree of all between."""
    text = "(S (NP (NN a))\n(S (NN b))\n(S (NN c)))\n"
    assert [(b.line, b.fault) for b in bracketings(text)] == [
        (1, "a tree that is never closed"), (2, ""), (3, "a ')' too many"),
    ]  # fmt: skip


def test_the_trees_between_two_faults_are_kept(tmp_path: Path) -> None:
    """Also where their roots differ, if what they were taken for is no tree."""
    path = tmp_path / "trees.mrg"
    path.write_text("(S (NP (NN a))\n(FRAG (NN b))\nstray\n(S (NN c)))\n(S (NN d))\n")
    found = ingested(path, tmp_path / "own")
    assert [s.words for s in found] == [("b",), ("d",)]
    assert [s.sentence_id for s in found] == ["own/trees/2", "own/trees/4"]
    assert sum(refused(tmp_path / "own").values()) == 3


def packed(source: Path, out: Path) -> Path:
    """A .zip, or a .tar, packed as its name says."""
    if out.suffix == ".zip":
        with zipfile.ZipFile(out, "w") as archive:
            for path in sorted(source.rglob("*.mrg"), reverse=True):
                archive.write(path, path.relative_to(source.parent))
        return out
    mode = {".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}.get(out.suffix, "w")
    with tarfile.open(out, mode) as archive:  # type: ignore[call-overload]
        archive.add(source, source.name)
    return out


@pytest.mark.parametrize(
    "name", ["a.tar", "a.tar.gz", "a.tgz.gz", "a.tar.xz", "a.tar.bz2", "a.zip"]
)
def test_an_archive_is_what_its_folder_is(tmp_path: Path, name: str) -> None:
    """Rows, names and splits are the same; so they are where the archive lies in a folder with a README."""
    source = docs(tmp_path / "bank")
    wanted = ingested(source, tmp_path / "1/own")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/LICENSE.txt").write_text("free")
    archive = packed(source, tmp_path / "raw" / name.replace("tgz.gz", "tgz"))
    assert ingested(archive, tmp_path / "2/own") == wanted
    assert ingested(tmp_path / "raw", tmp_path / "3/own") == wanted


def test_split_by_patterns(tmp_path: Path) -> None:
    """Of paths, files' names or documents' names; a document in no split is counted."""
    source = docs(tmp_path / "bank")
    given = ["train=even/*", "dev=doc-[135]", "test=doc-7.mrg"]
    found = ingested(source, tmp_path / "own", split=given)
    assert by_split(found) == {
        "train": {"doc-0", "doc-2", "doc-4", "doc-6", "doc-8"},
        "dev": {"doc-1", "doc-3", "doc-5"}, "test": {"doc-7"},
    }  # fmt: skip
    assert refused(tmp_path / "own") == {"tree of a document in no split": 2}


def test_what_became_of_a_treebank_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How it was split, splits that are empty, the draw that was made, three places of a fault."""
    source, lists = docs(tmp_path / "bank"), tmp_path / "lists"
    (source / "bad.mrg").write_text(TREE + "(ROOT (NP (NN x))\n")

    def said(**given: Any) -> str:
        ingested(source, tmp_path / "own", **given)
        return capsys.readouterr().out

    shown = said()
    assert "split: 80,10,10 by document" in shown
    assert "is empty" not in shown
    assert re.search(r"a tree that is never closed: \S*bad\.mrg:2: '\(ROOT", shown)
    assert "9 training sentences with coordination are too few for a draw of 250" in shown
    assert "(`conjoin train … --labelled full`)" in shown
    shown = said(split=["train=doc-[4-9]"], labelled=["full"])
    assert "split: by the patterns of --split" in shown
    assert "warning: the dev split is empty" in shown
    assert "warning: the test split is empty" in shown
    assert "too few" not in shown
    places = re.findall(r"^tree of a document in no split: (\S+)$", shown, re.MULTILINE)
    assert len(places) == len(set(places)) == 3
    assert refused(tmp_path / "own")["tree of a document in no split"] == 9
    lists.mkdir()
    (lists / "train.txt").write_text("doc-0\ndoc-1\n")
    assert "split: by the lists in " in said(split_lists=lists)


def test_split_by_lists(tmp_path: Path) -> None:
    """Names with or without suffix; a document that is listed and absent is counted with its line."""
    source, lists = docs(tmp_path / "bank"), tmp_path / "lists"
    lists.mkdir()
    (lists / "train.txt").write_text("# even\r\ndoc-0\r\n\r\ndoc-2.mrg\r\neven/doc-4.mrg\r\n")
    (lists / "dev.lst").write_text("doc-1\nnot-here\n")
    (lists / "test2.ids").write_text("doc-3")
    found = ingested(source, tmp_path / "own", split_lists=lists)
    assert by_split(found) == {
        "train": {"doc-0", "doc-2", "doc-4"}, "dev": {"doc-1"}, "test2": {"doc-3"},
    }  # fmt: skip
    absent = "document of a split list that the source lacks (counts documents)"
    assert refused(tmp_path / "own") == {absent: 1, "tree of a document in no split": 10}
    with pytest.raises(InputError, match=r"dev\.lst:2: no such document in the source: 'not-here'"):
        ingested(source, tmp_path / "own", split_lists=lists, strict=True)


def test_split_by_fractions(tmp_path: Path) -> None:
    """By names alone: the same on any machine, in any order; 80, 10 and 10 if nothing is said."""
    source = docs(tmp_path / "bank")
    found = by_split(ingested(source, tmp_path / "own"))
    assert {split: len(names) for split, names in found.items()} == {
        "train": 8,
        "dev": 1,
        "test": 1,
    }
    assert (found["dev"], found["test"]) == ({"doc-0"}, {"doc-2"})
    halves = by_split(ingested(source, tmp_path / "own", split_fractions="0.5, 0.2, 0.3"))
    assert {split: len(names) for split, names in halves.items()} == {
        "train": 5,
        "dev": 2,
        "test": 3,
    }
    three = by_split(ingested(docs(tmp_path / "few", 3), tmp_path / "own"))
    assert sorted(map(len, three.values())) == [1, 1, 1]
    assert set(by_split(ingested(source, tmp_path / "own", split_fractions="100,0,0"))) == {"train"}


def test_one_document_is_split_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From its first sentence to its last, and that is said."""
    path = tmp_path / "all.mrg"
    path.write_text((TREE + PLAIN) * 10)
    found = ingested(path, tmp_path / "own")
    assert [s.split for s in found] == ["train"] * 16 + ["dev"] * 2 + ["test"] * 2
    assert "one document: the sentences of each are split" in capsys.readouterr().out


def test_licences_by_document(tmp_path: Path) -> None:
    """A file of two columns goes over --license, its later lines over the earlier."""
    source = docs(tmp_path / "bank", 4)
    (tmp_path / "l.txt").write_text(
        "# who\ndoc-*\tCC-BY-4.0\nodd/*  CC-BY-SA-3.0\ndoc-3 MIT OR CC0-1.0\n"
    )
    found = ingested(source, tmp_path / "own", licenses=tmp_path / "l.txt")
    assert {s.doc_id: s.license for s in found} == {
        "doc-0": "CC-BY-4.0", "doc-1": "CC-BY-SA-3.0", "doc-2": "CC-BY-4.0",
        "doc-3": "MIT OR CC0-1.0",
    }  # fmt: skip
    (tmp_path / "l.txt").write_text("doc-1 MIT\n")
    found = ingested(source, tmp_path / "own", licenses=tmp_path / "l.txt", license="CC0-1.0")
    assert Counter(s.license for s in found) == {"CC0-1.0": 6, "MIT": 2}
    assert {s.license for s in ingested(source, tmp_path / "own")} == {"unknown"}


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_licences_on_lines_of_other_systems(tmp_path: Path, end: str) -> None:
    """Every line counts by itself."""
    source = docs(tmp_path / "bank", 3)
    text = end.join(["# who", "doc-* CC-BY-4.0", "odd/* MIT", ""])
    (tmp_path / "l.txt").write_bytes(text.encode())
    found = ingested(source, tmp_path / "own", licenses=tmp_path / "l.txt")
    assert {s.doc_id: s.license for s in found} == {
        "doc-0": "CC-BY-4.0", "doc-1": "MIT", "doc-2": "CC-BY-4.0",
    }  # fmt: skip


def _lists(folder: Path, **names: str) -> dict[str, Any]:
    for name, text in names.items():
        (folder / f"{name}.txt").write_text(text)
    return {"split_lists": folder}


def _licences(folder: Path, text: str) -> dict[str, Any]:
    (folder / "licences").write_text(text)
    return {"licenses": folder / "licences"}


def _twice(folder: Path) -> dict[str, Any]:
    (folder / "bank/odd/doc-1.tree").write_text(TREE)
    return {}


def _two_lists(folder: Path) -> dict[str, Any]:
    (folder / "train.lst").write_text("doc-2")
    return _lists(folder, train="doc-1")


def test_a_file_that_permits_more_than_the_licence_of_all_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody named both, so both stand, but not in silence; who keeps to the terms hears nothing."""
    source = docs(tmp_path / "bank", 4)
    given = {"licenses": tmp_path / "l.txt", "license": "LDC-User-Agreement"}
    (tmp_path / "l.txt").write_text("doc-1 CC0-1.0\n")
    found = ingested(source, tmp_path / "own", **given)
    assert {s.doc_id: s.license for s in found}["doc-1"] == "CC0-1.0"
    said = " ".join(capsys.readouterr().err.split())
    assert "CC0-1.0 permits more than LDC-User-Agreement" in said
    assert "doc-1" in said
    (tmp_path / "l.txt").write_text("doc-1 CC-BY-ND-4.0\n")
    ingested(source, tmp_path / "own", **given)
    assert "permits more" not in capsys.readouterr().err


WRONG: dict[str, tuple[Callable[[Path], dict[str, Any]], str]] = {
    "a licence that commands the terminal": (
        lambda f: _licences(f, "# who\ndoc-* MIT\x1b[31m"),
        r"licences:2: a character that cannot be printed: 'doc-\* MIT\\x1b\[31m'",
    ),
    "a pattern of nothing": (
        lambda _: {"split": ["train=wsj*"]},
        "matches none of 4 documents, such as",
    ),
    "no split's name": (lambda _: {"split": ["tain=*"]}, "must be SPLIT=PATTERN"),
    "no pattern": (lambda _: {"split": ["train"]}, "must be SPLIT=PATTERN"),
    "in two splits": (
        lambda _: {"split": ["train=*", "dev=doc-1"]},
        "'doc-1' is in the train split already",
    ),
    "in two lists": (
        lambda f: _lists(f, train="doc-1", dev="doc-0\ndoc-1"),
        r"dev\.txt:2: .*'doc-1' is in",
    ),
    "lists of nothing there": (
        lambda f: _lists(f, train="x"),
        r"train\.txt:1: no such document .* nor any",
    ),
    "no lists": (lambda f: {"split_lists": f}, "no split list, such as train.txt"),
    "no folder of lists": (lambda f: {"split_lists": f / "no"}, "no such folder of split lists"),
    "two lists of a split": (_two_lists, "two lists of one split: train.lst, train.txt"),
    "one column": (lambda f: _licences(f, "doc-1 MIT\ndoc-2\n"), "licences:2: one column"),
    "an endless licence": (
        lambda f: _licences(f, "doc-1 " + "MIT AND " * 100 + "MIT"),
        "licences:1: a licence of 803 characters",
    ),
    "an endless option": (lambda _: {"license": "x" * 201}, "at most 200 characters"),
    "an endless licence of text": (
        lambda _: {"unlabelled_license": "x" * 201},
        "at most 200 characters",
    ),
    "an unknown document": (lambda f: _licences(f, "doc-7 MIT"), "licences:1: no document 'doc-7'"),
    "shares that make 110": (lambda _: {"split_fractions": "80,10,20"}, "which make 100"),
    "shares of two": (lambda _: {"split_fractions": "80,20"}, "which make 100"),
    "shares below 0": (lambda _: {"split_fractions": "110,-5,-5"}, "which make 100"),
    "two ways": (
        lambda f: _lists(f, train="doc-1") | {"split": ["dev=*"]},
        "give one of --split and",
    ),
    "a document twice": (_twice, "2 documents have the same name 'odd/doc-1'"),
    "a name with a blank": (lambda _: {"name": "my own"}, "must be a plain name"),
    "another reader's option": (
        lambda _: {"reader": "ptb", "strict": True},
        "ptb takes no --strict",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_one_line(tmp_path: Path, name: str) -> None:
    """Each names the option or the line, and nothing is written."""
    make, message = WRONG[name]
    source = docs(tmp_path / "given/bank", 4)
    given = make(tmp_path / "given")
    with pytest.raises((InputError, SettingsError), match=message) as caught:
        ingested(source, tmp_path / "own", **given)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "own").exists()


def test_documents_of_one_name_keep_their_folders(tmp_path: Path) -> None:
    """As short as tells them apart, whatever lies above."""
    for folder in ("a", "b"):
        (tmp_path / "deep/er" / folder).mkdir(parents=True)
        (tmp_path / "deep/er" / folder / "01.mrg").write_text(TREE)
    found = ingested(tmp_path / "deep", tmp_path / "own", split=["train=*"])
    assert [s.sentence_id for s in found] == [
        "own/a/01/1", "own/b/01/1",
    ]  # fmt: skip


def test_a_corpus_has_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--name, or that of the folder; the folder is data/NAME; a section of params.yaml may say the reader."""
    source = docs(tmp_path / "bank", 3)
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(
        "ingest: {craft: {reader: treebank, license: MIT}, text: {}}\nseeds: [3]\n"
    )
    for given, params, out, name in (
        ({"reader": "treebank", "name": "n"}, None, "data/n", "n"),
        ({"reader": "treebank", "out": Path("x/y")}, None, "x/y", "y"),
        ({"reader": "treebank", "out": Path("x/z"), "name": "n"}, None, "x/z", "n"),
        ({"reader": "craft"}, Path("p.yaml"), "data/craft", "craft"),
        ({"reader": "craft", "out": Path("e/craft")}, Path("p.yaml"), "e/craft", "craft"),
        ({"reader": "ptb"}, None, "data/ptb", "ptb"),
    ):
        made = IngestSettings.build({"source": source, **given}, params)
        assert (str(made.out), made.name) == (out, name)
    run(IngestSettings.build({"source": source, "reader": "craft"}, Path("p.yaml")))
    found = list(read_sentences(Path("data/craft/sentences.parquet")))
    assert {(s.sentence_id.split("/")[0], s.license) for s in found} == {("craft", "MIT")}
    card = read_json(Path("data/craft/ingest.json"))
    assert (card["reader"], card["name"]) == ("treebank", "craft")
    with pytest.raises(SettingsError, match=r"no entry 'crft'; .*did you mean 'craft'"):
        IngestSettings.build({"source": source, "reader": "crft"}, Path("p.yaml"))
    with pytest.raises(SettingsError, match=r"'crft': no such reader; .*world.*--params"):
        IngestSettings.build({"source": source, "reader": "crft"}, None)


RAW = "She saw a big dog near the old river bank .\nHe saw a dog and a cat near the old river bank .\n\n"


def test_raw_text_joins_as_u(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training sentences without trees, in text.txt too; those with a coordinator are no seeds."""
    source = docs(tmp_path / "bank", 4)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a.txt").write_text(RAW)
    (tmp_path / "b.txt").write_text("A line of its own .\n")
    given = {
        "unlabelled": [tmp_path / "raw", tmp_path / "b.txt"],
        "unlabelled_license": "CC-BY-4.0",
    }
    found = ingested(source, tmp_path / "own", license="MIT", **given)
    raw = [s for s in found if s.tree is None]
    assert [s.sentence_id for s in raw] == ["own/a.txt/1", "own/a.txt/2", "own/b.txt/1"]
    assert {(s.split, s.license) for s in raw} == {("train", "CC-BY-4.0")}
    assert [s.sentence_id for s in found if is_unlabelled_seed(s)] == ["own/a.txt/1"]
    card = read_json(tmp_path / "own/ingest.json")
    assert card["unlabelled"] == {"kept": 3, "refused": {}, "seen": 3}
    assert "She saw a big dog near the old river bank." in (tmp_path / "own/text.txt").read_text()
    assert "read of --unlabelled" in capsys.readouterr().out


def test_a_part_of_the_raw_text(tmp_path: Path) -> None:
    """Evenly spread; the rest is counted."""
    source = docs(tmp_path / "bank", 4)
    (tmp_path / "a.txt").write_text("".join(f"Line {n} .\n" for n in range(100)))
    found = ingested(source, tmp_path / "own", unlabelled=[tmp_path / "a.txt"], most_unlabelled=4)
    assert [s.sentence_id for s in found if s.tree is None] == [
        f"own/a.txt/{n}" for n in (1, 26, 51, 76)
    ]
    card = read_json(tmp_path / "own/ingest.json")
    assert card["unlabelled"]["refused"] == {"sentence beyond --most-unlabelled": 96}
    many = ingested(source, tmp_path / "own", unlabelled=[tmp_path / "a.txt"], most_unlabelled=999)
    assert sum(s.tree is None for s in many) == 100


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: [f / "no.txt"], "no.txt"),
        (lambda f: [f / "a.txt", f / "x/a.txt"], "two raw texts are called 'a.txt'"),
        (lambda f: [f / "empty.txt"], "the file is empty"),
    ],
)
def test_raw_text_that_cannot_join(
    tmp_path: Path, make: Callable[[Path], list[Path]], message: str
) -> None:
    """One line each."""
    source = docs(tmp_path / "bank", 4)
    (tmp_path / "x").mkdir()
    for name in ("a.txt", "x/a.txt"):
        (tmp_path / name).write_text(RAW)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ConjoinError, match=message):
        ingested(source, tmp_path / "own", unlabelled=make(tmp_path))


def test_a_zip_that_cannot_be_read(tmp_path: Path) -> None:
    """Damaged, with a link, or larger than is allowed: one line each."""
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 and nothing")
    with pytest.raises(InputError, match="not a readable archive"):
        ingested(path, tmp_path / "own")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        link = zipfile.ZipInfo("link.mrg")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    path.write_bytes(data.getvalue())
    with pytest.raises(InputError, match="a member that is a link, a sparse file or no file"):
        ingested(path, tmp_path / "own")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.mrg", b" " * 2**21)
    with pytest.raises(InputError, match="unpack to more than 1MiB"):
        ingested(path, tmp_path / "own", largest_unpacked="1MiB")


@pytest.mark.parametrize(
    "tree", ["(S (NN milk\u202e) (VBD fell))", "(S (N\x1bP (NN milk)) (VBD fell))"]
)
def test_a_control_character_costs_its_sentence(tmp_path: Path, tree: str) -> None:
    """In a word, where it would turn the text around, or in a label; counted, and an error if strict."""
    path = tmp_path / "trees.mrg"
    path.write_text(TREE + tree + "\n" + PLAIN)
    assert len(ingested(path, tmp_path / "out")) == 2
    assert refused(tmp_path / "out") == {"sentence with a control character": 1}
    with pytest.raises(InputError, match="control character"):
        ingested(path, tmp_path / "strict", strict=True)
