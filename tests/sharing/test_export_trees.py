"""``conjoin export``: trees, labels, spaCy's documents, standard output, and treebanks with their gold."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stanza.models.constituency.tree_reader import read_treebank
from tiny import ingested
from with_trees import attested, candidate_folder, world

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, SENTENCES, candidate_row, read_sentences, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import Candidate, Coordination, Sentence, Span
from pipeline.ingest.readers.ptb_ext import Layout, read_ptb_ext
from pipeline.sharing.export import command as export
from pipeline.sharing.export import spacy_docs
from pipeline.sharing.export.protocol import Unwritable
from pipeline.sharing.export.ptb import UNHELD, require_held
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.coordinations import ptb_coordinations
from pipeline.text.trees import escape, leaves, parse_tree

Made = tuple[Path, list[Candidate]]


@pytest.fixture
def made(tmp_path: Path, write_trees: Callable[..., None]) -> Made:
    """A finished folder of attested candidates in a corpus of the world with gold trees."""
    sentences = world(24)
    write_trees(tmp_path / "corpus", sentences)
    candidates = attested(sentences)
    return candidate_folder(tmp_path / "corpus", candidates), candidates


def exported(place: Path, form: Any, out: Path, **more: Any) -> Path:
    export.run(ExportSettings(place=place, format=form, out=out, **more))
    return out


@pytest.mark.parametrize("word", ["-LRB-", "a\\/b", "C:\\", "-HYPHEN-"])
def test_a_leaf_that_only_conjoin_can_read_is_not_exported(word: str) -> None:
    """Another program would take it for another word."""
    with pytest.raises(Unwritable, match=UNHELD):
        require_held(escape(word), word)
    for plain in ("(", "1/2", "well-known"):
        require_held(escape(plain), plain)


def test_ptb_is_what_stanza_reads(made: Made, tmp_path: Path) -> None:
    """A tree a line below one root, with tags; leaves are the words, the reader finds the conjuncts."""
    place, candidates = made
    out = exported(place, "ptb", tmp_path / "made.mrg")
    lines = out.read_text("utf-8").splitlines()
    for line, each in zip(lines, candidates, strict=True):
        tree = parse_tree(line)
        assert tree.label() == "ROOT"
        assert len(tree) == 1
        assert leaves(tree) == list(each.words)
        assert each.coordination in ptb_coordinations(tree)
        assert "XX" not in {tag for _, tag in tree.pos()}
    theirs = read_treebank(str(out))
    assert [tree.leaf_labels() for tree in theirs] == [list(each.words) for each in candidates]
    with pytest.raises(
        InputError, match="an earlier export stands there; replace it with --overwrite"
    ):
        exported(place, "ptb", out, limit=1)
    assert len(out.read_text("utf-8").splitlines()) == len(candidates)
    exported(place, "ptb", out, limit=1, overwrite=True)
    assert len(out.read_text("utf-8").splitlines()) == 1


def test_what_has_no_tree_is_left_out_and_reported(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A random span is counted; where nothing has a tree, one line says why."""
    place, candidates = made
    rows = [candidate_row(each) for each in candidates[:3]]
    rows[1]["label"] = "X"
    path = place.parent / "some.parquet"
    write_rows(path, CANDIDATES, rows)
    exported(path, "ptb", tmp_path / "out.mrg")
    printed = capsys.readouterr().out
    assert printed == (
        f"2 candidates written to {tmp_path / 'out.mrg'}; left out: 1 with a random span, which is no "
        "constituent\nlicences: Apache-2.0\n"
    )
    write_rows(tmp_path / "apart.parquet", CANDIDATES, rows)
    with pytest.raises(InputError, match="name its corpus folder with --corpus"):
        exported(tmp_path / "apart.parquet", "ptb", tmp_path / "none.mrg")
    exported(tmp_path / "apart.parquet", "ptb", tmp_path / "named.mrg", corpus=tmp_path / "corpus")
    with pytest.raises(InputError, match="no candidate to write as ptb"):
        exported(path, "ptb", tmp_path / "none.mrg", trees_of="parser")
    assert not (tmp_path / "none.mrg").exists()


def test_words_that_brackets_cannot_hold(tmp_path: Path) -> None:
    """Parentheses are escaped; a word that would be read as another is refused."""
    words = ("a", "(", "b", "-LRB-")
    tree = "(S1 (NP (NN a) (-LRB- -LRB-) (NN b) (NN -LRB-)))"
    sentences = [
        Sentence("s/1", "d", "train", words[:3], ("NN", "-LRB-", "NN"), tree.replace(" (NN -LRB-)", ""),
                 (), "CC0-1.0"),
        Sentence("s/2", "d", "train", words, ("NN", "-LRB-", "NN", "NN"), tree, (), "CC0-1.0"),
    ]  # fmt: skip
    write_rows(tmp_path / "corpus/sentences.parquet", SENTENCES, map(sentence_row, sentences))
    out = exported(tmp_path / "corpus", "ptb", tmp_path / "out.mrg")
    assert out.read_text() == "(ROOT (NP (NN a) (-LRB- -LRB-) (NN b)))\n"


def test_a_root_has_one_child(tmp_path: Path) -> None:
    """A treebank's root of several children, at which stanza's trainer would stop, gets one below it."""
    tree = "( (NP (NNP LONDON)) (: --) (S (NP (PRP It)) (VP (VBD rained))))"
    sentence = Sentence(
        "s/1", "d", "train", ("LONDON", "--", "It", "rained"), ("NNP", ":", "PRP", "VBD"), tree, (), "CC0-1.0"
    )  # fmt: skip
    write_rows(tmp_path / "corpus/sentences.parquet", SENTENCES, [sentence_row(sentence)])
    (line,) = exported(tmp_path / "corpus", "ptb", tmp_path / "out.mrg").read_text().splitlines()
    assert line == "(ROOT (FRAG (NP (NNP LONDON)) (: --) (S (NP (PRP It)) (VP (VBD rained)))))"
    (theirs,) = read_treebank(str(tmp_path / "out.mrg"))
    assert len(theirs.children) == 1


def test_raw_text_is_no_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], treebank: Path
) -> None:
    """Of raw text a coordinator is not said to join nothing: such a sentence is left out and counted."""
    raw = [
        Sentence(f"t/{n}", "d", "train", tuple(text.split()), None, None, (), "CC0-1.0")
        for n, text in ((3, "a cat and a dog"), (4, "a cat ran"))
    ]
    rows = map(sentence_row, (PLAIN, NESTED, *raw))
    write_rows(treebank / "sentences.parquet", SENTENCES, rows)
    for form, kept in (("bioes", 3), ("brat", 3), ("spacy", 3), ("ptb", 2)):
        exported(treebank, form, tmp_path / f"out.{form}")
        printed = capsys.readouterr().out
        assert f"{kept} sentences written to" in printed
        assert "left out: 1 with a coordinator in raw text" in printed


def test_the_sentences_of_a_draw(made: Made, tmp_path: Path) -> None:
    """``--labelled`` exports L itself: the sentences that a predictor of this draw learns from."""
    corpus = made[0].parent.parent.parent
    ids = [
        s.sentence_id
        for s in read_sentences(corpus / "sentences.parquet", lambda s: s.split == "train")
    ]
    write_json(corpus / "draws/seed-3/4.json", {"labelled": ids[2:6], "validation": ids[:1]})
    ingested(corpus)
    out = exported(corpus, "jsonl", tmp_path / "l.jsonl", labelled="4", seed=3)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["sentence_id"] for row in rows] == ids[2:6]
    with pytest.raises(InputError, match="run `conjoin ingest` with --labelled 5 --seeds 3"):
        exported(corpus, "jsonl", tmp_path / "none.jsonl", labelled="5", seed=3)


def test_bioes_labels_conjuncts_and_coordinator(made: Made, tmp_path: Path) -> None:
    """B, I, E or S of the label for a conjunct, S-CC for the coordinator, O for all else."""
    place, candidates = made
    text = exported(place, "bioes", tmp_path / "out.bioes").read_text("utf-8")
    head, *blocks = text.strip("\n").split("\n\n")
    assert head == "-DOCSTART-\tO"
    for block, each in zip(blocks, candidates, strict=True):
        words, labels = zip(*(line.split("\t") for line in block.split("\n")), strict=True)
        assert words == each.words
        wanted = ["O"] * len(words)
        wanted[each.coordinator] = "S-CC"
        for span in each.conjuncts:
            for place_ in range(span.start, span.end):
                wanted[place_] = f"I-{each.label}"
            wanted[span.start], wanted[span.end - 1] = f"B-{each.label}", f"E-{each.label}"
            if len(span) == 1:
                wanted[span.start] = f"S-{each.label}"
        assert list(labels) == wanted


def test_standard_output_has_the_result_alone(
    made: Made, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line there is a row; the count and the warnings go to standard error."""
    place, candidates = made
    monkeypatch.setattr(sys, "stdout", open(1, "w", closefd=False))  # noqa: SIM115 - as a program's
    exported(place, "jsonl", Path("-"), limit=3)
    said = capfdbinary.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["candidate_id"] for row in rows] == [c.candidate_id for c in candidates[:3]]
    assert b"3 candidates written to standard output" in said.err
    exported(place, "conllu", Path("-"), limit=1)
    assert b"warning: CoNLL-U here has no dependencies" in capfdbinary.readouterr().err


NESTED = Sentence(
    "t/1", "d", "dev", ("a", "or", "b", "and", "c", "ran"), ("NN", "CC", "NN", "CC", "NN", "VBD"),
    "(S1 (S (NP (NP (NP (NN a)) (CC or) (NP (NN b))) (CC and) (NP (NN c))) (VP (VBD ran))))",
    (Coordination(1, "or", "NP", (Span(0, 1), Span(2, 3))),
     Coordination(3, "and", "NP", (Span(0, 3), Span(4, 5)))), "CC0-1.0",
)  # fmt: skip
PLAIN = Sentence(
    "t/2", "d", "train", ("me",), ("PRP",), "(S1 (NP (PRP me)))", (), "CC0-1.0"
)  # fmt: skip


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    """A corpus folder with a sentence of two structures, one in the other, and one without any."""
    rows = map(sentence_row, (PLAIN, NESTED))
    write_rows(tmp_path / "bank/sentences.parquet", SENTENCES, rows)
    return tmp_path / "bank"


def test_a_treebank_is_exported_with_its_gold(treebank: Path, tmp_path: Path) -> None:
    """Every format takes the sentences, all structures of each, and one split if it is asked for."""
    ptb = exported(treebank, "ptb", tmp_path / "b.mrg").read_text().splitlines()
    assert ptb[0] == "(ROOT (NP (PRP me)))"
    dev = exported(treebank, "ptb", tmp_path / "dev.mrg", split="dev").read_text().splitlines()
    assert dev == ptb[1:]
    out = exported(treebank, "ptb-ext", tmp_path / "b.ext")
    layout = Layout(skip=0, train=2, dev=0, test=0)
    back = list(read_ptb_ext(out, Tally(), license_="CC0-1.0", layout=layout))
    assert [s.coordinations for s in back] == [(), NESTED.coordinations]
    bioes = exported(treebank, "bioes", tmp_path / "b.bioes", split="dev").read_text()
    assert bioes.split("\n\n")[1].split("\n") == [
        "a\tS-NP\tB-NP", "or\tS-CC\tI-NP", "b\tS-NP\tE-NP", "and\tO\tS-CC", "c\tO\tS-NP", "ran\tO\tO"
    ]  # fmt: skip
    conllu = (
        exported(treebank, "conllu", tmp_path / "b.conllu", split="dev").read_text().split("\n")
    )
    assert "2\tor\t_\t_\tCC\t_\t1\tdep\t_\tCoord=1-3|CoordConjuncts=1-1,3-3|CoordLabel=NP" in conllu
    row = json.loads(exported(treebank, "jsonl", tmp_path / "b.jsonl").read_text().splitlines()[1])
    assert row["coordinations"][0]["conjuncts"] == [[0, 1], [2, 3]]
    assert row["tree"] == NESTED.tree
    brat = exported(treebank, "brat", tmp_path / "brat") / "candidates-00000.ann"
    events = [line for line in brat.read_text().splitlines() if line.startswith("E")]
    assert events == [
        "E1\tCoordination:T1 Conjunct:T2 Conjunct2:T3", "E2\tCoordination:T4 Conjunct:T5 Conjunct2:T6"
    ]  # fmt: skip


def test_options_that_do_not_go_together(made: Made, treebank: Path, tmp_path: Path) -> None:
    """Candidates have no splits, sentences no other trees than their own; a split may be empty."""
    for place, form, more, remedy in (
        (made[0], "jsonl", {"split": "dev"}, "leave --split out"),
        (made[0], "jsonl", {"labelled": "250"}, "leave --labelled out"),
        (
            made[0],
            "conllu",
            {"trees_of": "parser"},
            "other formats have none; leave --trees-of out",
        ),
        (treebank, "ptb", {"trees_of": "parser"}, "have their own; leave --trees-of out"),
        (treebank, "ptb", {"labelled": "250", "split": "dev"}, "leave --split or --labelled out"),
    ):
        with pytest.raises(SettingsError, match=remedy):
            exported(place, form, tmp_path / "o", **more)
    with pytest.raises(InputError, match="no sentence to write as ptb"):
        exported(treebank, "ptb", tmp_path / "o", split="test")


def test_spacy_loads_the_documents(made: Made, treebank: Path, tmp_path: Path) -> None:
    """SpaCy's own reader finds words, spaces, sentence, and the spans of every structure."""
    import spacy  # noqa: PLC0415 - an extra of the package, of which the tests have all
    from spacy.tokens import DocBin  # noqa: PLC0415 - an optional extra

    place, candidates = made
    vocabulary = spacy.blank("en").vocab
    out = exported(place, "spacy", tmp_path / "made.spacy")
    docs = list(DocBin().from_disk(out).get_docs(vocabulary))
    for doc, each in zip(docs, candidates, strict=True):
        assert [token.text for token in doc] == list(each.words)
        assert len(list(doc.sents)) == 1
        spans = [(s.start, s.end, s.label_) for s in doc.spans["sc"]]
        assert spans == [(s.start, s.end, each.label) for s in each.conjuncts]
        assert [s.start for s in doc.spans["coordinators"]] == [each.coordinator]
        assert doc.user_data["id"] == each.candidate_id
    (doc,) = DocBin().from_disk(
        exported(treebank, "spacy", out, split="dev", overwrite=True)
    ).get_docs(vocabulary)  # fmt: skip
    assert [(s.start, s.end, s.id_) for s in doc.spans["coordinations"]] == [
        (0, 3, "1"),
        (0, 5, "2"),
    ]
    assert [token.tag_ for token in doc] == list(NESTED.tags or ())
    (tmp_path / "other.spacy").write_text("mine")
    with pytest.raises(InputError, match="no earlier output"):
        exported(treebank, "spacy", tmp_path / "other.spacy")


def test_without_spacy_one_line_says_so(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install stands in the message, and nothing is written."""
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match=r"spaCy is not installed; install the extra: pip install"):
        exported(treebank, "spacy", tmp_path / "o.spacy")
    assert not (tmp_path / "o.spacy").exists()
    assert spacy_docs.CONJUNCTS == "sc"  # what spancat looks for by default
