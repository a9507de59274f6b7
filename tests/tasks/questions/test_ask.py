"""`conjoin ask`: event pairs become questions with four choices, and what is refused says why."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from event_pairs import Pair, question, write_corpus, write_pairs

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import write_rows
from pipeline.core.questions import pair_of_events, question_candidate_id
from pipeline.corpus.checked import open_candidates
from pipeline.tasks.questions.ask import stage
from pipeline.tasks.questions.ask.settings import AskSettings
from pipeline.tasks.questions.ask.stage import AskedQuestions, run, split_of
from pipeline.tasks.questions.events import Event, EventArgument
from pipeline.tasks.questions.leakage import COPIED, SAME_EVENTS
from pipeline.tasks.questions.pairs import read_event_pairs
from pipeline.tasks.questions.votes import VOTES
from pipeline.text.clauses import ClauseWording, context_text

THINGS = ("jar", "lamp", "boat", "clock", "letter", "window", "plate", "bridge")
CAUSES = ("he dropped the {}", "she painted the {}", "we sold the {}", "they moved the {}")
EFFECTS = ("the {} broke", "the {} looked new again", "nobody saw the {}", "the {} was gone")
WIDE: dict[str, Any] = {"choice_band": "-", "context_band": "-"}


def pairs() -> list[Pair]:
    """32 of them, no two of which have the same words."""
    return [
        Pair(cause.format(thing), effect.format(thing))
        for thing in THINGS
        for cause, effect in zip(CAUSES, EFFECTS, strict=True)
    ]


TEXT = [f"{pair.latter} because {pair.former}" for pair in pairs()] * 3


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "toy", TEXT)


@pytest.fixture
def folder(corpus: Path) -> Path:
    return write_pairs(corpus / "pairs", pairs())


def settings(folder: Path, **given: Any) -> AskSettings:
    return AskSettings.model_validate({"pairs": folder, "unit": 10} | WIDE | given)


def rows(out: Path, kind: str = "candidates") -> list[dict[str, Any]]:
    return [
        row for path in sorted(out.glob(f"{kind}-*")) for row in pq.read_table(path).to_pylist()
    ]


def asked(folder: Path, **given: Any) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The questions that come of a folder, and the reasons of the pairs of which none does."""
    out = folder.parent / "candidates/asked/seed-0"
    run(settings(folder, **given))
    return rows(out), {row["sentence_id"]: row["reason"] for row in rows(out, "rejects")}


def test_a_pair_becomes_a_question(folder: Path) -> None:
    """Its cause is the context, its effect an answer among three other pairs' effects; all are counted."""
    known = {pair.pair_id: pair for pair in read_event_pairs(folder)}
    found, refused = asked(folder)
    assert not refused
    assert [row["sentence_id"] for row in found] == list(known)
    effects = {" ".join(pair.latter) for pair in known.values()}
    for row in found:
        pair = known[row["sentence_id"]]
        assert row["context"] == f"because {' '.join(pair.former)}"
        assert row["choices"][row["answer"]] == " ".join(pair.latter)
        assert len(set(row["choices"])) == 4
        assert set(row["choices"]) <= effects
        assert row["events"] == pair_of_events(" ".join(pair.former), " ".join(pair.latter))
        assert (row["label"], row["license"], row["score"]) == ("because", "CC0-1.0", None)
        assert row["candidate_id"] == question_candidate_id(
            pair.pair_id, row["context"], tuple(row["choices"]), row["answer"]
        )
    assert len({row["answer"] for row in found}) == 4
    out = folder.parent / "candidates/asked/seed-0"
    assert len(open_candidates(out)) == 4
    manifest = read_json(out / "manifest.json")
    assert manifest["notes"]["pairs were looked at as distractors"] == 32 * 31
    assert "--pairs" not in manifest["command"]
    before = {path.name: path.read_bytes() for path in out.glob("*.parquet")}
    run(settings(folder))
    assert {path.name: path.read_bytes() for path in out.glob("*.parquet")} == before


def test_units_are_slices_of_one_plan(corpus: Path, folder: Path) -> None:
    """Rows do not depend on how many pairs a unit has, nor on the order in which they are made."""
    found = asked(folder, choice_band="0.1-0.9", reuse=3)
    assert found == asked(folder, choice_band="0.1-0.9", reuse=3, unit=1000)
    chosen = Counter(
        choice for row in found[0] for place, choice in enumerate(row["choices"]) if place != row["answer"]
    )  # fmt: skip
    assert max(chosen.values()) == 3
    source = AskedQuestions(settings(folder, choice_band="0.1-0.9", reuse=3, unit=3), corpus)
    make = source.prepare(stage.torch.device("cpu"))
    made = {}
    for unit in reversed(range(len(source.sizes))):
        made[unit] = source.tables(make(source.items(unit)[0], lambda *_: None)[0])["candidates"]
    assert [row for _, part in sorted(made.items()) for row in part] == found[0]


@pytest.mark.long
def test_workers_make_the_same(folder: Path) -> None:
    """Each plans all questions, and makes its units of them."""
    found = asked(folder, choice_band="0.1-0.9", reuse=3)
    out = folder.parent / "candidates/other"
    line = settings(folder, choice_band="0.1-0.9", reuse=3, processes=2, out=out).command_line()
    subprocess.run([sys.executable, "-m", "pipeline", *line], check=True)  # noqa: S603 - our own
    assert rows(out) == found[0]


def test_only_basic_pairs_are_asked_unless_reliable_ones_are_wanted(corpus: Path) -> None:
    """The others are counted; of reliable pairs it is the words that tell them apart."""
    every = pairs()
    every[0] = Pair("He dropped it", "the lamp broke", core=False)
    every[1] = Pair("he dropped IT", "The lamp broke", core=False)
    folder = write_pairs(corpus / "pairs", every)
    found, refused = asked(folder)
    assert not refused
    assert {"p00", "p01"}.isdisjoint(row["sentence_id"] for row in found)
    assert len(found) == 30
    notes = read_json(corpus / "candidates/asked/seed-0/manifest.json")["notes"]
    assert notes[stage.NOT_BASIC] == 2
    found, _ = asked(folder, condition="reliable")
    assert len(found) == 32
    events = {row["sentence_id"]: row["events"] for row in found}
    assert events["p00"] == events["p01"] == pair_of_events("he dropped it", "the lamp broke")


def test_distractors_are_of_other_words_than_the_answer(corpus: Path) -> None:
    """Wherever in a sentence they stood."""
    every = [Pair("it rained", "The streets got wet"), Pair("it poured", "the streets got wet", core=False),
             *pairs()]  # fmt: skip
    found, _ = asked(write_pairs(corpus / "pairs", every), condition="reliable")
    assert all(len({choice.lower() for choice in row["choices"]}) == 4 for row in found)


def test_licences_of_all_choices_are_joined(corpus: Path) -> None:
    """A row shows the text of four pairs."""
    every = [Pair(p.former, p.latter, license="MIT" if n % 2 else "CC-BY-4.0")
             for n, p in enumerate(pairs())]  # fmt: skip
    found, _ = asked(write_pairs(corpus / "pairs", every))
    of = {pair.latter: pair.license for pair in every}
    for row in found:
        assert row["license"] == " AND ".join(sorted({of[choice] for choice in row["choices"]}))


def test_clauses_are_written_alike() -> None:
    """A capital letter at a sentence's beginning would tell where a clause stood; that of a name does not."""
    every = [
        ("because", "The dog saw Mary", "Mary did n't sleep"), ("So", "I slept", "DNA was found"),
        ("if", "It rains", "the dog sleeps"),
    ]  # fmt: skip
    wording = ClauseWording(side.split() for _, *sides in every for side in sides)
    assert [wording.clause(latter.split()) for _, _, latter in every] == [
        "Mary didn't sleep", "DNA was found", "the dog sleeps",
    ]  # fmt: skip
    assert [context_text(c, wording.clause(former.split())) for c, former, _ in every] == [
        "because the dog saw Mary", "because I slept", "if it rains",
    ]  # fmt: skip
    for connective, written in {"therefore": "because", "when": "when", "since": "since"}.items():
        assert context_text(connective, "it rains") == f"{written} it rains"


def test_no_pair_of_events_is_on_two_sides() -> None:
    """The split is a function of it; 8 of 10 are for training."""
    counts = Counter(split_of(f"event {number} → other") for number in range(4000))
    assert counts.keys() == {"train", "dev", "test"}
    assert 0.78 < counts["train"] / 4000 < 0.82
    assert 0.08 < counts["dev"] / 4000 < 0.12


def write_votes(path: Path, votes: dict[str, int]) -> Path:
    write_rows(
        path,
        VOTES,
        [{"pair_id": name, "votes": count, "asked": 4} for name, count in votes.items()],
    )
    return path


def test_pairs_that_too_few_vote_for_are_neither_questions_nor_distractors(folder: Path) -> None:
    """Nor those that nobody was asked of."""
    every = read_event_pairs(folder)
    votes = {pair.pair_id: number % 5 for number, pair in enumerate(every) if number % 8}
    path = write_votes(folder.parent / "votes.parquet", votes)
    for least in (2, 3):
        found, refused = asked(folder, votes=path, least=least)
        good = {pair.pair_id for pair in every if votes.get(pair.pair_id, 0) >= least}
        assert {row["sentence_id"] for row in found} == good
        shown = {choice for row in found for choice in row["choices"]}
        assert shown <= {" ".join(pair.latter) for pair in every if pair.pair_id in good}
        assert Counter(refused.values())[stage.NOBODY_ASKED] == 4
        assert {
            name for name, why in refused.items() if why == stage.FEW_VOTES
        } == votes.keys() - good
    of_pairs = read_json(folder / "manifest.json").get("annotation", [])
    (voted,) = [
        part
        for part in read_json(folder.parent / "candidates/asked/seed-0/manifest.json")["annotation"]
        if part["corpus"] == "toy"
    ]
    assert (voted["part"], voted["questions"]) == ("others", len(votes)), of_pairs
    write_votes(path, {"p00": 3, "q07": 1})
    with pytest.raises(InputError, match="votes for pair q07, which is none of these"):
        run(settings(folder, votes=path))


def test_pairs_that_leak_are_neither_questions_nor_distractors(tmp_path: Path) -> None:
    """Of the corpus around them, or of another that is named."""
    held = [question("because he dropped the jar", "the jar broke"),
            question("x", "y", events=pair_of_events("she painted the jar", "the jar looked new again")),
            question("because we sold the jar", "nobody saw the jar", split="train")]  # fmt: skip
    corpus = write_corpus(tmp_path / "toy", TEXT, held)
    folder = write_pairs(corpus / "pairs", pairs())
    found, refused = asked(folder, apart=["dev"])
    assert refused == {"p00": COPIED, "p01": SAME_EVENTS}
    assert not {"the jar broke", "the jar looked new again"} & {
        c for row in found for c in row["choices"]
    }
    assert len(found) == 30
    other = write_corpus(
        tmp_path / "other", [], [question("because we sold the jar", "nobody saw the jar")]
    )
    _, refused = asked(folder, apart=["dev"], corpus=other)
    assert list(refused.values()) == [COPIED] * 8  # of other things: 7 of 9 words
    with pytest.raises(
        InputError, match="no question of split test; held-out splits there are: dev"
    ):
        run(settings(folder, apart=["dev", "test"]))


def test_a_held_out_question_is_known_by_its_core_events_in_either_condition(
    tmp_path: Path,
) -> None:
    """Whatever else the pair's events have, whose arguments are core by the settings of `pair`."""
    drop = Event(
        "drop", False, False, (EventArgument("subject", "he"), EventArgument("object", "jar"))
    )
    broken = Event("break", False, True, (EventArgument("subject", "jar"),))
    core = pair_of_events("drop(object jar)", "break(object jar)")
    denied = pair_of_events("not drop(object jar)", "break(object jar)")
    first = pairs()[0]
    made = [Pair(first.former, first.latter, events=(drop, broken)), *pairs()[1:]]
    for events, reason in ((core, SAME_EVENTS), (denied, None)):
        corpus = write_corpus(tmp_path / f"{reason}", TEXT, [question("x", "y", events=events)])
        folder = write_pairs(corpus / "pairs", made)
        for condition in ("basic", "reliable"):
            assert asked(folder, apart=["dev"], condition=condition)[1].get("p00") == reason


def test_the_folder_that_one_stands_in_is_a_corpus_like_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--corpus .` is not the corpus around the pairs."""
    other = write_corpus(
        tmp_path / "other", [], [question("because he dropped the jar", "the jar broke")]
    )
    monkeypatch.chdir(other)
    assert asked(folder, apart=["dev"], corpus=Path("."))[1] == {"p00": COPIED}


def test_what_leaves_no_question_says_what_each_band_left(folder: Path) -> None:
    """In one line, before anything is written."""
    with pytest.raises(InputError) as caught:
        run(settings(folder, choice_band="-0.99--0.98"))
    assert (
        "no question comes of 32 pairs (32 fewer than three distractors; pairs 992 looked at as distractors, "
        "0 left by the choice band, 0 left" in str(caught.value)
    )
    assert not (folder.parent / "candidates").exists()


def test_a_clause_needs_a_known_word(corpus: Path) -> None:
    """Else nothing says what it is like."""
    folder = write_pairs(corpus / "pairs", [Pair("glorp", "the jar fell"), *pairs()])
    assert asked(folder)[1] == {"p00": stage.NO_VECTOR}


def test_bands_of_quantiles_leave_as_much_of_any_vectors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the pairs' cosines lie between their quarters; which these are is said."""
    asked(folder, choice_band="0.25-0.75", bands="quantile")
    assert "bands of cosines: choice between" in capsys.readouterr().out
    notes = read_json(folder.parent / "candidates/asked/seed-0/manifest.json")["notes"]
    shares = notes["pairs were left by the choice band"] / 992
    assert 0.4 < shares < 0.6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"choice_band": "0.6-0.4"}, "nothing lies between these bounds"),
        ({"length_band": "2"}, "two bounds such as 0.4-0.6, or one such as 0.4-"),
        (
            {"bands": "quantile", "context_band": "0.5-1.5"},
            "quantiles lie between 0 and 1, and 0.5-1.5",
        ),
        ({"apart": ["dev,tset"]}, "did you mean 'test'"),
        ({"reuse": 0}, "greater than or equal to 1"),
        ({"least": 3}, None),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, given: dict[str, Any], message: str | None) -> None:
    """They are refused in a line; one that changes nothing is only said to."""
    if message is None:
        (line,) = AskSettings.build({"pairs": tmp_path, **given}, None).without_effect(given)
        assert "--least changes nothing here" in line
        return
    with pytest.raises(SettingsError, match=message):
        AskSettings.build({"pairs": tmp_path, **given}, None)


def test_text_that_must_stay_is_refused_before_any_work(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distractors of a big text take minutes, and an unknown licence shows at once."""

    def refuse(out: Path, home: Path) -> None:
        raise InputError(f"{out} is not in {home}")

    monkeypatch.setattr(stage, "require_home_of_text", refuse)
    monkeypatch.setattr(stage, "AskedQuestions", lambda *given: pytest.fail("it began"))
    with pytest.raises(InputError, match="is not in"):
        run(settings(folder, out=tmp_path / "out"))


def test_inputs_that_are_not_there(tmp_path: Path, corpus: Path) -> None:
    """Pairs that are unfinished, that lie in no corpus, or whose corpus has no text."""
    (corpus / "pairs").mkdir()
    with pytest.raises(InputError, match="pair"):
        run(settings(corpus / "pairs"))
    lonely = write_pairs(tmp_path / "lonely", pairs())
    with pytest.raises(InputError, match="no corpus folder around these pairs"):
        run(settings(lonely))
    run(settings(lonely, corpus=corpus))
    assert len(rows(corpus / "candidates/asked/seed-0")) == 32
    (corpus / "text.txt").write_text("".join(Random(0).sample(TEXT[0], 9)))
    with pytest.raises(InputError, match="not as ingest wrote it"):
        run(settings(lonely, corpus=corpus))
