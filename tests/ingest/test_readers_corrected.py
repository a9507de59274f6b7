"""``ingest corrected``: what people corrected comes back as L; what does not fit is named."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import structured
import tiny

from pipeline.core.annotation import described
from pipeline.core.corpus_folder import ingest_card
from pipeline.core.decisions import DecisionMade, DrawnToAnnotate, Event, line_of, words_digest
from pipeline.core.draws import annotation_of_draw, read_draw
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_sentences, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence, Span, is_undecided, is_unlabelled_seed
from pipeline.ingest.readers import corrected
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest
from pipeline.sharing.export.command import run as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.conllu import read_conllu, structures_in_misc
from pipeline.text.lines import GivenSentence, open_lines
from pipeline.train.stage import run as train
from pipeline.trying.annotate.choosing import to_annotate
from pipeline.trying.predict.answers import Found, ParsedSentence, SentenceAnswer, conllu

TEXT = [
    "She sold lamps , chairs and tables today .", "He came and went .", "Nobody called .",
    "He came and went .", "They read or slept , and we left .", "Cats and dogs sleep .", "A and B .",
    "Two and two and two are six .",
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Raw text that was ingested."""
    (tmp_path / "raw.txt").write_text("".join(f"{line}\n" for line in TEXT))
    out = tmp_path / "mine"
    ingest(IngestSettings(reader="text", source=tmp_path / "raw.txt", out=out, license="CC0-1.0"))
    return out


def back(source: Path, corpus: Path, name: str = "back") -> list[Sentence]:
    """The sentences that come back."""
    out = corpus.parent / name
    ingest(IngestSettings(reader="corrected", source=source, of=corpus, out=out))
    return list(read_sentences(out / "sentences.parquet"))


def gold(folder: Path, count: int = 40) -> Path:
    """A corpus of random structures."""
    sentences = (structured.sentence(number) for number in range(count))
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    return folder


@pytest.mark.parametrize("form", ["conllu", "brat", "jsonl"])
def test_what_is_exported_comes_back_the_same(tmp_path: Path, form: str) -> None:
    """Random structures, nested ones, too, in each form."""
    own = gold(tmp_path / "toy")
    place = tmp_path / f"out.{form}" if form != "brat" else tmp_path / "out"
    export(ExportSettings(place=own, format=form, out=place))
    rows = {s.sentence_id: s for s in read_sentences(own / "sentences.parquet")}
    found = {s.sentence_id.partition("/")[2]: s for s in back(place, own)}
    assert len(found) == len(rows)
    for name, sentence in rows.items():
        other = found[name.partition("/")[2]]
        assert (other.words, other.coordinations) == (sentence.words, sentence.coordinations)


def test_conllu_is_the_same_after_predict_has_written_it(tmp_path: Path) -> None:
    """Coord and CoordConjuncts say the structures again, of which nobody said the labels."""
    path = tmp_path / "x.conllu"
    made = [structured.sentence(number, labels=False) for number in range(200)]
    with path.open("w", encoding="utf-8") as file:
        for sentence in made:
            rows = tuple(
                f"{number}\t{word}" + "\t_" * 8 for number, word in enumerate(sentence.words, 1)
            )
            given = GivenSentence(sentence.words, 1, None, rows)
            entries = tuple(Found(c.coordinator, (), (c, None)) for c in sentence.coordinations)
            file.write(conllu(SentenceAnswer(given, entries, beside=ParsedSentence())))
    with open_lines(path) as lines:
        found = [
            (each.words, [c for c, _ in structures_in_misc(lines, each)])
            for each in read_conllu(lines)
        ]
    assert found == [(s.words, list(s.coordinations)) for s in made]


def decided(corpus: Path, *events: Event) -> Path:
    """A file of decisions."""
    path = corpus / "annotated.jsonl"
    path.write_text("".join(map(line_of, events)))
    return path


def answer(corpus: Path, number: int, k: int | None, *spans: tuple[int, int]) -> DecisionMade:
    """A decision on the sentence of that line of the text."""
    words = TEXT[number - 1].split()
    made = tuple(Span(*span) for span in spans)
    return DecisionMade(f"mine/raw.txt/{number}", words_digest(words), k, made, 1.5)


def drawn(*numbers: int) -> DrawnToAnnotate:
    return DrawnToAnnotate(
        tuple(f"mine/raw.txt/{number}" for number in numbers), "mine", "random", 0
    )


def test_decisions_become_l(corpus: Path) -> None:
    """With the draws that train reads, of boundaries alone; the rest is text, with its licence."""
    file = decided(
        corpus, drawn(1, 2, 5, 6, 7, 8),
        answer(corpus, 1, 5, (2, 3), (4, 5), (6, 7)), answer(corpus, 2, 2, (1, 2), (3, 4)),
        answer(corpus, 5, 2, (1, 2), (3, 4)), answer(corpus, 5, 5, (0, 4), (6, 8)),
        answer(corpus, 6, 1, (0, 1), (2, 3)), answer(corpus, 7, 1, (0, 1), (2, 3)),
        answer(corpus, 8, 3, (0, 1), (2, 3), (4, 5)),
    )  # fmt: skip
    found = {s.sentence_id: s for s in back(file, corpus)}
    assert list(found) == [f"back/raw.txt/{number}" for number in range(1, 9)]
    assert [len(s.coordinations) for s in found.values()] == [1, 1, 0, 0, 2, 1, 1, 1]
    assert {(s.license, s.tree, s.tags, s.split) for s in found.values()} == {
        ("CC0-1.0", None, None, "train")
    }
    out = corpus.parent / "back"
    assert ingest_card(out)["refused"] == {corrected.NOT_CORRECTED: 2}
    labelled, validation = read_draw(out, 0, "full")
    assert (len(labelled), len(validation)) == (5, 1)
    record = annotation_of_draw(out, 0, "full")
    assert described(record, "back") == "boundaries of 5 + 1"


def test_train_learns_from_it(tmp_path: Path) -> None:
    """Of boundaries alone, as its record says."""
    tiny.build(tmp_path / "tiny")
    own = [s for s in read_sentences(tmp_path / "tiny/sentences.parquet") if s.split == "train"]
    rows = map(sentence_row, map(structured.silent, own))
    write_rows(tmp_path / "toy/sentences.parquet", SENTENCES, rows)
    export(
        ExportSettings(place=tmp_path / "tiny", format="brat", out=tmp_path / "b", split="train")
    )
    assert [s.coordinations for s in back(tmp_path / "b", tmp_path / "toy")] == [
        s.coordinations for s in own
    ]
    shutil.copytree(tmp_path / "tiny/models", tmp_path / "back/models")
    given = {
        "mode": "baseline",
        "candidates": None,
        "steps": 2,
        "warm_steps": 0,
        "labelled": "full",
    }
    train(tiny.settings(tmp_path / "back", **given))
    (record,) = (tmp_path / "back/runs").rglob("run.json")
    parts = json.loads(record.read_text())["annotation"]
    assert [(p["part"], p["boundaries"], p.get("trees", 0)) for p in parts] == [
        ("labelled", 54, 0), ("validation", 10, 0),
    ]  # fmt: skip


def test_what_is_not_finished_is_counted(corpus: Path) -> None:
    """A coordinator that nobody decided on, and a sentence that was set aside: text, with the reason."""
    file = decided(
        corpus, drawn(1, 5, 6, 7),
        answer(corpus, 5, 2, (1, 2), (3, 4)), answer(corpus, 6, 1, (0, 1), (2, 3)), answer(corpus, 7, None),
    )  # fmt: skip
    found = back(file, corpus)
    assert [bool(s.coordinations) for s in found] == [n == 6 for n in range(1, 9)]
    assert ingest_card(corpus.parent / "back")["refused"] == {
        corrected.UNFINISHED: 1, corrected.ASIDE: 1, corrected.NOT_CORRECTED: 5,
    }  # fmt: skip


def test_that_a_coordinator_joins_nothing_is_kept(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a source of candidates, in no draw, and `annotate` does not offer it again."""
    structures = [answer(corpus, n, 1, (0, 1), (2, 3)) for n in (6, 7)]
    file = decided(
        corpus, drawn(1, 2, 5, 6, 7), answer(corpus, 1, 5), answer(corpus, 2, 2),
        answer(corpus, 5, 2), *structures,
    )  # fmt: skip
    found = back(file, corpus)
    # Of line 5 one coordinator is open; line 4 has the words of line 2, and nobody looked at it.
    assert [s.examined for s in found] == [n in (1, 2) for n in range(1, 9)]
    assert [is_undecided(s) for s in found] == [n in (4, 5, 8) for n in range(1, 9)]
    assert [s.sentence_id[-1] for s in to_annotate(found, "train", Tally())] == ["5", "8"]
    assert [is_unlabelled_seed(s, 5) for s in found] == [n in (1, 2) for n in range(1, 9)]
    card = ingest_card(corpus.parent / "back")
    assert card["examined"] == {"sentences": 2, "seeds": 0}
    assert card["splits"]["train"]["with_coordination"] == 2
    assert "joins nothing, as somebody said: 2; no draw of L has them" in capsys.readouterr().out


def test_a_line_of_json_without_coordinations_has_none(corpus: Path) -> None:
    """Unless `predict` skipped what it has."""
    rows = [json.loads(as_jsonl(TEXT[n])) for n in (1, 5, 6, 2)]
    rows[1]["skipped"] = [{"coordinator": 1, "word": "and", "reason": "why ever"}]
    rows[2]["skipped"] = [{"coordinator": None, "word": None, "reason": "too long"}]
    path = corpus.parent / "a.jsonl"
    path.write_text(
        "".join(f"{json.dumps(row)}\n" for row in [*rows, json.loads(as_jsonl(TEXT[7]))])
    )
    assert [s.examined for s in back(path, corpus)] == [n in (2, 8) for n in range(1, 9)]
    assert ingest_card(corpus.parent / "back")["refused"] == {
        corrected.SILENT[".jsonl"]: 2, corrected.NOT_CORRECTED: 3,
    }  # fmt: skip


def test_coordinators_are_the_corpus_s_own(tmp_path: Path) -> None:
    """A word that joins in English alone need not be looked at, and its own must be."""
    (tmp_path / "text.txt").write_text("Honde en katte slaap .\nShe and they .\nJy en ek .\n")
    corpus = tmp_path / "own"
    ingest(
        IngestSettings(reader="text", source=tmp_path / "text.txt", out=corpus, coordinators=["en"])
    )
    rows = [json.loads(as_jsonl(line)) for line in ("Honde en katte slaap .", "She and they .")]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [s.examined for s in back(path, corpus)] == [True, False, False]
    texts = [as_conllu("Jy en ek .", {}), as_conllu("She and they .", {})]
    (tmp_path / "a.conllu").write_text("\n".join(texts))
    back(tmp_path / "a.conllu", corpus, "again")
    assert ingest_card(tmp_path / "again")["refused"] == {
        corrected.SILENT[".conllu"]: 1, corrected.NOT_CORRECTED: 1,
    }  # fmt: skip


def test_conllu_says_that_a_coordinator_joins_nothing(corpus: Path) -> None:
    """With a mark on each of a sentence; where one has none, nobody can tell."""
    path = corpus.parent / "a.conllu"
    none = "SpaceAfter=No|Coord=none"
    parts = [(1, {}), (4, {3: none}), (7, {4: none}), (3, {3: "Coord=2-4"})]
    path.write_text("\n".join(as_conllu(TEXT[line], misc) for line, misc in parts))
    found = back(path, corpus)
    # The second "He came and went ." is line 4: the first is line 2, though nobody looked at it.
    assert [len(s.coordinations) for s in found] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert [s.examined for s in found] == [False] * 8
    assert ingest_card(corpus.parent / "back")["refused"] == {
        corrected.SILENT[".conllu"]: 3, corrected.NOT_CORRECTED: 4,
    }  # fmt: skip
    path.write_text(as_conllu(TEXT[7], {2: none, 4: none}) + "\n" + as_conllu(TEXT[2], {}))
    assert [s.examined for s in back(path, corpus, "again")] == [n == 8 for n in range(1, 9)]
    path.write_text(as_conllu(TEXT[1], {3: "Coord=none|CoordConjuncts=2-2,4-4"}))
    with pytest.raises(InputError, match="3: Coord=none"):
        back(path, corpus, "more")


def test_brat_says_it_beside_structures_alone(corpus: Path) -> None:
    """An .ann without structures is what brat wants of text that nobody has annotated."""
    folder = corpus.parent / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text(f"{TEXT[5]}\n{TEXT[6]}\n")
    (folder / "a.ann").write_text(
        "T1\tCoordination 5 8\tand\nT2\tConjunct 0 4\tCats\nT3\tConjunct 9 13\tdogs\n"
        "E1\tCoordination:T1 Conjunct:T2 Conjunct2:T3\n"
    )
    (folder / "b.txt").write_text(f"{TEXT[0]}\n{TEXT[2]}\n")
    (folder / "b.ann").write_text("")
    found = back(folder, corpus)
    assert [s.examined for s in found] == [n == 7 for n in range(1, 9)]
    assert ingest_card(corpus.parent / "back")["refused"] == {
        corrected.SILENT[".ann"]: 1, corrected.NOT_CORRECTED: 4,
    }  # fmt: skip


@pytest.mark.parametrize("form", ["conllu", "jsonl"])
def test_that_it_joins_nothing_is_exported(corpus: Path, form: str) -> None:
    """And comes back once more."""
    file = decided(corpus, drawn(2, 6), answer(corpus, 2, 2), answer(corpus, 6, 1, (0, 1), (2, 3)))
    before = [replace(s, sentence_id="") for s in back(file, corpus)]
    path = corpus.parent / f"out.{form}"
    export(ExportSettings(place=corpus.parent / "back", format=form, out=path))
    after = back(path, corpus.parent / "back", "again")
    assert [replace(s, sentence_id="") for s in after] == before
    assert [s.examined for s in after] == [n == 2 for n in range(1, 9)]


def test_the_same_words_are_taken_in_their_order(corpus: Path) -> None:
    """Without ids two sentences with the same words are the corpus's first and second such."""
    (corpus.parent / "b.txt").write_text("He came and went .\nHe came and went .\n")
    (corpus.parent / "b.ann").write_text(
        "T1\tCoordination 27 30\tand\nT2\tConjunct 22 26\tcame\nT3\tConjunct 31 35\twent\n"
        "E1\tCoordination:T1 Conjunct:T2 Conjunct:T3\n"
    )
    found = back(corpus.parent / "b.ann", corpus)
    assert [len(s.coordinations) for s in found] == [0, 0, 0, 1, 0, 0, 0, 0]


def as_jsonl(words: str, *structures: tuple[int, list[list[int]]], name: str | None = None) -> str:
    """A line as ``predict`` writes it."""
    made = [{"coordinator": k, "conjuncts": spans} for k, spans in structures]
    row = {
        "sentence_id": name,
        "line": 1,
        "words": words.split(),
        "coordinations": made,
        "skipped": [],
    }
    return json.dumps(row) + "\n"


def as_conllu(words: str, misc: dict[int, str]) -> str:
    return "".join(
        f"{n}\t{word}" + "\t_" * 7 + f"\t{misc.get(n, '_')}\n"
        for n, word in enumerate(words.split(), 1)
    )


GOOD = as_jsonl(TEXT[1], (2, [[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", GOOD + as_jsonl("It rained and rained .", (2, [[1, 2], [3, 4]])),
         "2: a sentence that {corpus} does not have: “It rained and rained .”"),
        ("a.jsonl", GOOD + as_jsonl("He came and went.", (2, [[1, 2], [3, 4]])), "2: another tokenization"),
        ("a.jsonl", GOOD + as_jsonl("He came", name="mine/raw.txt/4"), "2: another tokenization"),
        ("a.jsonl", as_jsonl(TEXT[0], (5, [[2, 5], [4, 7]])), "1: conjuncts overlap: “lamps , chairs” (3-5)"),
        ("a.jsonl", as_jsonl(TEXT[4], (2, [[1, 2], [3, 7]]), (5, [[3, 4], [6, 8]])),
         "1: conjuncts cross: “read or slept … we” (2-7) and"),
        ("a.jsonl", GOOD + as_jsonl(TEXT[1]) + as_jsonl(TEXT[1]), "3: a sentence that is corrected in"),
        ("a.jsonl", as_jsonl(TEXT[1], (9, [[1, 2], [3, 4]])), "1: coordinator 9 of 5 words"),
        ("a.jsonl", as_jsonl(TEXT[1], (2, [[1, 2], [3]])), "1: coordinator 2 of 5 words, or a conjunct"),
        ("a.jsonl", as_jsonl(TEXT[1], (2, [[1, 2], [3, 40]])), "1: conjunct 3-40 of 5 words"),
        ("a.jsonl", '{"words": ["a"]}\n', "1: not as conjoin writes it: coordinations"),
        ("a.jsonl", "{\n", "1: not JSON"),
        ("a.conllu", as_conllu(TEXT[1], {3: "Coord=2-9"}), "3: Coord=2-9 of 5 words"),
        ("a.conllu", as_conllu(TEXT[1], {3: "Coord=4-5"}), "3: Coord=4-5 does not reach both sides"),
        ("a.conllu", as_conllu(TEXT[1], {3: "Coord=2-4|CoordConjuncts=2-2,4-5"}),
         "3: Coord=2-4 and CoordConjuncts=2-2,4-5 differ"),
        ("a.conllu", as_conllu(TEXT[1], {3: "Coord=2-4|CoordConjuncts=2-3,3-4"}), "3: conjuncts overlap"),
        ("a.conllu", as_conllu(TEXT[1], {3: "Coord=2-4|CoordLabel=the noun"}), "3: no label: 'the noun'"),
        ("a.conllu", as_conllu("He sang and went .", {}), "1: a sentence that {corpus} does not have"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(corpus: Path, name: str, text: str, said: str) -> None:
    """In one line with file and line, and nothing is written."""
    path = corpus.parent / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        back(path, corpus)
    assert str(caught.value).startswith(f"{path}:{said.format(corpus=corpus)}")
    assert "\n" not in str(caught.value)
    assert not (corpus.parent / "back").exists()


def test_decisions_on_other_words_are_named(corpus: Path) -> None:
    """And a decision on a sentence that the corpus lost."""
    for event, said in (
        (DecisionMade("mine/raw.txt/2", "0" * 12, 2, (), 0.0), "2: another tokenization"),
        (DecisionMade("mine/raw.txt/99", "0" * 12, 2, (), 0.0), "2: a sentence that"),
    ):
        file = decided(corpus, DrawnToAnnotate((event.sentence_id,), "mine", "random", 0), event)
        with pytest.raises(InputError, match=rf"annotated\.jsonl:{said}"):
            back(file, corpus)


def test_decisions_that_do_not_fit_the_words_are_named(corpus: Path) -> None:
    """Of no coordinator, of no word, with a conjunct without end, or crossing."""
    for answers, said in (
        ([answer(corpus, 1, 4)], "2: word 4 of 9 is no coordinator between words"),
        ([answer(corpus, 1, 99)], "2: word 99 of 9 is no coordinator"),
        ([answer(corpus, 1, 5, (2, 5), (6, 2**60))], f"2: conjunct 6-{2**60} of 9 words"),
        ([answer(corpus, 1, 5, (2, 5))], "2: not a conjunct on either side"),
        ([answer(corpus, 5, 2, (1, 2), (3, 7)), answer(corpus, 5, 5, (3, 4), (6, 8))], "2: conjuncts cross"),
    ):  # fmt: skip
        file = decided(corpus, drawn(1, 5), *answers)
        with pytest.raises(InputError, match=rf"annotated\.jsonl:{said}"):
            back(file, corpus)


def test_a_folder_is_read_in_all_its_forms(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what is packed; files of no form are counted."""
    folder = corpus.parent / "all"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_text(GOOD)
    (folder / "deep/b.conllu").write_text(as_conllu(TEXT[5], {2: "Coord=1-3"}))
    (folder / "c.txt").write_text("lonely\n")
    (folder / "notes.docx").write_text("x")
    found = back(folder, corpus)
    assert [bool(s.coordinations) for s in found] == [n in (2, 6) for n in range(1, 9)]
    (structure,) = found[5].coordinations
    assert (structure.conjuncts, structure.label) == ((Span(0, 1), Span(2, 3)), "X")
    shown = capsys.readouterr().out
    assert f"{corrected.OTHER_FILE}: {folder}/notes.docx" in shown
    assert f"text without its .ann: {folder}/c.txt" in shown


def test_a_treebank_gives_back_boundaries_alone(tmp_path: Path) -> None:
    """What was annotated of its other sentences is left out, and its held-out ones, too."""
    (tmp_path / "toy").mkdir()
    tree = "(S (NP (NN dogs) (CC and) (NN cats)) (VP (VBP sleep)))"
    words, tags = ("dogs", "and", "cats", "sleep"), ("NN", "CC", "NN", "VBP")
    rows = [
        Sentence(f"toy/{n}", "d", split, (*words, str(n)), (*tags, "CD"), tree, (), "x")
        for n, split in enumerate(("train", "train", "test"))
    ]
    write_rows(tmp_path / "toy/sentences.parquet", SENTENCES, map(sentence_row, rows))
    (tmp_path / "x.jsonl").write_text(as_jsonl("dogs and cats sleep 1", (1, [[0, 1], [2, 3]])))
    found = back(tmp_path / "x.jsonl", tmp_path / "toy")
    assert [(s.tree, s.tags, len(s.coordinations)) for s in found] == [
        (None, None, 0),
        (None, None, 1),
    ]
    assert ingest_card(tmp_path / "back")["refused"] == {
        corrected.NOT_CORRECTED: 1, corrected.HELD_OUT: 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"of": None}, "add --of CORPUS"),
        ({"license": "MIT"}, "keeps its licence"),
        ({"split_fractions": "80,10,10"}, "takes no --split-fractions"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, given: dict[str, object], said: str) -> None:
    """What is missing, and what the corpus knows."""
    known = {"reader": "corrected", "source": tmp_path, "of": tmp_path, "out": tmp_path / "x"}
    with pytest.raises(SettingsError, match=said):
        IngestSettings.build(known | given, None)


def test_nothing_corrected_is_an_error(corpus: Path) -> None:
    """An empty folder, a file of another kind, no decision yet, and the corpus as its own output."""
    (corpus.parent / "empty").mkdir()
    (corpus.parent / "x.docx").write_text("x")
    for source, said in (
        (corpus.parent / "empty", "no corrected sentence"),
        (corpus.parent / "x.docx", "no file of corrected sentences"),
        (decided(corpus, drawn(1)), "no corrected sentence"),
    ):
        with pytest.raises(ConjoinError, match=said):
            back(source, corpus)
    (corpus.parent / "a.jsonl").write_text(GOOD)
    with pytest.raises(InputError, match="may not replace, contain or lie inside its input"):
        back(corpus.parent / "a.jsonl", corpus, "mine")
