"""The game's rules: the thesis's worked example, what is on a board, what is dealt, and what is no board."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from played import CLAUSES, event, pairs_folder, settings

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.tasks.questions.events import Event, EventArgument, event_from, event_text
from pipeline.tasks.questions.frames import CaseFrame
from pipeline.tasks.questions.pairs import EventPair, read_core_pairs
from pipeline.tasks.questions.play.cards import ENGLISH, FRAMES, WILDCARD, Marks, board_from
from pipeline.tasks.questions.play.command import Game, read_game
from pipeline.tasks.questions.play.deal import (
    Dealt,
    card_words,
    fifths,
    of_level,
    playable,
    read_difficulties,
)
from pipeline.tasks.questions.play.feedback import NO_EXAMPLE, SentenceVerdict, verdicts
from pipeline.tasks.questions.play.recognise import NO_PREDICATE, recognise
from pipeline.tasks.questions.play.score import LanguageResources, argument_score, grade

JAPANESE = Marks(("が", "を", "に", "で", "と"), ("から", "ので", "と", "ら"))
SHOW = CaseFrame(
    605_564,
    {
        "が": {"太陽": 6_481, "筍": 199},
        "を": {"顔": 256_404, "口": 41_127},
        "に": {"店": 2_154, "実家": 1_632},
    },
)
"""Table 5.2: the second case frame of 出す."""
RAIN = (
    Event("降った", False, False, (EventArgument("が", "雨"),)),
    Event("履く", False, False, (EventArgument("を", "長靴"),)),
)
THESIS = LanguageResources({"出す": (CaseFrame(9, {"を": {"本": 9}}), SHOW)}, [RAIN])
NOUNS = ["筍", "顔", "雨", "長靴", "店", "口"]
PREDICATES = ["出す", "降った", "履く", "食べる", "寝る"]


def told(
    frames: list[int | None], right: list[str | None], *, down: list[str | None] | None = None,
    negated: list[int] | None = None, wildcard: str = "",
) -> list[SentenceVerdict]:  # fmt: skip
    """The verdicts on a Japanese board."""
    board = {
        "nouns": NOUNS, "predicates": PREDICATES, "frames": frames, "right": right, "down": down or [],
        "negated": negated or [], "wildcard": wildcard,
    }  # fmt: skip
    return list(verdicts(board_from(json.dumps(board), JAPANESE), JAPANESE, THESIS))


def test_the_worked_example_of_the_thesis() -> None:
    """筍が顔を出す: 0.5008 + 1.0 = 1.50082 in Table 5.2's frame; another one of 出す has no 筍."""
    (found,) = told([0, 1, 6], ["が", "を"])
    assert found.score == pytest.approx(1.50082, abs=5e-6)
    assert found.grade == "☆☆"
    assert found.sentence == "筍 –が→ 顔 –を→ 出す"
    parts = [argument_score(EventArgument(*each), SHOW) for each in (("が", "筍"), ("を", "顔"))]
    assert parts == [pytest.approx(0.5008, abs=5e-5), 1.0]
    assert argument_score(EventArgument("が", "顔"), SHOW) == 0
    assert [grade(each) for each in (1.5, 1.0, 0.999, 0.5, 0)] == ["☆☆", "☆☆", "☆", "☆", "?"]


def test_a_better_mark_is_said() -> None:
    """顔が出す scores nothing, and 顔を出す would."""
    (found,) = told([1, 6], ["が"])
    assert (found.grade, found.score, found.unknown) == ("?", 0, False)
    assert found.feedback == "try “を” behind 顔"
    (found,) = told([1, 9], ["が"])
    assert (found.grade, found.feedback, found.unknown) == ("?", NO_EXAMPLE, True)


def test_a_verified_pair_has_three_stars_unless_it_is_negated() -> None:
    """雨が降ったら、長靴を履く, with any connective; turned over, either predicate says something else."""
    alone = told(
        [2, 7, None, None, 8], ["が"], down=[None, "ら"]
    )  # no 長靴, which the former lacks, too
    assert [each.grade for each in alone] == ["?", "?"]
    whole = [2, 7, 3, None, None, 8]
    for mark in JAPANESE.connectives:
        found = told(whole, ["が", mark], down=[None, None, "を"])
        assert found[0].grade == "☆☆☆", mark
        assert found[0].sentence == f"雨 –が→ 降った –{mark}→ 長靴 –を→ 履く"
    for card in (7, 8):
        turned = told(whole, ["が", "ら"], down=[None, None, "を"], negated=[card])
        assert turned[0].grade == "?"
        assert turned[0].unknown


def test_there_are_twelve_cards_and_nine_marks() -> None:
    """As in §5.3.1, in either language."""
    assert len(NOUNS) + len(PREDICATES) + 1 == WILDCARD + 1 == FRAMES == 12
    for marks in (JAPANESE, ENGLISH):
        assert (len(marks.cases), len(marks.connectives)) == (5, 4)


def test_a_latter_sentence_may_leave_out_what_the_former_names() -> None:
    """But may not put something else there."""
    resources = LanguageResources(
        {}, [(event("drop", object="glass"), event("break", subject="glass"))]
    )
    former = event("drop", subject="boy", object="glass")
    assert resources.is_verified(former, event("break"))
    assert resources.is_verified(former, event("break", subject="glass"))
    assert not resources.is_verified(former, event("break", subject="boy"))
    assert not resources.is_verified(event("drop", subject="boy"), event("break", subject="glass"))
    assert not resources.is_verified(former, event("break", negated=True))


def test_all_combinations_of_a_board_are_found() -> None:
    """Two ways lead to a predicate and two from it; a wildcard is what its marks make of it."""
    board = {
        "nouns": NOUNS, "predicates": PREDICATES, "wildcard": "wolf",
        "frames": [0, 11, 7, 1, 6, None, None, 8], "right": ["が", "を", None, "を"],
        "down": [None, "に", None, None, "から"],
    }  # fmt: skip
    read = recognise(board_from(json.dumps(board), JAPANESE), JAPANESE)
    assert [each.frames for each in read.simple] == [(0, 1, 2), (0, 1, 4), (3, 4)]
    assert [each.frames for each in read.complex] == [(0, 1, 4, 7), (3, 4, 7)]
    assert read.simple[0].event.arguments[1] == EventArgument("を", "wolf")
    assert not read.fragments


@pytest.mark.parametrize(
    ("frames", "right", "why"),
    [
        ([6, 0], ["を"], "ends with its predicate"),
        ([0, 6], ["から"], "a connective stands behind a predicate"),
        ([0, None], ["が"], "an empty frame"),
        ([0, 1], ["が"], NO_PREDICATE),
        ([6, 0], ["から"], NO_PREDICATE),
        ([0, 1, 6], ["を", "を"], "を twice"),
    ],
)  # fmt: skip
def test_what_is_no_sentence_is_said_to_be_none(
    frames: list[int | None], right: list[str | None], why: str
) -> None:
    (found,) = told(frames, right)
    assert found.grade == "?"
    assert found.feedback.startswith("not grammatical: ")
    assert why in found.feedback


def test_levels_have_their_bounds() -> None:
    """§5.3.2: easy max ≤ 2.0; medium mean > 1.5 and max ≤ 2.5; hard mean > 2.0."""
    known = {"a": 1.0, "b": 2.0, "c": 2.1, "d": 2.5, "e": 2.6, "f": 5.0}
    levels = {
        "ab": {"easy"}, "b": {"easy", "medium"}, "ac": {"medium"}, "aab": {"easy"}, "ad": {"medium"},
        "cd": {"medium", "hard"}, "de": {"hard"}, "ae": set(), "abf": {"hard"},
    }  # fmt: skip
    for words, wanted in levels.items():
        assert {
            each for each in ("easy", "medium", "hard") if of_level(words, known, each)
        } == wanted
    assert of_level("ax", known, "hard") is None


def test_frequent_words_are_easy() -> None:
    """Fifths of the words, and words as frequent as each other are as difficult."""
    events = [event("go", subject=word) for word in "aaaaaaaabbbbbbccccdd"]
    assert fifths(events) == {"go": 1, "a": 2, "b": 3, "c": 4, "d": 5}
    assert set(fifths([event("go", subject=word) for word in "abcd"]).values()) == {1, 3}


def test_difficulties_go_by_stems(tmp_path: Path) -> None:
    """A heading is left out; what is no number of 1 to 5 is an error with its line."""
    file = tmp_path / "words.csv"
    file.write_text("word,difficulty\nropes,1.5\nexplodes,3\nexplode,2\nbe hungry,4\n")
    assert read_difficulties(file) == {"rope": 1.5, "explod": 2, "hungri": 4}
    file.write_text("\ufefflamp,1\n\nrope,2\n", encoding="utf-8")
    assert read_difficulties(file) == {"lamp": 1, "rope": 2}
    for line in ("rope,six", "rope,6", "rope", "rope,1,2", f"{'a' * 200_000},1"):
        file.write_text(f"lamp,1\n{line}\n")
        with pytest.raises(InputError, match=r"words.csv:2: no word with its difficulty"):
            read_difficulties(file)


def test_predicates_have_a_form_of_the_text_on_their_cards() -> None:
    """The shortest that was seen, with a particle, or behind *be*."""

    def pair(former: str, one: str, latter: str, other: str) -> EventPair:
        events = [Event(each, False, False, ()) for each in (one, other)]
        words = tuple(former.split()), tuple(latter.split())
        return EventPair(former + latter, "s", *words, "so", *events, "x")

    pairs = [
        pair("it exploded", "explod", "they were Hungry", "be hungri"),
        pair("it explodes", "explod", "it breaks quickly down", "break down"),
        pair("he is", "be", "it broke", "broke"),
    ]
    assert card_words(pairs) == {
        "explod": "exploded", "be hungri": "be hungry", "break down": "breaks down", "broke": "broke",
    }  # fmt: skip


def test_events_are_read_as_they_are_written(tmp_path: Path) -> None:
    for each in (
        event("break", subject="glass"),
        Event("break down", True, True, (EventArgument("out of", "U.S."), EventArgument("to", "go"))),
    ):  # fmt: skip
        assert event_from(event_text(each)) == each
    for text in ("", "he dropped the jar", "go(boy)", "go((x y))", "go(subject )"):
        assert event_from(text) is None
    cores = read_core_pairs(pairs_folder(tmp_path / "x"))
    assert event_from(cores[7].former_core) == event(
        "hold", negated=True, subject="boy", object="glass"
    )


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Game:
    return read_game(settings(pairs_folder(tmp_path_factory.mktemp("play") / "x")))


@pytest.fixture(scope="module")
def dealt(game: Game) -> list[Dealt]:
    return game.dealt(settings(Path("x")))


def test_every_set_has_five_complex_sentences(game: Game, dealt: list[Dealt]) -> None:
    """By the game's own recogniser, of its cards and at most one word that is written on the wildcard."""
    assert len(dealt) == 3
    for each in dealt:
        nouns, predicates = each.cards.nouns, each.cards.predicates
        assert (len(set(nouns)), len(set(predicates))) == (6, 5)
        built, written = set(), 0
        for pair in each.pairs:
            cards = [*nouns, *predicates, ""]
            negated = []
            frames, marks = list[int](), list[str]()
            named = {argument.head for argument in pair.former.arguments}
            words = ((pair.former, pair.former_card), (pair.latter, pair.latter_card))
            for side, word in words:
                kept = [a for a in side.arguments if side is pair.former or a.head not in named]
                if word not in predicates:
                    cards[WILDCARD] = word
                    written += 1
                card = cards.index(word, 6)
                frames += [*(nouns.index(a.head) for a in kept), card]
                marks += [*(a.role for a in kept), "so"]
                negated += [card] if side.negated else []
            places = [0, 1, 2, 5, 8, 11]
            board: dict[str, Any] = {
                "nouns": nouns, "predicates": predicates, "wildcard": cards[WILDCARD], "negated": negated,
                "frames": [None] * 12, "right": [None] * 12, "down": [None] * 12,
            }  # fmt: skip
            for number, (place, card) in enumerate(zip(places, frames, strict=False)):
                board["frames"][place] = card
                if number + 1 < len(frames):
                    board["right" if number < 2 else "down"][place] = marks[number]
            found = verdicts(board_from(json.dumps(board)), ENGLISH, game.resources)
            built |= {verdict.sentence for verdict in found if verdict.grade == "☆☆☆"}
        assert len(built) >= 5
        assert written <= 1


def test_sets_are_drawn_anew_by_another_seed_alone(game: Game, dealt: list[Dealt]) -> None:
    again = game.dealt(settings(Path("x")))
    assert again == dealt
    assert game.dealt(settings(Path("x"), seed=1)) != dealt


def test_pairs_that_cannot_be_played_are_counted(game: Game) -> None:
    """A rare role, a word that is not known, one predicate twice, another level."""
    tally = Tally()
    known = dict.fromkeys((word for pair in game.pairs for word in pair.words), 1.0) | {"hold": 5.0}
    del known["laugh"]
    rare = Marks(("subject", "object"), ENGLISH.connectives)
    kept = playable(game.pairs, known, "easy", rare, tally)
    assert tally.refused == Counter({
        "pairs with a word of unknown difficulty": 1, "pairs of another level": 1,
    })  # fmt: skip
    assert len(kept) == len(CLAUSES) - 2
    narrow = playable(game.pairs, known, None, Marks(("subject",), ENGLISH.connectives), tally)
    assert len(narrow) == 2
    assert tally.refused["pairs with a role that is no mark"] == 8


@pytest.mark.long
def test_no_board_is_beyond_the_rules() -> None:
    """10,000 random boards: each has verdicts, whose frames are frames of the board."""
    random = Random(0)
    marks = [None, None, *ENGLISH.cases, *ENGLISH.connectives]
    resources = LanguageResources(
        {"drop": (CaseFrame(9, {"object": {"glass": 1}, "to": {"boy": 9}}),)},
        [(event("drop"), event("break"))],
    )
    nouns, predicates = ("glass", "boy", "a", "b", "c", "d"), ("drops", "breaks", "e", "f", "g")
    grades = Counter[str]()
    for number in range(10_000):
        frames: list[int | None] = [*range(12), *[None] * 8]
        random.shuffle(frames)
        board = {
            "nouns": nouns, "predicates": predicates, "frames": frames[:12], "wildcard": "drop",
            "right": [None if n % 3 == 2 else random.choice(marks) for n in range(12)],
            "down": [random.choice(marks) for _ in range(9)],
            "negated": random.sample(range(12), random.randrange(3)),
        }  # fmt: skip
        found = board_from(json.dumps(board))
        for each in verdicts(found, ENGLISH, resources):
            grades[each.grade] += 1
            assert all(0 <= frame < 12 for frame in each.frames), number
            assert each.sentence
            assert (each.grade == "?") == bool(each.feedback)
    assert set(grades) == {"?", "☆", "☆☆", "☆☆☆"}


EMPTY: dict[str, Any] = {
    "nouns": NOUNS, "predicates": PREDICATES, "frames": [0, 6], "right": ["subject"],
}  # fmt: skip
BAD = {
    "an unknown card": ({"frames": [12]}, "unknown card 12: cards are 0 to 11"),
    "a card below all": ({"frames": [-1]}, "unknown card -1"),
    "an unknown card turned over": ({"negated": [99]}, "unknown card 99"),
    "an unknown mark": ({"right": ["by"]}, "unknown mark 'by': there are subject, object"),
    "a card twice": ({"frames": [3, None, 3]}, "card 3 lies in two frames"),
    "more frames": ({"frames": [None] * 13}, "frames: 13 frames, and the board has 12"),
    "more marks": ({"right": [None] * 13}, "right: 13 frames, and the board has 12"),
    "a mark off the board": ({"down": [None] * 9 + ["so"]}, "down: the mark so of frame 9 leads off"),
    "five nouns": ({"nouns": NOUNS[:5]}, "5 nouns and 5 predicates, where 6 and 5 are dealt"),
    "a wildcard of 10 kB": ({"wildcard": "x" * 10_000}, "no word: letters and digits, at most 40"),
    "a wildcard with markup": ({"wildcard": "<b>x</b>"}, "'<b>x</b>' on a card, which is no word"),
    "a card with a line": ({"nouns": ["a\nb", *NOUNS[1:]]}, "which is no word"),
    "an empty wildcard": ({"frames": [11]}, "nothing is written on a card"),
    "a number for a mark": ({"right": [1]}, "right.0: input should be a valid string"),
    "a word for a card": ({"frames": ["筍"]}, "frames.0: input should be a valid integer"),
    "no frames": ({"frames": None}, "frames: input should be a valid list"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_board_is_one_line(name: str) -> None:
    changed, message = BAD[name]
    with pytest.raises(InputError) as error:
        board_from(json.dumps(EMPTY | changed))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not JSON"), ("[1, 2", "not JSON"), ("[]", "should be a valid dictionary"),
     ("[" * 60 + "]" * 60, "nested more than"), (" " * 70_000, "a board of over 64 kB")],
)  # fmt: skip
def test_what_is_no_json_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        board_from(text)
