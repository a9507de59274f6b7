"""``conjoin browse`` without a browser: questions, server, predictor, file, and what is refused."""

import json
import re
import shutil
import socket
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from browsed import AWKWARD, SCRIPT, awkward_folder, opened
from damaged import loose
from fastapi.testclient import TestClient
from shared_corpora import candidate_folder, without_donors

from pipeline.core.errors import InputError, ModelError
from pipeline.core.local_page import listen
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES
from pipeline.core.types import Span
from pipeline.sharing.browse import command
from pipeline.sharing.browse.command import run
from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.server import export_page, make_app
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.browse.table import BINS, View
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.text.columns import natural_columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return awkward_folder(tmp_path_factory.mktemp("browse") / "toy")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> Iterator[BrowsedCorpus]:
    with opened(folder) as corpus:
        yield corpus


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows as pyarrow reads them: usable ones, then rejects."""
    return [
        {"reason": None, **row}
        for kind in ("candidates", "rejects")
        for path in sorted(folder.glob(f"{kind}-*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


@pytest.fixture(scope="module")
def predictor(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "predictor"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.1, seed=0).save(folder)
    return folder


def ids(answer: dict[str, Any]) -> list[str]:
    return [row["id"] for row in answer["rows"]]


def length(span: dict[str, int]) -> int:
    return span["end"] - span["start"]


FILTERS = {
    "usable, in the order of the files": ({}, lambda r: not r["reason"]),
    "rejects": ({"state": "rejected"}, lambda r: r["reason"]),
    "a reason leaves usable rows alone": (
        {"state": "all", "reason": ["empty fill"]},
        lambda r: r["reason"] in (None, "empty fill"),
    ),
    "label": ({"label": ["VP"]}, lambda r: not r["reason"] and r["label"] == "VP"),
    "coordinator in any case": (
        {"coordinator": ["or"]},
        lambda r: not r["reason"] and r["words"][r["coordinator"]].lower() == "or",
    ),
    "no coordinator": (
        {"state": "all", "coordinator": [""]},
        lambda r: r["coordinator"] == -1,
    ),
    "words of the fill": (
        {"fill_min": 2, "fill_max": 3},
        lambda r: not r["reason"] and 2 <= length(r["conjuncts"][1]) <= 3,
    ),
    "words of the sentence": (
        {"words_min": 15, "words_max": 17},
        lambda r: not r["reason"] and 15 <= len(r["words"]) <= 17,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_filters_leave_the_rows_they_name(
    corpus: BrowsedCorpus, rows: list[dict[str, Any]], name: str
) -> None:
    """Each filter leaves what the same rule leaves of the rows read by pyarrow, in their order."""
    asked, rule = FILTERS[name]
    wanted = [row["candidate_id"] for row in rows if rule(row)]
    answer = corpus.answer(View(**asked, limit=200))
    assert wanted
    assert ids(answer) == wanted
    assert answer["listed"] == len(wanted)


@pytest.mark.parametrize("word", ["%", "'", '"', "_", "\\", "ärzte", "<script>", "DON'T"])
def test_search_takes_text_as_it_is(
    corpus: BrowsedCorpus, rows: list[dict[str, Any]], word: str
) -> None:
    """What has a meaning in SQL or in patterns has none in the search, and case does not matter."""
    wanted = [
        row["candidate_id"]
        for row in rows
        if not row["reason"] and word.lower() in row["text"].lower()
    ]
    assert 0 < len(wanted) < 20
    assert ids(corpus.answer(View(q=word, limit=200))) == wanted


QUOTED = "She called ( at noon ) , `` not I '' , of ' the ' nurse"


@pytest.mark.parametrize("lacks_text", [False, True])
def test_sentences_are_searched_and_shown_as_natural_text(tmp_path: Path, lacks_text: bool) -> None:
    """By the column ``text``; of files of earlier versions, which lack it, by that of their words."""
    place = candidate_folder(tmp_path / "toy", 20, units=1)
    (shard,) = place.glob("candidates-*.parquet")
    rows = pq.read_table(shard).to_pylist()
    rows[3]["words"] = [*QUOTED.split(), *rows[3]["words"]]
    rows = [row | natural_columns(row["words"]) for row in rows]
    write_rows(tmp_path / "one.parquet", CANDIDATES, rows)
    if lacks_text:
        without_donors(tmp_path / "one.parquet")
    with opened(tmp_path / "one.parquet") as corpus:
        (found,) = corpus.answer(View(q='(at noon), "not i"'))["rows"]
        assert not corpus.answer(View(q="( at noon ) ,"))["rows"]
    assert found["text"].startswith("She called (at noon), \"not I\", of' the' nurse The clerk")
    assert "".join(found["pieces"]).startswith(
        "She called (at noon), \"not I\", of 'the' nurse The"
    )
    assert "".join(found["pieces"][2:6]) == " (at noon)"


def test_histogram_adds_up_and_follows_the_filter(
    corpus: BrowsedCorpus, rows: list[dict[str, Any]]
) -> None:
    """Bins and rows without a value are all usable rows of a label; δ divides the list as they do."""
    answer = corpus.answer(View(state="all", q="clerk"))
    labels = Counter(row["label"] for row in rows if not row["reason"])
    assert answer["usable"] == dict(labels)
    assert sum(answer["unvalued"].values()) == 1
    for label, count in labels.items():
        assert len(answer["histogram"][label]) == BINS + 1
        assert sum(answer["histogram"][label]) + answer["unvalued"].get(label, 0) == count
    cut = 40
    above = sum(sum(bins[cut:]) for bins in answer["histogram"].values())
    assert 0 < above < labels.total()
    for keep, count in (("above", above), ("below", labels.total() - above)):
        listed = corpus.answer(View(state="all", keep=keep, cut=cut, limit=200))
        assert listed["listed"] == len(listed["rows"]) == count
        assert all(((row["bin"] or 0) >= cut) == (keep == "above") for row in listed["rows"])


def test_sorted_rows_without_a_value_come_last(corpus: BrowsedCorpus) -> None:
    """By value up or down, equal ones in the corpus's order, and nothing is lost on the way."""
    up, down = (corpus.answer(View(sort=sort, limit=200))["rows"] for sort in ("value", "-value"))
    assert up[-1]["value"] is None is down[-1]["value"]
    values = [row["value"] for row in up[:-1]]
    assert values == sorted(values)
    assert down[:-1] == sorted(up[:-1], key=lambda row: (-row["value"], row["number"]))


def test_pages_cover_the_corpus_once(corpus: BrowsedCorpus, rows: list[dict[str, Any]]) -> None:
    """Paging through everything meets every row once."""
    seen = [row["id"] for row in corpus.everything()]
    assert seen == [row["candidate_id"] for row in rows]


def client_of(corpus: BrowsedCorpus) -> TestClient:
    """Somebody on this machine, who may know the token."""
    return TestClient(make_app(corpus, "sesame"), base_url="http://127.0.0.1")


def knowing(path: str, **query: object) -> str:
    """What who knows the token asks for."""
    return f"{path}?{urlencode({**query, 'token': 'sesame'}, doseq=True)}"


def test_server_answers_this_machine_only(corpus: BrowsedCorpus) -> None:
    """Another host's name is refused; every answer forbids scripts and frames from elsewhere."""
    with client_of(corpus) as client:
        page = client.get(knowing("/"))
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?! src=\"assets/)|<style|\son\w+=|https?://", page.text)
        for host in (
            "corpus.example",
            "127.0.0.1.corpus.example",
            "corpus.example:8765",
            "[::1]",
            "",
        ):
            assert client.get(knowing("/"), headers={"host": host}).status_code == 400
            assert client.get(knowing("/api/view"), headers={"host": host}).status_code == 400
        assert client.get(knowing("/"), headers={"host": "localhost:8765"}).status_code == 200
        assert client.get(knowing("/assets/page.html.jinja")).status_code == 404
        assert client.get(knowing("/openapi.json")).status_code == 404


def test_server_refuses_questions_that_are_none(corpus: BrowsedCorpus) -> None:
    """An unknown filter, a negative offset or a page without end is an error, not a wrong answer."""
    with client_of(corpus) as client:
        for query in ("colour=red", "offset=-1", "limit=100000", "sort=words;DROP", "state=odd"):
            assert client.get(f"/api/view?{query}&token=sesame").status_code == 422
        asked = client.get(knowing("/api/view", q=AWKWARD[2], label=["NP", "VP"])).json()
        assert asked["listed"] == 1
        assert AWKWARD[2] in asked["rows"][0]["words"]
        assert client.get(knowing("/api/corpus")).json()["labels"] == corpus.about["labels"]


@pytest.mark.parametrize("path", ["/", "/assets/app.js", "/api/corpus", "/api/view", "/nothing"])
def test_server_answers_who_started_it_only(corpus: BrowsedCorpus, path: str) -> None:
    """Without the token, with another or with two there is no page, no file and no data."""
    asked = (
        "",
        "?token=",
        "?token=Sesame",
        "?token=sesam",
        "?token=sesame&token=sesame",
        "?tok%65n=x",
    )
    with client_of(corpus) as client:
        for query in asked:
            answer = client.get(path + query, headers={"cookie": "token=sesame"})
            assert answer.status_code == 403
            assert "sesame" not in answer.text
            assert "default-src 'self'" in answer.headers["content-security-policy"]
        known = client.get(path + "?token=sesame")
        assert known.status_code == (404 if path == "/nothing" else 200)
        assert "set-cookie" not in known.headers


def test_the_page_names_its_files_with_the_token(corpus: BrowsedCorpus) -> None:
    """All that the page asks for as it stands, it gets."""
    with TestClient(make_app(corpus, "a&b c"), base_url="http://127.0.0.1") as client:
        page = client.get("/", params={"token": "a&b c"}).text
        names = re.findall(r'(?:src|href)="(assets/[^"]+)"', page)
        assert len(names) == 6
        for name in names:
            assert client.get(unescape(name)).status_code == 200


def test_the_token_is_new_each_time_and_in_no_argument(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address is printed, and reaches the browser through a file that only its user may read."""
    opened_with, served = list[str](), list[str]()

    def browser(uri: str) -> None:
        path = Path(uri.removeprefix("file://"))
        assert path.parent.stat().st_mode & 0o077 == 0
        opened_with.append(uri)
        served.append(unescape(path.read_text()))

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", browser)
    monkeypatch.setattr(command, "serve", lambda _, listener, token: served.append(token))
    for _ in range(2):
        run(BrowseSettings.build({"place": folder, "port": 0}, None))
    pages, tokens, printed = served[::2], served[1::2], capsys.readouterr().out
    assert tokens[0] != tokens[1]
    for page, token, uri in zip(pages, tokens, opened_with, strict=True):
        assert len(token) >= 40
        (url,) = re.findall(rf"http://127\.0\.0\.1:\d+/\?token={token}(?=\W)", page)
        assert url in printed
        assert token not in uri
        assert not Path(uri.removeprefix("file://")).exists()


def test_file_is_not_written_over_the_corpus(folder: Path) -> None:
    """A name within the corpus is refused, and what stands there stays."""
    manifest = (folder / "manifest.json").read_bytes()
    for name in ("manifest.json", "page.html", "."):
        with pytest.raises(InputError, match="may not replace, contain or lie inside its input"):
            run(BrowseSettings.build({"place": folder, "export": folder / name}, None))
    assert (folder / "manifest.json").read_bytes() == manifest
    assert not (folder / "page.html").exists()


def test_file_holds_its_data_and_nothing_of_it_is_markup(folder: Path, tmp_path: Path) -> None:
    """The file says what it is a sample of; corpus text opens no element; equal draws, equal bytes."""
    settings = {"place": folder, "sample": 1000}
    for name in ("a.html", "b.html"):  # of a corpus that `run` would refuse for its words
        with opened(export=tmp_path / name, **settings) as corpus:
            page = export_page(corpus.about, corpus.everything())
        (tmp_path / name).write_text(page)
    text = (tmp_path / "a.html").read_text()
    assert text == (tmp_path / "b.html").read_text()
    assert SCRIPT not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert data["about"]["sample"] == {"rows": 90, "of": 90, "seed": 0}
    assert any(SCRIPT in row["words"] for row in data["rows"])


def test_sample_depends_on_its_seed_and_not_on_shards(tmp_path: Path) -> None:
    """The draw is one of rows: other shards give the same, another seed another."""
    drawn = {}
    for units, seed in ((1, 0), (4, 0), (4, 1)):
        place = candidate_folder(tmp_path / f"toy-{units}-{seed}", 90, units=units)
        with opened(place, export=tmp_path / "x.html", sample=20, seed=seed) as corpus:
            drawn[units, seed] = {row["id"] for row in corpus.everything()}
    assert len(drawn[1, 0]) == 20
    assert drawn[1, 0] == drawn[4, 0] != drawn[4, 1]


def test_predictor_judges_a_sample_and_what_is_shown(
    folder: Path, rows: list[dict[str, Any]], predictor: Path
) -> None:
    """δ is held against CalcScore of a sample; other rows on the page have theirs too."""
    with opened(folder, predictor=predictor, scored=30) as corpus:
        answer = corpus.answer(View(limit=200))
        about = corpus.about
    assert about["judged"] == 30 == sum(row["judged"] for row in answer["rows"])
    assert sum(map(sum, answer["histogram"].values())) + sum(answer["unvalued"].values()) == 30
    assert about["delta"] == 0.7
    shown, read = answer["rows"][40], [row for row in rows if not row["reason"]][40]
    spans = read["conjuncts"]
    (wanted,) = tiny.probabilities(
        CoordinationPredictor.load(predictor),
        [read["words"]],
        [read["coordinator"]],
        [Span(spans[0]["start"], spans[-1]["end"])],
    )
    assert shown["value"] == pytest.approx(wanted, rel=1e-4)


def test_what_cannot_be_shown_is_one_line(tmp_path: Path, folder: Path) -> None:
    """Nothing there, a cut file, other columns, no text, no predictor, a port in use."""

    def refused(place: Path, **given: object) -> str:
        with pytest.raises((InputError, ModelError)) as error:
            run(BrowseSettings.build({"place": place, "port": 0, "open": False, **given}, None))
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "no such file or folder" in refused(tmp_path / "nowhere")
    shard = next(iter(sorted(folder.glob("candidates-*.parquet"))))
    cut = shutil.copytree(folder, tmp_path / "cut") / shard.name
    cut.write_bytes(shard.read_bytes()[:-100])
    assert "not as manifest.json says: " in refused(cut.parent)
    assert "not a readable Parquet file" in refused(cut)
    whole = bytearray(shard.read_bytes())
    whole[40:900] = bytes(860)  # the footer stands, the data does not
    cut.write_bytes(whole)
    assert "again" in refused(cut.parent)
    table = pq.read_table(shard)
    pq.write_table(table.drop_columns(["words"]), tmp_path / "stand-off.parquet")
    assert "conjoin rehydrate" in refused(tmp_path / "stand-off.parquet")
    pq.write_table(table.drop_columns(["label"]), tmp_path / "other.parquet")
    assert "column 'label' is missing" in refused(tmp_path / "other.parquet")
    assert "predictor" in refused(folder, predictor=tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port} cannot be had" in refused(folder, port=port)


@pytest.mark.parametrize("licence", ["LDC-User-Agreement", "unknown"])
def test_no_file_is_written_of_text_that_is_not_to_be_passed_on(
    tmp_path: Path, licence: str
) -> None:
    """A licence that forbids it or that nobody knows refuses the file, not the reading."""
    place = candidate_folder(tmp_path / "toy", 20, license_=licence)
    with pytest.raises(InputError, match=rf"licence '{licence}' .*leave out --export"):
        run(BrowseSettings.build({"place": place, "export": tmp_path / "page.html"}, None))
    assert not (tmp_path / "page.html").exists()
    with opened(place) as corpus:
        assert corpus.about["terms"][licence]["why"]


def test_listening_is_on_loopback_only() -> None:
    """Nobody else on the network can connect."""
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_damaged_rows_can_still_be_looked_at(tmp_path: Path, folder: Path) -> None:
    """A coordinator outside the sentence and spans beyond it are shown, not a server error."""
    table = pq.read_table(next(iter(sorted(folder.glob("candidates-*.parquet")))))
    columns = table.to_pydict()
    columns["coordinator"][0] = 999
    columns["conjuncts"][1] = []
    columns["conjuncts"][2][1]["end"] = 999
    columns["score"][3] = float("nan")
    pq.write_table(table.from_pydict(columns, CANDIDATES), tmp_path / "bad.parquet")
    with opened(tmp_path / "bad.parquet") as corpus:
        shown = corpus.answer(View())["rows"]
    assert shown[0]["word"] is None
    assert shown[1]["conjuncts"] == []
    assert shown[3]["score"] is None


NULLS = [
    *({name: None} for name in CANDIDATES.names),
    {"words": ["a", None]},
    {"conjuncts": [None, {"start": 1, "end": 2}]},
    {"conjuncts": [{"start": None, "end": 2}, {"start": 3, "end": None}]},
    {"reference": {"start": None, "end": None}},
    {"donor": {"sentence_id": None, "start": None, "end": 3}},
    {"coordinator": 2**31 - 1},
    {"conjuncts": [{"start": 0, "end": 1}, {"start": -(2**31), "end": 2**31 - 1}]},
]
"""What a row may not be."""


def test_nulls_can_be_looked_at(tmp_path: Path, folder: Path, predictor: Path) -> None:
    """A null in any column is no server error, in no view, with a predictor either."""
    table = pq.read_table(next(iter(sorted(folder.glob("candidates-*.parquet")))))
    rows = [row | NULLS[n] if n < len(NULLS) else row for n, row in enumerate(table.to_pylist())]
    pq.write_table(pa.Table.from_pylist(rows, loose(CANDIDATES)), tmp_path / "bad.parquet")
    with (
        opened(tmp_path / "bad.parquet", predictor=predictor) as corpus,
        client_of(corpus) as client,
    ):
        about = client.get(knowing("/api/corpus")).json()
        assert ["(none)", 1, 0] in about["labels"]
        assert about["terms"]["unknown"]["why"]
        for query in (
            {},
            {"label": ["(none)"]},
            {"q": "a"},
            {"sort": "-value"},
            {"coordinator": [""]},
        ):
            answer = client.get(knowing("/api/view", limit=200, **query))
            assert answer.status_code == 200
            assert answer.json()["rows"]
    with opened(tmp_path / "bad.parquet") as corpus:
        shown = corpus.answer(View(limit=200))["rows"]
    assert [row["id"] for row in shown[1:]] == [row["candidate_id"] for row in rows[1:]]
    assert shown[CANDIDATES.names.index("words")]["words"] == []
    with pytest.raises(InputError, match="has nulls"):
        run(
            BrowseSettings.build(
                {"place": tmp_path / "bad.parquet", "export": tmp_path / "x.html"}, None
            )
        )
