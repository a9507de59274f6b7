"""The generate stage: the same rows for any number of processes, resumable, nothing half-written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.files import folder_lock, sha256_of, write_json
from pipeline.core.schema import CANDIDATES, REJECTS, read_candidates
from pipeline.core.types import Candidate, Span
from pipeline.generate.infilling import CUT, WITHOUT
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run
from pipeline.infill import Fill
from pipeline.infill.candidates import COORDINATED

ROOT = Path(__file__).resolve().parents[2]


def settings(corpus: Path, **more: object) -> GenerateSettings:
    given = {"corpus": corpus, "lm": "t5", "unit": 8, "batch_tokens": 300, "references": 2, **more}
    return GenerateSettings.model_validate(given)


def shard_bytes(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.glob("*-of-*.parquet"))}


def test_every_reference_becomes_a_candidate_or_a_counted_reject(corpus: Path) -> None:
    """30 sentences with two references each leave 60 rows, and the manifest counts them."""
    run(settings(corpus))
    out = corpus / "candidates" / "t5-sync" / "seed-0"
    rows = [c for p in sorted(out.glob("candidates-*.parquet")) for c in read_candidates(p)]
    rejects = [r for p in sorted(out.glob("rejects-*.parquet")) for r in read_candidates(p)]
    assert len(rows) + len(rejects) == 60
    tally = read_json(out / "manifest.json")["tally"]
    assert tally["kept"] == len(rows)
    assert sum(tally["refused"].values()) == len(rejects)
    for row in rows:
        first, second = row.conjuncts
        assert row.words[row.coordinator] == "and"
        assert first.end == row.coordinator == second.start - 1
        assert first == row.reference
        assert row.license == "CC0-1.0"
    assert len({r.candidate_id for r in rows}) == len(rows)


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_shards_have_the_documented_schema_even_when_empty(corpus: Path, lm: str) -> None:
    """Types come from the schema module, not from the rows."""
    run(settings(corpus, lm=lm, sync=False))
    out = corpus / "candidates" / f"{lm}-no-sync" / "seed-0"
    for path in out.glob("candidates-*.parquet"):
        assert pq.read_schema(path).equals(CANDIDATES)
    for path in out.glob("rejects-*.parquet"):
        assert pq.read_schema(path).equals(REJECTS)


@pytest.mark.parametrize(
    ("lm", "decoding"), [("bert", "sample"), ("t5", "sample"), ("bert", "n-best"), ("t5", "n-best")]
)
def test_several_fills_are_several_rows(corpus: Path, lm: str, decoding: str) -> None:
    """Each reference leaves N rows, none twice, however the references are batched."""
    out = corpus / "candidates" / f"{lm}-sync-{decoding}" / "seed-0"
    rows = []
    for size in (400, 900):
        run(settings(corpus, lm=lm, decoding=decoding, n=3, temperature=3.0, batch_tokens=size))
        rows.append(rows_of(out))
    one, other = ([(r.sentence_id, r.reference, r.fill) for r in found] for found in rows)
    assert sorted(one) == sorted(other)
    tally = read_json(out / "manifest.json")["tally"]
    assert tally["seen"] == len(one) == 60 * 3
    kept = [c for path in sorted(out.glob("candidates-*.parquet")) for c in read_candidates(path)]
    texts = {(c.sentence_id, c.reference, " ".join(c.words).lower()) for c in kept}
    assert len(texts) == len({c.candidate_id for c in kept}) == len(kept) > 0
    assert len(set(one)) > 60


@pytest.mark.parametrize(("lm", "cut"), [("bert", 0), ("t5", 60)])
def test_cut_fills_are_counted_in_the_manifest(corpus: Path, lm: str, cut: int) -> None:
    """This random T5 never ends a fill here, which the manifest says; BERT has nothing to end."""
    run(settings(corpus, lm=lm))
    assert read_json(corpus / f"candidates/{lm}-sync/seed-0/manifest.json")["notes"] == {
        CUT: cut,
        WITHOUT: 0,
    }


def test_fills_with_a_coordinator_are_counted_rejects_unless_asked_for(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest has the reason; params.yaml or a flag lets them pass, and makes the shards stale."""
    monkeypatch.setattr(
        "pipeline.generate.free_infilling.fill",
        lambda _, references, *__: [[Fill(f"cats {n} or dogs")] for n, _ in enumerate(references)],
    )
    manifest = corpus / "candidates/t5-sync/seed-0/manifest.json"
    run(settings(corpus))
    assert read_json(manifest)["tally"] == {"seen": 60, "kept": 0, "refused": {COORDINATED: 60}}
    params = tmp_path / "params.yaml"
    entries = f"{{default: {{coordinators_in_fills: true}}, {corpus.name}: {{}}}}"
    params.write_text(f"generate: {entries}\n")
    given = {"corpus": corpus, "lm": "t5", "unit": 8, "batch_tokens": 300, "references": 2}
    asked = GenerateSettings.build(given, params)
    assert "--coordinators-in-fills" in asked.command_line()
    run(asked)
    assert read_json(manifest)["tally"] == {"seen": 60, "kept": 60, "refused": {}}


def test_models_of_each_seed_are_found(corpus: Path, tiny_t5: Path) -> None:
    """Seed s takes model s modulo their number, and an empty folder is refused."""
    (corpus / "models" / "t5").unlink()
    (corpus / "models" / "t5").mkdir()
    (corpus / "models" / "t5" / "seed-0").mkdir()
    (corpus / "models" / "t5" / "seed-1").symlink_to(tiny_t5)
    run(settings(corpus, seed=3, limit=3))
    assert rows_of(corpus / "candidates" / "t5-sync" / "seed-3")
    with pytest.raises(ModelError, match=r"seed-0: no config"):
        run(settings(corpus, seed=4, limit=3))


def test_an_adapted_model_fills_spans_of_gold_trees(corpus: Path, tiny_t5: Path) -> None:
    """Its name is in the folder's; a parser trained again is nothing to gold trees, another U is."""
    (corpus / "models" / "t5-twins").symlink_to(tiny_t5)
    wanted = settings(corpus, lm="t5-twins", trees="treebank", limit=4)
    run(wanted)
    out = corpus / "candidates/t5-twins-sync-gold/seed-0"
    first = read_json(out / "manifest.json")
    assert first["command"].startswith("conjoin generate ")
    for shown in ("--lm t5-twins", "--trees treebank", "--limit 4", "--sync"):
        assert shown in first["command"]
    assert str(corpus) not in first["command"]
    assert sum(shard["rows"] for shard in first["shards"]) == 8
    assert first["settings"]["trees"] == "treebank"
    assert first["inputs"]["sentences"] == sha256_of(corpus / "sentences.parquet")
    manifest = corpus / "trees" / "manifest.json"
    before = read_json(manifest)
    write_json(manifest, before | {"shards": []})
    run(wanted)
    assert read_json(out / "manifest.json") == first
    write_json(manifest, before | {"settings": {"min_words": 9, "limit": None}})
    run(wanted)
    assert read_json(out / "manifest.json")["fingerprint"] != first["fingerprint"]


def test_impossible_decoding_stops_before_anything_is_written(corpus: Path) -> None:
    """Greedy decoding cannot give two fills; no folder appears."""
    with pytest.raises(SettingsError, match="greedy decoding gives one fill"):
        run(settings(corpus, n=2, out=corpus / "out"))
    assert not (corpus / "out").exists()


def test_rerun_makes_only_what_is_missing_or_damaged(corpus: Path) -> None:
    """A deleted and a truncated shard come back with the same bytes; the others are not touched."""
    run(settings(corpus))
    out = corpus / "candidates" / "t5-sync" / "seed-0"
    before = shard_bytes(out)
    times = {p.name: p.stat().st_mtime_ns for p in out.glob("*.parquet")}
    lost, broken = sorted(out.glob("candidates-*.parquet"))[1:3]
    lost.unlink()
    broken.write_bytes(broken.read_bytes()[:100])
    run(settings(corpus))
    assert shard_bytes(out) == before
    changed = {p.name for p in out.glob("*.parquet") if p.stat().st_mtime_ns != times[p.name]}
    assert {lost.name, broken.name} <= changed
    assert len(changed) == 4


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"synchronize": "mean"}, {"coordinator": "or"}, {"batch_tokens": 200}]
)
def test_changed_settings_make_every_shard_stale(corpus: Path, change: dict[str, object]) -> None:
    """Shards of other settings are redone, never mixed."""
    out = corpus / "out"
    run(settings(corpus, out=out))
    old = {pq.read_schema(p).metadata[b"conjoin.fingerprint"] for p in out.glob("*.parquet")}
    run(settings(corpus, out=out, **change))
    new = {pq.read_schema(p).metadata[b"conjoin.fingerprint"] for p in out.glob("*.parquet")}
    assert len(old) == len(new) == 1
    assert old != new


def test_files_of_another_plan_are_removed(corpus: Path) -> None:
    """A smaller unit means more shards; those of the old plan and temporary files go."""
    out = corpus / "out"
    run(settings(corpus, out=out, unit=60))
    (out / ".candidates-00000-of-00001.parquet.0123456789ab.tmp").write_text("half")
    run(settings(corpus, out=out, unit=20))
    names = {p.name for p in out.iterdir() if p.suffix in {".parquet", ".tmp"}}
    assert names == {
        f"{k}-0000{i}-of-00003.parquet" for k in ("candidates", "rejects") for i in range(3)
    }


def test_given_and_random_spans(corpus: Path, tmp_path: Path) -> None:
    """Spans come from a file or at random as well as from the trees."""
    given = tmp_path / "given.jsonl"
    given.write_text('{"sentence_id": "c/03", "start": 6, "end": 9, "label": "PP"}\n')
    run(settings(corpus, spans="given", given=given, out=corpus / "given"))
    rows = rows_of(corpus / "given")
    assert [(r.sentence_id, r.reference, r.label) for r in rows] == [("c/03", Span(6, 9), "PP")]
    run(settings(corpus, spans="random", out=corpus / "random"))
    assert {r.label for r in rows_of(corpus / "random")} == {"X"}


def rows_of(folder: Path) -> list[Candidate]:
    shards = zip(
        sorted(folder.glob("candidates-*.parquet")),
        sorted(folder.glob("rejects-*.parquet")),
        strict=True,
    )
    return [
        row
        for kept, refused in shards
        for row in [*read_candidates(kept), *read_candidates(refused)]
    ]


def no_model(corpus: Path) -> None:
    (corpus / "models" / "t5").unlink()


def no_trees(corpus: Path) -> None:
    (corpus / "trees" / "manifest.json").unlink()


def wrong_kind(corpus: Path) -> None:
    (corpus / "models" / "t5").unlink()
    (corpus / "models" / "t5").symlink_to((corpus / "models" / "bert").resolve())


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (no_model, ModelError, "no such model folder; there is models/bert: --lm bert; or run"),
        (no_trees, InputError, "no such file; run `conjoin preparse` first"),
        (wrong_kind, ModelError, "is a bert, not an encoder-decoder LM; use lm bert"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_shard(
    corpus: Path, damage: Callable[[Path], None], error: type[ConjoinError], message: str
) -> None:
    """Each bad input is named, and no Parquet file appears."""
    damage(corpus)
    with pytest.raises(error, match=message) as caught:
        run(settings(corpus, out=corpus / "out"))
    assert "\n" not in str(caught.value)
    assert not list((corpus / "out").glob("*.parquet"))


def test_shards_load_with_the_datasets_library(corpus: Path) -> None:
    """A candidate folder is a dataset to anyone: `load_dataset` reads it without conjoin."""
    run(settings(corpus, lm="bert"))
    out = corpus / "candidates" / "bert-sync" / "seed-0"
    loaded = datasets.load_dataset(
        "parquet", data_files=str(out / "candidates-*.parquet"), split="train",
        cache_dir=str(corpus / "cache"),
    )  # fmt: skip
    expected = [c for p in sorted(out.glob("candidates-*.parquet")) for c in read_candidates(p)]
    assert [row["candidate_id"] for row in loaded] == [c.candidate_id for c in expected]
    assert loaded[0]["words"] == list(expected[0].words)
    assert loaded[0]["conjuncts"][1]["start"] == expected[0].conjuncts[1].start


def test_a_second_run_is_refused_while_one_writes(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's lock keeps two runs, or a run and the workers of a killed one, apart."""
    monkeypatch.setattr("pipeline.executor.launch._PATIENCE", 0.1)
    out = corpus / "out"
    for name in (".lock", ".workers"):
        with folder_lock(out, name), pytest.raises(InputError, match="another conjoin process"):
            run(settings(corpus, out=out))


def test_a_published_command_shows_what_is_not_usual() -> None:
    """Absolute paths have their last two parts; what is hidden is left out, the arguments never."""
    made = GenerateSettings(
        corpus=Path("/far/away/data/toy"), lm="bert", model="/models/mine/bert", n=1
    )
    hidden = made.usual() - {"sync"}
    shown = "conjoin generate data/toy --sync --lm bert --model mine/bert"
    assert sorted(made.shown_command(hidden).split()) == sorted(shown.split())


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://gate.example/secret/team/v1", "https://gate.example/…/v1"),
    ],
)
def test_a_published_command_has_no_inner_part_of_an_address(address: str, shown: str) -> None:
    """Some gates take a key there."""
    own = GenerateSettings.model_validate({"corpus": "data/x", "lm": "causal", "served": address})
    assert shown in own.shown_command()
    assert "secret" not in own.shown_command()


def test_command_line_round_trips(corpus: Path) -> None:
    """The arguments handed to a launcher's processes make the same settings again."""
    wanted = settings(corpus, sync=False, processes=3, given=Path("x y"), limit=5)
    line = wanted.command_line()
    assert line[:2] == ["generate", str(corpus)]
    assert "--no-sync" in line
    assert line[line.index("--given") + 1] == "x y"
    assert line[line.index("--limit") + 1] == "5"


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if n not in {".lock", ".workers"}}


@pytest.mark.long
def test_seven_workers_write_the_same_folder(
    corpus: Path, tmp_path: Path, forks: Any, start: Callable[..., list[int]]
) -> None:
    """Seven processes that find one another as a launcher's would."""
    alone, out = tmp_path / "alone", tmp_path / "out"
    run(settings(corpus, out=alone))
    codes = list(map(forks.end, start(*[partial(run, settings(corpus, out=out))] * 7)))
    assert codes == [0] * 7, "".join((tmp_path / f"log-{r}").read_text() for r in range(7))
    assert contents(out) == contents(alone)
    assert "units of worker 6" in (tmp_path / "log-0").read_text()
