"""`conjoin play` as a command and as a server: card sets, verdicts, and what is refused."""

import json
import re
import socket
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from played import pairs_folder, settings

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import write_rows
from pipeline.tasks.questions.play import command
from pipeline.tasks.questions.play.cards import ENGLISH, CardSet
from pipeline.tasks.questions.play.command import read_game, run
from pipeline.tasks.questions.play.server import make_app
from pipeline.tasks.questions.votes import VOTES

SET = {
    "nouns": ["ball", "boy", "cook", "dog", "girl", "glass"],
    "predicates": ["breaks", "drops", "hits", "kicks", "pushed"],
}
BOARD: dict[str, Any] = SET | {
    "frames": [0, 5, 8, None, None, 6],
    "right": ["subject", "object"],
    "down": [None, None, "so"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pairs_folder(tmp_path_factory.mktemp("play") / "x")


@pytest.fixture(scope="module")
def client(folder: Path) -> TestClient:
    """Somebody on this machine, who may know the token."""
    sets = [CardSet(tuple(SET["nouns"]), tuple(SET["predicates"]))] * 2
    app = make_app(sets, ENGLISH, read_game(settings(folder)).resources, "sesame")
    return TestClient(app, base_url="http://127.0.0.1")


def test_card_sets_are_written_and_boards_are_scored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A set of the file with frames and marks is a board."""
    out = tmp_path / "sets.json"
    run(settings(folder, deal=2, out=out))
    first = out.read_bytes()
    run(settings(folder, deal=2, out=out))
    assert out.read_bytes() == first
    document = json.loads(first)
    assert (document["level"], document["seed"], len(document["sets"])) == ("any", 0, 2)
    (own,) = (each for each in document["sets"] if each["predicates"] == SET["predicates"])
    assert ["hit(subject ball, object glass)", "break(subject glass)"] in own["pairs"]
    (tmp_path / "board.json").write_text(json.dumps(BOARD | own))
    capsys.readouterr()
    run(settings(folder, score=tmp_path / "board.json"))
    rows = [
        [cell.strip() for cell in line.split("│")]
        for line in capsys.readouterr().out.splitlines()
        if "│" in line
    ]
    assert rows == [
        ["☆☆☆", "", "ball –subject→ glass –object→ hits –so→ breaks", ""],
        ["☆☆", "2.0000", "ball –subject→ glass –object→ hits", ""],
    ]
    run(settings(folder, deal=9, out=out))
    assert "3 of the 9 card sets that were wanted" in " ".join(capsys.readouterr().err.split())


def test_pairs_that_people_did_not_vote_for_are_not_right(folder: Path, tmp_path: Path) -> None:
    votes = tmp_path / "votes.parquet"
    rows = [{"pair_id": f"p{n:02d}", "votes": 1 if n == 1 else 3, "asked": 4} for n in range(9)]
    write_rows(votes, VOTES, rows)
    game = read_game(settings(folder, votes=votes))
    assert len(game.pairs) == 8
    assert game.tally.refused == {command.NOT_VOTED: 2}
    every = read_game(settings(folder))
    second = every.pairs[1]
    assert every.resources.is_verified(second.former, second.latter)
    assert not game.resources.is_verified(second.former, second.latter)


def test_what_cannot_be_played_is_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No set, no pairs, no board, no sentence, a port in use, options that need others."""

    def refused(**given: Any) -> str:
        with pytest.raises(InputError) as error:
            run(settings(given.pop("folder", folder), **{"port": 0, "open": False, **given}))
        assert "\n" not in str(error.value)
        return str(error.value)

    capsys.readouterr()
    assert "no card set: 0 of 10 pairs can be played" in refused(level="medium")
    assert "pairs of another level" in capsys.readouterr().out
    assert "no finished folder of event pairs" in refused(folder=tmp_path)
    board = tmp_path / "board.json"
    assert "board.json: no such file" in refused(score=board)
    board.write_text(json.dumps(SET | {"frames": [0, 1]}))
    assert "no two cards are connected by a mark" in refused(score=board)
    board.write_text(json.dumps(BOARD | {"frames": [77]}))
    assert re.search(r"board.json: unknown card 77.*; take a card set of", refused(score=board))
    known = tmp_path / "words.csv"
    known.write_text("glass,1\n")
    assert "no card set: 0 of 10" in refused(level="easy", difficulty=known)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port} cannot be had" in refused(port=port)
    for given, message in (
        ({"deal": 2}, "add --out"), ({"deal": 1, "out": "x", "score": "y"}, "say --score or --deal"),
        ({"level": "odd"}, "level"), ({"deal": 0, "out": "x"}, "deal"),
    ):  # fmt: skip
        with pytest.raises(SettingsError, match=message):
            settings(folder, **given)


def test_words_leave_their_corpus_for_own_use_alone(tmp_path: Path) -> None:
    place, out = pairs_folder(tmp_path / "x", "CC-BY-ND-4.0"), tmp_path / "sets.json"
    with pytest.raises(InputError, match=r"CC-BY-ND-4\.0.*--own-use"):
        run(settings(place, deal=1, out=out))
    assert not out.exists()
    run(settings(place, deal=1, out=out, own_use=True))
    assert out.exists()


def test_the_page_is_served_to_who_started_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address that is printed has a token; all that the page asks for as it stands, it gets."""
    served: list[Any] = []
    monkeypatch.setattr(command, "serve", lambda app, listener: served.append(app))
    run(settings(folder, port=0, open=False))
    out = capsys.readouterr().out
    (token,) = re.findall(r"http://127\.0\.0\.1:\d+/\?token=([\w-]{40,})", out)
    assert "3 card sets: http" in out
    with TestClient(served[0], base_url="http://127.0.0.1") as client:
        page = client.get(f"/?token={token}")
        assert page.status_code == 200
        assert not re.search(r"<script(?! src=\"assets/)|<style|\son\w+=|https?://", page.text)
        assert "unsafe" not in page.headers["content-security-policy"]
        names = re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text)
        assert len(names) == 4
        for name in names:
            assert client.get("/" + unescape(name)).status_code == 200


def test_a_set_and_its_verdicts_are_answered(client: TestClient) -> None:
    known = client.get("/api/set?number=1&token=sesame").json()
    assert known["nouns"] == SET["nouns"]
    assert (known["number"], known["of"], len(known["cases"] + known["connectives"])) == (1, 2, 9)
    assert client.get("/api/set?number=2&token=sesame").status_code == 404
    found = client.post("/api/score?token=sesame", content=json.dumps(BOARD)).json()
    assert [each["grade"] for each in found] == ["☆☆☆", "☆☆"]
    assert found[0]["frames"] == [0, 1, 2, 5]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"x" * 65_537, 413, "a board of over 64 kB"),
        (b"\xff", 400, "not UTF-8 text"),
        (b"{", 400, "not JSON"),
        (json.dumps(BOARD | {"wildcard": "<img src=x>"}).encode(), 400, "which is no word"),
        (json.dumps(BOARD | {"wildcard": "y" * 10_240}).encode(), 400, "which is no word"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_board_are_refused(
    client: TestClient, body: bytes, status: int, message: str
) -> None:
    answer = client.post("/api/score?token=sesame", content=body)
    assert answer.status_code == status
    assert message in answer.text
    assert answer.text.count("\n") == 1
    assert len(answer.text) < 300


def test_nobody_else_is_answered(client: TestClient) -> None:
    """Another host's name, no token, another one, a site that sends a form: nothing but a refusal."""
    body = json.dumps(BOARD)
    for path in ("/", "/assets/play.js", "/api/set", "/api/score"):
        for query in ("", "?token=", "?token=Sesame", "?token=sesame&token=sesame"):
            ask = client.post if path == "/api/score" else client.get
            answer = ask(path + query)
            assert answer.status_code == 403
            assert "conjoin play" in answer.text
    answer = client.post("/api/score?token=sesame", content=body, headers={"host": "game.example"})
    assert answer.status_code == 400
