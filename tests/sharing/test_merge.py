"""``conjoin merge``: equal content once, every row's run named, and nothing written of what is refused."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import identified, make_release
from shared_corpora import candidate_folder

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, write_json
from pipeline.corpus import writing
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import find_shards
from pipeline.corpus.novelty import CONTRADICTED, DROPPED
from pipeline.corpus.rows import (
    RELEASED,
    RELEASED_REJECTS,
    generations,
    read_accepted,
    read_rejects,
)
from pipeline.corpus.statistics import summarise
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.merge.command import run
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.tasks.coordination.rows import CoordinationRows
from pipeline.train.candidate_location import find_location

Row = dict[str, Any]


def merged(out: Path, *places: Path) -> dict[str, Any]:
    run(MergeSettings(places=list(places), out=out))
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return manifest


def accepted(place: Path) -> list[Row]:
    return [row for batch in read_accepted(find_shards(place)) for row in batch.to_pylist()]


def rejects(place: Path) -> list[Row]:
    return [row for batch in read_rejects(find_shards(place)) for row in batch.to_pylist()]


def said(row: Row) -> str:
    """What a row says, in plain Python; of a reject also what came to be of the reference."""
    names = ["words", "coordinator", "conjuncts"]
    names += ["reference", "fill", "reason"] if "reason" in row else []
    return json.dumps([row[name] for name in names])


def first_of_each(rows: list[Row]) -> list[Row]:
    kept: dict[str, Row] = {}
    for row in rows:
        kept.setdefault(said(row), row)
    return list(kept.values())


def rewrite(folder: Path, change: Callable[[int, Row], Row], kind: str = "candidates") -> None:
    """Change the rows of the first shard of a folder."""
    path = sorted(folder.glob(f"{kind}-*.parquet"))[0]
    rows = [change(n, row) for n, row in enumerate(pq.read_table(path).to_pylist())]
    write(path, rows)


def write(path: Path, rows: list[Row]) -> None:
    """Other rows as a shard of the folder's run, of which its manifest tells the truth."""
    schema = pq.read_schema(next(path.parent.glob(f"{path.name.partition('-')[0]}-*")))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    about = read_json(path.parent / "manifest.json")
    others = [each for each in about["shards"] if each["file"] != path.name]
    entry = {"file": path.name, **asdict(FileFacts.of(path, len(rows)))}
    write_json(path.parent / "manifest.json", about | {"shards": [*others, entry]})


def test_equal_rows_are_kept_once_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first corpus's rows, then the second's new ones, and every row names its run."""
    one = candidate_folder(tmp_path / "one", 40)
    two = candidate_folder(tmp_path / "two", 40, first=20, seed=1)
    out = tmp_path / "out"
    manifest = merged(out, one, two)
    assert accepted(out) == first_of_each(accepted(one) + accepted(two))
    assert rejects(out) == first_of_each(rejects(one) + rejects(two))
    (first,), (second,) = generations(find_shards(one)), generations(find_shards(two))
    known = generations(find_shards(out))
    assert {key: about["settings"]["seed"] for key, about in known.items()} == {first: 0, second: 1}
    assert known[first]["rows"] == {"train": 35, "rejected": 5}
    assert known[second]["rows"] == {"train": 17, "rejected": 3}
    assert manifest["rows"] == {"train": 52, "rejected": 8}
    assert manifest["dropped"] == {"train": {DROPPED: 17}, "rejected": {DROPPED: 3}}
    assert manifest["tally"]["seen"] == 60
    assert manifest["tally"]["refused"]["empty fill"] == 3
    cells = [line.split("│") for line in capsys.readouterr().out.splitlines()]
    table = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells}
    assert table["together"] == ["69", "52", "17", "11", "8", "3"]


def test_the_manifest_tells_the_truth_of_the_files(tmp_path: Path) -> None:
    """Bytes, checksums, rows and digests of shards and inputs are those that another count gives."""

    def digest(batches: Any) -> str:
        found = RowDigest()
        for batch in batches:
            found.add(batch)
        return found.hex()

    one = candidate_folder(tmp_path / "one", 40)
    two = candidate_folder(tmp_path / "two", 40, first=20, seed=1)
    out = tmp_path / "out"
    manifest = merged(out, one, two)
    for shard in manifest["shards"]:
        path = out / shard["file"]
        assert shard["bytes"] == path.stat().st_size
        assert shard["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert shard["rows"] == pq.read_metadata(path).num_rows
        schema = RELEASED if "candidates" in shard["file"] else RELEASED_REJECTS
        assert pq.read_schema(path).equals(schema)
        assert shard["digest"] == digest(pq.read_table(path).to_batches())
    for entry, place in zip(manifest["merged"], (one, two), strict=True):
        shards = find_shards(place)
        assert entry["place"] == f"t5-sync/{place.name}"
        assert entry["digests"]["train"] == digest(read_accepted(shards))
        assert entry["digests"]["rejected"] == digest(read_rejects(shards))
    assert manifest["digests"]["train"] == digest(read_accepted(find_shards(out)))


def test_with_itself_nothing_is_new(tmp_path: Path) -> None:
    """A corpus merged with itself is itself, with 0 new rows of the second; merged again, too."""
    one = candidate_folder(tmp_path / "one")
    manifest = merged(tmp_path / "out", one, one)
    assert accepted(tmp_path / "out") == accepted(one)
    assert rejects(tmp_path / "out") == rejects(one)
    assert [entry["kept"]["train"] for entry in manifest["merged"]] == [52, 0]
    assert [entry["kept"]["rejected"] for entry in manifest["merged"]] == [8, 0]
    again = merged(tmp_path / "again", tmp_path / "out", one)
    assert again["digests"] == manifest["digests"]
    assert again["generations"] == manifest["generations"]
    # What earlier mergers left out stays counted.
    assert [sum(each["dropped"]["train"].values()) for each in (manifest, again)] == [52, 104]
    settings = SelectSettings(places=[tmp_path / "out"], out=tmp_path / "some", limit=5)
    select.run(settings)
    chosen = read_json(tmp_path / "some/manifest.json")
    assert sum(chosen["dropped"]["train"].values()) == 52


def test_a_merged_folder_is_a_corpus_like_others(tmp_path: Path) -> None:
    """Three corpora in one; training reads it, statistics count it, a single file of it merges."""
    places = [
        candidate_folder(tmp_path / name, 21, first=first, seed=first)
        for name, first in (("a", 0), ("b", 14), ("c", 30))
    ]
    out = tmp_path / "out"
    manifest = merged(out, *places)
    source = find_location(out, CoordinationRows.columns)
    assert source.rows() == sum(len(batch) for *_, batch in source.pieces()) == len(accepted(out))
    found = summarise(find_shards(out), None)
    assert found["rows"] == {"accepted": manifest["rows"]["train"], "rejected": 7}
    assert found["duplicates"]["content"] == 0
    made = {key: sum(about["rows"].values()) for key, about in manifest["generations"].items()}
    assert found["generations"] == made
    assert sorted(made.values()) == [14, 16, 21]
    file = out / "rejects-00000-of-00001.parquet"
    assert merged(tmp_path / "more", file, places[0])["rows"] == {"train": 18, "rejected": 7}


def test_what_counts_as_the_same(tmp_path: Path) -> None:
    """Another label, score or sentence is the same content; another bracket or reason is not."""
    one = candidate_folder(tmp_path / "one", 28)
    two = candidate_folder(tmp_path / "two", 28, seed=1)
    count = len(accepted(one))

    def touch(number: int, row: Row) -> Row:
        first, last = row["conjuncts"]
        wider = {**first, "start": 1}
        changes: list[Row] = [
            {"label": "PP"},
            {"score": -9.0},
            {"sentence_id": "toy/x"},
            {"conjuncts": [wider, last], "reference": wider},
        ]
        return identified(row | changes[number]) if number < len(changes) else row

    rewrite(two, touch)
    rewrite(two, lambda _, row: row | {"reason": "another reason"}, "rejects")
    manifest = merged(tmp_path / "out", one, two)
    changed = len(pq.read_table(sorted(two.glob("rejects-*"))[0]))
    assert changed > 0
    assert manifest["rows"] == {"train": count + 1, "rejected": 28 - count + changed}
    assert accepted(tmp_path / "out")[:count] == accepted(one)
    assert accepted(tmp_path / "out")[-1]["conjuncts"][0]["start"] == 1


def test_a_reject_with_a_sentence_of_its_own_is_kept_once(tmp_path: Path) -> None:
    """Whatever the reasons; and never beside a candidate that says the same."""
    one = candidate_folder(tmp_path / "one", 28)
    rows = [row | {"reason": f"reason {n}"} for n, row in enumerate(accepted(one))]
    files = []
    for name, some in (("a", rows[:9]), ("b", [row | {"reason": "other"} for row in rows[:12]])):
        files.append(tmp_path / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(some, schema=RELEASED_REJECTS), files[-1])
    manifest = merged(tmp_path / "out", *files)
    assert [row["reason"] for row in rejects(tmp_path / "out")] == [
        *(f"reason {n}" for n in range(9)), *["other"] * 3
    ]  # fmt: skip
    assert manifest["dropped"]["rejected"] == {DROPPED: 9}
    manifest = merged(tmp_path / "all", *files, one)
    assert manifest["dropped"]["rejected"] == {DROPPED: 0, CONTRADICTED: 21}
    assert rejects(tmp_path / "all") == rejects(one)


def test_repetitions_within_a_corpus_are_dropped(tmp_path: Path) -> None:
    """What a corpus says twice itself is kept once, and counted."""
    one = candidate_folder(tmp_path / "one")
    path = sorted(one.glob("candidates-*.parquet"))[1]
    rows = pq.read_table(path).to_pylist()
    write(one / "candidates-99999-of-99999.parquet", rows)
    two = candidate_folder(tmp_path / "two", 7, first=60, seed=1)
    manifest = merged(tmp_path / "out", one, two)
    assert manifest["merged"][0]["rows"]["train"] - 52 == len(rows)
    assert manifest["merged"][0]["kept"]["train"] == 52
    assert manifest["rows"]["train"] == 58


@pytest.mark.parametrize("groups", [2, 4])
def test_shards_are_cut_by_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    """Shards of 13 times so many rows, 52 in all, hold all rows in order, whatever was read at once."""
    one = candidate_folder(tmp_path / "one")
    monkeypatch.setattr(writing, "_GROUP", 13)
    monkeypatch.setattr(writing, "_GROUPS", groups)
    manifest = merged(tmp_path / "out", one, one)
    sizes = [shard["rows"] for shard in manifest["shards"] if "candidates" in shard["file"]]
    assert sizes == [13 * groups] * (4 // groups)
    assert accepted(tmp_path / "out") == accepted(one)
    assert [entry["rows"]["train"] for entry in manifest["merged"]] == [52, 52]


def test_equal_inputs_give_equal_files(tmp_path: Path) -> None:
    """Twice the same command: the same bytes, the manifest's included."""
    one = candidate_folder(tmp_path / "one", 40)
    two = candidate_folder(tmp_path / "two", 40, first=20, seed=1)
    for name in ("x", "y"):
        merged(tmp_path / name, one, two)
    files = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "y").iterdir()}
    assert set(files) >= {"manifest.json", "README.md"}


def test_sources_are_kept(tmp_path: Path) -> None:
    """The corpora behind the rows are named: those at hand, and those that a release names, once."""
    one, two = candidate_folder(tmp_path / "a"), candidate_folder(tmp_path / "b", first=100, seed=1)
    make_release(tmp_path / "released", tmp_path / "a")
    for number, places in enumerate(([one, two], [tmp_path / "released", one, two])):
        run(MergeSettings(places=places, out=tmp_path / f"m{number}"))
        manifest = find_shards(tmp_path / f"m{number}").manifest
        assert manifest is not None
        assert [each["corpus"] for each in manifest["sources"]] == ["a", "b"]


def truncated(one: Path, two: Path) -> str:
    path = sorted(two.glob("candidates-*"))[2]
    path.write_bytes(path.read_bytes()[:-100])
    return f"{path}: not a readable Parquet file"


def more_columns(one: Path, two: Path) -> str:
    path = sorted(two.glob("rejects-*"))[1]
    table = pq.read_table(path)
    pq.write_table(table.append_column("note", pa.array(["x"] * len(table))), path)
    return f"{path}: column 'note' is none of a corpus of conjoin's"


def foreign_shard(one: Path, two: Path) -> str:
    path = sorted(two.glob("candidates-*"))[1]
    shutil.copy(one / path.name, path)
    return f"{path}: a shard from another run than the manifest.json beside it"


def missing_shard(one: Path, two: Path) -> str:
    path = sorted(two.glob("rejects-*"))[1]
    path.unlink()
    return f"{path}: not as manifest.json says: gone"


def fewer_rows(one: Path, two: Path) -> str:
    path = sorted(two.glob("candidates-*"))[1]
    pq.write_table(pq.read_table(path).slice(2), path)
    return f"{path}: not as manifest.json says"


def fewer_columns(one: Path, two: Path) -> str:
    path = sorted(two.glob("candidates-*"))[1]
    pq.write_table(pq.read_table(path).drop_columns(["license"]), path)
    return f"{path}: column 'license' is missing"


def other_types(one: Path, two: Path) -> str:
    path = sorted(two.glob("candidates-*"))[1]
    table = pq.read_table(path)
    at = table.column_names.index("score")
    pq.write_table(table.set_column(at, "score", pa.array(["low"] * len(table))), path)
    return f"{path}: column 'score' is string, not float"


def stand_off(one: Path, two: Path) -> str:
    made = make_release(two.parent / "made", two.parent / "toy", stand_off=True)
    shutil.rmtree(two)
    made.rename(two)
    return f"{two}: a stand-off release"


def unknown_run(one: Path, two: Path) -> str:
    (two / "manifest.json").write_text("{}")
    return f"{two / 'manifest.json'}: not a manifest of a corpus: it has no list of shards"


def same_id(one: Path, two: Path) -> str:
    name = accepted(one)[0]["candidate_id"]
    rewrite(two, lambda n, row: row | ({"candidate_id": name} if n == 2 else {}))
    path = sorted(two.glob("candidates-*"))[0]
    return f"{path}: row 2 (from 0): id differs from content"


def other_description(one: Path, two: Path) -> str:
    about = json.loads((one / "manifest.json").read_text())
    about["settings"]["lm"] = "bert"
    for name in ("candidates", "rejects"):
        for path in one.glob(f"{name}-*"):
            shutil.copy(path, two)
    (two / "manifest.json").write_text(json.dumps(about))
    return f"is described otherwise than in {one}: its 'settings' differs"


@pytest.mark.parametrize(
    "damage",
    [
        truncated, foreign_shard, missing_shard, fewer_rows, more_columns, fewer_columns, other_types,
        stand_off, unknown_run, same_id, other_description,
    ],
)  # fmt: skip
def test_what_cannot_be_merged_is_one_line_and_nothing_is_written(
    tmp_path: Path, damage: Callable[[Path, Path], str]
) -> None:
    """Damaged, foreign or contradictory corpora are refused by name, and no file appears."""
    one = candidate_folder(tmp_path / "one", 20)
    two = candidate_folder(tmp_path / "two", 20, first=20, seed=1)
    what = damage(one, two)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        merged(tmp_path / "out", one, two)
    assert what in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_that_stands_is_overwritten(tmp_path: Path) -> None:
    """A folder with anything in it is left alone; one corpus alone is nothing to merge."""
    one = candidate_folder(tmp_path / "one", 7)
    (tmp_path / "out").mkdir()
    merged(tmp_path / "out", one, one)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(InputError, match="out: there is something here already"):
        merged(tmp_path / "out", one, one)
    with pytest.raises(InputError, match="seed-0: the output may not replace"):
        merged(one, one, one)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    for place in (one / "data", one / "deep/data"):
        with pytest.raises(InputError, match="may not replace, contain or lie inside its input"):
            merged(place, one, one)
    assert not list(one.glob("d*"))
    with pytest.raises(InputError, match="one corpus alone"):
        merged(tmp_path / "new", one)


def test_a_run_that_nobody_describes_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A single file names its run, but nothing says what that run was: a warning, and the rows stay."""
    one = candidate_folder(tmp_path / "one", 7)
    (key,) = generations(find_shards(one))
    merged(tmp_path / "out", one, one)
    file = tmp_path / "out/candidates-00000-of-00001.parquet"
    manifest = merged(tmp_path / "bare", file, file)
    assert manifest["generations"] == {key: {"rows": {"train": 6, "rejected": 0}}}
    assert f"no manifest says how these generations were made: {key}" in capsys.readouterr().err
