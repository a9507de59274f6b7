"""``conjoin select``: which candidates are chosen, why others are not, and what can be done with them."""

import json
import math
import shutil
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from click.testing import Result
from shared_corpora import candidate_folder, row_of
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import FileFacts, write_json
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.parquet import read_batches
from pipeline.core.schema import CANDIDATES, PROBABILITIES, REJECTS, SHARES
from pipeline.core.tally import Tally
from pipeline.core.types import Candidate, Span, candidate_id
from pipeline.corpus.layout import find_shards
from pipeline.corpus.novelty import CONTRADICTED, DROPPED, REPEATED
from pipeline.corpus.rows import RELEASED_REJECTS, read_accepted, read_rejects
from pipeline.corpus.statistics import summarise
from pipeline.executor.units import UnitFolder
from pipeline.infill import candidates as infill
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run
from pipeline.sharing.browse.command import open_corpus
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.merge.command import merge
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.protocol import Opinion
from pipeline.text.columns import natural_columns
from pipeline.train.candidate_location import find_location

Row = dict[str, Any]
LICENCES = ("CC-BY-4.0", "CC-BY-4.0 AND CC-BY-SA-3.0", "CC-BY-NC-SA-4.0", "CC0-1.0 OR CC-BY-NC-4.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return candidate_folder(tmp_path_factory.mktemp("select") / "toy", 90)


@pytest.fixture(scope="module")
def licensed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of sentences of their own under four licences."""
    home = tmp_path_factory.mktemp("licences")
    return [
        candidate_folder(home / str(n), 21, first=30 * n, seed=n, license_=name)
        for n, name in enumerate(LICENCES)
    ]


def rows(place: Path) -> list[Row]:
    return [row for batch in read_accepted(find_shards(place)) for row in batch.to_pylist()]


def rejects(place: Path) -> list[Row]:
    return [row for batch in read_rejects(find_shards(place)) for row in batch.to_pylist()]


def ids(found: list[Row]) -> list[str]:
    return [row["candidate_id"] for row in found]


def selected(out: Path, *places: Path, **given: Any) -> list[Row]:
    run(SelectSettings(places=list(places), out=out, **given))
    return rows(out)


def manifest(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(place / "manifest.json")
    return found


def fill_words(row: Row) -> int:
    return int(row["conjuncts"][-1]["end"] - row["conjuncts"][-1]["start"])


@pytest.mark.parametrize(
    ("given", "keeps"),
    [
        ({}, lambda row: True),
        ({"label": ["VP"]}, lambda row: row["label"] == "VP"),
        ({"label": ["VP,PP", "X"]}, lambda row: row["label"] == "VP"),
        ({"words": "2-3"}, lambda row: 2 <= fill_words(row) <= 3),
        ({"words": "4-"}, lambda row: fill_words(row) >= 4),
        ({"words": "-2"}, lambda row: fill_words(row) <= 2),
        ({"words": "1"}, lambda row: fill_words(row) == 1),
        ({"min_score": -1.5}, lambda row: row["score"] >= -1.5),
        ({"min_score": -2.0, "max_score": -1.5}, lambda row: -2 <= row["score"] <= -1.5),
        ({"where": "score > -2 AND label = 'NP'"}, lambda row: row["score"] > -2 and row["label"] == "NP"),
        ({"where": "list_contains(words, 'boat') -- any"}, lambda row: "boat" in row["words"]),
        ({"where": "fill_words = 3 AND sentence_words > 15 AND coordinator_word = 'and'"},
         lambda row: fill_words(row) == 3 and len(row["words"]) > 15),
        ({"where": "text LIKE '%door%' AND offsets[1].end = 3 AND donor IS NULL"}, lambda row: True),
    ],
)  # fmt: skip
def test_rows_are_chosen_by_what_they_say(
    given: dict[str, Any], keeps: Any, folder: Path, tmp_path: Path
) -> None:
    """Those for which plain Python says the same, in their order; all the others are rejects."""
    every = rows(folder)
    expected = [row for row in every if keeps(row)]
    assert len(expected) > 0
    assert selected(tmp_path / "out", folder, **given) == expected
    left_out = [row for row in every if row not in expected]
    own = rejects(folder)
    found = rejects(tmp_path / "out")
    assert ids(found) == ids(own) + ids(left_out)
    assert [row["reason"] for row in found[: len(own)]] == [row["reason"] for row in own]
    document = manifest(tmp_path / "out")
    assert sum(document["selection"]["left_out"].values()) == len(left_out)
    assert document["tally"]["refused"] == Counter(row["reason"] for row in found)


def test_the_first_thing_that_a_row_fails_is_its_reason(folder: Path, tmp_path: Path) -> None:
    """Label, words, score, condition, limit, in this order."""
    given = {"words": "2-4", "min_score": -2.0, "where": "fill_words < 4", "limit": 3}
    found = selected(tmp_path / "out", folder, label=["NP"], **given)
    assert len(found) == 3
    reasons = {row["candidate_id"]: row["reason"] for row in rejects(tmp_path / "out")}
    kept = 0
    for row in rows(folder):
        why = (
            "label not among NP" if row["label"] != "NP"
            else "words of the fill not 2-4" if not 2 <= fill_words(row) <= 4
            else "score below -2" if row["score"] < -2
            else "condition not met" if fill_words(row) == 4
            else "beyond the first 3" if kept == 3
            else None
        )  # fmt: skip
        assert reasons.get(row["candidate_id"]) == why
        kept += why is None


def test_scores_that_are_not_there_pass_no_bound(folder: Path, tmp_path: Path) -> None:
    """They have the reason "no score"; one that is no number is refused, as by validate."""
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_batches(read_accepted(find_shards(folder)))
    at = table.schema.get_field_index("score")
    for strange in (None, math.nan, math.inf, -math.inf):
        scores = pa.array([None, strange, *table["score"].to_pylist()[2:]], pa.float32())
        pq.write_table(table.set_column(at, table.schema.field(at), scores), path)
        if strange is None:
            found = selected(tmp_path / "out", path, min_score=-99.0)
            continue
        with pytest.raises(InputError, match=r"row 1 \(from 0\): score not finite"):
            selected(tmp_path / "none", path, min_score=-99.0)
    assert ids(found) == ids(rows(folder))[2:]
    left_out = manifest(tmp_path / "out")["selection"]["left_out"]
    assert left_out == {"no score": 2, "score below -99": 0, DROPPED: 0}


@pytest.mark.long
@pytest.mark.parametrize(
    ("named", "kept"),
    [
        (["CC-BY-4.0"], {0}),
        (["cc-by-4.0", "CC-BY-SA-3.0"], {0, 1}),
        (["CC-BY-4.0,CC-BY-SA-3.0,CC-BY-2.5"], {0, 1}),
        (["CC0-1.0"], {3}),
        (["CC-BY-NC-4.0", "CC-BY-NC-SA-4.0"], {2, 3}),
    ],
)
def test_only_rows_that_the_licences_permit(
    named: list[str], kept: set[int], licensed: list[Path], tmp_path: Path
) -> None:
    """Of A AND B both must be named, of A OR B one; the others are in no file, and are counted."""
    found = selected(tmp_path / "out", *licensed, license=named)
    permitted = {LICENCES[n] for n in kept}
    assert {row["license"] for row in found} == permitted
    assert ids(found) == [i for n in sorted(kept) for i in ids(rows(licensed[n]))]
    assert {row["license"] for row in rejects(tmp_path / "out")} <= permitted
    document = manifest(tmp_path / "out")
    gone = [n for n in range(4) if n not in kept]
    why = "licence not among those asked for"
    assert document["dropped"] == {
        "train": {why: sum(len(rows(licensed[n])) for n in gone)},
        "rejected": {why: sum(len(rejects(licensed[n])) for n in gone)},
    }


@pytest.mark.long
def test_what_is_selected_by_licence_is_released_under_it(
    licensed: list[Path], tmp_path: Path
) -> None:
    """And under no other."""
    selected(tmp_path / "out", *licensed, license=["cc-by-4.0", "CC-BY-SA-3.0"])
    release.run(ReleaseSettings(candidates=tmp_path / "out", out=tmp_path / "release", name="open"))
    assert set(manifest(tmp_path / "release")["licenses"]) == {LICENCES[0], LICENCES[1]}


@pytest.mark.long
def test_of_equal_rows_the_first_that_passes_counts(tmp_path: Path) -> None:
    """One that fails a condition is no reason to leave out an equal one that does not."""
    low, high = (
        candidate_folder(tmp_path / name, 30, seed=seed, shift=-9.0 * (1 - seed))
        for seed, name in enumerate(("low", "high"))
    )
    both = selected(tmp_path / "both", low, high)
    assert ids(both) == ids(rows(low))
    assert rejects(tmp_path / "both") == rejects(low)
    dropped = {"train": {DROPPED: len(rows(high))}, "rejected": {DROPPED: len(rejects(high))}}
    assert manifest(tmp_path / "both")["dropped"] == dropped
    best = selected(tmp_path / "best", low, high, min_score=-5.0)
    assert best == rows(high)
    assert ids(rejects(tmp_path / "best")) == ids(rejects(low))
    assert manifest(tmp_path / "best")["dropped"]["train"] == {CONTRADICTED: len(rows(low))}
    validate.run(ValidateSettings(place=tmp_path / "both"))


@pytest.mark.long
@pytest.mark.parametrize("together", ["merge", "select"])
def test_selections_of_one_folder_come_together_without_contradiction(
    together: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one leaves out and the other keeps is a candidate; what both leave out is one reject."""
    parts = [tmp_path / "short", tmp_path / "vp"]
    selected(parts[0], folder, words="1-3")
    selected(parts[1], folder, label=["VP"])
    out = tmp_path / "out"
    if together == "merge":
        merge([find_shards(part) for part in parts], out)
    else:
        selected(out, *parts)
    kept = {*ids(rows(parts[0])), *ids(rows(parts[1]))}
    assert set(ids(rows(out))) == kept
    every = ids(rows(folder)) + ids(rejects(folder))
    assert sorted(ids(rows(out)) + ids(rejects(out))) == sorted(every)
    dropped = manifest(out)["dropped"]
    assert dropped["rejected"][CONTRADICTED] > 0
    counted = [len(read(place)) for place in parts for read in (rows, rejects)]
    assert sum(map(sum, (each.values() for each in dropped.values()))) == sum(counted) - len(every)
    validate.run(ValidateSettings(place=out))


@pytest.mark.long
def test_a_row_under_another_licence_hides_no_equal_reject(folder: Path, tmp_path: Path) -> None:
    """Of equal rejects the first that the licences permit counts."""
    other = candidate_folder(tmp_path / "other", 90, license_="CC-BY-NC-4.0")
    selected(tmp_path / "out", other, folder, license=["CC0-1.0"])
    assert rejects(tmp_path / "out") == rejects(folder)


def test_repetitions_that_generate_found_stay(folder: Path, tmp_path: Path) -> None:
    """They contradict no candidate; the reason is the one of infill."""
    assert REPEATED == infill.REPEATED
    table = pa.Table.from_batches(read_accepted(find_shards(folder)))
    reasons = pa.array([REPEATED, "other"] * (len(table) // 2) + [REPEATED] * (len(table) % 2))
    pq.write_table(
        table.append_column(RELEASED_REJECTS.field("reason"), reasons), tmp_path / "r.parquet"
    )
    merge([find_shards(folder), find_shards(tmp_path / "r.parquet")], tmp_path / "out")
    found = Counter(row["reason"] for row in rejects(tmp_path / "out"))
    assert found[REPEATED] == reasons.to_pylist().count(REPEATED)
    assert "other" not in found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["release", "merged", "selected", "file"])
def test_whatever_holds_candidates_is_read(kind: str, folder: Path, tmp_path: Path) -> None:
    """A release, a merged folder, a selection and a file give the same rows as the folder."""
    place = tmp_path / kind
    if kind == "release":
        release.run(ReleaseSettings(candidates=folder, out=place))
    elif kind == "merged":
        merge([find_shards(folder), find_shards(folder)], place)
    elif kind == "selected":
        run(SelectSettings(places=[folder], out=place))
    else:
        place = tmp_path / "rows.parquet"
        pq.write_table(pa.Table.from_batches(read_accepted(find_shards(folder))), place)
    found = selected(tmp_path / "out", place, label=["VP"])
    assert sorted(ids(found)) == sorted(ids([r for r in rows(folder) if r["label"] == "VP"]))


def test_the_result_is_a_corpus_like_any_other(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Valid, counted, browsed, trained on, merged, released and selected from; its rows have text."""
    out = tmp_path / "out"
    found = selected(out, folder, words="2-4")
    for row in (*found, *rejects(out)):
        assert {name: row[name] for name in ("text", "offsets")} == natural_columns(row["words"])
    capsys.readouterr()
    validate.run(ValidateSettings(place=out))
    assert "no violations" in capsys.readouterr().out
    counted = summarise(find_shards(out), None)
    assert counted["rows"] == {"accepted": len(found), "rejected": len(rejects(out))}
    with open_corpus(BrowseSettings(place=out), find_shards(out)) as corpus:
        assert corpus.about["usable"] == len(found)
    assert sum(
        len(batch) for *_, batch in find_location(out, tiny.COORDINATION.rows.columns).pieces()
    ) == len(found)
    both = merge([find_shards(out), find_shards(folder)], tmp_path / "m")
    assert both["rows"]["train"] == len(rows(folder))
    release.run(ReleaseSettings(candidates=out, out=tmp_path / "release"))
    validate.run(ValidateSettings(place=tmp_path / "release"))
    card = (tmp_path / "release/README.md").read_text()
    assert "conjoin select" in card
    assert "--words 2-4" in card


def test_another_text_than_the_words_is_handed_on_by_nobody(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who writes rows refuses it, and validate finds it."""
    bad = tmp_path / "bad"
    shutil.copytree(folder, bad)
    for path in bad.glob("*.parquet"):
        forged = [row | {"text": "of somebody"} for row in pq.read_table(path).to_pylist()]
        pq.write_table(pa.Table.from_pylist(forged, schema=pq.read_schema(path)), path)
    shards = [
        each | asdict(FileFacts.of(bad / each["file"], each["rows"]))
        for each in manifest(bad)["shards"]
    ]
    write_json(bad / "manifest.json", manifest(bad) | {"shards": shards})
    for write in (
        lambda: selected(tmp_path / "out", bad, where="text = 'of somebody'"),
        lambda: merge([find_shards(bad), find_shards(bad)], tmp_path / "out"),
        lambda: release.run(ReleaseSettings(candidates=bad, out=tmp_path / "out")),
    ):
        with pytest.raises(InputError, match="text differs from its words"):
            write()
        assert not (tmp_path / "out").exists()
    capsys.readouterr()
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=bad))
    assert "text differs from its words" in capsys.readouterr().out


def test_equal_inputs_give_equal_files(folder: Path, tmp_path: Path) -> None:
    """Whatever the paths; and the manifest tells no path of this machine."""
    for name in ("one", "two"):
        selected(tmp_path / name / "out", folder, min_score=-2.0)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "out").iterdir()}
        for name in ("one", "two")
    )
    changed = {name for name in one if one[name] != two[name]}
    assert changed == {"README.md", "manifest.json"}  # their --out
    assert str(tmp_path).encode() not in one["manifest.json"] + one["README.md"]


@pytest.fixture(scope="module")
def predictor(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run") / "predictor"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.1, seed=0).save(made)
    return made


@pytest.mark.long
def test_a_predictor_keeps_what_reaches_delta(
    folder: Path, predictor: Path, tmp_path: Path
) -> None:
    """All rows that all else lets pass have a probability on file; those below δ are rejects."""
    asked = [row for row in rows(folder) if row["label"] == "NP"]
    ends = [(row["conjuncts"][0]["start"], row["conjuncts"][-1]["end"]) for row in asked]
    run(
        SelectSettings(
            places=[folder], out=tmp_path / "all", label=["NP"], predictor=predictor, delta=0
        )
    )
    (batch,) = read_batches(tmp_path / "all/probabilities.parquet", PROBABILITIES)
    probabilities = dict(
        zip(*(batch.column(n).to_pylist() for n in batch.schema.names), strict=True)
    )
    assert list(probabilities) == ids(asked)
    for row, (start, end) in list(zip(asked, ends, strict=True))[:5]:
        (alone,) = tiny.probabilities(
            CoordinationPredictor.load(predictor),
            [tuple(row["words"])],
            [row["coordinator"]],
            [Span(start, end)],
        )
        assert probabilities[row["candidate_id"]] == pytest.approx(alone, abs=1e-5)
    delta = float(np.median(list(probabilities.values())))
    found = selected(tmp_path / "out", folder, label=["NP"], predictor=predictor, delta=delta)
    assert ids(found) == [i for i, probability in probabilities.items() if probability >= delta]
    reasons = Counter(row["reason"] for row in rejects(tmp_path / "out"))
    assert reasons[f"probability below {delta:g}"] == len(asked) - len(found)
    validate.run(ValidateSettings(place=tmp_path / "out"))


def test_the_paper_s_delta_is_the_default(folder: Path, predictor: Path, tmp_path: Path) -> None:
    """0.7, which no boundary reaches by a predictor that has learned nothing."""
    with pytest.raises(InputError, match="no candidate is chosen"):
        selected(tmp_path / "out", folder, predictor=predictor)
    assert not (tmp_path / "out").exists()


def scored_shares(place: Path) -> dict[str, tuple[float, float]]:
    """Probability and share of each row that the predictor was asked of."""
    (batch,) = read_batches(place / "probabilities.parquet", SHARES)
    each = zip(*(batch.column(name).to_pylist() for name in SHARES.names), strict=True)
    return {name: (probability, share) for name, probability, share in each}


@pytest.mark.long
def test_a_predictor_keeps_what_is_near_its_best(
    folder: Path, predictor: Path, tmp_path: Path
) -> None:
    """The share is the probability over that of the predictor's own boundary; no δ then stands beside it."""
    everything = rows(folder)
    run(SelectSettings(places=[folder], out=tmp_path / "all", predictor=predictor, relative=1e-30))
    scored = scored_shares(tmp_path / "all")
    assert list(scored) == ids(everything) == ids(rows(tmp_path / "all"))
    words = [tuple(row["words"]) for row in everything]
    best = CoordinationPredictor.load(predictor).predict(
        words, [row["coordinator"] for row in everything]
    )
    for (probability, share), most in zip(scored.values(), best, strict=True):
        assert most is not None
        assert share == pytest.approx(probability / most.probability, rel=1e-4)
    middle = float(np.median([share for _, share in scored.values()]))
    found = selected(tmp_path / "out", folder, predictor=predictor, relative=middle)
    assert ids(found) == [name for name, (_, share) in scored.items() if share >= middle]
    assert 0 < len(found) < len(everything)
    reasons = Counter(row["reason"] for row in rejects(tmp_path / "out"))
    assert reasons[f"probability below {middle:g} of the best"] == len(everything) - len(found)
    validate.run(ValidateSettings(place=tmp_path / "out"))


@pytest.mark.long
def test_delta_and_the_share_of_the_best_go_together(
    folder: Path, predictor: Path, tmp_path: Path
) -> None:
    """A row must reach both, and is counted under δ if it reaches neither."""
    run(SelectSettings(places=[folder], out=tmp_path / "all", predictor=predictor, relative=1e-30))
    scored = scored_shares(tmp_path / "all")
    delta, relative = (float(np.median(each)) for each in zip(*scored.values(), strict=True))
    given = {"predictor": predictor, "delta": delta, "relative": relative}
    found = selected(tmp_path / "out", folder, **given)
    assert ids(found) == [n for n, (p, share) in scored.items() if p >= delta and share >= relative]
    counts = manifest(tmp_path / "out")["selection"]["left_out"]
    low = sum(p < delta for p, _ in scored.values())
    assert counts[f"probability below {delta:g}"] == low
    assert (
        counts[f"probability below {relative:g} of the best"] == len(scored) - low - len(found) > 0
    )


def test_a_share_needs_a_predictor(folder: Path, tmp_path: Path) -> None:
    """One line says so."""
    with pytest.raises(SettingsError, match=r"select\.relative needs a predictor"):
        selected(tmp_path / "out", folder, relative=0.001)


OF_SENTENCES = ["a cats", "a dogs", "a birds", "b fish", "b cows", "c dogs", "d fish", "d hens"]


@pytest.fixture
def of_sentences(tmp_path: Path) -> Path:
    """Rows of four sentences, each with a fill; the first of d says what the first of b does."""
    made = []
    for name, fill in map(str.split, OF_SENTENCES):
        words = ("we", "saw", f"pigs{'b' if fill == 'fish' else name}", "and", fill, "today")
        spans = Span(2, 3), Span(4, 5)
        own = candidate_id(f"toy/{name}", words, 3, spans[0], spans)
        about = own, f"toy/{name}", words, 3, spans, "NP", spans[0], fill
        made.append(Candidate(*about, -1.0, None, None, "CC0-1.0"))
    schemas = {"candidates": CANDIDATES, "rejects": REJECTS}
    folder = UnitFolder(
        tmp_path / "of-sentences", 1, schemas, Fingerprint({}, {}), "conjoin generate"
    )
    folder.begin()
    folder.write(0, {"candidates": list(map(row_of, made)), "rejects": []}, Tally(len(made)))
    folder.write_manifest()
    return tmp_path / "of-sentences"


def of_and_fill(found: list[Row]) -> list[str]:
    return [f"{row['sentence_id'][4:]} {row['fill']}" for row in found]


@pytest.mark.parametrize(
    ("where", "whole", "broken"),
    [
        ("fill <> 'birds'", ["b fish", "b cows", "c dogs", "d hens"], 2),
        ("fill <> 'dogs'", ["b fish", "b cows", "d hens"], 2),
        ("fill <> 'fish'", ["a cats", "a dogs", "a birds", "c dogs"], 2),
        (
            "sentence_id <> 'toy/b'",
            ["a cats", "a dogs", "a birds", "c dogs", "d fish", "d hens"],
            0,
        ),
        ("true", [each for each in OF_SENTENCES if each != "d fish"], 0),
    ],
)
def test_whole_sentences(
    of_sentences: Path, tmp_path: Path, where: str, whole: list[str], broken: int
) -> None:
    """Whoever lost a row loses the others; a row that says the same as one that is in is not lost."""
    found = selected(tmp_path / "out", of_sentences, where=where, whole_sentences=True)
    assert of_and_fill(found) == whole
    counts = manifest(tmp_path / "out")["selection"]["left_out"]
    assert counts["another row of its sentence was left out"] == broken
    reasons = Counter(row["reason"] for row in rejects(tmp_path / "out"))
    assert reasons["another row of its sentence was left out"] == broken
    assert "--whole-sentences" in manifest(tmp_path / "out")["selection"]["command"]


@pytest.mark.long
def test_whole_sentences_of_what_a_predictor_believes(
    of_sentences: Path, predictor: Path, tmp_path: Path
) -> None:
    """At every bar: sentences all of whose rows reach it, also by a row that an earlier one stands for."""
    run(
        SelectSettings(
            places=[of_sentences], out=tmp_path / "all", predictor=predictor, relative=1e-30
        )
    )
    shares = [share for _, share in scored_shares(tmp_path / "all").values()]
    share_of = dict(zip([e for e in OF_SENTENCES if e != "d fish"], shares, strict=True))
    share_of["d fish"] = share_of["b fish"]
    for number, bar in enumerate(sorted(set(shares))):
        broken = {each[0] for each, share in share_of.items() if share < bar}
        wanted = [e for e in OF_SENTENCES if e[0] not in broken and e != "d fish"]
        given = {"predictor": predictor, "relative": bar, "whole_sentences": True}
        out = tmp_path / str(number)
        if wanted:
            assert of_and_fill(selected(out, of_sentences, **given)) == wanted
        else:
            with pytest.raises(InputError, match="no candidate is chosen"):
                selected(out, of_sentences, **given)


def test_whole_sentences_whose_row_an_earlier_one_stands_for(
    of_sentences: Path, predictor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the predictor does not believe the first of two equal rows, both sentences are broken."""

    class Doubting(CoordinationPredictor):
        def opinions(self, examples: Any) -> list[Any]:
            return [Opinion(1.0, 1.0, best="fish" not in each.words) for each in examples]

    monkeypatch.setattr("pipeline.select.judging.loaded", Doubting.load)
    given = {"agree": [predictor], "whole_sentences": True}
    found = selected(tmp_path / "out", of_sentences, **given)
    assert of_and_fill(found) == ["a cats", "a dogs", "a birds", "c dogs"]
    counts = manifest(tmp_path / "out")["selection"]["left_out"]
    assert counts["another row of its sentence was left out"] == 2


def test_whole_sentences_come_before_the_limit(of_sentences: Path, tmp_path: Path) -> None:
    """What is beyond the limit was not left out by what is asked of rows."""
    found = selected(tmp_path / "out", of_sentences, whole_sentences=True, limit=1)
    assert [row["fill"] for row in found] == ["cats"]


def test_what_a_licence_keeps_out_breaks_no_sentence(of_sentences: Path, tmp_path: Path) -> None:
    """The result does not depend on such rows."""
    (path,) = of_sentences.glob("candidates-*.parquet")
    changed = pq.read_table(path).to_pylist()
    changed[0]["license"] = "CC-BY-NC-4.0"
    pq.write_table(pa.Table.from_pylist(changed, schema=pq.read_schema(path)), path)
    shards = [
        each | asdict(FileFacts.of(of_sentences / each["file"], each["rows"]))
        for each in manifest(of_sentences)["shards"]
    ]
    write_json(of_sentences / "manifest.json", manifest(of_sentences) | {"shards": shards})
    given = {"license": ["CC0-1.0"], "whole_sentences": True}
    found = selected(tmp_path / "out", of_sentences, **given)
    assert [row["fill"] for row in found] == ["dogs", "birds", "fish", "cows", "dogs", "hens"]


@pytest.mark.parametrize("given", [{}, {"relative": None, "whole_sentences": False}])
def test_what_is_not_asked_is_not_in_the_fingerprint(
    folder: Path, tmp_path: Path, given: dict[str, Any]
) -> None:
    """So selections made before there was --relative stay current."""
    selected(tmp_path / "out", folder, min_score=-2.0, **given)
    settings = SelectSettings(places=[folder], out=tmp_path / "out", min_score=-2.0, **given)
    shards = [find_shards(folder)]
    made_of = stage._made_of(settings, shards, [])
    assert not {"relative", "whole_sentences"} & made_of.settings.keys()
    asked = settings.model_copy(update={"whole_sentences": True})
    assert stage._made_of(asked, shards, []).settings["whole_sentences"] is True


WHERE = [
    ("score >", "syntax error"),
    ("", "empty"),
    ("scor > 1", "there is no column 'scor', did you mean 'score'"),
    ("len(word) < 15", "there is no column 'word', did you mean 'words'"),
    ("Words_ IS NULL", "there is no column 'Words_', did you mean 'words'"),
    ("zzz > 1", "there is no column 'zzz'; "),
    ("score", "FLOAT, neither true nor false"),
    ("true) ORDER BY (1", "more than one condition"),
    ("true) UNION SELECT (1", "more than one condition"),
    ("true) LIMIT (1", "more than one condition"),
    ("true; DROP TABLE batch", "syntax error"),
    ("score > (SELECT avg(score) FROM batch)", "columns of one row"),
    ("EXISTS (FROM '/etc/passwd')", "columns of one row"),
    ("row_number() OVER () < 3", "columns of one row"),
    ("score > ?", "columns of one row"),
    ("count(*) > 1", "cannot contain aggregates"),
    ("random() < 0.5", "does not always say the same"),
    ("now() > '2020-01-01'", "does not always say the same"),
    ("current_date > '2020-01-01'", "does not always say the same"),
    ("CURRENT_TIMESTAMP > '2020-01-01'", "does not always say the same"),
    ("extract(microsecond FROM LOCALTIMESTAMP) % 2 = 0", "does not always say the same"),
    ("LocalTime > TIME '10:00:00'", "does not always say the same"),
    ("current_localtimestamp() > TIMESTAMP '2020-01-01'", "does not always say the same"),
    ("age(TIMESTAMP '2020-01-01') > INTERVAL 1 DAY", "does not always say the same"),
    ("ago(INTERVAL 1 DAY) IS NULL", "does not always say the same"),
    ("pg_conf_load_time() IS NULL", "does not always say the same"),
    ("read_text('/etc/passwd') = ''", "table function"),
    ("getenv('HOME') = ''", "does not exist"),
    ("strlen(text) > 3 AND nosuch(label)", "does not exist"),
]


@pytest.mark.parametrize(("condition", "why"), WHERE, ids=[case[0] for case in WHERE])
def test_what_is_no_condition_is_one_line(
    condition: str, why: str, folder: Path, tmp_path: Path
) -> None:
    """Before any row is read, and nothing is written."""
    with pytest.raises(SettingsError, match=why) as raised:
        selected(tmp_path / "out", folder, where=condition)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("select.where = ")
    assert not (tmp_path / "out").exists()


def test_a_condition_that_a_row_cannot_answer_is_one_line(folder: Path, tmp_path: Path) -> None:
    """With what to do about it."""
    with pytest.raises(InputError, match=r"select\.where: Could not convert .* TRY_CAST"):
        selected(tmp_path / "out", folder, where="label::INT = 1")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"words": "8-2"}, SettingsError, "must not be above"),
        ({"words": "many"}, SettingsError, "such as 2-8"),
        ({"words": "-"}, SettingsError, "such as 2-8"),
        ({"license": ["CC-BY4"]}, SettingsError, r"select\.license = 'CC-BY4'"),
        ({"license": ["CC-BY-4.0 OR CC0-1.0"]}, SettingsError, "single licences are named"),
        ({"license": [""]}, SettingsError, "names nothing"),
        ({"label": ["NP", " , "]}, SettingsError, "names nothing"),
        ({"label": [","]}, SettingsError, "names nothing"),
        ({"delta": 0.5}, SettingsError, "needs a predictor"),
        ({"delta": 1.5}, SettingsError, "less than or equal to 1"),
        ({"limit": 0}, SettingsError, "greater than or equal to 1"),
        ({"predictor": "nowhere"}, ModelError, "predictor"),
        ({"label": ["QP"]}, InputError, "none has the label 'QP'; labels there are NP, VP"),
        ({"label": ["NPP"]}, InputError, "none has the label 'NPP', did you mean 'NP'"),
        ({"label": ["np"]}, SettingsError, "'np' is no label.*did you mean 'NP'"),
        ({"min_score": 0.0, "max_score": -1.0}, InputError, "no candidate is chosen"),
    ],
)  # fmt: skip
def test_what_cannot_be_selected_is_one_line(
    given: dict[str, Any], error: type[Exception], why: str, folder: Path, tmp_path: Path
) -> None:
    """And nothing is written."""
    with pytest.raises(error, match=why):
        run(SelectSettings.build({"places": [folder], "out": tmp_path / "out", **given}, None))
    assert not (tmp_path / "out").exists()


def test_a_predictor_that_is_not_there_is_reported_before_the_corpus_is_read(
    folder: Path, tmp_path: Path
) -> None:
    """So nobody waits for it."""
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    next(damaged.glob("*.parquet")).write_bytes(b"")
    with pytest.raises(ModelError):
        selected(tmp_path / "out", damaged, predictor=tmp_path / "nosuch")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_leads_to_where_the_folder_appears(
    there: bool, folder: Path, tmp_path: Path
) -> None:
    """To an empty folder or to none; the link itself stays, and what it leads to is not replaced."""
    if there:
        (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    selected(tmp_path / "link", folder)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty/manifest.json").is_file()
    with pytest.raises(InputError, match="something here already"):
        selected(tmp_path / "link", folder, label=["VP"])


@pytest.mark.long
def test_selections_are_recorded_in_what_is_made_of_them(folder: Path, tmp_path: Path) -> None:
    """Merged, and selected from again: each command once, the earlier first."""
    parts = [tmp_path / "short", tmp_path / "vp"]
    selected(parts[0], folder, words="1-3")
    selected(parts[1], folder, label=["VP"])
    earlier = [manifest(part)["selection"] for part in parts]
    merge([find_shards(part) for part in (*parts, *parts, folder)], tmp_path / "merged")
    assert manifest(tmp_path / "merged")["selections"] == earlier
    selected(tmp_path / "again", tmp_path / "merged", min_score=-2.0)
    assert manifest(tmp_path / "again")["selections"] == earlier
    selected(tmp_path / "third", tmp_path / "again", limit=1)
    last = manifest(tmp_path / "again")["selection"]
    assert manifest(tmp_path / "third")["selections"] == [*earlier, last]
    assert "selections" not in manifest(parts[0])


def test_a_selection_without_its_probabilities_is_not_current(
    folder: Path, predictor: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    selected(out, folder, predictor=predictor, delta=0.0)
    selected(out, folder, predictor=predictor, delta=0.0)  # current
    (out / "probabilities.parquet").unlink()
    with pytest.raises(InputError, match="something here already"):
        selected(out, folder, predictor=predictor, delta=0.0)


def test_the_seed_stands_in_the_output_s_path_too(folder: Path, tmp_path: Path) -> None:
    given = {"places": [folder], "out": tmp_path / "seed-{seed}", "seed": 3}
    drawn = {"sample": "random-sentences", "size": "50%"}
    run(SelectSettings.build(given | drawn, None))
    assert (tmp_path / "seed-3/manifest.json").is_file()
    with pytest.raises(SettingsError, match="say a smaller --size"):
        SelectSettings.build(given | drawn | {"limit": 3}, None)


def test_folders_are_not_overwritten(folder: Path, tmp_path: Path) -> None:
    """Neither what stands at --out nor an input; and a stand-off release has no words to go by."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/note.txt").write_text("mine")
    with pytest.raises(InputError, match="something here already"):
        selected(tmp_path / "out", folder)
    with pytest.raises(InputError, match="inside its input"):
        selected(folder / "out", folder)
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "bare", stand_off=True))
    with pytest.raises(InputError, match="rehydrate"):
        selected(tmp_path / "new", tmp_path / "bare")


def called(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["select", *map(str, arguments)])


def test_the_command_says_what_was_left_out_and_why(folder: Path, tmp_path: Path) -> None:
    """A table of reasons, several labels with a comma, and settings from params.yaml."""
    params = tmp_path / "params.yaml"
    params.write_text("select: {default: {words: 2-4, license: [CC0-1.0]}}\n")
    result = called(folder, "--out", tmp_path / "out", "--label", "NP,PP", "--params", params)
    assert result.exit_code == 0, result.output
    assert "label not among NP, PP" in result.output
    assert "words of the fill not 2-4" in result.output
    command = manifest(tmp_path / "out")["selection"]["command"]
    assert "--label NP --label PP --words 2-4 --license CC0-1.0" in command
    assert RELEASED_REJECTS.equals(
        pq.read_schema(next((tmp_path / "out").glob("rejects-*"))).remove_metadata()
    )


def test_probabilities_are_documented() -> None:
    """docs/schema.md has the columns."""
    text = (Path(__file__).resolve().parents[2] / "docs/schema.md").read_text()
    section = text.split("## Probabilities:")[1].split("\n## ")[0]
    assert all(f"|`{name}`|" in section for name in SHARES.names)


@pytest.mark.long
def test_rows_do_not_depend_on_the_shards(folder: Path, tmp_path: Path) -> None:
    """The same rows in one file and in three give the same selection, digests and all."""
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "r", shards=1))
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "s", shards=7))
    digests = []
    for name in ("r", "s"):
        selected(tmp_path / f"of-{name}", tmp_path / name, min_score=-2.0, where="fill_words > 1")
        digests.append(manifest(tmp_path / f"of-{name}")["shards"])
    assert json.dumps(digests[0]) == json.dumps(digests[1])
