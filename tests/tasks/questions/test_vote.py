"""`conjoin vote`: sheets for people, read back, and the votes that count."""

import csv
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from event_pairs import Pair, write_pairs

from pipeline.core.errors import InputError, SettingsError
from pipeline.tasks.questions.vote import command
from pipeline.tasks.questions.vote.command import run
from pipeline.tasks.questions.vote.settings import VoteSettings
from pipeline.tasks.questions.vote.sheets import guarded, unguarded

PAIRS = [
    Pair(f"he moved box {n}", f"box {n} fell" if n % 2 else f"nobody saw box {n}") for n in range(7)
]
CHECKS = "former,latter,answer\nit rained,the street got wet,yes\nit rained,the moon fell down,no\n" \
    "he slept,\"'=he felt better\",yes\n"  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven pairs and one that is not basic, beside checks."""
    (tmp_path / "checks.csv").write_text(CHECKS)
    return write_pairs(tmp_path / "pairs", [*PAIRS, Pair("-he ran", "@he was tired", core=False)])


def settings(folder: Path, **given: Any) -> VoteSettings:
    usual = {
        "pairs": folder,
        "size": 5,
        "checks": None if "oracle" in given else folder.parent / "checks.csv",
    }
    return VoteSettings.model_validate(usual | given)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, **wrong: str) -> None:
    """Answer a sheet: yes to what falls or is a true check; ``wrong`` has other answers by a word in them."""
    rows = table(path)
    for row in rows:
        fell = any(word in row["latter"] for word in ("box 1", "box 3", "box 5", "wet", "better"))
        row["answer"] = next(
            (a for word, a in wrong.items() if word in row["latter"]), "yes" if fell else "no"
        )
    write(path, rows)


def write(
    path: Path, rows: list[dict[str, str]], columns: str = "key,former,latter,answer"
) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns.split(","), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def sheets_of(folder: Path) -> Path:
    out = folder.parent / "sheets"
    run(settings(folder, sheets=out))
    return out


def votes_of(folder: Path, **given: Any) -> dict[str, tuple[int, int]]:
    out = folder.parent / "votes.parquet"
    run(settings(folder, out=out, **given))
    return {row["pair_id"]: (row["votes"], row["asked"]) for row in pq.read_table(out).to_pylist()}


def test_every_pair_stands_on_a_sheet_of_each_worker(folder: Path) -> None:
    """With two checks on each, in places and by keys that do not tell; no pair that is not basic."""
    sheets = sorted(sheets_of(folder).glob("*/*.csv"))
    assert len(sheets) == 4 * 3
    checks = {"it rained", "he slept"}
    shown, places = Counter[str](), set[int]()
    for path in sheets:
        rows = table(path)
        places |= {number for number, row in enumerate(rows) if row["former"] in checks}
        assert sum(row["former"] in checks for row in rows) == 2
        assert {(len(row["key"]), row["answer"]) for row in rows} == {(12, "")}
        shown.update(row["former"] for row in rows if row["former"] not in checks)
    assert shown == {pair.former: 4 for pair in PAIRS}
    assert places == {0, 1, 2, 3, 4}
    with pytest.raises(InputError, match="something here already"):
        sheets_of(folder)


def test_votes_are_counted_without_sheets_that_failed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sheet goes with a failed check, and all of a worker's who votes twice on a pair."""
    sheets = sheets_of(folder)
    for path in sheets.glob("*/*.csv"):
        fill(path)
    known = {f"p{n:02d}": (4 * (n % 2), 4) for n in range(7)}
    assert votes_of(folder, read=sheets) == known
    fill(sheets / "worker-1/sheet-00001.csv", wet="no", moon="yes", better="no")
    own = [row["former"] for row in table(sheets / "worker-1/sheet-00001.csv")]
    (sheets / "worker-2/again.CSV").write_bytes((sheets / "worker-2/sheet-00002.csv").read_bytes())
    capsys.readouterr()
    found = votes_of(folder, read=sheets)
    for number, pair in enumerate(PAIRS):
        asked = 2 if pair.former in own else 3
        assert found[f"p{number:02d}"] == (asked * (number % 2), asked)
    out = capsys.readouterr().out
    counts = {
        line.split("│")[0].strip(): line.split("│")[1].strip()
        for line in out.splitlines()
        if "│" in line
    }
    assert counts[command.FAILED] == "1"
    assert counts[command.TWICE] == "4"
    assert counts["sheets that count"] == "8"
    assert counts["pairs without a vote that counts"] == "0"


def test_a_sheet_may_go_through_a_spreadsheet(folder: Path) -> None:
    """Which makes numbers of digits, and may end the file with a blank line."""
    sheets = sheets_of(folder)
    for path in sheets.glob("*/*.csv"):
        assert all(row["key"][0].isalpha() for row in table(path))
        fill(path)
        path.write_text(f"{path.read_text()}\n")
    assert len(votes_of(folder, read=sheets)) == 7


def test_what_is_wrong_with_a_sheet_is_said_with_its_line(folder: Path) -> None:
    """A pair nobody asked, other events, no answer, no check, no sheet."""
    sheets = sheets_of(folder)
    path = sheets / "worker-1/sheet-00001.csv"
    fill(path)
    rows = table(path)

    def refused(
        changed: list[dict[str, str]], message: str, columns: str = "key,former,latter,answer"
    ) -> None:
        write(path, changed, columns)
        with pytest.raises(InputError, match=message) as caught:
            votes_of(folder, read=sheets)
        assert "sheet-00001.csv:" in str(caught.value)

    refused(
        [rows[0], rows[1] | {"key": "000000000000"}],
        ":3: '000000000000' is no pair of these and no check",
    )
    refused([rows[0] | {"latter": rows[1]["latter"]}, rows[1]], ":2: not the events")
    refused([rows[0] | {"answer": "maybe"}], ":2: the answer is 'maybe', not yes or no; fill it in")
    refused([rows[0] | {"answer": ""}], ":2: the answer is ''")
    refused([row for row in rows if "box" in row["former"]], ":4: no check on this sheet")
    refused(rows, ":1: the first line is 'former,latter,answer'", "former,latter,answer")
    path.write_bytes(b'key,former,latter,answer\n"a\nb\xff')
    with pytest.raises(InputError, match="not a readable CSV file"):
        votes_of(folder, read=sheets)
    with pytest.raises(InputError, match="no sheet here"):
        votes_of(folder, read=folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("former,latter,answer\na,b,yes\n", "1 checks, and a sheet has 2"),
        ("former,latter,answer\na,b,yes\na,b,no\n", ":3: this check stands here twice"),
        ("former,latter,answer\na,b,true\n", ":2: the answer is 'true'"),
        ("former,latter,answer\na,b\n", ":2: 2 cells instead of 3"),
        ("a,b\n", ":1: the first line is 'a,b'"),
    ],
)
def test_checks_that_are_none(folder: Path, text: str, message: str) -> None:
    """They are refused in a line, and no sheet is written."""
    (folder.parent / "checks.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        sheets_of(folder)
    assert not (folder.parent / "sheets").exists()


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-he ran", "@x", "\tx", "'=x", "''@x", "'tis", "he ran", "", "'"]
)
def test_no_cell_is_a_formula(cell: str) -> None:
    """What a spreadsheet would take for one has an apostrophe before it, and is read without."""
    written = guarded(cell)
    assert written[:1] not in {"=", "+", "-", "@", "\t"} or not written
    assert unguarded(written) == cell


def test_formulas_go_to_sheets_and_back(tmp_path: Path) -> None:
    """In quotes; a check that begins so is known again."""
    folder = write_pairs(tmp_path / "pairs", [Pair("=he ran", "@he was tired"), Pair("+x", "-y")])
    (tmp_path / "checks.csv").write_text(CHECKS)
    sheets = sheets_of(folder)
    assert '"\'=he ran","\'@he was tired",""' in (sheets / "worker-1/sheet-00001.csv").read_text()
    for path in sheets.glob("*/*.csv"):
        fill(path, tired="yes")
    assert votes_of(folder, read=sheets) == {"p00": (4, 4), "p01": (0, 4)}


def test_text_that_may_not_be_handed_on_stays(tmp_path: Path) -> None:
    """A sheet is for others: its licence must allow that, or who writes it says that it stays."""
    folder = write_pairs(tmp_path / "pairs", [Pair("a", "b", license="CC-BY-ND-4.0"), *PAIRS])
    (tmp_path / "checks.csv").write_text(CHECKS)
    with pytest.raises(InputError, match="own-use"):
        sheets_of(folder)
    run(settings(folder, sheets=tmp_path / "sheets", own_use=True))


def test_the_world_votes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without error as it is, and always wrong on no sheet that counts; drawn by the seed."""
    world = SimpleNamespace(
        brings_about=lambda former, latter: latter[-1] == "fell" and bool(former)
    )
    monkeypatch.setitem(sys.modules, "pipeline.world.contingency", world)
    known = {f"p{n:02d}": (4 * (n % 2), 4) for n in range(7)}
    assert votes_of(folder, oracle=True, error=0) == known
    assert votes_of(folder, oracle=True, error=1) == {}
    found = votes_of(folder, oracle=True, error=0.3, workers=40)
    assert found == votes_of(folder, oracle=True, error=0.3, workers=40)
    assert found != votes_of(folder, oracle=True, error=0.3, workers=40, seed=1)
    asked = [count for _, count in found.values()]
    assert 0.4 * 40 * 7 < sum(asked) < 0.6 * 40 * 7  # of two checks both are right in 49 %
    right = sum(
        votes if int(name[1:]) % 2 else count - votes for name, (votes, count) in found.items()
    )
    assert 0.6 < right / sum(asked) < 0.8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "say one of --sheets, --read and --oracle"),
        ({"oracle": True, "read": "x"}, "say one of"),
        ({"read": "x"}, "add --checks"),
        ({"oracle": True, "size": 2}, "a sheet needs room"),
        ({"oracle": True, "error": 2}, "less than or equal to 1"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    """They are refused in a line."""
    with pytest.raises(SettingsError, match=message):
        VoteSettings.build({"pairs": tmp_path, **given}, None)


def test_votes_replace_earlier_votes_alone(folder: Path) -> None:
    """Beside the pairs, where no place is named; another file stays."""
    sheets = sheets_of(folder)
    for path in sheets.glob("*/*.csv"):
        fill(path)
    for _ in range(2):
        run(settings(folder, read=sheets))
    assert pq.read_table(folder.parent / "pairs-votes.parquet").num_rows == 7
    (folder.parent / "mine").write_text("own work")
    with pytest.raises(InputError, match="there is something else here already"):
        run(settings(folder, read=sheets, out=folder.parent / "mine"))
