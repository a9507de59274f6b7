"""Text whose licence forbids to hand it on: one rule for every command that copies it, and one flag."""

from collections.abc import Callable
from pathlib import Path

import pytest
from shared_corpora import candidate_folder

from pipeline.cli import COMMANDS
from pipeline.core.errors import InputError
from pipeline.corpus.handing_on import require_home_of_text
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import read_accepted
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run as release
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run as select
from pipeline.sharing.browse.command import run as browse
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.export.command import run as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge.command import run as merge
from pipeline.sharing.merge.settings import MergeSettings

Copy = Callable[[Path, Path, bool], object]
"""Copies the text of a folder of candidates to a place; with the flag or without."""

COPIES: dict[str, Copy] = {
    "export": lambda place, out, own: export(
        ExportSettings(place=place, format="jsonl", out=out, own_use=own)
    ),
    "browse": lambda place, out, own: browse(BrowseSettings(place=place, export=out, own_use=own)),
    "select": lambda place, out, own: select(SelectSettings(places=[place], out=out, own_use=own)),
    "merge": lambda place, out, own: merge(
        MergeSettings(places=[place, place], out=out, own_use=own)
    ),
}
LICENCES = ("LDC-User-Agreement", "CC-BY-ND-4.0", "unknown", "Foo-1.0")


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("licence", LICENCES)
def test_text_leaves_its_corpus_for_own_use_alone(tmp_path: Path, licence: str, name: str) -> None:
    """Refused before anything is written, with the flag as the remedy; with it the text is there."""
    place, out = candidate_folder(tmp_path / "toy", 14, license_=licence), tmp_path / "out"
    with pytest.raises(InputError, match="--own-use") as error:
        COPIES[name](place, out, False)
    assert licence in str(error.value)
    assert "\n" not in str(error.value)
    assert not out.exists()
    COPIES[name](place, out, True)
    assert out.exists()


@pytest.mark.parametrize("name", COPIES)
def test_free_text_needs_no_flag(tmp_path: Path, name: str) -> None:
    """What may be handed on is copied anywhere."""
    place = candidate_folder(tmp_path / "toy", 14, license_="CC-BY-NC-SA-4.0")
    COPIES[name](place, tmp_path / "out", False)


def test_a_release_has_no_such_text_for_anybody(tmp_path: Path) -> None:
    """It is for others, so there is no flag; without the text it may be made."""
    place = candidate_folder(tmp_path / "toy", 14, license_="LDC-User-Agreement")
    with pytest.raises(InputError, match="--stand-off"):
        release(ReleaseSettings(candidates=place, out=tmp_path / "out"))
    release(ReleaseSettings(candidates=place, out=tmp_path / "out", stand_off=True))


@pytest.mark.parametrize("name", ["select", "merge"])
def test_candidates_stay_at_home_without_a_flag(tmp_path: Path, name: str) -> None:
    """In the corpus folder that they are of, and in no other corpus's."""
    place = candidate_folder(tmp_path / "toy", 14, license_="LDC-User-Agreement")
    COPIES[name](place, tmp_path / "toy/candidates/chosen/seed-0", False)
    candidate_folder(tmp_path / "other", 7)
    with pytest.raises(InputError, match="--own-use"):
        COPIES[name](place, tmp_path / "other/candidates/chosen/seed-0", False)


def test_what_is_made_of_a_corpus_stays_at_home(tmp_path: Path) -> None:
    """Its sentences' own licence counts, before there is a candidate."""
    candidate_folder(tmp_path / "toy", 14, license_="LDC-User-Agreement")
    candidate_folder(tmp_path / "free", 7)
    require_home_of_text(tmp_path / "toy/candidates/new/seed-0", tmp_path / "toy")
    require_home_of_text(tmp_path / "out", tmp_path / "free")
    for out in (tmp_path / "out", tmp_path / "free/candidates/new/seed-0"):
        with pytest.raises(InputError, match=r"text of 14 rows .*--own-use"):
            require_home_of_text(out, tmp_path / "toy")


def test_rejects_are_text_as_well(tmp_path: Path) -> None:
    """A licence that rejects alone have keeps them at home, too."""
    place = candidate_folder(tmp_path / "toy", 1, first=6, license_="LDC-User-Agreement")
    with pytest.raises(InputError, match=r"text of 1 rows .*--own-use"):
        COPIES["merge"](place, tmp_path / "out", False)
    assert not (tmp_path / "out").exists()


def test_what_select_leaves_out_by_licence_keeps_nothing_back(tmp_path: Path) -> None:
    """Rows of which none goes into the result need no leave."""
    free = candidate_folder(tmp_path / "a", 14)
    ldc = candidate_folder(tmp_path / "b", 14, first=20, seed=1, license_="LDC-User-Agreement")
    out = tmp_path / "out"
    select(SelectSettings(places=[free, ldc], out=out, license=["CC0-1.0"]))
    licences = {
        each for batch in read_accepted(find_shards(out)) for each in batch["license"].to_pylist()
    }
    assert licences == {"CC0-1.0"}


def test_an_export_of_sentences_goes_by_its_split(tmp_path: Path) -> None:
    """A corpus folder is exported under the same rule as candidates."""
    candidate_folder(tmp_path / "toy", 14, license_="LDC-User-Agreement")
    given = {"place": tmp_path / "toy", "format": "jsonl", "out": tmp_path / "out"}
    with pytest.raises(InputError, match=r"text of 14 rows .*--own-use"):
        export(ExportSettings(**given))
    with pytest.raises(InputError, match="no sentence to write"):
        export(ExportSettings(**given, split="dev"))
    export(ExportSettings(**given, own_use=True))
    assert len((tmp_path / "out").read_text().splitlines()) == 14


def test_the_flag_is_of_the_commands_that_copy_text() -> None:
    """And of no other: not of release and push, which are for others."""
    have = {
        name for name, (settings, _, _) in COMMANDS.items() if "own_use" in settings.model_fields
    }
    makers = {"generate", "harvest", "synthesize", "pair", "ask"}
    assert have == COPIES.keys() | makers | {"report", "vote", "play"}
