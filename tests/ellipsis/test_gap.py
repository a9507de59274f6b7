"""`conjoin gap`: which coordinated verbs are left out, what the sentence is then, and what is written."""

import lzma
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from treebank import PAST, WON, conllu, tree

from pipeline.cli import main
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.ellipsis.gap.command import GAPPED, REFUSED, run
from pipeline.ellipsis.gap.leaving_out import Unfit, left_out
from pipeline.ellipsis.gap.rules import GappedVerb, Refused, find_gaps
from pipeline.ellipsis.gap.settings import GAP_KINDS, GapSettings
from pipeline.text.coordinations import WITHHELD
from pipeline.text.dependencies import CONTROL, DependencyTree, edges, read_trees
from pipeline.text.lines import open_lines

EWT = Path(__file__).resolve().parents[2] / "../shared/data/ud-ewt/en_ewt-ud-train.conllu.xz"


def found(text: str) -> GappedVerb | Refused:
    """What becomes of the only coordinated verb of a sentence."""
    (outcome,) = find_gaps(tree(text), GAP_KINDS)
    return outcome


def shortened(text: str) -> DependencyTree:
    """The sentence without its only verb that may be left out."""
    gap = found(text)
    assert isinstance(gap, GappedVerb), gap
    return left_out(tree(text), gap)


def basic(made: DependencyTree) -> list[tuple[str, int, str]]:
    """Form, head and relation of each word."""
    return [(word.form, word.head, word.deprel) for word in made.words]


def changed(text: str, old: str, new: str) -> str:
    """The sentence with one word's line changed."""
    assert old in text
    return text.replace(old, new, 1)


def test_mary_won_gold_and_peter_bronze() -> None:
    """Subject promoted, object an orphan, coordinator with the subject; the copy has what the verb had."""
    gap = found(WON)
    assert gap == GappedVerb(
        "gapping", 2, 6, frozenset({6}), 5, (7,), 1, parallel=True, contrast=True
    )
    made = shortened(WON)
    assert made.text == "Mary won gold and Peter bronze."
    assert basic(made) == [
        ("Mary", 2, "nsubj"),
        ("won", 0, "root"),
        ("gold", 2, "obj"),
        ("and", 5, "cc"),
        ("Peter", 2, "conj"),
        ("bronze", 5, "orphan"),
        (".", 2, "punct"),
    ]
    assert [word.deps for word in made.words[3:6]] == ["5.1:cc", "5.1:nsubj", "5.1:obj"]
    (copy,) = made.empty
    assert copy.node == (5, 1)
    assert copy.columns == ("won", "win", "VERB", "_", PAST, "_", "_", "2:conj:and", "CopyOf=2")


def test_without_an_enhanced_layer_no_copy_is_made() -> None:
    """A treebank that has none gets none."""
    plain = WON.replace("2:conj:and", "_")
    words = [
        "\t".join([*line.split("\t")[:8], "_", line.split("\t")[9]]) if "\t" in line else line
        for line in plain.split("\n")
    ]
    made = shortened("\n".join(words))
    assert not made.empty
    assert {word.deps for word in made.words} == {"_"}


def test_another_verb_is_of_the_second_tier() -> None:
    """Auxiliaries make no other verb, particles do."""
    assert found(changed(WON, "win\tVERB\t_\t" + PAST + "\t2", "take\tVERB\t_\t_\t2")).tier == 2  # type: ignore[union-attr]
    will = conllu(
        "will",
        "Mary Mary PROPN 2 nsubj",
        "won win VERB 0 root",
        "gold gold NOUN 2 obj",
        "and and CCONJ 7 cc",
        "Peter Peter PROPN 7 nsubj",
        "will will AUX 7 aux",
        "win win VERB 2 conj _ _ 2:conj:and",
        "bronze bronze NOUN 7 obj",
    )
    gap = found(will)
    assert isinstance(gap, GappedVerb)
    assert (gap.tier, sorted(gap.gone)) == (1, [6, 7])
    assert shortened(will).text == "Mary won gold and Peter bronze"
    up = conllu(
        "up",
        "Mary Mary PROPN 2 nsubj",
        "took take VERB 0 root",
        "gold gold NOUN 2 obj",
        "and and CCONJ 6 cc",
        "Peter Peter PROPN 6 nsubj",
        "took take VERB 2 conj _ _ 2:conj:and",
        "up up ADP 6 compound:prt",
        "chess chess NOUN 6 obj",
    )
    gap = found(up)
    assert isinstance(gap, GappedVerb)
    assert (gap.tier, sorted(gap.gone)) == (2, [6, 7])


REDUCED = conllu(
    "reduced",
    "Mary Mary PROPN 2 nsubj _ _ 2:nsubj|7:nsubj",
    "won win VERB 0 root",
    "gold gold NOUN 2 obj",
    "in in ADP 5 case",
    "1990 1990 NUM 2 obl _ _ 2:obl:in",
    "and and CCONJ 7 cc",
    "won win VERB 2 conj _ _ 2:conj:and",
    "silver silver NOUN 7 obj",
    "in in ADP 10 case",
    "1992 1992 NUM 7 obl _ _ 7:obl:in",
)


def test_without_a_subject_the_object_is_promoted() -> None:
    """Conjunction reduction; in the enhanced layer the shared subject is the copy's too."""
    made = shortened(REDUCED)
    assert made.text == "Mary won gold in 1990 and silver in 1992"
    assert basic(made)[5:] == [
        ("and", 7, "cc"),
        ("silver", 2, "conj"),
        ("in", 9, "case"),
        ("1992", 7, "orphan"),
    ]
    assert made.words[0].deps == "2:nsubj|6.1:nsubj"
    assert made.words[8].deps == "6.1:obl:in"
    (only,) = find_gaps(tree(REDUCED), ["gapping"])
    assert only == Refused(2, 7, "reduction is not asked for")


def test_the_scale_of_obliqueness_decides_what_is_promoted() -> None:
    """The object before what stands first, and an oblique before an adverb."""
    early = conllu(
        "early",
        "Mary Mary PROPN 2 nsubj",
        "won win VERB 0 root",
        "gold gold NOUN 2 obj",
        "and and CCONJ 6 cc",
        "later later ADV 6 advmod",
        "won win VERB 2 conj _ _ 2:conj:and",
        "silver silver NOUN 6 obj",
    )
    assert basic(shortened(early))[4:] == [("later", 6, "orphan"), ("silver", 2, "conj")]


def test_the_verb_before_is_understood_not_the_first() -> None:
    """Of three conjuncts the last may go; the tree keeps its form, the copy is of the verb before."""
    three = conllu(
        "three",
        "A A PROPN 2 nsubj",
        "sang sing VERB 0 root",
        "; ; PUNCT 5 punct",
        "B B PROPN 5 nsubj",
        "won win VERB 2 conj _ _ 2:conj",
        "gold gold NOUN 5 obj",
        "and and CCONJ 9 cc",
        "C C PROPN 9 nsubj",
        "won win VERB 2 conj _ _ 2:conj:and",
        "silver silver NOUN 9 obj",
    )
    first, last = find_gaps(tree(three), GAP_KINDS)
    assert isinstance(first, Refused)
    assert first.reason == "another conjunct after it"
    assert isinstance(last, GappedVerb)
    assert (last.first, last.tier) == (5, 1)
    made = left_out(tree(three), last)
    assert basic(made)[7] == ("C", 2, "conj")
    assert made.empty[0].columns[-1] == "CopyOf=5"


NOT = "not not PART 7 advmod Polarity=Neg"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "no coordinator of and, but, or, ;",
            ["yet yet CCONJ 6 cc", "Peter Peter PROPN 6 nsubj", "V", "O"],
        ),
        (
            "no coordinator of and, but, or, ;",
            [", , PUNCT 6 punct", "Peter Peter PROPN 6 nsubj", "V", "O"],
        ),
        ("negated", ["and and CCONJ 6 cc", "nobody nobody PRON 6 nsubj PronType=Neg", "V", "O"]),
        (
            "negated",
            [
                "and and CCONJ 6 cc",
                "Peter Peter PROPN 6 nsubj",
                "V",
                "O",
                "never never ADV 6 advmod",
            ],
        ),
        (
            "too few dependents that would stay",
            ["and and CCONJ 6 cc", "Peter Peter PROPN 6 nsubj", "V"],
        ),
        (
            "too few dependents that would stay",
            ["and and CCONJ 6 cc", "to to PART 6 mark", "V", "O"],
        ),
        (
            "a clause below it",
            [
                "and and CCONJ 6 cc",
                "Peter Peter PROPN 6 nsubj",
                "V",
                "O",
                "singing sing VERB 6 advcl",
            ],
        ),
        ("another voice", ["and and CCONJ 6 cc", "Peter Peter PROPN 6 nsubj:pass", "V", "O"]),
        (
            "subject of another kind, or none at the first verb",
            ["and and CCONJ 6 cc", "there there PRON 6 expl", "V", "O"],
        ),
        (
            "a dependent that the rule does not know",
            [
                "and and CCONJ 6 cc",
                "Peter Peter PROPN 6 nsubj",
                "V",
                "O",
                "John John PROPN 6 vocative",
            ],
        ),
        (
            "subject after the verb",
            ["and and CCONJ 6 cc", "then then ADV 6 advmod", "V", "Peter Peter PROPN 6 nsubj"],
        ),
        ("the same subject again", ["and and CCONJ 6 cc", "Mary Mary PROPN 6 nsubj", "V", "O"]),
        (
            "question or relative word would stay",
            ["and and CCONJ 6 cc", "who who PRON 6 nsubj PronType=Int", "V", "O"],
        ),
    ],
)
def test_verbs_stay_for_a_reason(reason: str, words: list[str]) -> None:
    """Each condition of the rule is asked, and reported."""
    verb = "won win VERB 2 conj _ _ 2:conj"
    rest = [{"V": verb, "O": "bronze bronze NOUN 6 obj"}.get(word, word) for word in words]
    text = conllu(
        "s", "Mary Mary PROPN 2 nsubj", "won win VERB 0 root", "gold gold NOUN 2 obj", *rest
    )
    assert found(text) == Refused(2, 6, reason)


def test_what_is_no_verb_is_no_pair() -> None:
    """Coordinated nouns, and a verb beside a noun, are not even counted."""
    text = conllu("n", "gold gold NOUN 0 root", "and and CCONJ 3 cc", "won win VERB 1 conj")
    assert not list(find_gaps(tree(text), GAP_KINDS))


def test_marks_of_what_english_wants() -> None:
    """Dependents like the first verb's, and no pronoun that cannot be stressed."""
    pronoun = changed(WON, "bronze\tbronze\tNOUN\t_\t_", "it\tit\tPRON\t_\tPronType=Prs")
    gap = found(pronoun)
    assert isinstance(gap, GappedVerb)
    assert (gap.parallel, gap.contrast) == (True, False)
    other = found(changed(WON, "6\tobj\t6:obj", "6\tobl\t6:obl"))
    assert isinstance(other, GappedVerb)
    assert (other.parallel, other.contrast) == (False, True)


def test_multiword_tokens_spaces_and_empty_nodes_are_put_right() -> None:
    """`he's won` becomes `he`; an older empty node and what speaks of it keep their meaning."""
    text = conllu(
        "he",
        "Mary Mary PROPN 2 nsubj",
        "won win VERB 0 root",
        "2.1\t" + "\t".join(["x", "x", "VERB", "_", "_", "_", "_", "2:dep", "CopyOf=2"]),
        "gold gold NOUN 2 obj _ SpaceAfter=No",
        ", , PUNCT 8 punct",
        "but but CCONJ 8 cc",
        "6-7\tPeter's" + "\t_" * 8,
        "Peter Peter PROPN 8 nsubj",
        "'s have AUX 8 aux",
        "won win VERB 2 conj _ _ 2:conj:but",
        "8.1\t" + "\t".join(["y", "y", "VERB", "_", "_", "_", "_", "8:dep", "CopyOf=8"]),
        "bronze bronze NOUN 8 obj _ SpaceAfter=No",
        ". . PUNCT 2 punct _ Cxn=X|CxnElt=8:X",
    )
    made = shortened(text)
    assert made.text == "Mary won gold, but Peter bronze."
    assert not made.tokens
    assert [(each.node, each.columns[-2:]) for each in made.empty] == [
        ((2, 1), ("2:dep", "CopyOf=2")),
        ((6, 1), ("2:conj:but", "CopyOf=2")),
        ((6, 2), ("6.1:dep", "CopyOf=2")),
    ]
    assert made.words[-1].misc == "_"
    assert [word.deps for word in made.words[3:6]] == ["6:punct", "6.1:cc", "6.1:nsubj"]


def test_punctuation_after_the_verb_is_closed_up() -> None:
    """A comma behind the verb stands behind the subject then."""
    text = conllu(
        "comma",
        "Mary Mary PROPN 2 nsubj",
        "won win VERB 0 root",
        "gold gold NOUN 2 obj",
        "and and CCONJ 6 cc",
        "Peter Peter PROPN 6 nsubj",
        "won win VERB 2 conj _ SpaceAfter=No 2:conj:and",
        ", , PUNCT 8 punct",
        "surprisingly surprisingly ADV 6 advmod _ SpaceAfter=No",
        ", , PUNCT 8 punct",
        "bronze bronze NOUN 6 obj",
    )
    assert shortened(text).text == "Mary won gold and Peter, surprisingly, bronze"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "a multiword token would be cut into",
            ["6-7\twins" + "\t_" * 8, "win win VERB 2 conj _ _ 2:conj", "it it PRON 6 obj"],
        ),
        (
            "a part of a written word would stay",
            ["win win VERB 2 conj _ SpaceAfter=No 2:conj", "ning ning NOUN 6 obj"],
        ),
        (
            "punctuation would stand alone",
            [
                '" " PUNCT 7 punct _ SpaceAfter=No',
                "won win VERB 2 conj _ SpaceAfter=No 2:conj",
                '" " PUNCT 7 punct',
                "silver silver NOUN 7 obj",
            ],
        ),
        (
            "an enhanced layer that does not fit the words",
            ["won win VERB 2 conj _ _ 2:conj", "silver silver NOUN 6 obj _ _ 9.1:obj"],
        ),
        (
            "an enhanced layer that does not fit the words",
            ["won win VERB 2 conj _ _ conj", "silver silver NOUN 6 obj"],
        ),
    ],
)
def test_sentences_that_cannot_be_written_are_reported(reason: str, words: list[str]) -> None:
    """Nothing half a word, nothing between empty quotes, no relation to nobody."""
    verb = 7 if words[0].startswith('"') else 6
    head = [f"and and CCONJ {verb} cc", f"Peter Peter PROPN {verb} nsubj"]
    text = conllu(
        "s", "Mary Mary PROPN 2 nsubj", "won win VERB 0 root", "gold gold NOUN 2 obj", *head, *words
    )
    gap = found(text)
    assert isinstance(gap, GappedVerb)
    with pytest.raises(Unfit, match=f"^{reason}$"):
        left_out(tree(text), gap)


def check_tree(made: DependencyTree) -> None:
    """One root, no circle, an orphan below a conjunct; all that the enhanced layer names is there."""
    for word in made.words:
        if word.deprel == "orphan":
            assert made.word(word.head).deprel in ("conj", "orphan", "parataxis", "root")
    assert sum(word.deprel == "orphan" for word in made.words) >= 1
    nodes = {
        (0, 0),
        *((word.number, 0) for word in made.words),
        *(each.node for each in made.empty),
    }
    columns = [word.deps for word in made.words] + [each.columns[-2] for each in made.empty]
    for column in columns:
        relations = edges(column)
        assert relations is not None
        assert all(head in nodes for head, _ in relations)


def written(out: Path) -> list[DependencyTree]:
    """The trees of a folder, read again, so that they are trees."""
    with open_lines(out / "gapped.conllu") as lines:
        return list(read_trees(lines))


def gap(source: Path, out: Path, **given: Any) -> dict[str, Any]:
    """Run the command; returns the manifest."""
    run(GapSettings.build({"source": source, "out": out, **given}, None))
    return dict(read_json(out / "manifest.json"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A treebank of three sentences, one of them twice, and its licence."""
    folder = tmp_path / "treebank"
    folder.mkdir()
    (folder / "en_ewt-ud-train.conllu.xz").write_bytes(
        lzma.compress((WON + REDUCED + WON).encode())
    )
    (folder / "LICENSE.txt").write_text("Attribution-ShareAlike 4.0 International\n")
    return folder


def test_words_that_are_withheld_are_rejects(tmp_path: Path) -> None:
    """Of a sentence whose words are underscores, as GUM has those from Reddit, nothing is made."""
    hidden = re.sub(r"(?m)^(\d+)\t\S+\t\S+", r"\1\t___\t_", WON.replace("= won", "= hidden"))
    path = tmp_path / "t.conllu"
    path.write_text(hidden + WON)
    manifest = gap(path, tmp_path / "out")
    assert manifest["tally"] == {"seen": 2, "kept": 1, "refused": {WITHHELD: 1}}


@pytest.mark.parametrize("where", ["# sent_id = won", "\tMary\tMary"])
def test_control_characters_are_rejects(tmp_path: Path, where: str) -> None:
    """In words and in what the sentence is called."""
    path = tmp_path / "t.conllu"
    path.write_text(changed(WON, where, f"{where}\x1b") + WON)
    manifest = gap(path, tmp_path / "out")
    assert manifest["tally"] == {"seen": 2, "kept": 1, "refused": {CONTROL: 1}}


@pytest.mark.parametrize("within", [False, True])
def test_a_file_whose_name_is_no_text_is_one_line(
    within: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Named, or found in a folder that is: nothing of it could stand in an id or a record."""
    folder = tmp_path / "bank"
    folder.mkdir()
    path = folder / os.fsdecode(b"x\xff.conllu")
    try:
        path.write_text(WON)
    except OSError:
        pytest.skip("this file system has no such names")
    place = folder if within else path
    monkeypatch.setattr(sys, "argv", ["conjoin", "gap", str(place), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ending:
        main()
    said = capsys.readouterr().err
    assert ending.value.code == 2
    assert "UTF-8" in said
    assert r"\udcff.con" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == [folder]


def test_files_manifest_and_terms(source: Path, tmp_path: Path) -> None:
    """CoNLL-U and Parquet say the same, the licence goes along; equal runs are equal."""
    out = tmp_path / "out"
    manifest = gap(source, out)
    rows = pq.read_table(out / "gapped.parquet")
    assert rows.schema.equals(GAPPED)
    texts = ["Mary won gold and Peter bronze.", "Mary won gold in 1990 and silver in 1992"]
    assert rows["text"].to_pylist() == texts
    assert rows["sentence_id"].to_pylist() == ["won-gap6", "reduced-gap7"]
    assert rows["orphans"].to_pylist() == [[6], [9]]
    assert rows["promoted"].to_pylist() == [5, 7]
    assert set(rows["license"].to_pylist()) == {"CC-BY-SA-4.0"}
    assert "".join(rows["conllu"].to_pylist()) == (out / "gapped.conllu").read_text()
    comments = written(out)[0].comments
    assert comments[:4] == (
        "# sent_id = won-gap6",
        f"# text = {texts[0]}",
        "# source_sent_id = won",
        "# gap = gapping",
    )
    assert comments[4:] == (
        "# gap_tier = 1: the same verb",
        "# gap_verbs = win > win",
        "# license = CC-BY-SA-4.0",
    )
    rejects = pq.read_table(out / "rejects.parquet")
    assert rejects.schema.equals(REFUSED)
    assert rejects["reason"].to_pylist() == ["a sentence that was made already"]
    assert manifest["tally"] == {
        "seen": 3,
        "kept": 2,
        "refused": {"a sentence that was made already": 1},
    }
    assert manifest["license"] == "CC-BY-SA-4.0"
    assert "UD English EWT" in manifest["notice"]["attribution"]
    assert (out / "LICENSE.txt").read_text().startswith("Attribution-ShareAlike")
    assert "CC BY-SA 4.0" in (out / "README.md").read_text()
    assert gap(source, tmp_path / "again") == manifest
    for made in written(out):
        check_tree(made)


def test_only_what_is_asked_for(source: Path, tmp_path: Path) -> None:
    """Kinds, and a licence that somebody names; the others are counted."""
    manifest = gap(source, tmp_path / "a", kinds=["gapping"], license="CC0-1.0")
    assert manifest["made"] == {"gapping, tier 1": 1}
    assert manifest["tally"]["refused"]["reduction is not asked for"] == 1
    assert manifest["license"] == "CC0-1.0"
    with pytest.raises(InputError, match="no verb can be left out; the table says why"):
        gap(source, tmp_path / "b", tier=2)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("option", "reason"),
    [("parallel", "not parallel"), ("contrast", "a personal pronoun would stay as object")],
)
def test_stricter_choices(option: str, reason: str, tmp_path: Path) -> None:
    """What is left out by them is counted with the reason."""
    weak = changed(
        WON, "bronze\tbronze\tNOUN\t_\t_\t6\tobj", "it\tit\tPRON\t_\tPronType=Prs\t6\tiobj"
    )
    path = tmp_path / "t.conllu"
    path.write_text(WON + weak)
    manifest = gap(path, tmp_path / "out", **{option: True})
    assert manifest["tally"]["refused"] == {reason: 1}


def test_an_unknown_licence_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody takes what has no licence for free."""
    path = tmp_path / "t.conllu"
    path.write_text(WON)
    assert gap(path, tmp_path / "out")["license"] == "unknown"
    assert "name it with --license" in capsys.readouterr().err


@pytest.mark.parametrize(
    "case",
    [
        ("t.conllu", "Mary won gold.\n", "t.conllu:1: not CoNLL-U: 1 columns where 10 are due"),
        ("t.conllu", "", "t.conllu: no sentence here; is it CoNLL-U?"),
        (
            "t.conllu",
            conllu("s", "I I PRON 2 nsubj", "ran run VERB 1 conj"),
            "t.conllu:2: HEADs go in a circle: 1 → 2 → 1 (sentence s); attach one of them elsewhere",
        ),
        (
            "t.conllu",
            conllu("s", "I I PRON 0 root"),
            "t.conllu: no verb is coordinated with another, so none can be left out; name",
        ),
        (
            "t.conllu",
            WON + conllu("s", "I I PRON 2 SBJ", "ran run VERB 0 root"),
            "t.conllu:12: relation 'SBJ' is none of Universal Dependencies 2 (sentence s); convert",
        ),
        (
            "t.conllu",
            WON + conllu("s", "I I PRON 2 nsubj", "ran run VERB 0 parataxis"),
            "t.conllu:13: word 2 has HEAD 0 and is called 'parataxis': root and 0 go together "
            "(sentence s); convert",
        ),
        (
            "t.conllu",
            WON + conllu("s", "I I PRON 2 root", "ran run VERB 0 root"),
            "t.conllu:12: word 1 has HEAD 2 and is called 'root': root and 0 go together",
        ),
        ("none/x", "x", "gone: no such file or folder; check the name"),
        ("folder/notes.txt", "x", "folder: no file of CoNLL-U in this folder; name a file"),
        ("out/x", "x", "out: there is something here already; name a new folder"),
    ],
)
def test_bad_input_is_one_line(
    case: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As the command prints it, with what to do; nothing is written."""
    name, content, said = case
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    (tmp_path / "good.conllu").write_text(WON)
    place = {"out": "good.conllu", "none": "gone"}.get(*[name.partition("/")[0]] * 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["conjoin", "gap", place, "--out", "out"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    *progress, line = capsys.readouterr().err.splitlines()
    assert all(each.startswith("[gap, bytes]") for each in progress)
    assert line.startswith(f"conjoin: {said}")
    assert not (tmp_path / "out/manifest.json").exists()


def test_ids_are_unique_and_licences_of_one_treebank(tmp_path: Path) -> None:
    """Files of one name in two folders give ids of their own; two licence files are two treebanks."""
    bare = "".join(
        line for line in WON.splitlines(keepends=True) if not line.startswith("# sent_id")
    )
    for folder, text in (("a", bare), ("b", bare.replace("Mary", "Anna")), ("c", WON + REDUCED)):
        (tmp_path / "t" / folder).mkdir(parents=True)
        (tmp_path / "t" / folder / "x.conllu").write_text(text)
    (tmp_path / "t/c/y.conllu").write_text(REDUCED.replace("Mary", "Anna"))
    gap(tmp_path / "t", tmp_path / "out")
    rows = pq.read_table(tmp_path / "out/gapped.parquet")
    assert sorted(rows["source_id"].to_pylist()) == ["a/x/1", "b/x/1", "c/y/1", "reduced"]
    for folder in "ab":
        (tmp_path / "t" / folder / "LICENSE").write_text("terms")
    with pytest.raises(InputError, match="several treebanks"):
        gap(tmp_path / "t", tmp_path / "more")


def test_another_licence_than_the_treebank_s_brings_no_notice_of_that(
    source: Path, tmp_path: Path
) -> None:
    assert gap(source, tmp_path / "out", license="mit")["license"] == "MIT"
    assert "CC BY-SA" not in (tmp_path / "out/README.md").read_text()


@pytest.mark.parametrize("name", ["foo bar\nbaz", " ", "MIT WITH"])
def test_a_licence_is_an_expression(name: str) -> None:
    with pytest.raises(SettingsError, match="no SPDX expression of licences"):
        GapSettings.build({"source": "s", "out": "o", "license": name}, None)


def test_without_features_and_lemmas_words_tell() -> None:
    """Negation by its words, sameness by forms."""
    for old, new in (
        ("Mary\tMary\tPROPN", "Nobody\t_\tPRON"),
        ("gold\tgold\tNOUN", "nothing\t_\tPRON"),
    ):
        outcome = found(changed(WON, old, new))
        assert isinstance(outcome, Refused)
        assert outcome.reason == "negated"
    bare = re.sub(r"^(\d+\t\S+)\t\S+", r"\1\t_", WON, flags=re.MULTILINE)
    outcome = found(bare)
    assert isinstance(outcome, GappedVerb)
    assert outcome.tier == 1


@pytest.mark.parametrize("deps", ["9" * 5000 + ":conj", "6:conj", "2." + "9" * 5000 + ":conj"])
def test_an_enhanced_layer_of_nonsense_is_a_reason(deps: str) -> None:
    """Numbers of five thousand digits, and a word that is its own head."""
    text = re.sub(r"^(6\t(?:\S+\t){7})\S+", lambda m: m[1] + deps, WON, flags=re.MULTILINE)
    outcome = found(text)
    assert isinstance(outcome, GappedVerb)
    with pytest.raises(Unfit, match="enhanced layer"):
        left_out(tree(text), outcome)


def test_kinds_are_named_by_their_names() -> None:
    """A slip is reported with what was meant."""
    with pytest.raises(SettingsError, match="'gaping' is none, did you mean 'gapping'"):
        GapSettings.build({"source": "s", "out": "o", "kinds": ["gaping"]}, None)


@pytest.mark.long
@pytest.mark.skipif(not EWT.exists(), reason="needs ../shared/data/ud-ewt")
def test_english_ewt_gives_four_hundred(tmp_path: Path) -> None:
    """Each is a tree with orphans below a conjunct, and what it says is the text of its words."""
    manifest = gap(EWT, tmp_path / "out")
    assert manifest["tally"]["kept"] >= 400
    trees = written(tmp_path / "out")
    assert len({made.text for made in trees}) == manifest["tally"]["kept"]
    for made in trees:
        check_tree(made)
        assert f"# text = {made.text}" in made.comments
    kinds = Counter(pq.read_table(tmp_path / "out/gapped.parquet")["kind"].to_pylist())
    assert set(kinds) == set(GAP_KINDS)


def test_what_nobody_could_read_again_is_a_reject(tmp_path: Path) -> None:
    """A word of half a million characters stands in the text and in its row: too much for a sentence."""
    source = tmp_path / "long.conllu"
    source.write_text(WON.replace("\tgold\tgold", f"\t{'g' * 600_000}\tgold", 1) + REDUCED)
    manifest = gap(source, tmp_path / "out")
    (reason,) = manifest["tally"]["refused"]
    assert reason.startswith("a sentence of more than 1,048,576 characters")
    assert len(written(tmp_path / "out")) == 1
