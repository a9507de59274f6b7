"""The game in a real browser, at the width of a telephone and of a desk, by the keyboard alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_browser import chromium, needs_chromium, served
from played import pairs_folder, settings

from pipeline.tasks.questions.play.cards import ENGLISH
from pipeline.tasks.questions.play.command import read_game
from pipeline.tasks.questions.play.server import make_app

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    needs_chromium,
    pytest.mark.long,
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a thread, as ``serve`` has it."""
    asked = settings(pairs_folder(tmp_path_factory.mktemp("play") / "x"))
    game = read_game(asked)
    app = make_app([each.cards for each in game.dealt(asked)], ENGLISH, game.resources, "sesame")
    with served(app, "sesame") as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(playwright) as browser:
        yield browser


@pytest.fixture(params=[(380, 800), (1200, 900)], ids=["380", "1200"])
def tab(request: pytest.FixtureRequest, browser: Any, url: str) -> Iterator[Any]:
    """The page of the second set, which may have had no error and left this machine never."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(20_000)
    tab = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    # Chromium reports a refused board by itself.
    tab.on("console", lambda line: errors.append(line.text)
           if line.type == "error" and "400 (Bad Request)" not in line.text else None)  # fmt: skip
    tab.goto(f"{url}#2")
    tab.wait_for_selector("#board .frame")
    yield tab
    assert not errors
    own = url.partition("?")[0]
    assert not [each for each in requests if not each.startswith((own, "blob:", "data:"))]
    assert not [each for each in requests if each.startswith(own) and "token=sesame" not in each]
    context.close()


def press(tab: Any, *keys: str) -> None:
    for key in keys:
        tab.keyboard.press(key)


def go_to(tab: Any, group: str, wanted: str) -> None:
    """Move through a tray, by its key and the arrows, to what has that text."""
    press(tab, {"cards": "w", "marks": "m"}[group])
    for _ in range(12):
        if tab.evaluate("document.activeElement.textContent") == wanted:
            return
        press(tab, "ArrowRight")
    raise AssertionError(f"no {wanted} among the {group}")


def put(tab: Any, group: str, wanted: str, row: int, column: int) -> None:
    """Take a card or mark, and put it down on the board: rows and columns count arrows, too."""
    go_to(tab, group, wanted)
    press(tab, "Enter")
    for key, back, goal in (("ArrowDown", "ArrowUp", row), ("ArrowRight", "ArrowLeft", column)):
        side = "row" if goal == row and key == "ArrowDown" else "column"
        for _ in range(12):
            at = int(tab.evaluate(f"document.activeElement.dataset.{side}"))
            if at == goal:
                break
            press(tab, key if at < goal else back)
    press(tab, "Enter")


def board(tab: Any) -> dict[str, str]:
    """The text of each place of the board that has one, by row and column."""
    places = tab.eval_on_selector_all(
        "#board button",
        "all => all.map(e => [`${e.dataset.row},${e.dataset.column}`, e.textContent])",
    )
    return {place: text for place, text in places if text}


def sentences(tab: Any) -> list[str]:
    """What was said, after scoring."""
    tab.evaluate("document.querySelector('#said').replaceChildren()")  # what was said before
    press(tab, "s")
    tab.wait_for_selector("#said li")
    found: list[str] = tab.eval_on_selector_all("#said li", "all => all.map(e => e.innerText)")
    return [" ".join(each.split()) for each in found]


def test_a_round_is_played_by_the_keyboard(tab: Any) -> None:
    """Cards and marks are placed, scored, turned over, scored again; nothing lies outside the window."""
    put(tab, "cards", "ball", 0, 0)
    put(tab, "cards", "glass", 0, 2)
    put(tab, "cards", "hits", 0, 4)
    put(tab, "cards", "breaks", 2, 4)
    put(tab, "marks", "subject", 0, 1)
    put(tab, "marks", "object", 0, 3)
    put(tab, "marks", "so", 1, 4)
    assert board(tab) == {
        "0,0": "ball", "0,1": "subject", "0,2": "glass", "0,3": "object", "0,4": "hits", "1,4": "so",
        "2,4": "breaks",
    }  # fmt: skip
    first, second = sentences(tab)
    assert first == "☆☆☆ ball –subject→ glass –object→ hits –so→ breaks"
    assert second == "☆☆ ball –subject→ glass –object→ hits"
    assert tab.inner_text("#total") == "5 ☆ in 2 sentences"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The last frame is where the keyboard is: turn its card over.
    press(tab, "b", "ArrowDown", "n")
    assert board(tab)["2,4"] == "not breaks"
    first, _ = sentences(tab)
    assert first.startswith("? ball")
    assert "not known" in first


def test_what_is_unknown_is_noted_and_saved(tab: Any, tmp_path: Path) -> None:
    """A wrong mark brings a hint, a word of one's own counts, and lists stay in this browser."""
    put(tab, "cards", "glass", 0, 0)
    put(tab, "cards", "hits", 0, 2)
    put(tab, "marks", "subject", 0, 1)
    press(tab, "w", "Tab")
    tab.keyboard.type("sings")
    press(tab, "Enter")
    assert tab.evaluate("document.activeElement.dataset.kind") == "frame"
    press(tab, "Enter")
    assert board(tab)["0,4"] == "sings"
    put(tab, "cards", "girl", 2, 4)
    put(tab, "marks", "so", 0, 3)
    put(tab, "marks", "when", 1, 4)
    said = sentences(tab)
    assert "? glass –subject→ hits try “object” behind glass" in said
    assert any("not grammatical: a sentence needs a predicate at its end" in each for each in said)
    unknown = next(each for each in said if "sings" in each and "Note it" in each)
    tab.focus("#said .note")
    press(tab, "Enter")
    assert tab.inner_text("#noted-count") == "1"
    tab.focus("details:nth-of-type(2) summary")
    press(tab, "Enter")
    with tab.expect_download() as download:
        tab.focus("#save")
        press(tab, "Enter")
    download.value.save_as(tmp_path / "noted.txt")
    assert (tmp_path / "noted.txt").read_text().strip() in unknown
    known = json.loads(tab.evaluate("localStorage.getItem('conjoin-play')"))
    assert known == {"used": [], "noted": [(tmp_path / "noted.txt").read_text().strip()]}
    tab.focus("#forget")
    press(tab, "Enter")
    assert tab.inner_text("#noted-count") == "0"
    assert tab.evaluate("localStorage.length") == 0


def test_cards_are_taken_back_and_sets_follow_each_other(tab: Any) -> None:
    """Delete empties a frame, Escape the hand, and another set begins with an empty board."""
    put(tab, "cards", "dog", 0, 0)
    press(tab, "Delete")
    assert board(tab) == {}
    go_to(tab, "cards", "dog")
    press(tab, "Enter")
    assert "In your hand: dog" in tab.inner_text("#hand")
    press(tab, "Escape")
    assert "Take a card" in tab.inner_text("#hand")
    put(tab, "cards", "dog", 2, 2)
    press(tab, "s")
    tab.wait_for_function(
        "() => document.querySelector('#total').textContent.startsWith('No sentence')"
    )
    tab.focus("#wildcard")
    tab.keyboard.type("<img src=x>")
    press(tab, "Enter", "Enter", "s")
    tab.wait_for_selector("#error:not([hidden])")
    assert "'<img src=x>' on a card, which is no word" in tab.inner_text("#error")
    tab.focus("#next")
    press(tab, "Enter")
    tab.wait_for_function("() => document.querySelector('#where').textContent === '3 of 3'")
    assert board(tab) == {}
    press(tab, "?")
    assert tab.evaluate("document.querySelector('#help').open")
