"""``conjoin annotate``: what is drawn, asked and decided, what the server takes, and that nothing is lost."""

import json
import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from annotated import TEXT, corpus_of, started
from fastapi.testclient import TestClient

from pipeline.core.decisions import (
    Decided,
    DecisionMade,
    DrawnToAnnotate,
    Undone,
    line_of,
    words_digest,
)
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Span
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction
from pipeline.trying.annotate import command, proposals
from pipeline.trying.annotate.choosing import next_drawn, to_annotate
from pipeline.trying.annotate.questions import GivenAnswer, decision, progress, shown, undoing
from pipeline.trying.annotate.saved import Saved, saved
from pipeline.trying.annotate.server import MOST_BYTES, make_app
from pipeline.trying.annotate.settings import AnnotateSettings
from pipeline.trying.predict.answers import Found, SentenceAnswer

ONE = ("She", "sold", "lamps", ",", "chairs", "and", "tables", "or", "left", ".")
WORDS = {"a/1": ONE, "a/2": ("Cats", "and", "dogs", "sleep", ".")}
DRAWN = Decided().after(DrawnToAnnotate(("a/1", "a/2"), "a", "random", 0))


def says(k: int | None, *spans: tuple[int, int], of: str = "a/1") -> GivenAnswer:
    return GivenAnswer(of, k, tuple(Span(*span) for span in spans), 2.04)


def test_a_structure_is_that_of_its_last_coordinator() -> None:
    """Of "a and b or c" as one: the first is asked of, and the second is the structure's."""
    made = decision(DRAWN, WORDS, says(5, (2, 3), (4, 5), (6, 7), (8, 9)))
    assert (made.coordinator, made.seconds, made.words) == (7, 2.0, words_digest(ONE))
    after = DRAWN.after(made)
    page = shown(after, WORDS, {})
    assert (page["sentence"]["id"], page["done"], page["said"]) == (
        "a/2", 1, "1 of 2 sentences, 1 structure, 2.0 s a coordinator"
    )  # fmt: skip
    assert after.after(undoing(after)).decisions == ()


def test_the_page_is_told_what_may_end_a_conjunct() -> None:
    """Commas before the coordinator do until somebody or a predictor says otherwise, or they link others."""
    first = shown(DRAWN, WORDS, {})["sentence"]
    assert (first["coordinator"], first["open"], first["beside"]) == (5, [5, 7], [5, 6])
    assert first["places"] == [
        {"start": 3, "end": 4, "ends": True}, {"start": 7, "end": 8, "ends": False},
    ]  # fmt: skip
    found = {"a/1": {5: (Span(2, 5), Span(6, 7))}}
    proposed = shown(DRAWN, WORDS, found)["sentence"]
    assert proposed["proposal"] == [[2, 5], [6, 7]]
    assert not proposed["places"][0]["ends"]
    after = DRAWN.after(decision(DRAWN, WORDS, says(5, (2, 3), (4, 5), (6, 7))))
    second = shown(after, WORDS, {})["sentence"]
    assert (second["coordinator"], second["structures"]) == (7, [[[2, 3], [4, 5], [6, 7]]])
    assert not any(place["ends"] for place in second["places"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (says(5, (2, 5), (6, 7), of="a/9"), "a sentence that was not drawn"),
        (says(4, (2, 4), (6, 7)), "nothing that is asked"),
        (says(7, (6, 7), (8, 9)), "decided already"),
        (says(5, (2, 4), (6, 8)), "conjuncts cross"),
        (says(5, (2, 5)), "not a conjunct on either side"),
        (says(5, (2, 5), (6, 70)), "conjunct 6-70 of 10 words"),
        (says(5, (4, 5), (2, 3)), "conjunct 2-3"),
    ],
)
def test_what_cannot_be_decided_is_refused(answer: GivenAnswer, said: str) -> None:
    """In one line; here the coordinator *or* is decided on."""
    before = DRAWN.after(DecisionMade("a/1", words_digest(ONE), 7, (Span(6, 7), Span(8, 9)), 1.0))
    with pytest.raises(InputError, match=said):
        decision(before, WORDS, answer)


def test_what_is_drawn_follows_from_the_seed(tmp_path: Path) -> None:
    """A longer draw begins as the shorter one; what is surest in disagreement goes first."""
    tally = Tally()
    sentences = read_sentences(corpus_of(tmp_path) / "sentences.parquet")
    ids = [each.sentence_id for each in to_annotate(sentences, "train", tally)]
    assert tally.refused == {"without a coordinator between words": 1}
    ten = next_drawn(ids, 10, 1, (), {})
    assert next_drawn(ids, 5, 1, (), {}) + next_drawn(ids, 10, 1, ten[:5], {}) == ten
    assert next_drawn(ids, 10, 2, (), {}) != ten
    sure = {ids[7]: 0.4, ids[3]: 0.9}
    assert next_drawn(ids, 10, 1, (), sure)[:2] == [ids[3], ids[7]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return corpus_of(tmp_path)


@pytest.fixture
def client(corpus: Path) -> Iterator[TestClient]:
    """Somebody on this machine who knows the token; the first three sentences are drawn."""
    names = [f"mine/raw.txt/{number}" for number in (1, 2, 5)]
    rows = {s.sentence_id: s.words for s in read_sentences(corpus / "sentences.parquet")}
    with saved(corpus / "x.jsonl") as file:
        file.add(DrawnToAnnotate(tuple(names), "mine", "random", 0))
        app = make_app(file, rows, {}, "sesame", "conjoin ingest <corrected>")
        client = TestClient(app, base_url="http://127.0.0.1")
        client.params = {"token": "sesame"}
        yield client


def sent(client: TestClient, k: int | None, *spans: list[int], of: int = 1, **more: Any) -> Any:
    name = f"mine/raw.txt/{of}"
    body = {"sentence_id": name, "coordinator": k, "conjuncts": spans, "seconds": 1.0} | more
    return client.post("/api/decide", json=body)


def test_answers_are_kept_and_undone(client: TestClient, corpus: Path) -> None:
    """Across sentences; each is a line before the page hears of it."""
    assert client.get("/api/now").json()["sentence"]["number"] == 1
    assert sent(client, 3, [1, 3], [4, 5]).json()["sentence"]["number"] == 2
    assert sent(client, None, of=2).json()["sentence"]["number"] == 3
    assert (corpus / "x.jsonl").read_text().count("\n") == 3
    assert client.post("/api/undo").json()["sentence"]["number"] == 2
    assert client.post("/api/undo").json()["sentence"]["number"] == 1
    answer = client.post("/api/undo")
    assert (answer.status_code, answer.text) == (400, "nothing to undo\n")
    with pytest.raises(InputError, match="another conjoin process"), saved(corpus / "x.jsonl"):
        pass
    lines = (corpus / "x.jsonl").read_text()
    assert [*json.loads(lines.split("\n")[-2])] == ["undone", "coordinator"]
    assert "men" not in lines  # no text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"conjuncts": [[1, 3]]}, "not a conjunct on either side"),
        ({"conjuncts": [[1]]}, "a conjunct is a first word"),
        ({"conjuncts": [[1, 3], [4, 2**70]]}, "not as conjoin writes it"),
        ({"seconds": "x"}, "not as conjoin writes it"),
        ({"sentence_id": "../../etc"}, "a sentence that was not drawn"),
        ({"coordinator": 99}, "decided already, or nothing that is asked"),
    ],
)
def test_the_server_takes_nothing_else(
    client: TestClient, corpus: Path, more: dict[str, Any], said: str
) -> None:
    """A line that says why, and the file stays as it was."""
    before = (corpus / "x.jsonl").read_bytes()
    answer = sent(client, 3, [1, 3], [4, 5], **more)
    assert answer.status_code == 400
    assert said in answer.text
    assert answer.text.count("\n") == 1
    assert (corpus / "x.jsonl").read_bytes() == before


def test_others_get_nothing(client: TestClient) -> None:
    """Without the token, as another host, with too much, or with what is no text; names are escaped."""
    assert client.get("/api/now", params={"token": "x"}).status_code == 403
    assert client.post("/api/undo", headers={"Host": "evil.example"}).status_code == 400
    assert client.post("/api/decide", content=b"x" * (MOST_BYTES + 1)).status_code == 413
    for body in (b"\xff", b"[]", b"{", b'{"seconds": NaN}'):
        assert client.post("/api/decide", content=body).status_code == 400
    page = client.get("/").text
    assert "conjoin ingest &lt;corrected&gt;" in page
    assert "assets/annotate.js?token=sesame" in page
    for name in re.findall(r'assets/([\w.]+)\?token=sesame"', page):
        assert client.get(f"/assets/{name}").status_code == 200


def test_a_line_that_was_cut_off_is_taken_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody was told that it is saved; all before it stands."""
    path = tmp_path / "x.jsonl"
    lines = [
        line_of(DrawnToAnnotate(("a/1",), "a", "random", 0)),
        line_of(DecisionMade("a/1", "0" * 12, 3)),
    ]
    path.write_text(lines[0] + lines[1] + lines[1][:20])
    with saved(path) as file:
        assert len(file.decided.decisions) == 1
        file.add(Undone("a/1", 3))
    assert path.read_text() == "".join([*lines, line_of(Undone("a/1", 3))])
    assert "was cut off" in capfd.readouterr().err


def test_what_the_disk_does_not_take_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full in the middle of a line: an error, and the file as it was."""
    path = tmp_path / "x.jsonl"
    with saved(path) as file:
        file.add(DrawnToAnnotate(("a/1",), "a", "random", 0))
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(
                os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left"))
            )
            with pytest.raises(InputError, match="No space left"):
                file.add(DecisionMade("a/1", "0" * 12, 3))
        assert (path.read_bytes(), file.decided.decisions) == (before, ())
        file.add(DecisionMade("a/1", "1" * 12, 3))
    assert path.read_bytes() == before + line_of(DecisionMade("a/1", "1" * 12, 3)).encode()


def annotate(corpus: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Saved:
    """Run the command, whose page nobody opens, and return what it would serve."""
    kept: list[Any] = []
    monkeypatch.setattr(command, "serve", lambda *_: None)
    monkeypatch.setattr(command, "make_app", lambda *args: kept.append(args))
    command.run(AnnotateSettings(corpus=corpus, port=0, open=False, **given))
    return SimpleNamespace(  # type: ignore[return-value]
        **{"file": kept[0][0], "words": kept[0][1], "proposals": kept[0][2], "then": kept[0][4]}
    )


def test_it_is_gone_on_with(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Started again it has the same sentences; with a larger size it draws more to them."""
    first: Any = annotate(corpus, monkeypatch, size=5)
    again: Any = annotate(corpus, monkeypatch, size=5)
    assert first.file.decided == again.file.decided
    assert (corpus / "annotated.jsonl").read_text().count("\n") == 1
    more: Any = annotate(corpus, monkeypatch, size=50)
    assert more.file.decided.drawn[:5] == first.file.decided.drawn
    assert len(more.file.decided.drawn) == len(TEXT) - 1
    assert progress(more.file.decided, more.words).done == 0
    shown_ = capsys.readouterr().out
    assert "there are 24 sentences in all, not 50" in shown_
    assert f"next: conjoin ingest corrected {corpus}/annotated.jsonl --of {corpus}" in shown_


def one_that_is_wrong(path: Path, corpus: Path) -> DecisionMade:
    """A decision on the first sentence that was drawn, with a conjunct without end."""
    name = json.loads(path.read_text())["drawn"][0]
    (own,) = read_sentences(corpus / "sentences.parquet", lambda s: s.sentence_id == name)
    k = next(at for at, word in enumerate(own.words) if word in {"and", "or"})
    return DecisionMade(name, words_digest(own.words), k, (Span(0, k), Span(6, 2**60)), 1.0)


def test_what_cannot_be_annotated_is_said(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No corpus, no sentence, a file of somebody, another text since, a port in use: a line each."""
    (tmp_path / "mine.txt").write_text("mine")
    busy = socket.socket()
    busy.bind(("127.0.0.1", 0))
    busy.listen()
    annotate(corpus, monkeypatch, size=2, out=tmp_path / "x.jsonl")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/t.txt").write_text("Cats and dogs sleep .\n")
    ingest(
        IngestSettings(
            reader="text", source=tmp_path / "other", out=tmp_path / "there", name="mine"
        )
    )
    (tmp_path / "y.jsonl").write_text(
        (tmp_path / "x.jsonl").read_text()
        + line_of(one_that_is_wrong(tmp_path / "x.jsonl", corpus))
    )
    for given, said in (
        ({"out": tmp_path / "y.jsonl"}, "conjunct 6-[0-9]+ of"),
        ({"corpus": tmp_path / "nix"}, "no corpus here"),
        ({"split": "dev"}, "no sentence with a coordinator to annotate in the split dev"),
        ({"out": tmp_path / "mine.txt"}, "no earlier output of `conjoin annotate`"),
        ({"out": corpus / "sentences.parquet"}, "may not replace"),
        ({"corpus": tmp_path / "there", "out": tmp_path / "x.jsonl"}, "a sentence that .* does not have"),
        ({"port": busy.getsockname()[1]}, "cannot be had"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            command.run(AnnotateSettings(**{"corpus": corpus, "port": 0, "open": False} | given))
    busy.close()
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": "disagreement"}, "add --parser"),
        ({"parser": Path("x")}, "add --predictor"),
        ({"split": "all"}, "must be one of"),
    ],
)
def test_settings_that_cannot_be(given: dict[str, Any], said: str) -> None:
    """Disagreement needs two."""
    with pytest.raises(SettingsError, match=said):
        AnnotateSettings.build({"corpus": Path("x"), **given}, None)


def test_disagreement_is_of_outer_boundaries(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The surest of them is asked first; where one of the two says nothing they do not differ."""
    rows = {s.words: s.sentence_id for s in read_sentences(corpus / "sentences.parquet")}
    both = (Span(1, 3), Span(4, 5))
    denied = {"raw.txt/1": 0.6, "raw.txt/10": 0.9, "raw.txt/12": 0.7}

    def said(
        _: object, sentences: Any, *, parse: object, coordinators: object, tau: float = 1.0
    ) -> Iterator[SentenceAnswer]:
        del parse, coordinators
        for given in sentences:
            assert given.name == rows[given.words]
            k = given.words.index("or" if "or" in given.words else "and")
            tail = given.name.removeprefix("mine/")
            best = (Prediction(Span(1, 5), denied.get(tail, 0.99), both),)
            start = 0 if tail in denied else 1
            structure = Coordination(k, given.words[k], "NP", (Span(start, 3), Span(4, 5)))
            parsed = None if tail == "raw.txt/2" else (structure, 0.1)
            yield SentenceAnswer(given, (Found(k, best, parsed if tau == 0 else None),))

    monkeypatch.setattr(proposals, "answers", said)
    monkeypatch.setattr(proposals, "parser_of", lambda *_: object())
    monkeypatch.setattr(CoordinationPredictor, "load", lambda _: SimpleNamespace(to=lambda _: None))
    given = {"predictor": corpus / "p", "parser": corpus / "q", "by": "disagreement", "size": 4}
    made: Any = annotate(corpus, monkeypatch, **given)
    first = [each.removeprefix("mine/raw.txt/") for each in made.file.decided.drawn]
    assert (first[:3], len(first)) == (["10", "12", "1"], 4)
    assert "different boundaries in 3 of 24 sentences, and in 21 none" in capsys.readouterr().out
    assert made.proposals["mine/raw.txt/1"] == {3: both}


def asked(url: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    place, _, query = url.partition("?")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"{place}{path}?{query}", data, timeout=30) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_process_that_is_killed_loses_nothing(corpus: Path) -> None:
    """After each second answer by kill -9: started again, it goes on with the next question."""
    said = []
    for _ in range(3):
        process, url = started(corpus, 6)
        try:
            page = asked(url, "api/now")
            for _ in range(2):
                assert page["done"] == len(said)
                sentence = page["sentence"]
                k = sentence["coordinator"]
                said.append((sentence["id"], k))
                body = {
                    "sentence_id": sentence["id"], "coordinator": k, "seconds": 1.5,
                    "conjuncts": [[k - 1, k], [k + 1, k + 2]],
                }  # fmt: skip
                if "or" in sentence["words"]:  # of two coordinators
                    body |= {"coordinator": None, "conjuncts": []}
                page = asked(url, "api/decide", body)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(10)
    with saved(corpus / "annotated.jsonl") as file:
        assert [each.sentence_id for each in file.decided.decisions] == [name for name, _ in said]
        assert [each.sentence_id for each in file.decided.decisions] == list(file.decided.drawn)
