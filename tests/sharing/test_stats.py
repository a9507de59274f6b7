"""``conjoin stats``: every figure against a recount in plain Python, the comparison by hand, bad input."""

import json
import math
import shutil
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import make_release
from shared_corpora import candidate_folder, relist, source

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, SENTENCES, sentence_row
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.corpus.layout import find_shards
from pipeline.corpus.statistics import (
    SCORES,
    binned,
    described,
    divergence,
    find_reference,
    summarise,
)
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.command import run
from pipeline.sharing.stats.settings import StatsSettings

Row = dict[str, Any]


def rows_in(folder: Path, pattern: str) -> list[Row]:
    files = sorted(folder.glob(pattern))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def more_words(row: Row, places: tuple[int, ...]) -> Row:
    """Other words of a row: a coordinator as its first word or as the last one of its fill."""
    words = list(row["words"])
    for place in places:
        words[place and row["conjuncts"][-1]["end"] - 1] = "Nor"
    return {"words": words}


def special(folder: Path) -> Path:
    """The folder with one more shard, of rows that say again what others say, or lack scores."""
    rows = rows_in(folder, "candidates-*.parquet")[:6]
    made: list[Row] = [
        rows[0] | {"candidate_id": "other", "sentence_id": "toy/other"},
        rows[1] | {"conjuncts": [{"start": 3, "end": 5}, rows[1]["conjuncts"][1]], "label": "X"},
        rows[2] | {"words": [w if w != "and" else "OR" for w in rows[2]["words"]], "score": None},
        rows[3] | {"score": math.nan, "score_prepend": math.inf, "license": "MIT"},
        rows[4] | {"sentence_id": "unnumbered"},
        *(rows[5] | more_words(rows[5], at) for at in ((0,), (-1,), (0, -1))),
    ]
    own = {"conjoin.fingerprint": read_json(folder / "manifest.json")["fingerprint"]}
    write_rows(folder / "candidates-99999-of-99999.parquet", CANDIDATES, made, own)
    relist(folder)
    return folder


def recounted(values: list[float]) -> dict[str, Any]:
    ranked = sorted(values)
    quantiles = {q: ranked[-(-q * len(ranked) // 100) - 1] for q in (5, 25, 50, 75, 95)}
    return {
        "mean": pytest.approx(statistics.fmean(values), abs=1e-6),
        "sd": pytest.approx(statistics.pstdev(values), abs=1e-6),
        "min": ranked[0],
        "max": ranked[-1],
        "quantiles": {str(q / 100): value for q, value in quantiles.items()},
    }


def test_every_figure_is_what_plain_python_counts(tmp_path: Path) -> None:
    """Counts, lengths, scores, sources and repetitions of a corpus, recounted row by row."""
    folder = special(candidate_folder(tmp_path / "toy"))
    rows = rows_in(folder, "candidates-*.parquet")
    refused = rows_in(folder, "rejects-*.parquet")
    found = summarise(find_shards(folder), None)

    def length(span: dict[str, int]) -> int:
        return span["end"] - span["start"]

    texts = [tuple(row["words"]) for row in rows]
    contents = [
        (*t, r["coordinator"], str(r["conjuncts"])) for t, r in zip(texts, rows, strict=True)
    ]
    fills = [length(row["conjuncts"][-1]) for row in rows]
    assert found["rows"] == {"accepted": len(rows), "rejected": len(refused)}
    assert found["labels"] == Counter(row["label"] for row in rows)
    assert found["coordinators"] == Counter(r["words"][r["coordinator"]].lower() for r in rows)
    assert found["coordinators"] == {"and": len(rows) - 1, "or": 1}
    assert found["other_coordinators"] == {"source": 2, "fill": 2, "rows": 3, "unknown": 0}
    assert found["reasons"] == Counter(row["reason"] for row in refused)
    assert found["licenses"] == {"CC0-1.0": len(rows + refused) - 1, "MIT": 1}
    assert found["sources"] == {"toy": len(rows + refused) - 1, "(none)": 1}
    assert found["sentences"] == len({row["sentence_id"] for row in rows})
    assert found["fill_words"] == {str(n): count for n, count in sorted(Counter(fills).items())}
    assert found["fill_length"] == recounted(fills)
    assert found["sentence_words"] == recounted([len(text) for text in texts])
    assert found["reference_length"] == recounted([length(row["reference"]) for row in rows])
    assert found["conjunct_words"] == recounted([length(s) for r in rows for s in r["conjuncts"]])
    repeated = {"content": len(rows) - len(set(contents)), "text": len(rows) - len(set(texts))}
    assert found["duplicates"] == repeated
    assert 0 < repeated["content"] < repeated["text"]
    assert found["reference"] is None
    for name in SCORES:
        scores = [row[name] for row in rows if row[name] is not None and math.isfinite(row[name])]
        figures = recounted([round(score, 4) for score in scores])
        missing = len(rows) - len(scores)
        assert found["scores"][name] == {
            "mean": figures["mean"], "quantiles": figures["quantiles"], "null": missing,
        }  # fmt: skip
    assert [found["scores"][name]["null"] for name in SCORES] == [2, 0, 1]


def test_rows_are_counted_by_the_run_that_made_them(tmp_path: Path) -> None:
    """Without a column the manifest's run counts for all rows; with neither, nobody is named."""
    folder = candidate_folder(tmp_path / "toy")
    key = json.loads((folder / "manifest.json").read_text())["fingerprint"][:16]
    assert summarise(find_shards(folder), None)["generations"] == {key: 60}
    (folder / "manifest.json").unlink()
    table = pq.read_table(folder / "candidates-00000-of-00003.parquet")
    keys = pa.array(["one"] * 4 + ["two"] * (len(table) - 4))
    file = tmp_path / "rows.parquet"
    pq.write_table(table.append_column("generation", keys), file)
    assert summarise(find_shards(file), None)["generations"] == {"two": len(table) - 4, "one": 4}
    pq.write_table(table, file)
    assert summarise(find_shards(file), None)["generations"] == {"(none)": len(table)}


def test_figures_do_not_depend_on_files(tmp_path: Path) -> None:
    """The same rows in one file or in seven, in another order: the same figures."""
    one = summarise(find_shards(candidate_folder(tmp_path / "one", units=1)), None)
    seven = summarise(find_shards(candidate_folder(tmp_path / "seven", units=7)), None)
    assert one == seven


def treebank(corpus: Path) -> Path:
    """Two evaluable coordinations in the training split, an NP and a VP, and others that do not count."""

    def sentence(number: int, split: str, *found: Coordination) -> Sentence:
        return replace(source(number), split=split, coordinations=found)

    noun = Coordination(4, "And", "NP", (Span(3, 4), Span(5, 7)))
    verb = Coordination(9, "but", "VP", (Span(0, 4), Span(5, 8), Span(10, 12)))
    plus = Coordination(4, "plus", "NP", (Span(3, 4), Span(5, 6)))
    sentences = [
        sentence(0, "train", noun, verb), sentence(1, "train", plus), sentence(2, "dev", noun),
        sentence(3, "train"),
    ]  # fmt: skip
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    return corpus


def test_the_treebank_by_hand(tmp_path: Path) -> None:
    """Only evaluable coordinations of the training split count, and the distance is the known one."""
    folder = candidate_folder(tmp_path / "toy")
    for file in folder.glob("candidates-*.parquet"):
        rows = [row | {"label": "NP"} for row in pq.read_table(file).to_pylist()]
        write_rows(file, CANDIDATES, rows)
    found = summarise(find_shards(folder), treebank(tmp_path / "bank"))["reference"]
    assert found["name"] == "bank"
    assert (found["split"], found["coordinations"]) == ("train", 2)
    assert found["labels"] == {"NP": 1, "VP": 1}
    assert found["coordinators"] == {"and": 1, "but": 1}
    assert found["sentence_words"]["mean"] == 12
    assert found["conjunct_words"] == recounted([1, 2, 4, 3, 2])
    # Shares ½, ½ and 1, 0 lie on either side of ¾, ¼.
    bits = math.log2(4 / 3) / 2 + (math.log2(2 / 3) + math.log2(2)) / 4
    assert found["divergence"]["labels"] == pytest.approx(bits, abs=1e-6)
    assert found["divergence"]["coordinators"] == pytest.approx(0.311278, abs=1e-6)
    lengths = Counter(
        s["end"] - s["start"] for r in rows_in(folder, "cand*") for s in r["conjuncts"]
    )
    assert set(lengths) <= {1, 2, 3, 4, 5}  # each of these has a bin of its own
    expected = divergence({str(n): c for n, c in lengths.items()}, {"1": 1, "2": 2, "3": 1, "4": 1})
    assert found["divergence"]["conjunct_words"] == expected


def test_divergence_and_bins() -> None:
    """Nothing in common is one bit, equal shares none; bins hold their greatest value."""
    assert divergence({"a": 3}, {"b": 1}) == 1
    assert divergence({"a": 3, "b": 6}, {"a": 1, "b": 2}) == 0
    assert divergence({"a": 3}, {}) is None
    assert binned({1: 1, 2: 1, 3: 1, 9: 4, 0: 2}, (1, 3)) == {"1": 3, "3": 2, "more": 4}
    assert described({}) is None


def test_the_nearest_treebank_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The corpus above the candidates is compared with, unless it has no coordination: then a word."""
    folder = candidate_folder(tmp_path / "toy")
    assert find_reference(folder) == tmp_path / "toy/sentences.parquet"
    run(StatsSettings(place=folder))
    assert "has no coordination in its training split" in capsys.readouterr().out
    treebank(tmp_path / "toy")
    run(StatsSettings(place=folder))
    printed = capsys.readouterr().out
    assert "among the 2 coordinations in toy's training split" in printed
    assert "distance from toy" in printed
    file = candidate_folder(tmp_path / "other").rename(tmp_path / "loose")
    (tmp_path / "other/sentences.parquet").unlink()
    run(StatsSettings(place=file))
    assert "not compared with a treebank: none was found" in capsys.readouterr().out


def test_json_is_the_dictionary_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What --json prints is exactly what ``summarise`` returns."""
    folder = candidate_folder(tmp_path / "toy")
    bank = treebank(tmp_path / "bank")
    run(StatsSettings(place=folder, reference=bank, json_=True))
    assert json.loads(capsys.readouterr().out) == summarise(find_shards(folder), bank)


def test_json_steers_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control characters are escaped, which in JSON says the same."""
    odd = {"a\x1b[2J": "\x9b2J\u202e", "é": 1}
    monkeypatch.setattr(stats, "summarise", lambda *_: odd)
    run(StatsSettings(place=candidate_folder(tmp_path / "toy"), json_=True))
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x9b\u202e")
    assert "é" in out
    assert json.loads(out) == odd


def test_the_tables_show_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows, licences, lengths, scores, reasons and the run stand in the tables."""
    folder = special(candidate_folder(tmp_path / "toy"))
    found = summarise(find_shards(folder), None)
    run(StatsSettings(place=folder))
    cells = [
        [cell.strip() for cell in line.replace("┃", "│").split("│")]
        for line in capsys.readouterr().out.splitlines()
    ]
    table = {row[0]: row[1:] for row in cells}
    assert table["NP"] == [str(found["labels"]["NP"]), f"{100 * found['labels']['NP'] / 60:.1f} %"]
    assert table["and"] == ["59", "98.3 %"]
    assert table["sentence"][0] == f"{found['sentence_words']['mean']:.2f}"
    assert table["score"][-1] == "2"
    assert table["fill equal to the reference"] == ["2", "2.9 %"]
    assert any(
        "t5, synchronized, decoding greedy, spans constituents, seed 0" in row for row in cells
    )
    assert any("CC0-1.0: 67" in row[0] for row in cells)
    others = "3 candidates hold one that is not marked: 2 in the source's words, 2 in the fill"
    assert any(row[0].endswith(others) for row in cells)


def test_a_corpus_without_candidates_or_without_rejects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Figures of nothing are empty or null, and printing them is no trouble."""
    folder = candidate_folder(tmp_path / "toy")
    refused = rows_in(folder, "rejects-*.parquet")
    rejects = folder / "rejects-00000-of-00003.parquet"
    file = summarise(find_shards(rejects), None)
    assert file["rows"] == {"accepted": 0, "rejected": len(pq.read_table(rejects))}
    assert sum(file["reasons"].values()) == file["rows"]["rejected"]
    for path in folder.glob("candidates-*.parquet"):
        write_rows(path, CANDIDATES, [], pq.read_schema(path).metadata)
    relist(folder)
    found = summarise(find_shards(folder), treebank(tmp_path / "bank"))
    assert found["rows"] == {"accepted": 0, "rejected": len(refused)}
    assert (found["labels"], found["sentences"]) == ({}, 0)
    assert (found["sentence_words"], found["fill_words"]) == (None, {})
    assert found["scores"]["score"] == {"mean": None, "quantiles": None, "null": 0}
    assert set(found["reference"]["divergence"].values()) == {None}
    run(StatsSettings(place=folder, reference=tmp_path / "bank"))
    for path in folder.glob("rejects-*.parquet"):
        path.unlink()
    relist(folder)
    found = summarise(find_shards(folder), None)
    assert (found["rows"], found["reasons"]) == ({"accepted": 0, "rejected": 0}, {})
    run(StatsSettings(place=folder))
    assert "usable candidates  0" in capsys.readouterr().out


def test_a_stand_off_release_has_no_figures_of_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without words: sentence lengths and repetitions are null, said so, and all else is counted."""
    folder = candidate_folder(tmp_path / "toy")
    expected = summarise(find_shards(folder), None)
    release = tmp_path / "release"
    make_release(release, tmp_path / "other", stand_off=True)
    shutil.rmtree(release / "rejected")
    for path in (release / "data").iterdir():
        path.unlink()
    table = pa.concat_tables(pq.read_table(f) for f in sorted(folder.glob("cand*.parquet")))
    word = pa.array(["And"] * len(table))
    pq.write_table(
        table.drop_columns(["words", "fill"]).append_column("word", word),
        release / "data/train-00000-of-00001.parquet",
    )
    shards = find_shards(release)
    assert shards.kind == "stand-off"
    found = summarise(shards, None)
    assert found["sentence_words"] is None
    assert found["duplicates"] == {"content": None, "text": None}
    assert found["coordinators"] == {"and": 52}
    for name in (
        "labels",
        "fill_words",
        "conjunct_words",
        "reference_length",
        "scores",
        "sentences",
    ):
        assert found[name] == expected[name]
    relist(release)
    run(StatsSettings(place=release))
    assert "the source's words are not here" in capsys.readouterr().out


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200:1200] = b"\x55" * 1000
    path.write_bytes(data)


def foreign(path: Path) -> None:
    pq.write_table(pa.table({"text": ["something else"]}), path)


def other_type(path: Path) -> None:
    table = pq.read_table(path)
    at = table.schema.get_field_index("coordinator")
    pq.write_table(table.set_column(at, "coordinator", pa.array(["3"] * len(table))), path)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (truncate, "not a readable Parquet file"),
        (spoil, "cannot be read"),
        (foreign, "column 'candidate_id' is missing"),
        (other_type, "column 'coordinator' is string, not int32"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(
    tmp_path: Path, damage: Callable[[Path], None], what: str
) -> None:
    """A truncated, spoilt or foreign file among the shards is named, in a line of bearable length."""
    made, folder = candidate_folder(tmp_path / "toy"), tmp_path / "somebody's"
    folder.mkdir()
    for path in made.glob("*.parquet"):  # without a manifest, which would tell before
        shutil.copy(path, folder)
    path = folder / "candidates-00001-of-00003.parquet"
    damage(path)
    with pytest.raises(InputError) as caught:
        run(StatsSettings(place=folder))
    assert str(caught.value).startswith(f"{path}: {what}")
    assert len(str(caught.value)) < len(str(path)) + 250


def test_a_bad_treebank_is_one_line(tmp_path: Path) -> None:
    """A reference that is not there, or holds no sentences, is named."""
    folder = candidate_folder(tmp_path / "toy")
    with pytest.raises(InputError, match="nowhere: no such treebank"):
        run(StatsSettings(place=folder, reference=tmp_path / "nowhere"))
    shard = folder / "candidates-00001-of-00003.parquet"
    with pytest.raises(InputError, match=f"{shard}: column 'doc_id' is missing"):
        run(StatsSettings(place=folder, reference=shard))
