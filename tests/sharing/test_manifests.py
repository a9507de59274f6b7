"""A corpus with a hostile or damaged ``manifest.json`` is one line of every command, never a traceback."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damaged
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browsed import opened
from damaged import make_release
from shared_corpora import candidate_folder

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.corpus.layout import find_shards
from pipeline.release import stage as release
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.push import command as push
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.settings import StatsSettings

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, and a stand-off release of the same candidates."""
    folder = tmp_path_factory.mktemp("good")
    make_release(folder / "release", folder / "toy")
    make_release(folder / "stand-off", folder / "toy", stand_off=True)
    return folder


def commands(made: Path, place: Path, out: Path) -> Iterator[Callable[[], None]]:
    yield lambda: stats.run(StatsSettings(place=place))
    yield lambda: release.run(ReleaseSettings(candidates=place, out=out))
    yield lambda: merge.run(MergeSettings(places=[place, made / "release"], out=out))
    yield lambda: export.run(ExportSettings(place=place, format="jsonl", out=out))
    yield lambda: push.run(PushSettings(release=place, repository="jane/toy"))
    yield lambda: rehydrate.run(RehydrateSettings(release=place, source=made / "toy", out=out))


def each_run(change: Callable[[Manifest], object]) -> Callable[[Manifest], object]:
    return lambda manifest: [change(run) for run in manifest["generations"].values()]


def deep(levels: int) -> list[Any]:
    return [deep(levels - 1)] if levels else []


DAMAGE: list[tuple[str, Callable[[Manifest], object] | str]] = [
    ("not JSON that can be read", '{"x":' + "9" * 5000 + "}"),
    ("not JSON that can be read", "[" * 100_000),
    ("not a manifest of conjoin", "[1]"),
    ("shards: ", lambda m: m.update(shards=[])),
    ("shards: ", lambda m: m.update(shards=None)),
    ("shards[0].file: ", lambda m: m["shards"][0].update(file=None)),
    ("generations: ", lambda m: m.update(generations=[1])),
    ("generations.", lambda m: m.update(generations=dict.fromkeys(m["generations"], 1))),
    (".settings: ", each_run(lambda run: run.update(settings=[1]))),
    (".notes: ", each_run(lambda run: run.update(notes=3))),
    (".notes.", each_run(lambda run: run.update(notes={"skipped": "many"}))),
    (".settings.spans: ", each_run(lambda run: run["settings"].update(spans=["given"]))),
    (".settings.decoding: ", each_run(lambda run: run["settings"].update(decoding={}))),
    (".settings.lm: ", each_run(lambda run: run["settings"].update(lm=5))),
    (".settings.match: ", each_run(lambda run: run["settings"].update(match=[]))),
    ("format 99 of releases, of which this version reads 1 to ", lambda m: m.update(format=99)),
    (".tally.kept: ", each_run(lambda run: run.update(tally={"seen": 5, "kept": "all"}))),
    ("it has no generations.", each_run(lambda run: run.update(tally={"seen": 5}))),
    ("it has no merged[0].rows", lambda m: m.update(merged=[{"place": "x", "kept": {}}])),
    ("merged[0].kept: ", lambda m: m.update(merged=[{"place": "x", "rows": {}, "kept": 3}])),
    ("sources[0].trees: ", lambda m: m["sources"][0].update(trees="none")),
    ("it has no sources[0].trees.sha256", lambda m: m["sources"][0].update(trees={})),
    ("generations: nested more than 50", each_run(lambda run: run.update(model=deep(300)))),
    ("more: nested more than 50", lambda m: m.update(more=deep(300))),
    ("holds half a character", lambda m: m.update(name="\ud83d")),
    ("holds half a character", each_run(lambda run: run["settings"].update({"\ud83d": 1}))),
    ("it has no sources[0].corpus", lambda m: m.update(sources=[{}])),
    ("it has no license", lambda m: m.pop("license")),
    ("it has no name", lambda m: m.pop("name")),
    ("it has no digests", lambda m: m.pop("digests")),
    ("it has no stand_off", lambda m: m.pop("stand_off")),
    ("rows: ", lambda m: m.update(rows=5)),
]


@pytest.mark.parametrize("kind", ["release", "stand-off"])
@pytest.mark.parametrize(("said", "damage"), DAMAGE)
def test_every_command_names_the_key(
    made: Path, tmp_path: Path, said: str, damage: Callable[[Manifest], object] | str, kind: str
) -> None:
    """Numbers and brackets without end, keys that are missing or of another form: named, nothing written."""
    place, out = tmp_path / "corpus", tmp_path / "out"
    shutil.copytree(made / kind, place)
    path = place / "manifest.json"
    if isinstance(damage, str):
        path.write_text(damage)
    else:
        manifest = json.loads(path.read_text())
        damage(manifest)
        path.write_text(json.dumps(manifest))
    write_checksums(place)
    for command in commands(made, place, out):
        with pytest.raises(InputError) as caught:
            command()
        assert said in str(caught.value)
        assert str(caught.value).startswith(f"{path}: ")
    assert not out.exists()


def test_settings_of_candidates_are_looked_at_too(tmp_path: Path) -> None:
    """What ``generate`` wrote has its run at the top of its manifest."""
    folder = candidate_folder(tmp_path / "toy", 7)
    write_json(folder / "manifest.json", read_json(folder / "manifest.json") | {"settings": ["lm"]})
    with pytest.raises(InputError, match="settings: input should be a valid dictionary"):
        find_shards(folder)


def test_a_column_that_no_corpus_has_is_not_lost_in_silence(made: Path, tmp_path: Path) -> None:
    """What writes the rows anew would not have it: it is named."""
    place, out = shutil.copytree(made / "release", tmp_path / "corpus"), tmp_path / "out"
    shard = next((place / "data").glob("*.parquet"))
    table = pq.read_table(shard)
    damaged.replace(
        place, f"data/{shard.name}", table.append_column("foo", pa.array([1] * len(table)))
    )
    for command in (
        lambda: release.run(ReleaseSettings(candidates=place, out=out)),
        lambda: export.run(ExportSettings(place=place, format="jsonl", out=out)),
    ):
        with pytest.raises(InputError, match="column 'foo' is none of a corpus of conjoin's"):
            command()
        assert not out.exists()


ANYTHING: list[Any] = [None, 7, -1.5, "[/x]", True, [], [[1]], {}, {"a": {"b": [None]}}, deep(40)]


@pytest.mark.parametrize("value", [*ANYTHING, "missing"], ids=lambda value: repr(value)[:12])
def test_what_is_only_shown_may_be_anything(made: Path, tmp_path: Path, value: Any) -> None:
    """No command stumbles over values of another form that no command needs, or over what is missing."""
    place, out = shutil.copytree(made / "release", tmp_path / "corpus"), tmp_path / "out"
    manifest = json.loads((place / "manifest.json").read_text())
    for run in manifest["generations"].values():
        for key in ("model", "device", "algorithm", "fingerprint", "command", "pool", "seed"):
            about = run["settings"] if key in {"pool", "seed"} else run
            about[key] = value
            if value == "missing":
                del about[key]
    manifest |= {"dropped": value, "more": value}
    (place / "manifest.json").write_text(json.dumps(manifest))
    release.run(ReleaseSettings(candidates=place, out=out))
    with opened(out) as corpus:
        json.dumps(corpus.about)


def test_rows_without_end_are_not_waited_for(made: Path, tmp_path: Path) -> None:
    """A stand-off release whose manifest has more rows than its files."""
    place, out = shutil.copytree(made / "stand-off", tmp_path / "corpus"), tmp_path / "out"
    manifest = json.loads((place / "manifest.json").read_text())
    for rows, said in ((10**15, "it has .* rows in train, its files hold"), (-1, "rows.train: ")):
        manifest["rows"]["train"] = rows
        write_json(place / "manifest.json", manifest)
        with pytest.raises(InputError, match=rf"manifest\.json: .*{said}"):
            rehydrate.run(RehydrateSettings(release=place, source=made / "toy", out=out))
    assert not out.exists()


def test_sources_of_candidates_are_looked_at_too(tmp_path: Path) -> None:
    """``merge`` and ``release`` hand them on."""
    folder = candidate_folder(tmp_path / "toy", 7)
    for sources in (5, [5], [{"corpus": "toy"}]):
        write_json(
            folder / "manifest.json", read_json(folder / "manifest.json") | {"sources": sources}
        )
        with pytest.raises(InputError, match="sources"):
            find_shards(folder)


def test_an_empty_folder_of_data_makes_no_release(tmp_path: Path) -> None:
    """Candidates stay candidates, rejects and all, beside folders named as a release's are."""
    folder = candidate_folder(tmp_path / "toy", 21)
    before = find_shards(folder)
    for name in ("data", "rejected"):
        (folder / name).mkdir()
    assert find_shards(folder) == before
    assert len(before.rejects) == 3


def test_a_circle_of_links_is_one_line(tmp_path: Path) -> None:
    """``--out`` may be named by symbolic links that lead nowhere."""
    folder = candidate_folder(tmp_path / "toy", 7)
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for run in (
        lambda out: release.run(ReleaseSettings(candidates=folder, out=out)),
        lambda out: merge.run(MergeSettings(places=[folder, folder], out=out)),
        lambda out: export.run(ExportSettings(place=folder, format="jsonl", out=out)),
    ):
        with pytest.raises(InputError, match=r"a: (its symbolic links lead in a circle|a link)"):
            run(tmp_path / "a")


@pytest.mark.parametrize(
    "shards", [[], None, [{"file": None, "rows": 0, "bytes": 0, "sha256": ""}]]
)
def test_no_reader_of_its_own_takes_a_manifest_without_shards(
    tmp_path: Path, shards: object
) -> None:
    """Report, audit, plan and train read it by the same form; candidates beside it are nobody's."""
    place = candidate_folder(tmp_path / "toy", 7, units=1)
    manifest = read_json(place / "manifest.json")
    write_json(place / "manifest.json", manifest | {"shards": shards})
    with pytest.raises(InputError, match="shards"):
        read_json(place / "manifest.json", CandidatesManifest)
    with pytest.raises(InputError, match="shards"):
        find_shards(place)
