"""What is no file of a corpus is not read as one: links out of a release, named pipes, folders."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from browsed import opened
from damaged import REJECTS, SHARD, make_release
from shared_corpora import candidate_folder

from pipeline.core.candidates import candidate_shards
from pipeline.core.errors import InputError
from pipeline.core.parquet import column_names, read_batches, read_rows, read_schema, row_count
from pipeline.core.schema import CANDIDATES
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
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.coordination.rows import CoordinationRows
from pipeline.train.candidate_location import find_location

OUT = "a link that leads out of the release"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release and a stand-off release of the same candidates, each with its project's files."""
    folder = tmp_path_factory.mktemp("good")
    for kind in ("release", "stand-off"):
        make_release(folder / kind, folder / "toy", stand_off=kind == "stand-off")
        (folder / kind / "provenance").mkdir()
        (folder / kind / "provenance/params.yaml").write_text("seed: 1\n")
        write_checksums(folder / kind)
    return folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder that nobody named."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/id_rsa").write_text("PRIVATE")
    return tmp_path / "secret"


def commands(made: Path, place: Path, out: Path) -> Iterator[Callable[[], object]]:
    yield lambda: stats.run(StatsSettings(place=place))
    yield lambda: shown(place)
    yield lambda: merge.run(MergeSettings(places=[place, made / "release"], out=out))
    yield lambda: export.run(ExportSettings(place=place, format="jsonl", out=out))
    yield lambda: release.run(ReleaseSettings(candidates=place, out=out))
    yield lambda: rehydrate.run(RehydrateSettings(release=place, source=made / "toy", out=out))
    yield lambda: push.run(PushSettings(release=place, repository="jane/toy"))


def shown(place: Path) -> None:
    """As ``browse`` does before it serves."""
    with opened(place):
        pass


def violations(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    with suppress(SystemExit):
        validate.run(ValidateSettings(place=place, json_=True))
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["violations"]
    return found


def moved(place: Path, name: str, to: Path) -> None:
    """The file is elsewhere, and a link leads there."""
    shutil.move(place / name, to)
    (place / name).symlink_to(to)


LINKS: dict[str, Callable[[Path, Path], object]] = {
    "provenance": lambda place, secret: (
        shutil.rmtree(place / "provenance"),
        (place / "provenance").symlink_to(secret),
    ),
    "provenance/params.yaml": lambda place, secret: (
        (place / "provenance/params.yaml").unlink(),
        (place / "provenance/params.yaml").symlink_to(secret / "id_rsa"),
    ),
    "data": lambda place, secret: moved(place, "data", secret / "data"),
    SHARD: lambda place, secret: moved(place, SHARD, secret / "x.parquet"),
    REJECTS: lambda place, secret: moved(place, REJECTS, secret / "x.parquet"),
    "manifest.json": lambda place, secret: moved(place, "manifest.json", secret / "x.json"),
    "README.md": lambda place, secret: moved(place, "README.md", secret / "x.md"),
    "SHA256SUMS": lambda place, secret: moved(place, "SHA256SUMS", secret / "x"),
    "data/more": lambda place, secret: (place / "data/more").symlink_to(secret),
    "circle": lambda place, _: (place / "circle").symlink_to("circle"),
    "nowhere": lambda place, secret: (place / "nowhere").symlink_to(secret / "nothing"),
}


@pytest.mark.parametrize("name", LINKS)
def test_no_link_leads_out_of_a_release(
    made: Path,
    tmp_path: Path,
    secret: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """Every command names the link and writes nothing; ``validate`` counts it."""
    place, out = tmp_path / "corpus", tmp_path / "out"
    shutil.copytree(made / ("release" if name in {SHARD, "data"} else "stand-off"), place)
    LINKS[name](place, secret)
    if name != "SHA256SUMS" and not name.startswith(("circle", "nowhere", "data", "provenance")):
        write_checksums(place)
    for command in commands(made, place, out):
        with pytest.raises(InputError, match=OUT) as caught:
            command()
        assert str(caught.value).startswith(str(place / name))
    assert not out.exists()
    assert [e["file"] for e in violations(place, capsys)["link out of the corpus"]["examples"]] == [
        name
    ]


def test_links_that_stay_in_a_release_are_fine(made: Path, tmp_path: Path) -> None:
    """Its own files may be linked to each other, and the release itself may be named by a link."""
    place = shutil.copytree(made / "release", tmp_path / "there")
    (place / "COPYING").symlink_to("LICENSE")
    write_checksums(place)
    (tmp_path / "corpus").symlink_to(place)
    validate.run(ValidateSettings(place=tmp_path / "corpus"))
    stats.run(StatsSettings(place=tmp_path / "corpus"))
    push.run(PushSettings(release=tmp_path / "corpus", repository="jane/toy"))


def in_hub_cache(release: Path, home: Path) -> Path:
    """A snapshot as the hub's client keeps it: links to files that are called by their checksums."""
    snapshot = home / "datasets--jane--toy/snapshots" / ("ab" * 20)
    blobs = home / "datasets--jane--toy/blobs"
    blobs.mkdir(parents=True)
    for path in (each for each in release.rglob("*") if each.is_file()):
        blob = blobs / hashlib.sha256(path.read_bytes()).hexdigest()
        shutil.copy(path, blob)
        link = snapshot / path.relative_to(release)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


@pytest.mark.long
def test_a_snapshot_of_the_hub_is_read(made: Path, tmp_path: Path) -> None:
    """Links into the same repository's blobs are its files; into another's they are not."""
    place = in_hub_cache(made / "release", tmp_path / "hub")
    validate.run(ValidateSettings(place=place))
    for command in list(commands(made, place, tmp_path / "out"))[:3]:
        command()
    push.run(PushSettings(release=place, repository="jane/toy"))
    stand_off = in_hub_cache(made / "stand-off", tmp_path / "other")
    rehydrate.run(RehydrateSettings(release=stand_off, source=made / "toy", out=tmp_path / "whole"))
    assert (tmp_path / "whole/provenance/params.yaml").read_text() == "seed: 1\n"
    assert not (tmp_path / "whole/provenance/params.yaml").is_symlink()
    (place / "README.md").unlink()
    (place / "README.md").symlink_to(stand_off / "README.md")
    with pytest.raises(InputError, match=OUT):
        find_shards(place)


def test_rehydrate_copies_what_it_knows(made: Path, tmp_path: Path) -> None:
    """Of ``provenance/`` the project's two files, as the checksums have them, and nothing else."""
    place = shutil.copytree(made / "stand-off", tmp_path / "corpus")
    (place / "provenance/more").mkdir()
    (place / "provenance/more/notes.txt").write_text("x")
    (place / "provenance/dvc.yaml").write_text("not listed")
    settings = {"release": place, "source": made / "toy"}
    rehydrate.run(RehydrateSettings(**settings, out=tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out/provenance").iterdir()] == ["params.yaml"]
    (place / "provenance/params.yaml").write_text("seed: 2\n")
    with pytest.raises(InputError, match=r"params\.yaml: not the file that SHA256SUMS lists"):
        rehydrate.run(RehydrateSettings(**settings, out=tmp_path / "again"))
    assert not (tmp_path / "again").exists()


def test_candidates_may_be_links(tmp_path: Path) -> None:
    """DVC may keep what a stage wrote in its cache, and leave links; these are in the user's own project."""
    folder = candidate_folder(tmp_path / "toy", 14)
    (tmp_path / "cache").mkdir()
    for path in [each for each in folder.iterdir() if each.is_file()]:
        moved(folder, path.name, tmp_path / "cache" / path.name)
    validate.run(ValidateSettings(place=folder))
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "release"))


PIPES = ("candidates-00001-of-00003.parquet", "rejects-00000-of-00003.parquet", "manifest.json")


@pytest.mark.parametrize("name", PIPES)
def test_nobody_waits_for_a_pipe_among_candidates(
    tmp_path: Path, made: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A named pipe as a shard or manifest is one line of every command, not a wait without end."""
    place, out = candidate_folder(tmp_path / "toy", 21), tmp_path / "out"
    (place / name).unlink()
    os.mkfifo(place / name)
    for command in commands(made, place, out):
        with pytest.raises(InputError, match=rf"{name}: not a regular file"):
            command()
    assert not out.exists()
    found = violations(place, capsys)
    kind = "manifest unreadable" if name == "manifest.json" else "unreadable file"
    assert name in [each["file"] for each in found[kind]["examples"]]
    assert [each["file"] for each in found["not a regular file"]["examples"]] == [name]


@pytest.mark.parametrize("kind", ["release", "stand-off"])
@pytest.mark.parametrize(
    "name", [SHARD, REJECTS, "manifest.json", "SHA256SUMS", "README.md", "croissant.json"]
)
def test_nobody_waits_for_a_pipe_in_a_release(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    """The same of a release; what a command does not read does not stop it."""
    place, out = shutil.copytree(made / kind, tmp_path / "corpus"), tmp_path / "out"
    (place / name).unlink()
    os.mkfifo(place / name)
    read = name in {SHARD, REJECTS, "manifest.json"}
    for command in commands(made, place, out) if read else ():
        with pytest.raises(InputError, match=rf"{name}: not a regular file"):
            command()
    with pytest.raises(InputError):
        push.run(PushSettings(release=place, repository="jane/toy"))
    assert not out.exists()
    assert name in [e["file"] for e in violations(place, capsys)["not a regular file"]["examples"]]


def test_nobody_waits_for_a_pipe_that_is_named(tmp_path: Path, made: Path) -> None:
    """As the corpus itself, as the source, and where rows are read one by one."""
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    for command in list(commands(made, pipe, tmp_path / "out")):
        with pytest.raises(InputError, match="not a regular file"):
            command()
    with pytest.raises(InputError, match="not a regular file"):
        validate.run(ValidateSettings(place=pipe))
    for read in (read_schema, row_count):
        with pytest.raises(InputError, match="not a regular file"):
            read(pipe)
    for stream in (read_rows, read_batches):
        with pytest.raises(InputError, match="not a regular file"):
            next(iter(stream(pipe, CANDIDATES)))
    assert column_names(pipe) == []
    with pytest.raises(InputError, match="no such corpus"):
        rehydrate.run(
            RehydrateSettings(release=made / "stand-off", source=pipe, out=tmp_path / "out")
        )


def test_training_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    """Neither where it looks whether its copy is current, nor where it counts or reads."""
    folder = candidate_folder(tmp_path / "toy", 21)
    shard = folder / "candidates-00001-of-00003.parquet"
    shard.unlink()
    os.mkfifo(shard)
    location = find_location(folder, CoordinationRows.columns)
    for ask in (location.key, location.rows, lambda: list(location.pieces())):
        with pytest.raises(InputError, match="not a regular file"):
            ask()
    with pytest.raises(InputError, match="not a regular file"):
        candidate_shards(folder)
