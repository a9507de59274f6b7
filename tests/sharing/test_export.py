"""``conjoin export``: what other tools read is what the corpus holds, also where words are awkward."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from damaged import identified, make_release
from shared_corpora import candidate_folder

from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Span
from pipeline.ingest.readers.ptb_ext import Layout, read_ptb_ext
from pipeline.sharing.export import command as export
from pipeline.sharing.export.formats import FORMATS
from pipeline.sharing.export.items import Items
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.columns import natural_columns
from pipeline.text.lines import open_lines
from pipeline.text.natural import join_words
from pipeline.trying.predict.sentences import format_of, read_sentences

AWKWARD = [
    "(", ")", "[", "]", "{", "}", "/", "\\/", "1/2", "*", "``", "''", '"', "#", "_", "a|b", "x=y", "é",
    "日本", "🙂", "e\u0301", "-LSB", "\\a", "--", "*T*-1",
]  # fmt: skip
"""Words that brackets, tabs, attributes or offsets may stumble over."""


def row(number: int, words: Sequence[str], label: str = "NP") -> dict[str, Any]:
    """A candidate ``[word word] and [word]`` from the third word on, as a harvest has it."""
    spans = [{"start": 2, "end": 4}, {"start": 5, "end": 6}]
    return identified({
        "sentence_id": f"s/{number}", "coordinator": 4, "words": [*words[:4], "and", *words[4:]],
        "conjuncts": spans, "label": label, "reference": spans[0], "fill": join_words([words[4]]).text,
        "score": None, "score_append": None, "score_prepend": None, "license": "CC0-1.0",
    })  # fmt: skip


@pytest.fixture
def awkward(tmp_path: Path) -> Path:
    """A file in which each awkward word stands before, in and behind conjuncts."""
    turns = [[*AWKWARD[n:], *AWKWARD[:n]][:8] for n in range(len(AWKWARD))]
    rows = [row(n, words, ("NP", "X")[n % 2]) for n, words in enumerate(turns)]
    write_rows(tmp_path / "awkward.parquet", CANDIDATES, rows)
    return tmp_path / "awkward.parquet"


def exported(place: Path, form: Any, out: Path, **more: Any) -> Path:
    export.run(ExportSettings(place=place, format=form, out=out, **more))
    return out


def written(folder: Path, form: Any, rows: list[dict[str, Any]]) -> Tally:
    """What a form keeps of rows that are not asked whether they are valid."""
    tally = Tally()
    write_rows(folder / "in.parquet", CANDIDATES, rows)
    settings = ExportSettings(place=folder / "in.parquet", format=form, out=folder / "out")
    if FORMATS[form].folder:
        (folder / "out").mkdir()
    with Items(settings, trees=False) as items:
        FORMATS[form].write(folder / "out", items, tally)
    return tally


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [dict(each) for each in pq.read_table(path).to_pylist()]


def structure(each: dict[str, Any]) -> Coordination:
    spans = tuple(Span(**span) for span in each["conjuncts"])
    return Coordination(
        each["coordinator"], each["words"][each["coordinator"]], each["label"], spans
    )


def test_ptb_ext_comes_back_through_the_reader(awkward: Path) -> None:
    """The project's own reader of PTB.ext finds the same words, coordinators, conjuncts and labels."""
    out = exported(awkward, "ptb-ext", awkward.parent / "made.ext")
    rows = rows_of(awkward)
    layout = Layout(skip=0, train=len(rows), dev=0, test=0)
    sentences = list(read_ptb_ext(out, Tally(), license_="CC0-1.0", layout=layout))
    assert [s.words for s in sentences] == [tuple(each["words"]) for each in rows]
    assert [s.coordinations for s in sentences] == [(structure(each),) for each in rows]


def test_conllu_comes_back_through_predict(awkward: Path) -> None:
    """``conjoin predict`` knows it for CoNLL-U and reads the same words, under the candidates' ids."""
    out = exported(awkward, "conllu", awkward.parent / "made.conllu")
    with open_lines(out) as lines:
        given = list(read_sentences(lines, format_of(lines), Tally()))
    rows = rows_of(awkward)
    assert [each.words for each in given] == [tuple(each["words"]) for each in rows]
    assert [each.name for each in given] == [each["candidate_id"] for each in rows]
    for each, old in zip(given, rows, strict=True):
        misc = [line.split("\t")[9] for line in each.rows if not line.startswith("#")]
        assert misc[4] == f"Coord=3-6|CoordConjuncts=3-4,6-6|CoordLabel={old['label']}"
        assert set(misc[:4] + misc[5:]) == {"_"}
        heads = [line.split("\t")[6] for line in each.rows if not line.startswith("#")]
        assert heads == ["0", *["1"] * (len(heads) - 1)]  # `_` would be read as a root each
        assert each.rows[2].startswith("# heads = no dependencies")
        assert f"# text = {' '.join(old['words'])}" in each.rows


def test_jsonl_has_every_column(awkward: Path) -> None:
    """Each line is a row, spans as pairs."""
    out = exported(awkward, "jsonl", awkward.parent / "made.jsonl")
    made = [json.loads(line) for line in out.read_text("utf-8").split("\n")[:-1]]
    assert len(made) == len(AWKWARD)
    for new, old in zip(made, rows_of(awkward), strict=True):
        spans = [[span["start"], span["end"]] for span in old["conjuncts"]]
        natural = natural_columns(old["words"])
        natural["offsets"] = [[span["start"], span["end"]] for span in natural["offsets"]]
        assert new == old | natural | {"conjuncts": spans, "reference": spans[0]}


def test_brat_offsets_cut_the_text(awkward: Path) -> None:
    """Every offset cuts its words out of the text, and every event links trigger and conjuncts."""
    out = exported(awkward, "brat", awkward.parent / "brat")
    text = (out / "candidates-00000.txt").read_text("utf-8")
    lines = (out / "candidates-00000.ann").read_text("utf-8").split("\n")[:-1]
    found = {}
    for line in lines:
        if match := re.fullmatch(r"(T\d+)\t(\w+) (\d+) (\d+)\t(.*)", line):
            name, kind, start, end, words = match.groups()
            assert text[int(start) : int(end)] == words
            found[name] = kind, words
    events = [re.findall(r"(\w+):(T\d+)", line) for line in lines if line.startswith("E")]
    for event, old in zip(events, rows_of(awkward), strict=True):
        parts = [" ".join(old["words"][s["start"] : s["end"]]) for s in old["conjuncts"]]
        assert [found[name] for _, name in event] == [
            ("Coordination", "and"), *(("Conjunct", part) for part in parts)
        ]  # fmt: skip
        assert [role for role, _ in event] == ["Coordination", "Conjunct", "Conjunct2"]
    labels = [line.split()[-1] for line in lines if line.startswith("A")]
    assert labels == [old["label"] for old in rows_of(awkward)]
    assert "Value:NP|VP|ADJP|ADVP|PP|SBAR|S|NML|X" in (out / "annotation.conf").read_text()


@pytest.mark.parametrize(
    ("form", "word", "kept"),
    [("ptb-ext", "-LRB-", 1), ("ptb-ext", "\\", 1), ("conllu", "-LRB-", 2)],
)
def test_what_a_form_cannot_say_is_left_out_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, word: str, kept: int
) -> None:
    """A word that would come back as another is not written, and the reason is printed."""
    rows = [row(0, list("abcdefg")), row(1, [word, *"bcdefg"])]
    write_rows(tmp_path / "in.parquet", CANDIDATES, rows)
    exported(tmp_path / "in.parquet", form, tmp_path / "out")
    printed = capsys.readouterr().out
    assert printed.startswith(f"{kept} candidate")
    assert ("left out: 1 with a word" in printed) == (kept == 1)


@pytest.mark.parametrize(
    ("form", "word", "kept"),
    [("ptb-ext", "a b", 1), ("conllu", "a\tb", 1), ("brat", "a\nb", 1), ("jsonl", "a\nb", 2)],
)
def test_a_form_writes_no_word_that_breaks_it(
    tmp_path: Path, form: str, word: str, kept: int
) -> None:
    """Not even if rows came to it that no word may be in."""
    counts = written(tmp_path, form, [row(0, list("abcdefg")), row(1, [word, *"bcdefg"])])
    assert counts.kept == kept
    assert all("with a word" in f"with {reason}" for reason, _ in counts.rows()[1:])


@pytest.mark.parametrize("form", ["conllu", "ptb-ext", "brat"])
def test_a_label_that_breaks_the_form_is_left_out(tmp_path: Path, form: str) -> None:
    """A label with a tab, a line end, a bar or nothing in it takes its candidate along, counted."""
    labels = ["NP", "N\tP\nx", "A|B=c", ""]
    counts = written(
        tmp_path, form, [row(n, list("abcdefg"), label) for n, label in enumerate(labels)]
    )
    assert [(n, why[:12]) for why, n in counts.rows()[1:]] == [(3, "a label that")]


def test_folders_and_limits(tmp_path: Path) -> None:
    """Candidates and releases have the same rows with the run that made them; rejects are left out."""
    made = candidate_folder(tmp_path / "toy")
    release = make_release(tmp_path / "release", tmp_path / "toy")
    texts = [
        exported(place, "jsonl", tmp_path / f"{n}.jsonl").read_text().splitlines()
        for n, place in enumerate((made, release))
    ]
    assert sorted(texts[0]) == sorted(texts[1])
    assert len(texts[0]) == 52
    assert len(json.loads(texts[0][0])["generation"]) == 16
    short = exported(made, "jsonl", tmp_path / "short.jsonl", limit=7).read_text().splitlines()
    assert short == texts[0][:7]


def test_an_export_replaces_only_an_export(tmp_path: Path, awkward: Path) -> None:
    """Something else is left alone, and so is the corpus; an earlier export, too, without --overwrite."""
    out = exported(awkward, "brat", tmp_path / "brat")
    with pytest.raises(
        InputError, match="begins as an earlier export stands there; replace it with --overwrite"
    ):
        exported(awkward, "brat", out)
    exported(awkward, "brat", out, limit=1, overwrite=True)
    assert len((out / "candidates-00000.txt").read_text().splitlines()) == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("x")
    (tmp_path / "mine/manifest.json").write_text('{\n  "conjoin": "1"}')
    (out / "visual.conf").write_text("mine")
    for form in ("jsonl", "conllu", "ptb-ext"):  # each takes the place of the one before
        exported(awkward, form, tmp_path / "out", overwrite=True)
    for form, name, why in (
        ("brat", "mine", "no earlier output"), ("jsonl", "mine", "a folder"),
        ("brat", "brat", "files that are not its own"),
        ("brat", "mine/thesis.tex", "there is a file"), ("jsonl", "awkward.parquet", "may not replace"),
        ("jsonl", "mine/thesis.tex", "no earlier output"), ("conllu", "mine/manifest.json", "no earlier"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=why):
            exported(awkward, form, tmp_path / name, overwrite=True)
    assert (tmp_path / "mine/thesis.tex").read_text() == "x"


def test_bad_input_leaves_nothing(tmp_path: Path) -> None:
    """Stand-off releases, rejects and spans that do not fit are one line each, and no file appears."""
    make_release(tmp_path / "stand-off", tmp_path / "toy", stand_off=True)
    rejects = next((tmp_path / "toy").rglob("rejects-*"))
    bad = identified(row(0, list("abcdefg")) | {"coordinator": 5})
    write_rows(tmp_path / "bad.parquet", CANDIDATES, [bad])
    for place, why in (
        (tmp_path / "stand-off", "rehydrate"), (tmp_path / "bad.parquet", "inside a conjunct"),
        (next((tmp_path / "stand-off/data").iterdir()), "rehydrate"), (rejects, "these are rejects"),
        (tmp_path / "none", "or a corpus folder"), (tmp_path, "or a corpus folder"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=why):
            exported(place, "jsonl", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    for form in ("brat", "spacy"):
        with pytest.raises(InputError, match="standard output cannot have it"):
            exported(tmp_path / "toy/candidates/t5-sync/seed-0", form, Path("-"))


def test_text_not_to_be_passed_on_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may not hand text on has it for his own use, and is warned; without saying so he has it not."""
    exported(candidate_folder(tmp_path / "a", 7, units=1), "jsonl", tmp_path / "a.jsonl")
    assert "do not pass" not in "".join(capsys.readouterr())
    ldc = candidate_folder(tmp_path / "b", 7, units=1, license_="LDC-User-Agreement")
    with pytest.raises(InputError, match="--own-use"):
        exported(ldc, "jsonl", tmp_path / "b.jsonl")
    assert not (tmp_path / "b.jsonl").exists()
    exported(ldc, "jsonl", tmp_path / "b.jsonl", own_use=True)
    assert "licence LDC-User-Agreement: do not pass its text on" in "".join(capsys.readouterr())


def test_conjuncts_that_spancat_would_not_look_at_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the usual sizes of its suggester, and of those that the page of parsers names."""
    rows = []
    for number, length in enumerate([2, 5, 20]):
        words = [f"w{n}" for n in range(length + 6)]
        spans = [{"start": 1, "end": 1 + length}, {"start": 2 + length, "end": 3 + length}]
        words[1 + length] = "and"
        made = row(number, words[:7]) | {"conjuncts": spans, "reference": spans[0]}
        made |= {"words": words, "coordinator": 1 + length, "fill": words[2 + length]}
        rows.append(identified(made))
    write_rows(tmp_path / "long.parquet", CANDIDATES, rows)
    exported(tmp_path / "long.parquet", "spacy", tmp_path / "long.spacy")
    said = capsys.readouterr().out
    assert "of 6 conjuncts 2 (33 %) have more than 3 words" in said
    assert "1 (17 %) have more than 12 words; the longest has 20" in said
