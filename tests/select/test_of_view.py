"""What the page of ``conjoin browse`` lists, and what the command that it shows for it selects."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsed import awkward_folder, opened
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import read_accepted
from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.selection import CommandPlaces
from pipeline.sharing.browse.server import make_app
from pipeline.sharing.browse.table import View


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowsedCorpus]:
    folder = awkward_folder(tmp_path_factory.mktemp("view") / "toy", valid=True)
    with opened(folder) as corpus:
        yield corpus


def listed(corpus: BrowsedCorpus, view: View) -> list[str]:
    rows = corpus.answer(view.model_copy(update={"limit": 200, "state": "usable"}))["rows"]
    return [row["id"] for row in rows]


VIEWS: list[dict[str, Any]] = [
    {},
    {"label": ["VP"], "state": "all", "reason": ["empty fill"]},
    {"label": ["NP", 'it\'s, "x"'], "fill_min": 2},
    {"coordinator": ["or", ""]},
    {"coordinator": ["and"], "words_min": 14, "words_max": 17},
    {"q": "don't"},
    {"q": "100%"},
    {"q": "a\\B_c"},
    {"q": "Ä"},
    {"q": "house."},
    {"keep": "above", "cut": 40},
    {"keep": "below", "cut": 40, "label": ["NP"]},
    {"keep": "all", "cut": 100, "offset": 20, "sort": "-value"},
]


@pytest.mark.parametrize("given", VIEWS, ids=map(str, VIEWS))
def test_the_command_selects_what_is_listed(
    given: dict[str, Any], corpus: BrowsedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row for row, on all pages; a view that lists nothing is one that nothing is selected of."""
    view = View(**given)
    expected = listed(corpus, view.model_copy(update={"offset": 0, "sort": "order"}))
    command = corpus.selection(view)["command"]
    assert command is not None
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    found = [
        row
        for batch in read_accepted(find_shards(tmp_path / "selection"))
        for row in batch.to_pylist()
    ]
    assert [row["candidate_id"] for row in found] == expected


def test_views_without_a_command_say_why(corpus: BrowsedCorpus) -> None:
    """Rejects are no candidates."""
    answer = corpus.selection(View(state="rejected"))
    assert answer == {"command": None, "note": "Rejects are not selected: show usable rows."}


def test_a_predictor_is_named(corpus: BrowsedCorpus, tmp_path: Path) -> None:
    """With δ as the slider has it; and what it refuses is no selection."""
    judged = replace(corpus, origin=CommandPlaces(Path("c"), tmp_path / "p q"))
    judged = replace(judged, about={**corpus.about, "top": 1.0})
    command = judged.selection(View(keep="above", cut=140))["command"]
    assert command is not None
    assert shlex.split(command)[3:] == [
        "--predictor", str(tmp_path / "p q"), "--delta", "0.7", "--out", "selection",
    ]  # fmt: skip
    assert judged.selection(View(keep="below", cut=140))["command"] is None


def test_the_server_asks_for_its_token(corpus: BrowsedCorpus) -> None:
    """The command names folders of this machine."""
    client = TestClient(make_app(corpus, "sesame"), base_url="http://127.0.0.1")
    assert client.get("/api/select").status_code == 403
    answer = client.get("/api/select?token=sesame&label=VP").json()
    assert "--label VP" in answer["command"]
    assert client.get("/api/select?token=sesame&nonsense=1").status_code == 422
