"""A corpus is what its files hold, whatever the folders above it are called and wherever TMPDIR is."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from browsed import opened
from shared_corpora import candidate_folder

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.browse import command as browse
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.browse.table import View
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings

LICENCE = "LDC-User-Agreement"
CANDIDATES = "candidates/t5-sync/seed-0"
COLUMNS = "license=CC0-1.0/label=ZZ/reason=x/split=test/coordinator=9/sentence_id=1"
"""Names in which tools find columns."""
PATTERNS = ("a*b/[ab]/**", "a?b/[!z]")
"""Names that mean others, too: those of NEIGHBOURS."""
NEIGHBOURS = ("aXb/a/c", "aXb/c")
QUOTES = "it's/back\\slash/a'; DROP TABLE rows; --"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus under ``plain``, and others under the names that patterns would find."""
    home = tmp_path_factory.mktemp("names")
    candidate_folder(home / "plain/toy", 14, license_=LICENCE)
    for name in NEIGHBOURS:
        candidate_folder(home / name / "toy", 21, first=30)
    return home


@pytest.fixture(scope="module")
def usual(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the commands say of the corpus under the plain name."""
    with pytest.MonkeyPatch.context() as patch:
        return said_of(home / "plain/toy", tmp_path_factory.mktemp("usual"), patch)


def said_of(corpus: Path, out: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What every command that reads the files says or writes, but for the names of places."""
    place, said = corpus / CANDIDATES, list[str]()
    patch.setattr("pipeline.sharing.validate.command.say", said.append)
    patch.setattr("builtins.print", lambda text, **_: said.append(text))
    validate.run(ValidateSettings(place=place, json_=True))
    stats.run(StatsSettings(place=place, json_=True))
    patch.undo()
    with opened(place) as shown:
        page = shown.answer(View(state="all", limit=200)), shown.about["labels"]
    export.run(ExportSettings(place=place, format="jsonl", out=out / "out.jsonl", own_use=True))
    again = shutil.copytree(place, out / "copy")
    merge.run(MergeSettings(places=[place, again], out=out / "merged", own_use=True))
    merged = read_json(out / "merged/manifest.json")
    release.run(ReleaseSettings(candidates=place, out=corpus / "stand-off", stand_off=True))
    made = read_json(corpus / "stand-off/manifest.json")
    rehydrate.run(RehydrateSettings(release=corpus / "stand-off", source=corpus, out=out / "whole"))
    whole = read_json(out / "whole/manifest.json")
    return {
        "printed": [json.loads(text) for text in said if text.startswith("{")],
        "page": page,
        "exported": (out / "out.jsonl").read_bytes(),
        "merged": [merged[key] for key in ("rows", "digests", "dropped", "shards", "sources")],
        "released": [made[key] for key in ("rows", "licenses", "digests", "full_digests", "shards")],
        "rehydrated": [whole[key] for key in ("rows", "licenses", "digests", "shards")],
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", [f"{COLUMNS}/{QUOTES}", *PATTERNS])
def test_a_name_changes_nothing(
    home: Path, tmp_path: Path, usual: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No column comes of it, no other corpus is read; what the licence forbids stays forbidden."""
    corpus = shutil.copytree(home / "plain/toy", home / name / "toy")
    try:
        (tmp_path / name).mkdir(parents=True)
        assert said_of(corpus, tmp_path / name, monkeypatch) == usual
        with pytest.raises(InputError, match=f"licence '{LICENCE}' forbids"):
            browse.run(
                BrowseSettings.build(
                    {"place": corpus / CANDIDATES, "export": tmp_path / "page.html"}, None
                )
            )
        with pytest.raises(InputError, match=f"licence '{LICENCE}' forbids"):
            release.run(ReleaseSettings(candidates=corpus / CANDIDATES, out=tmp_path / "release"))
    finally:
        shutil.rmtree(corpus)


def test_relative_names_are_no_addresses(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder may be called as the home folder is written, or as an address begins."""
    monkeypatch.chdir(tmp_path)
    for name in ("~", "file:", "s3:"):
        shutil.copytree(home / "plain/toy", tmp_path / name)
        stats.run(StatsSettings(place=Path(name) / CANDIDATES))


def test_names_that_cannot_be_distinguished_are_refused(home: Path, tmp_path: Path) -> None:
    """No pattern means a path with a backslash and a star alone: one line, no neighbour."""
    corpus = shutil.copytree(home / "plain/toy", tmp_path / "a\\b*")
    with pytest.raises(InputError, match=r"give the folder or file another name$"):
        stats.run(StatsSettings(place=corpus / CANDIDATES))


@pytest.mark.long
def test_temporary_files_may_lie_anywhere(
    home: Path, tmp_path: Path, usual: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quote, a pattern or a column in TMPDIR changes nothing, and nothing is left there."""
    scratch, out = tmp_path / "it's/a*b/license=CC0-1.0", tmp_path / "out"
    for each in (scratch, out):
        each.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    corpus = shutil.copytree(home / "plain/toy", tmp_path / "toy")
    with pytest.MonkeyPatch.context() as patch:
        assert said_of(corpus, out, patch) == usual
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("name", ["a?b", "back\\slash"])
def test_temporary_folders_that_cannot_be_used_are_one_line(
    home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB would write its files elsewhere."""
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with pytest.raises(InputError, match="set TMPDIR to another folder"):
        stats.run(StatsSettings(place=home / "plain/toy" / CANDIDATES))
