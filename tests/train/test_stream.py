"""The stream of candidates: draws that depend on what candidates are, not on where they lie."""

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.cache import cache_folder
from pipeline.core.candidates import candidate_shards
from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, SENTENCES
from pipeline.core.types import Span
from pipeline.corpus.checked import find_candidates
from pipeline.tasks.protocol import Drawn
from pipeline.train import candidate_store as candidate_cache
from pipeline.train.candidate_store import INDEX, IndexBuilder
from pipeline.train.stream import CandidateStream

ROWS = tiny.COORDINATION.rows

ROW = {
    "words": ["a", "and", "b", "c"], "coordinator": 1, "label": "NP",
    "conjuncts": [{"start": 0, "end": 1}, {"start": 2, "end": 4}],
    "reference": {"start": 0, "end": 1}, "fill": "b c", "score": None, "score_append": None,
    "score_prepend": None, "license": "CC0-1.0",
}  # fmt: skip


def row(candidate: str, sentence: str, **given: Any) -> dict[str, Any]:
    """A sound row of a candidate."""
    return {"candidate_id": candidate, "sentence_id": sentence, **ROW, **given}


def rows(count: int) -> list[dict[str, Any]]:
    """Different rows, three to a sentence, of two labels."""
    return [
        row(
            f"{n:024x}", f"s{n // 3}", words=["a", "and", f"b{n}", "c", "d"],
            label="VP" if n % 4 == 0 else "NP",
            conjuncts=[{"start": 0, "end": 1}, {"start": 2, "end": 3 + n % 3}],
        )
        for n in range(count)
    ]  # fmt: skip


def corpus_folder(folder: Path, rows: list[dict[str, Any]], shards: int = 1) -> Path:
    """A folder as ``generate`` leaves it."""
    for number in range(shards):
        path = folder / f"candidates-{number:05d}-of-{shards:05d}.parquet"
        write_rows(path, CANDIDATES, rows[number::shards])
    return folder


def release_folder(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The same rows as a release has them: shuffled, other shards, columns, widths and nullability."""
    shuffled = Random(1).sample(rows, len(rows))
    for name in ("data", "rejected"):
        (folder / name).mkdir(parents=True)
    kinds = {"words": pa.large_list(pa.large_string()), "coordinator": pa.int64()}
    fields = [pa.field(f.name, kinds.get(f.name, f.type)) for f in reversed(list(CANDIDATES))]
    schema = pa.schema([pa.field("mode", pa.string()), *fields])
    for number in range(2):
        table = pa.Table.from_pylist(
            [{"mode": "sync", **r} for r in shuffled[number::2]], schema=schema
        )
        pq.write_table(table, folder / f"data/train-0000{number}-of-00002.parquet")
    pq.write_table(table, folder / "rejected/train-00000-of-00001.parquet")
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files: data/train-*\n"
        "- config_name: rejected\n  data_files: rejected/train-*\n---\n"
    )
    return folder


def draws(source: Path | str, seed: int = 3, count: int = 60) -> list[Drawn[Any]]:
    """The first draws from a source."""
    stream = CandidateStream(source, ROWS, seed)
    return [stream.sample(n) for n in range(count)]


def test_structures_of_the_same_words_come_together(tmp_path: Path) -> None:
    """Once for each coordinator, the drawn one first; a generated sentence, of other words, comes alone."""
    natural = {"words": ["a", "and", "b", "or", "c"]}
    later = {"coordinator": 3, "conjuncts": [{"start": 2, "end": 3}, {"start": 4, "end": 5}]}
    made = [
        row(f"{0:024x}", "s0", **natural), row(f"{1:024x}", "s0", **natural, **later),
        row(f"{2:024x}", "s0", **natural, label="VP"), row(f"{3:024x}", "s0"),
    ]  # fmt: skip
    stream = CandidateStream(corpus_folder(tmp_path, made), ROWS, 0)
    groups = {tuple(int(d.candidate_id, 16) for d in stream.together(n)) for n in range(60)}
    assert groups == {(0, 1), (1, 0), (2, 1), (3,)}
    assert all(stream.together(n)[0] == stream.sample(n) for n in range(9))


def refusal(source: Path | str) -> str:
    """The one line with which a source is refused."""
    with pytest.raises(InputError) as caught:
        CandidateStream(source, ROWS, 0)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def hub(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes `datasets` find a folder under any name of the hub, whatever its revision."""
    for name in ("load_dataset_builder", "load_dataset"):
        real = getattr(datasets, name)

        def local(_: str, revision: str | None, real: Any = real, **kwargs: Any) -> Any:
            return real(str(folder), cache_dir=str(folder / "cache"), **kwargs)

        patch.setattr(datasets, name, local)


def test_draws_are_those_of_the_set_of_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus folder, a release folder and a dataset of the hub with equal rows: the same stream."""
    corpus = corpus_folder(tmp_path / "corpus", rows(100), 3)
    release = release_folder(tmp_path / "release", rows(100))
    hub(monkeypatch, release)
    expected = draws(corpus)
    assert draws(release) == expected
    assert draws("some-one/some.name") == expected
    assert draws(str(corpus)) == expected
    streams = [
        CandidateStream(source, ROWS, 0) for source in (corpus, release, "some-one/some.name")
    ]
    assert len({stream.digest for stream in streams}) == 1
    for stream in streams:
        assert (len(stream), stream.sentences) == (100, 34)
        assert stream.labels == {"NP": 75, "VP": 25}


def test_a_draw_carries_what_the_row_says(tmp_path: Path) -> None:
    """Words, coordinator, conjuncts, outer boundary, label and the length of the inserted conjunct."""
    source = corpus_folder(tmp_path, [row("c", "s")])
    (drawn,) = draws(source, count=1)
    words = ("a", "and", "b", "c")
    expected = tiny.drawn_of("c", "NP", words, 1, Span(0, 4), 2)
    conjuncts = ((Span(0, 1), Span(2, 4)),)
    assert drawn == replace(expected, example=replace(expected.example, conjuncts=conjuncts))


def test_draws_are_a_function_of_seed_and_index(tmp_path: Path) -> None:
    """Any draw can be had without those before it; another seed gives another stream."""
    source = corpus_folder(tmp_path, rows(50))
    whole = draws(source)
    stream = CandidateStream(source, ROWS, 3)
    assert [stream.sample(n) for n in reversed(range(60))] == whole[::-1]
    assert draws(source, seed=4) != whole


def test_many_candidates_do_not_favour_a_sentence(tmp_path: Path) -> None:
    """s0 with 9 candidates (over two shards) and s1 with one are drawn equally often."""
    every = [row(f"c{n}", "s0") for n in range(9)] + [row("other", "s1")]
    stream = CandidateStream(corpus_folder(tmp_path, every, 2), ROWS, 3)
    counts = Counter(stream.sample(n).candidate_id for n in range(1000))
    assert (len(stream), stream.sentences, len(counts)) == (10, 2, 10)
    assert 440 < counts["other"] < 560
    assert all(30 < counts[f"c{n}"] < 85 for n in range(9))


def test_sentences_that_are_labelled_are_never_drawn(tmp_path: Path) -> None:
    """All draws are of the others, each as often; what is left out is counted and is in the digest."""
    source = corpus_folder(tmp_path, rows(30), 2)
    whole = CandidateStream(source, ROWS, 3)
    without = {"of L": {"s0", "s4", "not there"}, "held out": {"s4", "s9"}}
    stream = CandidateStream(source, ROWS, 3, without=without)
    drawn = Counter(stream.sample(n).candidate_id for n in range(2000))
    assert {int(each, 16) // 3 for each in drawn} == {1, 2, 3, 5, 6, 7, 8}
    assert all(60 < count < 135 for count in drawn.values())
    assert (len(stream), stream.sentences) == (21, 7)
    assert stream.left_out == {"of L": 6, "held out": 3}
    assert sum(stream.labels.values()) == 21 < sum(whole.labels.values())
    assert stream.digest not in {
        whole.digest, CandidateStream(source, ROWS, 3, without={"of L": {"s0", "s4"}}).digest
    }  # fmt: skip
    assert CandidateStream(source, ROWS, 3, without={"of L": {"not there"}}).digest == whole.digest
    other = corpus_folder(tmp_path / "other", [*rows(30), row("p", "s10", label="PP")])
    assert CandidateStream(other, ROWS, 3).labels["PP"] == 1
    assert "PP" not in CandidateStream(other, ROWS, 3, without={"of L": {"s10"}}).labels
    all_of_them = {"of L": {"s0"}, "held out": {f"s{n}" for n in range(1, 10)}}
    with pytest.raises(InputError, match="no candidate may be learned from: 3 of L; 27 held out"):
        CandidateStream(source, ROWS, 3, without=all_of_them)


@pytest.mark.parametrize(
    "other",
    [
        {"candidate_id": "x"}, {"sentence_id": "x"}, {"label": "PP"}, {"coordinator": 2},
        {"words": ["x", "and", "b", "c"]}, {"words": ["a", "and", "bc"]},
        {"conjuncts": [{"start": 0, "end": 1}, {"start": 3, "end": 4}]},
    ],
)  # fmt: skip
def test_digest_covers_what_is_drawn(tmp_path: Path, other: dict[str, Any]) -> None:
    """Whatever of a candidate training reads, another value of it is another digest."""
    gap = row("c", "s", conjuncts=[{"start": 0, "end": 1}, {"start": 3, "end": 4}])
    base = gap if "coordinator" in other else row("c", "s")
    if "bc" in other.get("words", ()):
        base = row("c", "s", conjuncts=[{"start": 0, "end": 1}, {"start": 2, "end": 3}])
    one = CandidateStream(corpus_folder(tmp_path / "one", [base]), ROWS, 0)
    two = CandidateStream(corpus_folder(tmp_path / "two", [{**base, **other}]), ROWS, 0)
    assert one.digest != two.digest


KEYS = st.sampled_from([0, 1, 2**56 - 1, 2**56, 2**63, 2**64 - 1])
SCORES = st.sampled_from([0.0, 0.5, 1.5])  # whose bits are in the order of the numbers


@settings(max_examples=30)
@given(parts=st.lists(st.lists(st.tuples(KEYS, KEYS, SCORES), min_size=1), min_size=1))
def test_index_sorts_out_of_core(
    parts: list[list[tuple[int, int, float]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However rows arrive, the files are those of sorting them all in memory."""
    folder = tmp_path_factory.mktemp("index")
    builder = IndexBuilder(folder)
    for part in parts:
        *keys, scores = zip(*part, strict=True)
        builder.add(*np.array(keys, dtype=np.uint64), np.array(scores, dtype=np.float32))
    sentences, _ = builder.finish()
    every = [(*keys, n) for n, keys in enumerate(keys for part in parts for keys in part)]
    every.sort()
    counts = Counter(sentence for sentence, *_ in every)
    assert np.fromfile(folder / "rows", INDEX).tolist() == [n for *_, n in every]
    assert np.fromfile(folder / "ends", INDEX).tolist() == np.cumsum(
        [counts[sentence] for sentence in sorted(counts)]
    ).tolist()  # fmt: skip
    assert sentences == len(counts)
    assert np.fromfile(folder / "keys", "<u8").tolist() == sorted(counts)
    assert sorted(path.name for path in folder.iterdir()) == ["ends", "keys", "rows"]


def test_scores_are_read_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They change no draw and have a digest of their own; a source without the column gives none."""
    every = [row(f"c{n}", f"s{n}", score=None if n == 2 else -n / 4) for n in range(6)]
    source, changed = (
        corpus_folder(tmp_path / name, given)
        for name, given in (("one", every), ("two", [*every[1:], {**every[0], "score": -9.0}]))
    )
    bare, nulls, texts = (tmp_path / name / "data" for name in ("bare", "nulls", "texts"))
    table = pa.Table.from_pylist(every, schema=CANDIDATES).drop_columns(["score"])
    for folder, column in ((bare, None), (nulls, pa.nulls(6)), (texts, pa.array(["high"] * 6))):
        folder.mkdir(parents=True)
        written = table if column is None else table.append_column("score", column)
        pq.write_table(written, folder / "train-0.parquet")
    drawn = draws(source)
    for folder in (bare, nulls):
        assert draws(folder.parent) == drawn
    (bare.parent / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files: data/train-*\n---\n"
    )
    hub(monkeypatch, bare.parent)
    assert draws("some-one/some.name") == drawn
    streams = [CandidateStream(f, ROWS, 0) for f in (source, changed, bare.parent)]
    assert len({s.digest for s in streams}) == 1
    release = release_folder(tmp_path / "release", every)
    assert CandidateStream(release, ROWS, 0).digest == streams[0].digest
    assert "column 'score' is string, not float" in refusal(texts.parent)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], int]:
    """Counts the stores that were built, in a cache of the test's own."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    note, real = tmp_path / "built", candidate_cache.write_store

    def noted(*given: Any) -> None:
        with note.open("a") as file:
            file.write("x")
        real(*given)

    monkeypatch.setattr(candidate_cache, "write_store", noted)
    return lambda: len(note.read_text()) if note.exists() else 0


def test_a_store_is_built_once_for_each_state_of_its_source(
    tmp_path: Path, built: Callable[[], int]
) -> None:
    """Used again while shards stay; built anew, and the old one removed, when one changes."""
    source = corpus_folder(tmp_path / "corpus", rows(20), 2)
    before = draws(source)
    assert draws(source) == before
    assert built() == 1
    (home,) = cache_folder().iterdir()
    (home / ".left.tmp").mkdir()  # by a process that was killed
    corpus_folder(source, rows(22), 2)
    assert draws(source) != before
    assert built() == 2
    assert len([path for path in home.iterdir() if path.name != ".lock"]) == 1
    (table,) = home.glob("*/candidates.arrow")
    table.write_bytes(table.read_bytes()[:-100])
    assert len(CandidateStream(source, ROWS, 0)) == 22
    assert built() == 3


def test_two_processes_build_one_store(
    tmp_path: Path, built: Callable[[], int], forks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes second waits, says so, and reads what the first has built."""
    source, noted = corpus_folder(tmp_path / "corpus", rows(20)), candidate_cache.write_store

    def slow(*given: Any) -> None:
        noted(*given)
        while not any("waiting" in log.read_text() for log in logs if log.exists()):
            time.sleep(0.01)

    monkeypatch.setattr(candidate_cache, "write_store", slow)
    logs = [tmp_path / name for name in ("one", "two")]

    def work() -> None:
        print(CandidateStream(source, ROWS, 0).digest)

    children = [forks.start(work, log) for log in logs]
    assert [forks.end(child) for child in children] == [0, 0]
    printed = [log.read_text() for log in logs]
    assert sum("waiting for another run" in text for text in printed) == 1
    assert len({text.splitlines()[-1] for text in printed}) == 1
    assert built() == 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_pages_read_are_given_back(tmp_path: Path) -> None:
    """What draws have mapped of the files does not stay in memory."""
    stream = CandidateStream(corpus_folder(tmp_path, rows(2000)), ROWS, 0)

    def held() -> int:
        lines = Path("/proc/self/smaps").read_text().splitlines()
        starts = [n for n, line in enumerate(lines) if line.endswith("/candidates.arrow")]
        # A mapping of another test's stream may still be there.
        return sum(
            int(next(line for line in lines[n:] if line.startswith("Rss:")).split()[1])
            for n in starts
        )

    before = held()
    for index in range(7):
        stream.sample(index)
    while_drawing = held()
    stream._store.let_go()
    assert held() == before < while_drawing


def test_opening_reads_no_candidate(tmp_path: Path) -> None:
    """`datasets` takes the file's types as they are: casting them would read all of it."""
    store = CandidateStream(corpus_folder(tmp_path, rows(3)), ROWS, 0)._store
    assert store._dataset.data.schema.equals(ROWS.kept)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"conjuncts": [{"start": 0, "end": 1}, {"start": 2, "end": 5}]}, "beyond the last word"),
        ({"conjuncts": [{"start": -1, "end": 1}, {"start": 2, "end": 3}]}, "before the first word"),
        ({"conjuncts": [{"start": 0, "end": 0}, {"start": 2, "end": 3}]}, "has no words"),
        ({"conjuncts": [{"start": 0, "end": 1}]}, "fewer than two conjuncts"),
        ({"conjuncts": [{"start": 2, "end": 3}, {"start": 0, "end": 1}]}, "overlap"),
        ({"coordinator": 2}, "the coordinator is inside a conjunct"),
        ({"coordinator": 4}, "the coordinator is not between the conjuncts"),
        ({"label": None}, "a field is empty"),
        ({"words": ["a", "and", None, "c"]}, "a field is empty"),
    ],
)  # fmt: skip
def test_words_that_disagree_with_spans(tmp_path: Path, wrong: dict[str, Any], why: str) -> None:
    """One line has the candidate, its sentence, the file and the row, when the store is built."""
    corpus_folder(tmp_path, rows(5))
    schema = pa.schema(
        [
            pa.field(f.name, pa.list_(pa.string()) if f.name == "words" else f.type)
            for f in CANDIDATES
        ]
    )
    table = pa.Table.from_pylist([*rows(2), row("bad", "s9", **wrong)], schema=schema)
    pq.write_table(table, tmp_path / "candidates-00001-of-00002.parquet")
    line = refusal(tmp_path)
    assert "candidates-00001-of-00002.parquet: row 2 (from 0): candidate bad: " in line
    assert f"{why} (sentence s9);" in line


def test_bad_shards_are_named(tmp_path: Path) -> None:
    """A damaged shard, a missing column and a column of another type."""
    path = corpus_folder(tmp_path, rows(3)) / "candidates-00000-of-00001.parquet"
    whole = pq.read_table(path)
    path.write_bytes(path.read_bytes()[:-9])
    assert "candidates-00000-of-00001.parquet: not a readable Parquet file" in refusal(tmp_path)
    write_rows(path, SENTENCES, [])
    assert "00001.parquet: column 'candidate_id' is missing" in refusal(tmp_path)
    pq.write_table(whole.drop_columns(["conjuncts"]), path)
    assert "00001.parquet: column 'conjuncts' is missing" in refusal(tmp_path)
    texts = whole["coordinator"].cast(pa.string())
    wrong = whole.set_column(whole.schema.names.index("coordinator"), "coordinator", texts)
    pq.write_table(wrong, path)
    assert "column 'coordinator' is string, not int32" in refusal(tmp_path)


def test_nothing_to_draw_from_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing folder, an empty one, one without rows, an unfinished one: each says what to do."""
    kinds = "name a corpus folder (candidates-*.parquet), a release folder (data/train-*.parquet) or a dataset of the hub"  # noqa: E501
    assert f"absent: no such folder of candidates; {kinds}" in refusal(tmp_path / "absent")
    monkeypatch.chdir(tmp_path.parent)
    assert "no such folder of candidates" in refusal(f"{tmp_path.name}/mistyped")
    assert "no candidates here; run `conjoin generate`, or name a corpus" in refusal(tmp_path)
    assert "no candidates here" in refusal(corpus_folder(tmp_path / "no-rows", []))
    pq.write_table(pa.table({"fill_words": [["x"]]}), tmp_path / "candidates-0.parquet")
    assert "rebuild it with `conjoin rehydrate` first" in refusal(tmp_path)
    (tmp_path / "no-rows/.units").mkdir()
    assert "generation has not finished here" in refusal(tmp_path / "no-rows")


def test_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dataset of the hub that was read before is read again, with a word; another is one line."""
    with monkeypatch.context() as patch:
        hub(patch, release_folder(tmp_path, rows(10)))
        expected = draws("some/name")

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(datasets, "load_dataset_builder", unreachable)
    assert draws("some/name") == expected
    assert "using the copy made before" in capsys.readouterr().err
    line = refusal("some/other")
    assert line.startswith("some/other: neither a folder here, nor can the hub be reached")


def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable that puts the cache elsewhere."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "file" / "cache"))
    line = refusal(corpus_folder(tmp_path / "corpus", rows(3)))
    assert "cannot keep a copy of the candidates in the cache: Not a directory" in line
    assert "set HF_DATASETS_CACHE to a folder" in line


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_DATASETS_CACHE, else HF_HOME, else XDG_CACHE_HOME, as `datasets` itself decides."""
    monkeypatch.setenv("HF_DATASETS_CACHE", "/a")
    monkeypatch.setenv("HF_HOME", "/b")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert cache_folder() == Path("/a/conjoin")
    monkeypatch.delenv("HF_DATASETS_CACHE")
    assert cache_folder() == Path("/b/datasets/conjoin")
    monkeypatch.delenv("HF_HOME")
    assert cache_folder() == Path("/c/huggingface/datasets/conjoin")


def test_judged_candidates_are_found_in_a_release(tmp_path: Path) -> None:
    """Audit and report look candidates up by id in either kind of folder."""
    corpus = corpus_folder(tmp_path / "corpus", rows(20), 2)
    release = release_folder(tmp_path / "release", rows(20))
    assert [path.name[:5] for path in candidate_shards(release)] == ["train", "train"]
    name = f"{7:024x}"
    found = find_candidates({(corpus, name), (release, name)})
    assert found[corpus, name] == found[release, name]
    assert found[corpus, name].words[2] == "b7"
    with pytest.raises(InputError, match="was judged in training but is not here"):
        find_candidates({(release, "gone")})
