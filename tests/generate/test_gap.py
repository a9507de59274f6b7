"""`generate --gap`: the second of two clauses lacks its verb, and everybody who reads the rows knows it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from shared_corpora import without
from tiny import ingested

from pipeline.core.errors import ConjoinError, InputError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_candidates, sentence_row
from pipeline.core.types import Candidate, Sentence
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.text.trees import leaves, one_line, parse_tree

UNSCORED: dict[str, Any] = {"score": None, "score_append": None, "score_prepend": None}

CLAUSES = (
    ("the man", "saw", "(NP (DT a) (NN dog))"),
    ("the woman", "may see", "(NP (DT the) (NN lamp))"),
    ("the man", "went", "(PP (TO to) (NP (DT the) (NN harbor)))"),
    ("a dog", "saw", "(NP (DT the) (NN harbor))"),
    ("a woman", "sat", "(PP (IN near) (NP (DT a) (NN lamp)))"),
)


def sentence(number: int) -> Sentence:
    """He said that (a clause) yesterday."""
    subject, verbs, rest = CLAUSES[number % len(CLAUSES)]
    first, second = subject.split()
    *modal, verb = verbs.split()
    phrase = f"(VP (VB{'' if modal else 'D'} {verb}) {rest})"
    if modal:
        phrase = f"(VP (MD {modal[0]}) {phrase})"
    clause = f"(S (NP (DT {first}) (NN {second})) {phrase})"
    tree = f"(S1 (S (NP (PRP he)) (VP (VBD said) (SBAR (IN that) {clause})) (NP (NN yesterday)) (. .)))"
    words = tuple(leaves(parse_tree(tree)))
    return Sentence(f"c/{number:02d}", "d", "train", words, None, tree, (), "CC0-1.0")


def corpus_of(folder: Path, sentences: list[Sentence], write_trees: Callable[..., None]) -> Path:
    """A corpus folder of sentences with parsed trees."""
    write_trees(folder, sentences, size=7)
    path = folder / "sentences.parquet"
    write_rows(path, SENTENCES, map(sentence_row, sentences))
    manifest = json.loads((folder / "trees/manifest.json").read_text())
    write_json(
        folder / "trees/manifest.json", manifest | {"inputs": {"sentences": sha256_of(path)}}
    )
    return ingested(folder)


@pytest.fixture(scope="module")
def corpus(
    tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, tiny_t5: Path,
    write_trees: Callable[..., None],
) -> Path:  # fmt: skip
    """Fifteen sentences with a clause each."""
    folder = tmp_path_factory.mktemp("gap")
    (folder / "models").mkdir()
    (folder / "models/bert").symlink_to(tiny_bert)
    (folder / "models/t5").symlink_to(tiny_t5)
    return corpus_of(folder, [sentence(number) for number in range(15)], write_trees)


def settings(corpus: Path, **more: object) -> GenerateSettings:
    given = {"corpus": corpus, "lm": "bert", "fills": "attested", "gap": True, "unit": 4, **more}
    return GenerateSettings.model_validate(given)


@pytest.fixture(scope="module")
def made(corpus: Path) -> Path:
    """The folder of a run."""
    run(settings(corpus))
    return default_out(settings(corpus))


def rows_of(out: Path, kind: str = "candidates") -> list[Candidate]:
    return [c for path in sorted(out.glob(f"{kind}-*.parquet")) for c in read_candidates(path)]


def test_the_second_clause_lacks_its_verb(corpus: Path, made: Path) -> None:
    """Its words are the donor's without the verbs, what stays is as in the first, and the gap is recorded."""
    rows = rows_of(made)
    assert made.parent.name == "attested-bert-sync-gap"
    assert len(rows) >= 5
    known = {f"c/{n:02d}": sentence(n).words for n in range(15)}
    for row in rows:
        assert row.donor is not None
        assert row.gap is not None
        words, last = known[row.donor.sentence_id], row.conjuncts[-1]
        verbs = words[row.gap.start : row.gap.end]
        whole = (*row.words[last.start : row.gap.at], *verbs, *row.words[row.gap.at : last.end])
        assert whole == words[row.donor.start : row.donor.end]
        assert verbs in {("saw",), ("may", "see"), ("went",), ("sat",)}
        own = row.words[row.conjuncts[0].start : row.conjuncts[0].end]
        to_place = {"to", "near"}
        assert to_place.isdisjoint(own) == to_place.isdisjoint(row.words[last.start : last.end])
        assert row.label == "S"
    refused = rows_of(made, "rejects")
    assert refused
    for row in refused:  # "the man saw a dog and the man the harbor"
        subjects = (row.words[span.start : span.start + 2] for span in row.conjuncts)
        assert len(set(subjects)) == 1


def test_equal_in_any_number_of_units_and_with_any_model(corpus: Path, made: Path) -> None:
    """Units change nothing, T5 ranks as well, and without --gap rows have no gap."""
    again, other, whole = (
        corpus / "candidates" / name / "seed-0" for name in ("again", "t5", "whole")
    )
    run(settings(corpus, unit=100, out=again))
    pairs = list(zip(rows_of(again), rows_of(made), strict=True))
    assert [replace(one, **UNSCORED) for one, _ in pairs] == [
        replace(o, **UNSCORED) for _, o in pairs
    ]
    # Batches of other shapes may round sums otherwise.
    for name in UNSCORED:
        here, there = ([getattr(row, name) for row in rows] for rows in zip(*pairs, strict=True))
        assert here == pytest.approx(there)
    run(settings(corpus, lm="t5", out=other))
    assert all(row.gap for row in rows_of(other))
    run(settings(corpus, gap=False, out=whole))
    assert rows_of(whole)
    assert all(row.gap is None for row in rows_of(whole))


def test_shared_without_the_donors_words_and_put_back(
    corpus: Path, made: Path, tmp_path: Path
) -> None:
    """A release, its stand-off form and what is rebuilt of it have the same rows."""
    for name, stand_off in (("full", False), ("bare", True)):
        release.run(ReleaseSettings(candidates=made, out=tmp_path / name, stand_off=stand_off))
        validate.run(ValidateSettings(place=tmp_path / name))
    rehydrate.run(
        RehydrateSettings(release=tmp_path / "bare", source=corpus, out=tmp_path / "again")
    )
    validate.run(ValidateSettings(place=tmp_path / "again"))
    first, second = (
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("full", "again")
    )
    assert first["digests"] == second["digests"]


def test_exports_carry_the_gap(made: Path, tmp_path: Path) -> None:
    """As a field, as a comment, and as a tree of the words that are there."""
    for format_ in ("jsonl", "conllu", "ptb"):
        export.run(ExportSettings(place=made, format=format_, out=tmp_path / f"x.{format_}"))
    rows = {row.candidate_id: row for row in rows_of(made)}
    for line in (tmp_path / "x.jsonl").read_text().splitlines():
        fields = json.loads(line)
        gap = rows[fields["candidate_id"]].gap
        assert gap is not None
        assert fields["gap"] == {"at": gap.at, "donor_span": [gap.start, gap.end]}
    places = [row.gap.at + 1 for row in rows.values() if row.gap]
    text = (tmp_path / "x.conllu").read_text()
    assert [f"# gap_before_word = {at}" in text for at in places] == [True] * len(places)
    trees = [parse_tree(line) for line in (tmp_path / "x.ptb").read_text().splitlines()]
    # Donors that differ in the verb alone, which is lacking, give one tree.
    words = dict.fromkeys(row.words for row in rows.values())
    assert [tuple(leaves(tree)) for tree in trees] == list(words)
    assert "(CC and) (S (NP (DT the) (NN man)) (VP (NP (DT a) (NN dog))))" in one_line(trees[-1])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"at": 0}, "gap outside its conjunct"),
        ({"start": 5, "end": 5}, "gap outside its conjunct"),
        (None, "donor differs from its conjunct"),
    ],
)
def test_a_wrong_gap_is_found(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    change: dict[str, int] | None, kind: str,
) -> None:  # fmt: skip
    """Another place, no words, none at all: `validate` says so."""
    folder = tmp_path / "x"
    shutil.copytree(made, folder)
    path = next(p for p in sorted(folder.glob("candidates-*.parquet")) if list(read_candidates(p)))
    table = pq.read_table(path, partitioning=None)
    rows: list[dict[str, Any]] = table.to_pylist()
    rows[0]["gap"] = change and rows[0]["gap"] | change
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=folder, json_=True))
    printed = capsys.readouterr().out
    assert kind in printed


def test_a_donor_with_other_words_is_found(
    corpus: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both parts of a gapped conjunct are held against the corpus."""
    folder = corpus / "candidates/changed/seed-0"
    shutil.copytree(made, folder)
    path = next(p for p in sorted(folder.glob("candidates-*.parquet")) if list(read_candidates(p)))
    table = pq.read_table(path, partitioning=None)
    rows: list[dict[str, Any]] = table.to_pylist()
    rows[0]["words"][rows[0]["conjuncts"][-1]["end"] - 1] = "moon"
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=folder, json_=True))
    assert "donor differs from the corpus" in capsys.readouterr().out


def test_files_of_before_are_read(made: Path, tmp_path: Path) -> None:
    """Without the column no row has a gap."""
    shutil.copytree(made, tmp_path / "x")
    for path in (tmp_path / "x").glob("*.parquet"):
        without(path, "gap")
    assert {row.gap for row in rows_of(tmp_path / "x")} == {None}


@pytest.mark.parametrize(
    "given",
    [
        {"fills": "free"},
        {"spans": "random"},
        {"spans": "given"},
        {"arity": "like-L", "labelled": 5},
    ],
)
def test_settings_that_do_not_go_with_a_gap(corpus: Path, given: dict[str, object]) -> None:
    """One line each."""
    with pytest.raises(ConjoinError, match=r"gap|random spans|given|draw"):
        run(settings(corpus, **given, out=corpus / "candidates/none/seed-0"))


def test_trees_without_parts_of_speech_are_named(
    tmp_path: Path, tiny_bert: Path, write_trees: Callable[..., None]
) -> None:
    """There is no verb to be found in them."""
    untagged = []
    for number in range(5):
        tree = parse_tree(sentence(number).tree or "")
        for place in tree.treepositions("leaves"):
            tree[place[:-1]].set_label("XX")
        untagged.append(replace(sentence(number), tree=one_line(tree)))
    (tmp_path / "models").mkdir()
    (tmp_path / "models/bert").symlink_to(tiny_bert)
    with pytest.raises(InputError, match=r"no clause .* parts of speech"):
        run(settings(corpus_of(tmp_path, untagged, write_trees)))
