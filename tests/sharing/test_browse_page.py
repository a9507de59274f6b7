"""``conjoin browse`` in a real browser: what a reader does with the page, and with the file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsed import SCRIPT, awkward_folder, opened
from in_browser import chromium, needs_chromium, served

from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.server import export_page, make_app
from pipeline.sharing.browse.table import View
from pipeline.text.natural import join_words

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return awkward_folder(tmp_path_factory.mktemp("browse-page") / "toy")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Iterator[BrowsedCorpus]:
    with opened(folder) as corpus:
        yield corpus


@pytest.fixture(scope="module")
def url(corpus: BrowsedCorpus) -> Iterator[str]:
    """A server in a thread, as ``serve`` has it."""
    with served(make_app(corpus, "sesame"), "sesame") as url:
        yield url


@pytest.fixture(scope="module")
def file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The whole corpus as one file."""
    path = tmp_path_factory.mktemp("file") / "page.html"
    with opened(
        place=folder, export=path, sample=1000
    ) as corpus:  # which `run` would refuse for its words
        path.write_text(export_page(corpus.about, corpus.everything()))
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(playwright) as browser:
        yield browser


@pytest.fixture
def tab(browser: Any, url: str) -> Iterator[Any]:
    """A page that has recorded every request, and may have had no error and left this machine never."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
    context.set_default_timeout(10_000)
    tab = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield tab
    assert not errors
    own = url.partition("?")[0]
    assert not [each for each in requests if not each.startswith((own, "file:", "data:"))]
    assert not [each for each in requests if each.startswith(own) and "token=sesame" not in each]
    context.close()


def visit(tab: Any, url: str) -> None:
    """Open the page and wait for its first rows."""
    tab.goto(url)
    settled(tab)


def settled(tab: Any) -> None:
    """Wait until what was asked for is shown."""
    tab.wait_for_function(
        "() => document.querySelector('#where').textContent && !document.querySelector('#rows[aria-busy]')"
    )


def shown(tab: Any) -> list[str]:
    ids: list[str] = tab.eval_on_selector_all("#rows > li", "rows => rows.map(r => r.dataset.id)")
    return ids


def wanted(corpus: BrowsedCorpus, **view: Any) -> list[str]:
    return [row["id"] for row in corpus.answer(View(**view))["rows"]]


def slide(tab: Any, cut: int) -> None:
    """Move the slider to a step, as a hand would: an input event and no more."""
    tab.eval_on_selector(
        "#delta", "(s, cut) => { s.value = cut; s.dispatchEvent(new Event('input')); }", cut
    )


def until_listed(tab: Any, ids: list[str]) -> None:
    tab.wait_for_function(
        "ids => JSON.stringify([...document.querySelectorAll('#rows > li')].map(r => r.dataset.id))"
        " === JSON.stringify(ids)",
        arg=ids,
    )


@pytest.mark.long
def test_what_is_seen_can_be_saved(tab: Any, url: str, corpus: BrowsedCorpus, file: str) -> None:
    """The button shows the command for the filters as they stand; a page that is a file has none."""
    visit(tab, url)
    tab.click("label:has(input[name=label][value=VP])")
    tab.click("#save")
    tab.wait_for_selector("#saving[open]")
    saving = corpus.selection(View(label=["VP"]))
    assert tab.text_content("#saving-command") == saving["command"]
    assert tab.text_content("#saving-note") == saving["note"]
    tab.keyboard.press("Escape")
    tab.click("label:has(input[name=state][value=rejected])")
    tab.click("#save")
    tab.wait_for_function(
        "() => document.querySelector('#saving-note').textContent.startsWith('Rejects')"
    )
    assert tab.is_hidden("#saving-command")
    tab.goto(file)
    settled(tab)
    assert tab.is_hidden("#save")


def test_rows_are_marked_and_a_script_tag_stays_text(
    tab: Any, url: str, corpus: BrowsedCorpus
) -> None:
    """The first page holds the corpus's first rows, their parts named; no corpus text becomes markup."""
    visit(tab, url)
    assert shown(tab) == wanted(corpus)
    first = tab.locator("#rows > li").first
    row = corpus.answer(View(limit=1))["rows"][0]
    assert first.locator(".sentence").inner_text() == row["text"]
    assert SCRIPT in first.locator(".sentence").inner_text()
    parts = {
        name: first.get_by_role("group", name=name).inner_text()
        for name in ("reference", "coordinator", "fill")
    }
    (a, b), (c, d) = row["conjuncts"]
    natural = join_words(row["words"])
    assert parts == {
        "reference": natural.slice(a, b), "coordinator": "and", "fill": natural.slice(c, d),
    }  # fmt: skip
    tab.wait_for_timeout(100)  # an image that fails to load would have spoken by now
    assert tab.evaluate("window.broken") is None
    assert tab.locator("#rows img, #rows script").count() == 0
    for fact in (row["sentence"], row["license"], "t5, synchronized, greedy, seed 0"):
        assert fact in first.inner_text()


@pytest.mark.long
def test_filter_and_search_and_their_clearing(tab: Any, url: str, corpus: BrowsedCorpus) -> None:
    """Chips, ranges, reasons and search each leave what the server leaves; clearing brings all back."""
    visit(tab, url)
    chip = tab.locator("#label label", has_text="VP")
    chip.click()
    until_listed(tab, wanted(corpus, label=["VP"]))
    assert chip.locator(".rows").inner_text() == str(corpus.answer(View(label=["VP"]))["listed"])
    tab.fill("#fill_min", "3")
    until_listed(tab, wanted(corpus, label=["VP"], fill_min=3))
    tab.click("#clear")
    until_listed(tab, wanted(corpus))
    tab.locator("#state label", has_text="Rejected").click()
    until_listed(tab, wanted(corpus, state="rejected"))
    refused = corpus.answer(View(state="rejected", label=["VP"]))["listed"]
    assert chip.locator(".rows").inner_text() == str(refused)
    reason = corpus.about["reasons"][0][0]
    tab.locator("#reason label", has_text=reason).click()
    until_listed(tab, wanted(corpus, state="rejected", reason=[reason]))
    assert f"rejected: {reason}" in tab.locator("#rows > li").first.inner_text()
    tab.click("#clear")
    tab.keyboard.press("/")
    tab.keyboard.type("DON'T")
    until_listed(tab, wanted(corpus, q="don't"))
    tab.keyboard.type(" nobody wrote this")
    tab.wait_for_selector("#empty:visible")
    assert shown(tab) == []
    tab.click("#empty-clear")
    until_listed(tab, wanted(corpus))


def test_delta_moves_share_and_chart_without_asking(
    tab: Any, url: str, corpus: BrowsedCorpus
) -> None:
    """Moving δ changes the count, each label's share and which rows are dim, with no request."""
    visit(tab, url)
    answer = corpus.answer(View())
    total = sum(answer["usable"].values())
    assert "generator’s own probability" in tab.inner_text("#delta-what")
    assert tab.inner_text("#share") == f"{100 * (total - 1) / total:.1f} %"  # one row has no score
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for share in (0.3, 0.7):
        values = sorted(
            row["value"] for row in corpus.everything() if row["value"] and not row["reason"]
        )
        cut = int(values[int(share * len(values))] / corpus.about["top"] * 200)
        slide(tab, cut)
        above = {label: sum(bins[cut:]) for label, bins in answer["histogram"].items()}
        count = sum(above.values())
        assert 0 < count < total
        assert tab.inner_text("#delta-count") == f"{count} of {total} candidates reach δ"
        assert tab.inner_text("#share") == f"{100 * count / total:.1f} %"
        for label, own in above.items():
            line = tab.locator(f"#chart [data-label={label}]")
            assert (
                line.locator(".percent").inner_text()
                == f"{100 * own / answer['usable'][label]:.1f} %"
            )
        dim = tab.eval_on_selector_all(
            "#rows > li", "l => l.map(r => r.classList.contains('below'))"
        )
        assert dim == [(row["bin"] or 0) < cut for row in answer["rows"]]
    assert not asked
    tab.locator("#keep label", has_text="< δ").click()
    until_listed(tab, wanted(corpus, keep="below", cut=cut))
    assert all(
        text.endswith(("< δ", "not scored")) for text in tab.locator(".verdict").all_inner_texts()
    )


def test_paging_by_keyboard(tab: Any, url: str, corpus: BrowsedCorpus) -> None:
    """→ and j go on, ← and k back; neither leaves the corpus; in the search they are letters."""
    visit(tab, url)
    tab.keyboard.press("k")
    for key, offset in (("ArrowRight", 20), ("j", 40), ("ArrowLeft", 20), ("k", 0)):
        tab.keyboard.press(key)
        until_listed(tab, wanted(corpus, offset=offset))
    assert tab.inner_text("#where").startswith("1–20 of ")
    tab.keyboard.press("/")
    tab.keyboard.press("j")
    assert tab.input_value("#q") == "j"
    tab.keyboard.press("Escape")
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()


@pytest.mark.long
def test_link_reproduces_the_view(tab: Any, url: str, corpus: BrowsedCorpus) -> None:
    """Another tab with the same link shows the same rows under the same settings."""
    visit(tab, url)
    tab.locator("#label label", has_text="NP").click()
    tab.select_option("#sort", "-value")
    slide(tab, 30)
    tab.fill("#q", "clerk")
    until_listed(tab, wanted(corpus, label=["NP"], sort="-value", q="clerk"))
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    rows = wanted(corpus, label=["NP"], sort="-value", q="clerk", offset=20)
    until_listed(tab, rows)
    state, link = tab.inner_text("#delta-panel"), tab.url
    other = tab.context.new_page()
    other.set_default_timeout(10_000)
    visit(other, link)
    assert shown(other) == rows
    assert other.inner_text("#delta-panel") == state
    assert other.input_value("#q") == "clerk"
    assert other.input_value("#sort") == "-value"


@pytest.mark.long
def test_dark_as_the_system_or_as_chosen(tab: Any, url: str) -> None:
    """The page follows the system until somebody chooses, and remembers what was chosen."""

    def paper() -> str:
        color: str = tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return color

    visit(tab, url)
    light = paper()
    tab.emulate_media(color_scheme="dark")
    dark = paper()
    assert light != dark
    tab.click("#theme")
    assert (tab.inner_text("#theme"), paper()) == ("Theme: light", light)
    tab.click("#theme")
    tab.emulate_media(color_scheme="light")
    assert (tab.inner_text("#theme"), paper()) == ("Theme: dark", dark)
    tab.reload()
    settled(tab)
    assert paper() == dark


@pytest.mark.parametrize("width", [360, 390])
def test_fits_a_phone(tab: Any, url: str, width: int) -> None:
    """Nothing is wider than the screen, with the filters open and a long word too."""
    tab.set_viewport_size({"width": width, "height": 844})
    visit(tab, url + "#state=all&q=clerk")
    tab.click("#filters summary")
    wide = (
        "() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(wide) == []


def test_server_that_has_gone_is_reported(browser: Any, url: str, corpus: BrowsedCorpus) -> None:
    """When the terminal was closed the page says so, and goes on when it is back."""
    tab = browser.new_page()
    visit(tab, url)
    tab.route("**/api/view*", lambda route: route.abort())
    tab.keyboard.press("j")
    tab.wait_for_selector("#error:visible")
    assert "still running" in tab.inner_text("#error-text")
    tab.unroute("**/api/view*")
    tab.click("#again")
    until_listed(tab, wanted(corpus, offset=20))
    assert not tab.locator("#error").is_visible()
    tab.close()


QUERIES: list[dict[str, Any]] = [
    {},
    {"state": "all"},
    {"state": "rejected", "reason": ["empty fill"]},
    {"state": "all", "reason": ["empty fill"], "sort": "-score"},
    {"state": "all", "coordinator": [""]},
    {"coordinator": ["or"]},
    {"label": ["VP"], "sort": "value"},
    {"fill_min": 2, "fill_max": 4, "words_min": 15, "sort": "-value"},
    {"words_max": 14, "state": "all"},
    {"keep": "above", "cut": 50, "sort": "score"},
    {"keep": "below", "cut": 50, "state": "all"},
    {"keep": "above", "cut": 200},
    *(
        {"q": text}
        for text in ("%", "don't", '"', "\\", "ärzte", "οδος", "ΟΔΟΣ", "<SCRIPT", " the ")
    ),
    {"offset": 40, "limit": 7, "sort": "-value", "state": "all"},
    {"offset": 4000},
]


def test_file_answers_as_the_server_does(tab: Any, file: str, corpus: BrowsedCorpus) -> None:
    """The rules in JavaScript and in SQL give the same rows and counts for every kind of question."""
    tab.context.set_offline(True)
    visit(tab, file)
    answers = tab.evaluate(
        "questions => { const data = JSON.parse(document.getElementById('data').textContent);"
        "return Promise.all(questions.map(q => conjoin.local(data).view({ ...conjoin.VIEW, ...q }))); }",
        QUERIES,
    )
    for query, answer in zip(QUERIES, answers, strict=True):
        assert answer == json.loads(json.dumps(corpus.answer(View(**query)))), query


@pytest.mark.long
def test_file_works_from_the_disk_without_a_network(
    tab: Any, file: str, corpus: BrowsedCorpus
) -> None:
    """Opened as a file: it says it is a sample, filters, moves δ, keeps its link, asks nobody."""
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.context.set_offline(True)
    visit(tab, file)
    assert "a sample of 90 of the corpus’s 90 rows" in tab.inner_text("#notices")
    tab.locator("#label label", has_text="NP").click()
    until_listed(tab, wanted(corpus, label=["NP"]))
    before = tab.inner_text("#share")
    slide(tab, 60)
    assert tab.inner_text("#share") != before
    tab.keyboard.press("j")
    until_listed(tab, wanted(corpus, label=["NP"], offset=20))
    link = tab.url
    tab.goto("about:blank")
    visit(tab, link)
    assert shown(tab) == wanted(corpus, label=["NP"], offset=20)
    assert tab.evaluate("window.broken") is None
    assert all(each.startswith(("file:", "data:", "about:")) for each in asked)
