"""``select --apart`` and ``validate --apart``: what says what a held-out sentence says is refused."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from planted import HELD_OUT, candidate, sentence, write_candidates, write_corpus
from rapidfuzz.distance import LCSseq

from pipeline.core.errors import InputError, SettingsError
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import read_accepted, read_rejects
from pipeline.select.leakage import COPIED, SAME_HEADS
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.text.heads import content_word
from pipeline.text.overlap import NearRepeats, needed

Row = dict[str, Any]

PLANTED: dict[str, tuple[Row, str | None]] = {
    "one word changed": (
        candidate(HELD_OUT.replace("door", "harbor"), 9, [(3, 9), (10, 12)]), COPIED),
    "conjuncts in another order": (
        candidate("The clerk kept a letter and the old lamp of the town in the red box near the door .",
                  5, [(3, 5), (6, 12)]), COPIED),
    "words put in, and in another order": (
        candidate("Here the clerk has kept the old lamp of the town and a letter and the dog near "
                  "the door in the red box .", 11, [(5, 11), (12, 14)]), COPIED),
    "the same heads": (
        candidate("Nobody saw a red lamp and the letter with my radio", 5, [(2, 5), (6, 8)]), SAME_HEADS),
    "the same heads, turned round": (
        candidate("Nobody saw the letter and a red lamp with my radio", 4, [(2, 4), (5, 8)]), SAME_HEADS),
    "the same heads, another label": (
        candidate("Nobody saw a red lamp and the letter with that radio", 5, [(2, 5), (6, 8)],
                  label="PP"), None),
    "one head the same": (
        candidate("Nobody saw a red lamp and the clock with my radio", 5, [(2, 5), (6, 8)]), None),
    "innocent": (
        candidate("My brother sold a boat and a clock near the river of our town .", 5,
                  [(3, 5), (6, 8)]), None),
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("apart") / "toy"
    write_corpus(
        folder,
        [
            sentence("toy/dev", "dev", HELD_OUT, (9, "NP", [(3, 9), (10, 12)])),
            sentence("toy/short", "dev", "The dog and cat ."),
            sentence("toy/test", "test", "Nobody has opened the old harbor with a boat and a clock",
                     (9, "NP", [(7, 9), (10, 12)])),
            sentence("toy/t", "train", "Nobody was in town"),
        ],
        ["toy/t"],
    )  # fmt: skip
    write_candidates(folder / "rows.parquet", [row for row, _ in PLANTED.values()])
    return folder


def reasons(out: Path) -> dict[str, str]:
    rows = (row for batch in read_rejects(find_shards(out)) for row in batch.to_pylist())
    return {row["candidate_id"]: row["reason"] for row in rows}


def test_planted_rows_are_refused_with_their_reasons(corpus: Path, tmp_path: Path) -> None:
    """Copies and equal heads are, whichever way round; what shares only a head or other heads is not."""
    run(SelectSettings(places=[corpus / "rows.parquet"], out=tmp_path / "out", apart=["dev"]))
    found = reasons(tmp_path / "out")
    refused = {name: found.get(row["candidate_id"]) for name, (row, _) in PLANTED.items()}
    assert refused == {name: why for name, (_, why) in PLANTED.items()}
    kept = [row["candidate_id"] for batch in read_accepted(find_shards(tmp_path / "out"))
            for row in batch.to_pylist()]  # fmt: skip
    assert kept == [row["candidate_id"] for row, why in PLANTED.values() if why is None]


def test_only_the_splits_that_are_named_count(corpus: Path, tmp_path: Path) -> None:
    """The test sentence's heads are those of the innocent row, which dev does not know."""
    rows = corpus / "rows.parquet"
    run(SelectSettings(places=[rows], out=tmp_path / "out", apart=["test"], corpus=corpus))
    row, _ = PLANTED["innocent"]
    assert reasons(tmp_path / "out") == {row["candidate_id"]: SAME_HEADS}


def test_validate_reports_the_same(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of anybody's rows, with the held-out sentence and what they have in common."""
    rows = corpus / "rows.parquet"
    run(SelectSettings(places=[rows], out=tmp_path / "out", apart=["dev"]))
    capsys.readouterr()
    for place, wrong in ((rows, True), (tmp_path / "out", False)):
        asked = ValidateSettings(place=place, apart=["dev"], corpus=corpus, json_=True, examples=9)
        with suppress(SystemExit):  # these rows are of no generation
            validate.run(asked)
        violations = json.loads(capsys.readouterr().out)["violations"]
        found = {kind: violations[kind] for kind in (COPIED, SAME_HEADS) if kind in violations}
        if not wrong:
            assert not found
            continue
        ids = {kind: {each["candidate_id"] for each in found[kind]["examples"]} for kind in found}
        for name, (row, why) in PLANTED.items():
            assert {kind for kind in ids if row["candidate_id"] in ids[kind]} == {why} - {None}, (
                name
            )
        assert any("toy/dev" in each["what"] for each in found[COPIED]["examples"])


def test_the_index_misses_nothing() -> None:
    """Of sentences changed at random, the same are found as by comparing all with all."""
    random = Random(1)
    words = [f"w{number}" for number in range(40)]
    held = [random.choices(words, k=random.randint(1, 20)) for _ in range(60)]
    overlap, near = NearRepeats(held), 0
    for _ in range(600):
        text = list(random.choice(held))
        for _ in range(random.randint(0, 6)):
            place = random.randrange(len(text) + 1)
            text[place : place + random.randint(0, 1)] = random.choices([*words, "new"], k=1)
        expected = next(
            ((number, LCSseq.similarity(text, each)) for number, each in enumerate(held)
             if LCSseq.similarity(text, each) >= needed(len(text), len(each))), None,
        )  # fmt: skip
        assert overlap.find(text) == expected
        near += expected is not None
    assert 100 < near < 500


def test_short_sentences_are_only_repeated_by_short_ones() -> None:
    """Four words of five meet by chance in a long sentence; in one of five they are a copy."""
    overlap = NearRepeats([["The", "dog", "saw", "it", "."]])
    assert overlap.find(["the", "dog", "saw", "it", "."]) == (0, 5)
    assert overlap.find(["the", "dog", "saw", "him", "."]) == (0, 4)
    assert (
        overlap.find(
            ["the", "old", "dog", "of", "our", "town", "saw", "that", "it", "was", "near", "."]
        )
        is None
    )


@pytest.mark.parametrize(
    ("label", "text", "tags", "word"),
    [
        ("NP", "the old Lamp of the town", "DT JJ NN IN DT NN", "lamp"),
        ("NP", "both of them", "DT IN PRP", "them"),
        ("VP", "has not been sold quickly", "VBZ RB VBN VBN RB", "sold"),
        ("VP", "was a dog of ours", "VBD DT NN IN PRP", "dog"),
        ("S", "the clerk kept lamps", "DT NN VBD NNS", "kept"),
        ("SBAR", "that it rained", "IN PRP VBD", "rained"),
        ("PP", "with the letter", "IN DT NN", "letter"),
        ("PP", "of", "IN", "of"),
        ("ADJP", "very red", "RB JJ", "red"),
        ("ADVP", "very quickly", "RB RB", "quickly"),
        ("VP", "is", "VBZ", "is"),
        ("VP", "is important in cells", "VBZ JJ IN NNS", "important"),
        ("NP", "those who like dogs", "DT WP VBP NNS", "those"),
        ("NP", "the clerk who kept lamps", "DT NN WP VBD NNS", "clerk"),
        ("NP", "five of the lamps", "CD IN DT NNS", "lamps"),
    ],
)
def test_content_words(label: str, text: str, tags: str, word: str) -> None:
    """What a constituent is about: no auxiliary, no preposition."""
    assert content_word(label, text.split(), tags.split()) == word


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"apart": ["tset"]}, SettingsError, "'tset' is none, did you mean 'test'.*dev, test, test2"),
        ({"apart": ["train"]}, SettingsError, "'train' is none"),
        ({"apart": ["dev,test2"]}, InputError, "no sentence of split test2.*there are: dev, test"),
        ({"corpus": "data/toy"}, SettingsError, "corpus needs the splits.*--apart dev,test"),
        ({"apart": ["dev"], "corpus": "nowhere"}, InputError, "no corpus here"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_apart_is_one_line(
    given: dict[str, Any], error: type[Exception], why: str, corpus: Path, tmp_path: Path
) -> None:
    """For both commands, before any row is read; select writes nothing."""
    rows = corpus / "rows.parquet"
    with pytest.raises(error, match=why):
        run(SelectSettings.build({"places": [rows], "out": tmp_path / "out", **given}, None))
    assert not (tmp_path / "out").exists()
    with pytest.raises(error, match=why):
        validate.run(ValidateSettings.build({"place": rows, **given}, None))


def test_rows_outside_a_corpus_need_its_name(corpus: Path, tmp_path: Path) -> None:
    """Select and validate say which option has it."""
    rows = write_candidates(tmp_path / "rows.parquet", [row for row, _ in PLANTED.values()])
    with pytest.raises(InputError, match="--corpus"):
        run(SelectSettings(places=[rows], out=tmp_path / "out", apart=["dev"]))
    with pytest.raises(InputError, match="--corpus"):
        validate.run(ValidateSettings(place=rows, apart=["dev"]))
