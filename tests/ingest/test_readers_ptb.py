"""Penn Treebank readers: .mrg with the heuristic, and PTB.ext with its annotation."""

from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.ingest.readers.ptb import read_ptb, split_of_section
from pipeline.ingest.readers.ptb_ext import Layout, read_ptb_ext
from pipeline.text.trees import leaves, parse_tree

ONE = "( (S (NP (DT The) (NN dog)) (VP (VBD ran)) (. .)) )"


def structures(sentence: Sentence) -> list[tuple[str, str, list[str]]]:
    return [
        (k.label, k.word, [" ".join(sentence.words[s.start : s.end]) for s in k.conjuncts])
        for k in sentence.coordinations
    ]


def read_mrg(tmp_path: Path, *trees: str) -> list[Sentence]:
    (tmp_path / "wsj_0201.mrg").write_text("\n".join(trees) + "\n")
    return list(read_ptb(tmp_path, Tally(), license_="L"))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("(NP (NP (NN oil)) (CC and) (NP (NN gas)))", [("NP", "and", ["oil", "gas"])]),
        ("(NP (NNP Ways) (CC and) (NNPS Means))", [("NP", "and", ["Ways", "Means"])]),
        (
            "(NP (DT the) (NN oil) (, ,) (NN gas) (CC or) (NN coal) (NN firm))",
            [("NP", "or", ["oil", "gas", "coal"])],
        ),
        (
            "(S (CC But) (NP-SBJ (PRP it)) (VP (VP (VBD cut)) (, ,) (CC and) (VP (VBD ran))))",
            [("VP", "and", ["cut", "ran"])],
        ),
        ("(VP (VBD cut) (CC and) (VBD ran) (NP (PRP it)))", [("VP", "and", ["cut", "ran"])]),
        (
            "(ADJP (CC both) (JJ big) (CC and) (JJ red))",
            [("ADJP", "and", ["big", "red"])],
        ),
        ("(UCP (NP (NN oil)) (CC and) (ADJP (JJ red)))", [("UCP", "and", ["oil", "red"])]),
        ("(NP-SBJ=2 (NX (NN oil)) (CC and) (NX (NN gas)))", [("NP", "and", ["oil", "gas"])]),
        ("(NP (NP (NN oil)) (CONJP (RB as) (RB well) (IN as)) (NP (NN gas)))", []),
        ("(NP (NN oil) (CC and) (PRP$ its) (NN price))", []),
        ("(NP (NP (-NONE- *)) (CC and) (NP (NN gas)))", []),
    ],
)
def test_heuristic(tmp_path: Path, tree: str, expected: list[tuple[str, str, list[str]]]) -> None:
    """Conjuncts from plain brackets: by category, else by class of tag."""
    (sentence,) = read_mrg(tmp_path, f"( {tree} )")
    assert structures(sentence) == expected


def test_mrg_is_read_off(tmp_path: Path) -> None:
    """Empty elements and what they leave empty go, labels lose functions, escapes are undone."""
    tree = (
        "( (S (NP-SBJ-1 (-LRB- -LCB-) (CD 1\\/2) (-RRB- -RRB-))\n"
        "  (VP (VBD fell) (NP (-NONE- *-1)) (SBAR (S (NP (-NONE- T))))) (. .)) )"
    )
    (sentence,) = read_mrg(tmp_path, tree)
    assert sentence.sentence_id == "ptb/wsj_0201/1"
    assert (sentence.doc_id, sentence.split, sentence.license) == ("wsj_0201", "train", "L")
    assert sentence.words == ("{", "1/2", ")", "fell", ".")
    assert sentence.tags == ("-LRB-", "CD", "-RRB-", "VBD", ".")
    assert sentence.tree == ("(S1 (S (NP (-LRB- {) (CD 1/2) (-RRB- -RRB-)) (VP (VBD fell)) (. .)))")
    assert tuple(leaves(parse_tree(sentence.tree))) == sentence.words


def test_sections_make_the_splits(tmp_path: Path) -> None:
    """02-21 train, 22 dev, 23 test; the rest is counted, by file name or else by folder."""
    for name in ("00/wsj_0001", "02/wsj_0201", "21/wsj_2101", "22/a", "23/b", "24/c", "x/brown"):
        path = tmp_path / f"{name}.mrg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{ONE}\n( (X (-NONE- *)) )\n")
    tally = Tally()
    found = {s.doc_id: s.split for s in read_ptb(tmp_path, tally, license_="L")}
    assert found == {"wsj_0201": "train", "wsj_2101": "train", "a": "dev", "b": "test"}
    assert tally.to_dict() == {
        "seen": 14,
        "kept": 4,
        "refused": {
            "tree of a file outside sections 02-23": 6,
            "tree of empty elements only": 4,
        },
    }
    assert [split_of_section(n) for n in (1, 2, 21, 22, 23, 24)] == [
        None, "train", "train", "dev", "test", None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{ONE}\n( (S (NP (NN dog))\n", "wsj_0201.mrg:2: the tree that begins here is never closed"),
        (f"{ONE}\n{ONE} )\n", r"wsj_0201.mrg:2: "),
        (f"{ONE}\n\n(S (NP the (NN dog)))\n", "wsj_0201.mrg:3: the word 'the' has no tag"),
        ("", "wsj_0201.mrg: the file holds no tree"),
    ],
)  # fmt: skip
def test_bad_mrg_is_reported(tmp_path: Path, content: str, message: str) -> None:
    """Brackets that do not balance, a word without a tag, an empty file: file and line."""
    (tmp_path / "wsj_0201.mrg").write_text(content)
    with pytest.raises(InputError, match=message):
        list(read_ptb(tmp_path, Tally(), license_="L"))


def test_no_mrg_is_reported(tmp_path: Path) -> None:
    """An empty folder and a missing one have different messages."""
    with pytest.raises(InputError, match=r"no \.mrg file in the folder"):
        list(read_ptb(tmp_path, Tally(), license_="L"))
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_ptb(tmp_path / "no", Tally(), license_="L"))


def read_ext(tmp_path: Path, *trees: str, tally: Tally | None = None) -> list[Sentence]:
    path = tmp_path / "PTB.ext"
    path.write_text("\n".join(f"({tree})" for tree in trees) + "\n")
    layout = Layout(skip=0, train=len(trees), dev=0, test=0)
    return list(read_ptb_ext(path, tally or Tally(), license_="L", layout=layout))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (
            "(NP-CCP (NNP-COORD Ways) (CC-CC and) (NNP-COORD Means))",
            [("NP", "and", ["Ways", "Means"])],
        ),
        (
            "(NP-SBJ-CCP (DT-SHARED the) (CC-SHARED both) (NP-COORD (NN oil)) (, ,) "
            "(NP-COORD-1 (NN gas)) (CC-CC or) (RB-SHARED even) (NP-COORD (JJ red) (NN coal)))",
            [("NP", "or", ["oil", "gas", "red coal"])],
        ),
        (
            "(S-CCP (S-COORD (NP (PRP it)) (VP (VBD fell)) (: ;)) (S-COORD (NP (PRP I)) "
            "(VP (VBD ran) (NP (-NONE- *)))) (CC-CC and) (S-COORD (NP (PRP you)) (VP (VBD hid))))",
            [("S", "and", ["it fell", "I ran", "you hid"])],
        ),
        (
            "(S-CCP (S-COORD (NP (PRP it)) (VP (VBD fell) (, ,))) (CC-CC and) "
            "(S-COORD (NP (PRP I)) (VP (VBD ran))))",
            [("S", "and", ["it fell ,", "I ran"])],
        ),
        (
            "(NP-CCP (NN-COORD oil) (CC-CC and) (NN-COORD gas) (CC-CC or) (NN-COORD coal))",
            [("NP", "or", ["oil", "gas", "coal"])],
        ),
        ("(S (CC But) (NP (NN oil)) (VP (VBD fell)))", []),
    ],
)
def test_annotation(tmp_path: Path, tree: str, expected: list[tuple[str, str, list[str]]]) -> None:
    """Conjuncts are what is marked COORD; a separator goes free only where two conjuncts touch."""
    (sentence,) = read_ext(tmp_path, tree)
    assert structures(sentence) == expected


def test_freed_separator_becomes_a_sibling(tmp_path: Path) -> None:
    """The tree shows the separator beside the conjuncts, and its emptied parent is gone."""
    (sentence,) = read_ext(
        tmp_path,
        "(NP-CCP (NP-COORD (NN oil) (X (, ,))) (NP-COORD (CD 1\\/2)) (CC-CC and) (NN-COORD -LRB-))",
    )
    assert sentence.sentence_id == "ptb-ext/1"
    assert sentence.words == ("oil", ",", "1/2", "and", "(")
    assert sentence.tags == ("NN", ",", "CD", "CC", "NN")
    assert sentence.tree == ("(S1 (NP (NP (NN oil)) (, ,) (NP (CD 1/2)) (CC and) (NN -LRB-)))")


def test_coordinator_without_conjuncts_is_counted(tmp_path: Path) -> None:
    """A CC-CC with a conjunct on one side only makes no coordination, and is counted."""
    tally = Tally()
    (sentence,) = read_ext(tmp_path, "(NP (CC-CC and) (NN-COORD oil))", tally=tally)
    assert not sentence.coordinations
    assert tally.to_dict()["refused"] == {
        "coordinator without conjuncts on both sides (counts coordinators)": 1
    }


def test_lines_make_the_splits(tmp_path: Path) -> None:
    """Skipped lines, then train, dev and test; what follows is not read."""
    (tmp_path / "PTB.ext").write_text("".join(f"((NP (NN w{i})))\n" for i in range(1, 9)))
    tally = Tally()
    sentences = read_ptb_ext(tmp_path, tally, license_="L", layout=Layout(1, 3, 1, 2))
    assert [(s.words[0], s.split) for s in sentences] == [
        ("w2", "train"), ("w3", "train"), ("w4", "train"), ("w5", "dev"), ("w6", "test"), ("w7", "test"),
    ]  # fmt: skip
    assert tally.to_dict()["refused"] == {"line outside training, development and test lines": 2}
    layout = Layout()
    ends = [layout.split(n) for n in (3914, 3915, 43746, 43747, 45446, 45447, 47862, 47863)]
    assert ends == [None, "train", "train", "dev", "dev", "test", "test", None]


def test_bad_ptb_ext_is_reported(tmp_path: Path) -> None:
    """A short file says how many lines there should be; bad brackets and blank lines their line."""
    path = tmp_path / "PTB.ext"
    path.write_text("((NP (NN dog)))\n((NP (NN dog))\n")
    with pytest.raises(InputError, match=r"PTB\.ext: 2 lines; .* at least 47,862"):
        list(read_ptb_ext(path, Tally(), license_="L"))
    with pytest.raises(InputError, match=r"PTB\.ext:2: malformed brackets"):
        list(read_ptb_ext(path, Tally(), license_="L", layout=Layout(0, 2, 0, 0)))
    path.write_text("((NP (NN dog)))\n\n((NP (NN dog)))\n")
    with pytest.raises(InputError, match=r"PTB\.ext:2: "):
        list(read_ptb_ext(path, Tally(), license_="L", layout=Layout(0, 3, 0, 0)))
    with pytest.raises(InputError, match="no such file"):
        list(read_ptb_ext(tmp_path / "no", Tally(), license_="L"))
