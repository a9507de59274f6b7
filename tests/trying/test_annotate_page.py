"""Twenty sentences annotated in a real browser, at the width of a telephone and of a desk."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from annotated import started
from in_browser import chromium, needs_chromium, served

from pipeline.core.corpus_folder import ingest_card
from pipeline.core.decisions import DrawnToAnnotate
from pipeline.core.schema import read_sentences
from pipeline.core.types import Span
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest
from pipeline.trying.annotate.questions import Proposals
from pipeline.trying.annotate.saved import Saved, saved
from pipeline.trying.annotate.server import make_app

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    needs_chromium,
    pytest.mark.long,
]

GOLD = [
    "[The old men] and [the women] left early .",
    "She [sold lamps] and [bought chairs] .",
    "We saw [lamps] , [chairs] and [tables] .",
    "They live in [the city] or [the country] .",
    "[He came] but [nobody saw him] .",
    "The [red] and [blue] boats sank .",
    "The author of the book , who is ill , and the editor met .",
    "He came and then went .",
    "[Cats] and [dogs] and [birds] sleep .",
    "You can [read the paper] , [ask a friend] or [write to us] today .",
    "It is [small] but [old] .",
    "Both [the nurse] and [the doctor] agreed .",
    "He [sat] and [waited] .",
    "[Anna] and [Tom] called .",
    "Or so they said and left it at that .",
    "We need [time] and [money] .",
    "[Rain] or [snow] will fall .",
    "He is [tired] , [hungry] and [cold] .",
    "[They left] , and [we stayed] .",
    "[Salt] , [pepper] , and [oil] are there .",
]
"""Twenty sentences with what a person marks; three of them need more than two clicks, or none."""

WORDS = [" ".join(line.translate({ord(c): None for c in "[]"}).split()) for line in GOLD]


def spans_of(line: str) -> list[tuple[int, int]]:
    """The conjuncts of a line with brackets."""
    found, start = [], 0
    for at, word in enumerate(line.split()):
        start = at if word.startswith("[") else start
        if word.endswith("]"):
            found.append((start, at + 1))
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(playwright) as browser:
        yield browser


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in WORDS))
    out = tmp_path / "mine"
    ingest(IngestSettings(reader="text", source=tmp_path / "t.txt", out=out))
    return out


@pytest.fixture(params=[(380, 800), (1200, 900)], ids=["380", "1200"])
def page(
    request: pytest.FixtureRequest, browser: Any, corpus: Path
) -> Iterator[Callable[..., Any]]:
    """Opens the page of what is saved; there may have been no error, and nothing that left this machine."""
    width, height = request.param
    errors: list[str] = []
    requests: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(20_000)

    def tab(url: str) -> Any:
        made = context.new_page()
        made.on("request", lambda each: requests.append(each.url))
        made.on("pageerror", lambda error: errors.append(str(error)))
        made.goto(url)
        made.wait_for_selector("#words button, #end:not([hidden])")
        return made

    yield tab
    assert not errors
    assert not [
        each for each in requests if not re.match(r"http://127\.0\.0\.1:\d+/.*token=|data:", each)
    ]
    context.close()


def app_of(file: Saved, corpus: Path, proposals: Proposals | None = None) -> Any:
    """The application; the sentences are drawn in the order of the text."""
    rows = {s.sentence_id: s.words for s in read_sentences(corpus / "sentences.parquet")}
    if not file.decided.drawn:
        file.add(DrawnToAnnotate(tuple(rows), "mine", "random", 0))
    return make_app(file, rows, proposals or {}, "sesame", "conjoin ingest corrected x --of y")


@contextmanager
def killed_afterwards(corpus: Path) -> Iterator[str]:
    """The address of the page of a process that ends by kill -9."""
    process, url = started(corpus, len(GOLD))
    try:
        yield url
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


class Hand:
    """A person's clicks and keys, which are counted."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.clicks = self.keys = 0

    def click(self, word: int) -> None:
        """Click a word."""
        self.tab.click(f'#words button[data-at="{word}"]')
        self.clicks += 1

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.tab.keyboard.press(key)
            self.keys += 1

    def until(self, text: str) -> None:
        """Wait for the next question, which begins with these words; at the end the last one is hidden."""
        self.tab.wait_for_function(
            "t => !document.querySelector('#question').hidden"
            " && document.querySelector('#where').textContent.startsWith(t)",
            arg=text,
        )

    def hint(self) -> str:
        """What the page says of what is marked."""
        return str(self.tab.inner_text("#hint"))


def test_twenty_sentences_are_annotated(page: Any, corpus: Path) -> None:
    """By clicks and keys, a wrong click undone, kill -9 in between: all come back as meant."""
    path = corpus / "annotated.jsonl"
    with saved(path) as file:
        app_of(file, corpus)
    with killed_afterwards(corpus) as url:
        hand = Hand(page(url))
        hand.click(1)
        assert hand.hint() == "Now the last word of what it joins, after it."
        hand.press("u")  # a wrong click
        hand.click(0)
        hand.click(5)
        for number in range(2, 11):
            one_sentence(hand, number)
        hand.until("Sentence 11")
    with killed_afterwards(corpus) as url:
        more = Hand(page(url))
        for number in range(11, 21):
            one_sentence(more, number)
        more.tab.wait_for_selector("#end:not([hidden])")
        assert f"conjoin ingest corrected {path} --of {corpus}" in more.tab.inner_text("#end")
        assert more.tab.inner_text("#said").startswith("20 of 20 sentences, 19 structures")
        assert more.tab.inner_text("h1") == "All of them are done."
        assert more.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # Undo goes back across sentences.
        more.press("u")
        more.until("Sentence 20")
        assert more.tab.inner_text("h1") == "What does and join?"
        one_sentence(more, 20)
        more.tab.wait_for_selector("#end:not([hidden])")
    ingest(IngestSettings(reader="corrected", source=path, of=corpus, out=corpus.parent / "back"))
    found = list(read_sentences(corpus.parent / "back/sentences.parquet"))
    spans = [[(s.start, s.end) for c in each.coordinations for s in c.conjuncts] for each in found]
    meant = list(map(spans_of, GOLD))
    meant[6] = [(0, 9), (11, 13)]
    meant[7] = [(1, 2), (4, 5)]
    assert spans == meant
    assert ingest_card(corpus.parent / "back")["splits"]["train"]["evaluable_instances"] == 19
    clicks, keys = hand.clicks + more.clicks, hand.keys + more.keys
    print(
        f"\n{clicks} clicks and {keys} keys for 20 sentences: {(clicks + keys) / 20:.2f} a sentence"
    )


def one_sentence(hand: Hand, number: int) -> None:
    """Annotate the sentence of that number."""
    hand.until(f"Sentence {number} ")
    spans = spans_of(GOLD[number - 1])
    if number == 7:  # the commas around a clause part nothing
        hand.click(0)
        hand.click(12)
        hand.click(5)
        assert hand.hint() == "[The author of the book , who is ill] , and [the editor]"
        hand.press("Enter")
    elif number == 8:  # a word that is of no conjunct
        hand.click(1)
        hand.tab.wait_for_selector("#words .side")
        hand.press("ArrowRight", "ArrowRight", "x")
        hand.click(4)
    elif number == 9:  # a coordinator that parts two conjuncts, too
        hand.click(0)
        hand.click(4)
        hand.click(3)
        assert hand.hint() == "[Cats] and [dogs] and [birds]"
        hand.press("Enter")
    elif number == 13:  # by the keyboard alone
        hand.press("ArrowLeft", "Space", "ArrowRight", "ArrowRight", "Space")
    elif not spans:
        hand.press("n")
    else:
        hand.click(spans[0][0])
        hand.click(spans[-1][1] - 1)
        if len(spans) > 2:  # commas that a person looks at
            hand.press("Enter")


def test_a_proposal_is_taken_with_one_key_or_changed(page: Any, corpus: Path) -> None:
    """Enter takes it; a click moves a side, x takes a word out; what cannot be is said."""
    name = "mine/t.txt/{}".format
    found = {
        name(1): {3: (Span(0, 3), Span(4, 6))},
        name(8): {2: (Span(1, 2), Span(3, 5))},
    }
    with (
        saved(corpus / "x.jsonl") as file,
        served(app_of(file, corpus, found), "sesame") as url,
    ):
        hand = Hand(page(url))
        assert hand.hint() == "[The old men] and [the women]"
        hand.press("Enter")
        hand.until("Sentence 2 ")
        hand.press("Enter")
        hand.tab.wait_for_selector("#error:not([hidden])")
        assert "Mark the first word" in hand.tab.inner_text("#error")
        for number in range(2, 8):
            hand.until(f"Sentence {number} ")
            hand.press("n" if number < 7 else "s")
        hand.until("Sentence 8 ")
        hand.press("ArrowRight", "x")
        assert hand.hint() == "[came] and then [went]"
        hand.press("x")
        assert hand.hint() == "[came] and [then went]"
        hand.press("x", "Home", "Space")
        assert hand.hint() == "[He came] and then [went]"
        hand.press("u", "Enter")
        hand.until("Sentence 9 ")
        hand.press("?")
        assert hand.tab.evaluate("document.querySelector('#help').open")
        # Its beginning is seen, not the button at its end.
        assert hand.tab.evaluate(
            "document.querySelector('#help-title').getBoundingClientRect().top > 0"
        )
        assert hand.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    last = file.decided.decisions[-1]
    assert (last.coordinator, last.conjuncts) == (2, (Span(1, 2), Span(4, 5)))
