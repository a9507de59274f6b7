"""Donors whose head has the reference's part of speech and features (`--match features`)."""

import re
import shutil
from pathlib import Path

import pytest
from transformers import AutoTokenizer
from treebank import conllu, tree

from pipeline.core.corpus_folder import DEPENDENCIES_FILE, TreeRows, find_trees, trees_folder
from pipeline.core.errors import InputError
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import DEPENDENCIES, read_candidates
from pipeline.core.types import Reference, Span
from pipeline.corpus.dependency_rows import every_tree
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run
from pipeline.infill.attested_fills import parsed_inputs, pool_of
from pipeline.infill.pool_building import NO_DEPENDENCIES, NO_FEATURES
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.text.agreement import agreement, agreement_marks
from pipeline.text.dependencies import tree_in

NOUNS = ("Hund", "Mann", "Sohn", "Baum", "Berg", "Fisch", "Vogel", "Stern", "Wald", "Turm")
CASES = {"Nom": "der", "Acc": "den", "Dat": "dem"}


def sentence(number: int) -> str:
    """The dog sees the man today with the son, in the garden; every sentence has other nouns."""
    one, two, three, four = (NOUNS[(number * step + step) % len(NOUNS)] for step in (1, 2, 3, 5))
    return conllu(
        f"s{number}", "der der DET 2 det Case=Nom", f"{one} {one} NOUN 3 nsubj Case=Nom|Gender=Masc",
        "sieht sehen VERB 0 root Mood=Ind|Number=Sing|VerbForm=Fin", "heute heute ADV 3 advmod",
        "den der DET 6 det Case=Acc", f"{two} {two} NOUN 3 obj Case=Acc|Number=Sing",
        "mit mit ADP 9 case", "dem der DET 9 det Case=Dat", f"{three} {three} NOUN 3 obl Case=Dat",
        "bei bei ADP 12 case", "dem der DET 12 det Case=Dat", f"{four} {four} NOUN 3 obl Case=Dat",
        ". . PUNCT 3 punct",
    )  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A treebank in which case tells a subject from an object, with the trees of U."""
    source, out = tmp_path_factory.mktemp("ud"), tmp_path_factory.mktemp("data") / "de"
    joined = conllu(
        "c", "Hund Hund NOUN 4 nsubj", "und und CCONJ 3 cc", "Mann Mann NOUN 1 conj",
        "singen singen VERB 0 root", ". . PUNCT 4 punct",
    )  # fmt: skip
    again = [joined.replace("= c", f"= c{number}") for number in range(8)]
    text = "".join([*map(sentence, range(20)), *again])
    (source / "de-ud-train.conllu").write_text(text)
    given = {"reader": "conllu", "source": source, "out": out, "name": "de", "labelled": ["full"]}
    ingest.run(IngestSettings.build({**given, "license": "CC-BY-SA-4.0", "validation": 1}, None))
    preparse.run(PreparseSettings(corpus=out, parser="treebank"))
    shutil.copytree(tiny_bert, out / "models/bert")
    return out


def test_a_head_is_the_word_whose_own_head_is_outside() -> None:
    """Found from marks alone as from the tree; a noun's number is nothing to agree in."""
    whole = tree(sentence(0))
    marks = agreement_marks(whole)
    assert marks[5] == "-3 obj NOUN Case=Acc"
    assert marks[2] == "0 root VERB Mood=Ind Number=Sing VerbForm=Fin"
    assert marks[3] == "-1 advmod ADV"
    for start, end, head in ((0, 2, 1), (4, 6, 5), (6, 9, 8), (0, 13, 2), (2, 13, 2), (3, 4, 3)):
        assert agreement("X", marks[start:end]) == marks[head].split(" ", 2)[2]


@pytest.mark.parametrize(
    ("label", "one", "other", "alike"),
    [
        ("VP", "has/Fin:aux seen/Part", "seen/Part", False),
        ("VP", "has/Fin:aux seen/Part", "can/Fin:aux sing/Inf", True),
        ("VP", "to/:mark sing/Inf", "can/Fin:aux sing/Inf", False),
        ("VP", "to/:mark sing/Inf", "sing/Inf", False),
        ("VP", "to/:mark sing/Inf", "to/:mark go/Inf", True),
        ("VP", "is/Fin:cop doctor/NOUN", "to/:mark be/Inf:cop doctor/NOUN", False),
        ("VP", "is/Fin:cop doctor/NOUN", "was/Fin:cop friend/NOUN", True),
        ("NP", "doctor/NOUN", "is/Fin:cop doctor/NOUN", False),
    ],
)
def test_auxiliaries_copulas_and_marks_make_the_form(
    label: str, one: str, other: str, alike: bool
) -> None:
    """Of a verb phrase the first verb has the form, as ``--match head`` takes it, and *to* is heard."""

    def own(text: str) -> str:
        words = text.split()
        rows = []
        for word in words:
            form, _, kind = word.partition("/")
            kind, _, relation = kind.partition(":")
            upos, feats = ("NOUN", "_") if kind == "NOUN" else ("VERB", f"VerbForm={kind}")
            head = 0 if word is words[-1] else len(words)
            rows.append(f"{form} {form} {upos} {head} {relation or 'root'} {feats}")
        return agreement(label, agreement_marks(tree(conllu("x", *rows))))

    assert (own(one) == own(other)) is alike


def test_clauses_have_subjects_of_their_own() -> None:
    """Their verbs need not agree in person and number, which those of verb phrases must."""
    plural, singular = (
        agreement_marks(tree(conllu("x", f"x x VERB 0 root Number={each}|VerbForm=Fin")))
        for each in ("Plur", "Sing")
    )
    assert agreement("S", plural) == agreement("S", singular) == "VERB VerbForm=Fin"
    assert agreement("VP", plural) != agreement("VP", singular)


def test_donors_agree(corpus: Path) -> None:
    """Every donor's head has the case of the reference's; without it some have not."""

    def cases(match: str) -> list[tuple[str, str]]:
        out = corpus / f"candidates/{match}"
        run(GenerateSettings.build({
            "corpus": corpus, "out": out, "lm": "bert", "model": str(corpus / "models/bert"),
            "fills": "attested", "match": match, "references": 3,
        }, None))  # fmt: skip
        marks = {name: agreement_marks(tree_in(rows, name)) for name, rows in every_tree(corpus)}
        found = []
        for shard in sorted(out.glob("candidates-*.parquet")):
            for each in read_candidates(shard):
                assert each.donor is not None
                donor = marks[each.donor.sentence_id][each.donor.start : each.donor.end]
                own = marks[each.sentence_id][each.reference.start : each.reference.end]
                found.append((agreement(each.label, own), agreement(each.label, donor)))
        return found

    same = cases("features")
    assert len(same) > 20
    assert all(own == donor for own, donor in same)
    assert {own for own, _ in same} >= {"NOUN Case=Nom", "NOUN Case=Dat"}
    assert any(own != donor for own, donor in cases("label"))


def test_without_dependency_trees_it_is_refused(tmp_path: Path, tiny_bert: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    with pytest.raises(
        InputError, match=r"no dependency trees .* --match features .* ingest conllu"
    ):
        pool_of(tmp_path, TreeRows((), ()), {}, tokenizer, match="features")


def test_a_sentence_without_a_tree_offers_nothing_and_gets_nothing(
    corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    """Its constituents are counted; a reference there finds no donor."""
    half = shutil.copytree(corpus, tmp_path / "de")
    kept = [
        row
        for row in read_rows(half / DEPENDENCIES_FILE, DEPENDENCIES)
        if "s1" in row["sentence_id"]
    ]
    write_rows(half / DEPENDENCIES_FILE, DEPENDENCIES, kept)
    trees = find_trees(trees_folder(half), half / "sentences.parquet")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    pool = pool_of(half, trees, parsed_inputs(half), tokenizer, match="features")
    assert pool.left_out[NO_DEPENDENCIES] > 0
    assert NO_FEATURES not in pool.left_out
    for (source, _), found in zip(trees.read(range(2)), (False, True), strict=True):
        place = Span(4, 6)
        reference = Reference(source.sentence_id, source.words, place, "NP", "CC0-1.0")
        assert (pool.draw(reference, lambda lengths: [range(99)], 3, 0) is not None) is found


def test_sentences_without_features_are_counted(
    corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    """A parser of text may write none; then the part of speech alone is matched."""
    bare = shutil.copytree(corpus, tmp_path / "de")
    rows = [
        {**row, "rows": re.sub(r"(Case|Mood)=[^\t]*", "_", row["rows"])}
        for row in read_rows(bare / DEPENDENCIES_FILE, DEPENDENCIES)
    ]
    write_rows(bare / DEPENDENCIES_FILE, DEPENDENCIES, rows)
    trees = find_trees(trees_folder(bare), bare / "sentences.parquet")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    pool = pool_of(bare, trees, parsed_inputs(bare), tokenizer, match="features")
    assert pool.left_out[NO_FEATURES] == len(trees)
