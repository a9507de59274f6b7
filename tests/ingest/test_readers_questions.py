"""Questions with choices: JSON lines of e-CARE and KUCI, what `ask` made, and the world's."""

import json
import lzma
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.core.questions import PSEUDO_QUESTIONS, Question, read_questions
from pipeline.core.schema import read_sentences
from pipeline.ingest.of_questions import HELD_OUT
from pipeline.ingest.readers.question_lines import ALIKE, EMPTY
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.text.natural import join_words

ROOT = Path(__file__).resolve().parents[2]
ECARE = ROOT.parent / "shared/data/ecare"
needs_shared = pytest.mark.skipif(
    not ECARE.exists(), reason="needs ../shared, which is not part of the repository"
)


def ecare(index: str, premise: str = "It rained.", **given: Any) -> dict[str, Any]:
    usual = {
        "ask-for": "effect",
        "hypothesis1": "We got wet.",
        "hypothesis2": "We laughed.",
        "label": 0,
    }
    return {"index": index, "premise": premise, **usual, **given}


def kuci(index: int, **given: Any) -> dict[str, Any]:
    choices = {f"choice_{letter}": f"道 が {letter}" for letter in "abcd"}
    return {"id": index, "context": "雨 が 降る ので", **choices, "label": "c", **given}


def source(folder: Path, files: Mapping[str, Sequence[Any]]) -> Path:
    """A folder of JSON lines; a line may be a text of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        text = "".join(
            (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n"
            for row in rows
        ).encode()
        (folder / name).write_bytes(lzma.compress(text) if name.endswith(".xz") else text)
    return folder


def ingested(
    tmp_path: Path, place: Path, reader: str = "ecare", **given: Any
) -> tuple[Path, list[Question]]:
    out = tmp_path / "corpus"
    run(IngestSettings.build({"reader": reader, "source": place, "out": out} | given, None))
    return out, list(read_questions(out))


def test_files_are_read_by_the_name_of_their_split(tmp_path: Path) -> None:
    """Causes and effects with their texts, in the order of the splits; text and draws are of training."""
    many = [ecare(f"train-{n}", f"It rained {n} hours.") for n in range(7)]
    cause = ecare("train-7", "The street  is wet.", **{"ask-for": "cause", "label": 1})
    files = {
        "dev.jsonl": [ecare("dev-0")],
        "train_full.jsonl.xz": [*many, cause, many[0] | {"index": "x"}],
    }
    out, questions = ingested(
        tmp_path, source(tmp_path / "in", files), labelled=["6"], validation=2
    )
    assert [question.split for question in questions] == ["train"] * 9 + ["dev"]
    asked = questions[7]
    assert (asked.question_id, asked.asks, asked.answer) == ("corpus/train-7", "cause", 1)
    assert (asked.context, asked.choices) == ("The street is wet.", ("We got wet.", "We laughed."))
    assert (asked.license, asked.events, asked.agreement) == ("MIT", None, None)
    assert questions[0].doc_id == questions[8].doc_id != questions[1].doc_id
    lines = (out / "text.txt").read_text().splitlines()
    assert lines == [  # no line tells the right choice from the other
        "It rained 0 hours.", "We got wet.", "We laughed.", *(f"It rained {n} hours." for n in range(1, 7)),
        "The street is wet.",
    ]  # fmt: skip
    card = read_json(out / "ingest.json")
    assert card["task"] == "questions"
    assert card["splits"]["train"] == {"questions": 9, "cause": 1, "effect": 8, "contexts": 8}
    drawn = read_json(out / "draws/seed-0/6.json")
    assert (
        len({*drawn["labelled"], *drawn["validation"]} & {q.question_id for q in questions[:9]})
        == 8
    )


def test_kucis_form_has_four_choices_and_who_agreed(tmp_path: Path) -> None:
    """The label is a letter; agreement and event pair may be missing."""
    rows = [kuci(1, agreement=3, core_event_pair="降る|ぬれる"), kuci(2, label="A")]
    _, (one, two) = ingested(tmp_path, source(tmp_path / "in", {"train.jsonl": rows}), "kuci")
    assert (one.question_id, one.answer, one.agreement) == ("corpus/train-1", 2, 3)
    assert (one.events, len(one.choices), one.license) == ("降る|ぬれる", 4, "unknown")
    assert (two.answer, two.events, two.agreement, two.asks) == (0, None, None, "effect")


@pytest.mark.parametrize(
    ("reader", "line", "message"),
    [
        ("ecare", "{not json", "not JSON"),
        ("ecare", "[1]", "no JSON object"),
        ("ecare", '"text"', "no JSON object"),
        ("ecare", {"index": "a"}, "lacks the field 'ask-for'"),
        ("ecare", ecare("a", label=2), "the label is none of the 2 choices'"),
        ("ecare", ecare("a", label=-1), "the label is none of the 2 choices'"),
        ("ecare", ecare("a", label="0"), "label is no whole number: '0'"),
        ("ecare", ecare("a", label=True), "label is no whole number: True"),
        ("ecare", ecare("a", label=10**30), "label is no whole number: 1000"),
        ("ecare", ecare("a", premise=None), "premise is no text: None"),
        ("ecare", ecare("a", hypothesis1=["x"]), "hypothesis1 is no text"),
        ("ecare", ecare("a", **{"ask-for": "both"}), "ask-for is cause or effect, was 'both'"),
        ("ecare", ecare("first"), "the id 'first' stands at "),
        ("ecare", ecare(" "), "has an empty id"),
        ("kuci", kuci(2, label="e"), "the label is none of the 4 choices'"),
        ("kuci", kuci(2, label="ab"), "the label is none of the 4 choices'"),
        ("kuci", kuci(2, label=""), "the label is none of the 4 choices'"),
        ("kuci", kuci(1), "the id 'train-1' stands at "),
        ("kuci", kuci(2, agreement="3"), "agreement is no whole number: '3'"),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_named(tmp_path: Path, reader: str, line: Any, message: str) -> None:
    """With its file and number, in one line, and nothing is written."""
    first = ecare("first") if reader == "ecare" else kuci(1)
    place = source(tmp_path / "in", {"train.jsonl": [first, "", line]})
    with pytest.raises(InputError) as caught:
        ingested(tmp_path, place, reader)
    assert f"train.jsonl:3: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "corpus").exists()


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    """Not UTF-8, packed badly, of no split, and no file at all."""
    place = source(tmp_path / "in", {"train.jsonl": [ecare("a")]})
    (place / "train.jsonl").write_bytes(b'{"index": "a"}\n\xff\n')
    with pytest.raises(InputError, match=r"train.jsonl:2: not UTF-8 text"):
        ingested(tmp_path, place)
    (place / "train.jsonl").write_bytes(lzma.compress(b"x" * 99)[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        ingested(tmp_path, place)
    (place / "train.jsonl").rename(place / "questions.jsonl")
    for wrong in (place, place / "questions.jsonl", place / "no.jsonl"):
        with pytest.raises(InputError, match="no file whose name begins with train, dev, test"):
            ingested(tmp_path, wrong)
    (place / "train.jsonl").write_text("\n")
    with pytest.raises(InputError, match="no question to keep"):
        ingested(tmp_path, place)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"hypothesis2": "We got  wet."}, ALIKE), ({"hypothesis2": " "}, EMPTY), ({"premise": ""}, EMPTY),
        ({"hypothesis1": "We\u0007 got wet."}, "question with a control character"),
    ],
)  # fmt: skip
def test_questions_that_teach_nothing_are_counted(
    tmp_path: Path, given: dict[str, str], reason: str
) -> None:
    """With their place; --strict stops at the first."""
    place = source(tmp_path / "in", {"train.jsonl": [ecare("a"), ecare("b", **given)]})
    out, questions = ingested(tmp_path, place)
    assert [question.question_id for question in questions] == ["corpus/a"]
    assert read_json(out / "ingest.json")["refused"] == {reason: 1}
    with pytest.raises(InputError, match=reason):
        ingested(tmp_path, place, strict=True)


def test_training_questions_stand_apart_from_held_out_contexts(tmp_path: Path) -> None:
    """Word for word, whatever the case; choices make no difference, and other splits stay whole."""
    train = [
        ecare("a", "It rained."),
        ecare("b", "it  RAINED.", label=1),
        ecare("c", "It rained again."),
    ]
    held = [ecare("d", "It Rained.", hypothesis1="We sang."), ecare("e", "It rained again.")]
    place = source(
        tmp_path / "in", {"train.jsonl": train, "dev.jsonl": held[:1], "test.jsonl": held[1:]}
    )
    for splits, kept in (([], "abcde"), (["dev"], "cde"), (["test"], "abde"), (["dev,test"], "de")):
        out, questions = ingested(tmp_path, place, apart=splits)
        assert "".join(question.question_id[-1] for question in questions) == kept
        refused = {HELD_OUT: 5 - len(kept)} if splits else {}
        assert read_json(out / "ingest.json")["refused"] == refused


def test_a_held_out_question_with_other_distractors_is_said_to_be_learnt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its context and its answer stand in training; with another answer it is another question."""
    train = [ecare("a")]
    dev = [
        ecare("d", label=1, hypothesis1="We ate.", hypothesis2="We got wet."),
        ecare("e", hypothesis1="We ran.", hypothesis2="We laughed."),
    ]
    ingested(tmp_path, source(tmp_path / "in", {"train.jsonl": train, "dev.jsonl": dev}))
    said = " ".join(capsys.readouterr().out.split())
    assert "warning: 1 questions of other splits stand in the training split" in said
    assert re.search(r"was learnt: \S+d ", said)


def test_options_are_those_of_the_reader(tmp_path: Path) -> None:
    """--apart names held-out splits; what readers of treebanks take, those of questions do not."""
    usual = {"reader": "ecare", "source": tmp_path}
    for given, message in (
        ({"apart": ["train"]}, "held-out splits: dev, test"), ({"apart": ["dve"]}, "did you mean 'dev'"),
        ({"split": ["train=*"]}, "the reader ecare takes no --split"),
        ({"reader": "world-questions", "strict": True}, "the reader world-questions takes no --strict"),
    ):  # fmt: skip
        with pytest.raises(SettingsError, match=message):
            IngestSettings.build(usual | given, None)


def asked(number: int, **given: Any) -> dict[str, Any]:
    return {
        "candidate_id": f"c{number}", "sentence_id": f"p{number}", "label": "because",
        "context": f"because it rained {number} hours", "choices": ["we got wet", "we sang", "a", "b"],
        "answer": 1, "events": "rain → sing", "split": ("train", "dev", "test")[number % 3], "score": None,
        "license": "CC0-1.0", **given,
    }  # fmt: skip


def test_what_was_asked_is_a_corpus_with_its_splits(tmp_path: Path) -> None:
    """Of a finished folder; others, and rows that no question can be, are refused in a line."""
    place = tmp_path / "made"
    shard = place / "candidates-00000-of-00001.parquet"
    write_rows(shard, PSEUDO_QUESTIONS, [asked(n) for n in range(9)])
    with pytest.raises(InputError, match=r"no questions of `conjoin ask` here"):
        ingested(tmp_path, place, "asked")
    write_json(place / MANIFEST, {})
    _, questions = ingested(tmp_path, place, "asked")
    assert Counter(question.split for question in questions) == {"train": 3, "dev": 3, "test": 3}
    assert (questions[0].question_id, questions[0].events) == ("corpus/c0", "rain → sing")
    for given, message in (
        ({"split": "no"}, "row 1 has a split that there is not: 'no'"),
        ({"answer": 4}, "row 1 has answer 4 of 4 choices"),
        ({"choices": ["a", "a"]}, f"row 1 has {ALIKE}"),
    ):
        write_rows(shard, PSEUDO_QUESTIONS, [asked(0), asked(1, **given)])
        with pytest.raises(InputError, match=message):
            ingested(tmp_path, place, "asked", strict=True)
    (place / MANIFEST).unlink()
    (place / ".units").mkdir()
    with pytest.raises(InputError, match="has not finished here"):
        ingested(tmp_path, place, "asked")


def test_the_world_has_questions_and_the_text_that_pair_reads(tmp_path: Path) -> None:
    """Sentences have trees; raw text has more of them, and ids never meet."""
    out, questions = ingested(
        tmp_path, ROOT / "data/raw/world", "world-questions", questions=60, sentences=40, raw=10,
        labelled=["20"],
    )  # fmt: skip
    sentences = list(read_sentences(out / "sentences.parquet"))
    assert len(questions) == 60
    assert len(sentences) == 40
    assert all(sentence.tree for sentence in sentences)
    named = {s.sentence_id for s in sentences} | {q.question_id for q in questions}
    assert len(named) == 100
    assert all(name.startswith("corpus/") for name in named)
    lines = (out / "text.txt").read_text().splitlines()
    assert lines[:40] == [join_words(sentence.words).text for sentence in sentences]
    assert len(lines) == 50
    # Another reader's questions leave no sentences behind.
    place = source(tmp_path / "in", {"train.jsonl": [ecare("a")]})
    assert len(ingested(tmp_path, place)[1]) == 1
    assert not (out / "sentences.parquet").exists()


@needs_shared
@pytest.mark.long
def test_ecare_is_what_its_readme_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows by what they ask for, the longer choice, and the premises of dev that stand in training."""
    out, questions = ingested(tmp_path, ECARE)
    refused = sum(read_json(out / "ingest.json")["refused"].values())
    counts = Counter((question.split, question.asks) for question in questions)
    assert refused == 1  # with a control character
    assert (counts["train", "cause"], counts["train", "effect"]) == (7617 - refused, 14928 - 7617)
    assert (counts["dev", "cause"], counts["dev", "effect"]) == (1088, 2132 - 1088)
    dev = [question for question in questions if question.split == "dev"]
    longer = [max(range(2), key=lambda n, q=q: len(q.choices[n].split())) == q.answer for q in dev]  # type: ignore[misc]
    assert sum(longer) / len(dev) == pytest.approx(0.538, abs=0.0005)
    learnt = {question.doc_id for question in questions if question.split == "train"}
    assert sum(question.doc_id in learnt for question in dev) == 282
    _, apart = ingested(tmp_path, ECARE, apart=["dev"])
    left = {question.doc_id for question in apart if question.split == "train"}
    assert not left & {question.doc_id for question in dev}
    assert len(questions) - len(apart) == 308
    assert f"{HELD_OUT} │    308" in capsys.readouterr().out
