"""Examples drawn by seed and judged by hand: the draw, the sheet to fill in, and what is counted."""

import csv
import hashlib
import re
from pathlib import Path

import pytest
import yaml
from test_report import NASTY, build

from pipeline.core.errors import InputError
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import SCORED
from pipeline.report.examples import draw_examples, place_of
from pipeline.report.judgements import read_judgements, wilson
from pipeline.report.settings import ReportSettings
from pipeline.report.stage import run

SYSTEMS = {"t5": [0.6], "bert": [0.6]}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A small corpus without an audit, as a treebank's is; and without what takes long to draw."""
    folder = build(tmp_path / "tiny", SYSTEMS)
    for path in (*folder.glob("audit/*"), *folder.glob("runs/**/history.jsonl")):
        path.unlink()
    return folder


def sheet_of(corpus: Path) -> list[dict[str, str]]:
    """The sheet to fill in."""
    return list(csv.DictReader((corpus / "report/judgements.csv").open()))


def judged(path: Path, verdicts: dict[str, str]) -> Path:
    """A file of judgements."""
    lines = [f"{candidate},{verdict}," for candidate, verdict in verdicts.items()]
    path.write_text("\n".join(["candidate_id,sensible,note", *lines]) + "\n")
    return path


def test_the_draw_is_a_function_of_the_seed_and_the_ids(corpus: Path) -> None:
    """The first ids by digest, each by its last verdict, whatever the order and number of judgements."""
    scored = corpus / "runs/t5/100/seed-0/scored.parquet"
    source = (0, scored, corpus / "candidates/t5-sync/seed-0")
    rows = list(read_rows(scored, SCORED))
    last = {row["candidate_id"]: row["accepted"] for row in rows}
    assert len(last) < len(rows)
    drawn = draw_examples(source, 6, 3)
    for side, accepted in zip(drawn, (True, False), strict=True):
        digests = {
            hashlib.sha256(f"3 {c}".encode()).hexdigest(): c for c in last if last[c] is accepted
        }
        assert [e.candidate_id for e in side] == [digests[d] for d in sorted(digests)[:6]]
    final = {row["candidate_id"]: row for row in rows}
    write_rows(scored, SCORED, list(final.values())[::-1])
    assert draw_examples(source, 6, 3) == drawn
    assert place_of(3, "a") != place_of(4, "a")


def test_the_sheet_is_blind_and_says_how_to_judge(corpus: Path) -> None:
    """Each candidate once, ordered by the draw alone; neither system nor verdict; text with its brackets."""
    run(ReportSettings(corpus=corpus, examples=4))
    rows = sheet_of(corpus)
    assert list(rows[0]) == ["candidate_id", "sensible", "note", "text"]
    assert [row["candidate_id"] for row in rows] == sorted(
        (row["candidate_id"] for row in rows), key=lambda c: place_of(0, c)
    )
    assert len({row["candidate_id"] for row in rows}) == len(rows) == 16
    assert {row["sensible"] for row in rows} == {""}
    assert all("[" in row["text"] for row in rows)
    for name in ("report.md", "report.html"):
        text = (corpus / "report" / name).read_text()
        assert "judgements.csv" in text
        assert "report CORPUS --judgements" in text
        assert "judged by hand;" not in text
        assert all(row["candidate_id"] in text for row in rows)


def test_judgements_are_shown_and_counted_with_an_interval(corpus: Path) -> None:
    """A mark on each judged example; k of n with bounds for each system; the rest, and strangers."""
    run(ReportSettings(corpus=corpus, examples=4))
    rows = sheet_of(corpus)
    source = (0, corpus / "runs/t5/100/seed-0/scored.parquet", corpus / "candidates/t5-sync/seed-0")
    accepted, rejected = draw_examples(source, 4, 0)
    verdicts = {e.candidate_id: "yes" for e in accepted[:3]} | {
        rejected[0].candidate_id: "no",
        "ff": "no",
    }
    path = judged(corpus / "hand.csv", verdicts)
    run(ReportSettings(corpus=corpus, examples=4, judgements=path))
    text = (corpus / "report/report.md").read_text()
    low, _ = wilson(3, 3)
    # Of T5 four are judged, of BERT none, and one is of neither.
    for part in (f"3 of 3 accepted ({100 * low:.0f} to 100 %) and 0 of 1 rejected (0 to", "4 of the 8 shown",
                 "None of these 8", "1 of the 5 judgements", "the other 12 judged by hand"):  # fmt: skip
        assert part in text
    assert len(re.findall(r"\*\*(?:not )?sensible\*\*", text)) == 4
    page = (corpus / "report/report.html").read_text()
    assert len(re.findall("</span> sensible</span>", page)) == 3
    assert len(re.findall("</span> not sensible</span>", page)) == 1
    filled = {row["candidate_id"]: row["sensible"] for row in sheet_of(corpus)}
    assert len(filled) == len(rows)
    assert {c: v for c, v in filled.items() if v} == {
        c: v for c, v in verdicts.items() if c != "ff"
    }


def keep_filled(corpus: Path, cells: str) -> tuple[Path, str]:
    """Fill the first row in, and check that the sheet is left alone, and kept where it is given.

    Returns:
        The sheet, and the id of its first candidate.
    """
    run(ReportSettings(corpus=corpus, examples=4))
    sheet = corpus / "report/judgements.csv"
    first = sheet_of(corpus)[0]["candidate_id"]
    filled = sheet.read_text().replace(f"{first},,", f"{first},{cells}")
    sheet.write_text(filled)
    run(ReportSettings(corpus=corpus, examples=5))
    assert sheet.read_text() == filled
    assert "is left as it is" in (corpus / "report/report.md").read_text()
    run(ReportSettings(corpus=corpus, examples=4, judgements=sheet))
    assert sheet.read_text() == filled
    return sheet, first


def test_a_filled_sheet_is_read_as_it_is_and_never_lost(corpus: Path) -> None:
    """A sheet with verdicts that no file has is left alone; given, it is counted and kept."""
    sheet, first = keep_filled(corpus, "yes,fine <b>")
    page = (corpus / "report/report.html").read_text()
    assert "fine &lt;b&gt;" in page
    assert NASTY not in page
    run(ReportSettings(corpus=corpus, examples=1, seed=9, judgements=sheet))
    assert first in sheet.read_text()


def test_a_note_without_a_verdict_stays(corpus: Path) -> None:
    """Whoever cannot decide writes why; it is no judgement, and nothing writes over it."""
    keep_filled(corpus, ",ask Anna")
    text = (corpus / "report/report.md").read_text()
    assert "0 of 1" not in text
    assert "sensible**" not in text


def test_a_file_of_judgements_that_is_not_there_is_said(corpus: Path) -> None:
    """The report is made without, and names the path."""
    run(ReportSettings(corpus=corpus, examples=2, judgements=corpus / "none.csv"))
    text = (corpus / "report/report.md").read_text()
    assert f"{corpus / 'none.csv'} is not there" in text.replace("\\", "")
    assert "report CORPUS --judgements" in text


def test_judgements_that_params_name_are_inputs_of_the_report() -> None:
    """DVC has a folder there to depend on, whether or not anyone has judged yet."""
    root = Path(__file__).parents[2]
    named = [
        Path(each["judgements"])
        for each in yaml.safe_load((root / "params.yaml").read_text())["report"].values()
        if "judgements" in each
    ]
    assert Path("benchmarks/judgements/genia.csv") in named
    deps = yaml.safe_load((root / "dvc.yaml").read_text())["stages"]["report"]["do"]["deps"]
    assert {str(path.parent) for path in named} <= set(deps)
    assert all((root / path.parent).is_dir() for path in named)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("candidate,verdict\n", r"1: the first line is 'candidate,verdict'"),
        (
            "candidate_id,sensible,note\na,yes,\nb,maybe,\n",
            r"3: candidate b: sensible is 'maybe', not yes",
        ),
        ("candidate_id,sensible,note\na,yes\n", r"2: 2 cells instead of 3"),
        ("candidate_id,sensible,note\n,yes,\n", r"2: no candidate_id"),
        ("candidate_id,sensible,note\na,yes,\n\na,no,\n", r"4: candidate a is judged twice"),
        ("", r"1: the first line is ''"),
    ],
)
def test_a_malformed_line_is_one_error_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """The file, the line, what is wrong."""
    path = tmp_path / "hand.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"hand\.csv:{said}") as error:
        read_judgements(path)
    assert "\n" not in str(error.value)


def test_wilson_bounds_are_the_known_ones() -> None:
    """Against figures of the literature (Newcombe 1998: 81 of 263, 15 of 148, 0 of 20)."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
