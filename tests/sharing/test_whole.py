"""Who reads a corpus holds it against its manifest: every reader, every kind of damage."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shared_corpora import candidate_folder
from tiny import COORDINATION

from pipeline.cli import COMMANDS
from pipeline.core.errors import InputError
from pipeline.corpus.checked import find_candidates, open_candidates
from pipeline.parsing.taught import Taught
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run as make_release
from pipeline.report.examples import fill_statistics
from pipeline.report.generations import generation_lists
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run as select
from pipeline.sharing.browse.command import run as browse
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.export.command import run as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge.command import run as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.push.command import run as push
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate.command import run as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.stats.command import run as stats
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate.command import run as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.train.candidate_location import find_location

Read = Callable[[Path, Path], object]
"""Reads a corpus, and writes to a place that is not there, if it writes."""


def _validate(place: Path, _: Path) -> None:
    try:
        validate(ValidateSettings(place=place))
    except SystemExit as ending:
        raise InputError("violations") from ending


def _train(place: Path, _: Path) -> None:
    assert list(find_location(place, COORDINATION.rows.columns).pieces())


def _report(place: Path, _: Path) -> None:
    assert fill_statistics([place]).candidates


def _audit(place: Path, _: Path) -> None:
    find_candidates({(place, "gone")})


CANDIDATES: dict[str, Read] = {
    "stats": lambda place, _: stats(StatsSettings(place=place)),
    "export": lambda place, out: export(ExportSettings(place=place, format="jsonl", out=out)),
    "browse": lambda place, out: browse(BrowseSettings(place=place, export=out)),
    "select": lambda place, out: select(SelectSettings(places=[place], out=out)),
    "merge": lambda place, out: merge(MergeSettings(places=[place, place], out=out)),
    "release": lambda place, out: make_release(ReleaseSettings(candidates=place, out=out)),
    "validate": _validate,
    "train": _train,
    "report": _report,
    "audit": _audit,
    "preparse": lambda place, _: Taught(place, place).trees(set()),
}
"""Commands that read candidates, or what of them does."""

RELEASES: dict[str, Read] = {
    **{
        name: CANDIDATES[name] for name in ("stats", "export", "browse", "select", "merge", "train")
    },
    "push": lambda place, _: push(PushSettings(release=place, repository="jane/toy")),
}

STAND_OFF: dict[str, Read] = {
    "stats": CANDIDATES["stats"],
    "rehydrate": lambda place, out: rehydrate(
        RehydrateSettings(release=place, source=place.parent / "toy", out=out)
    ),
}


def shards(place: Path) -> list[Path]:
    return sorted((*place.glob("candidates-*.parquet"), *place.glob("data/*.parquet")))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _bend(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def _swap(place: Path) -> None:
    one, two, *_ = shards(place)
    held = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(held)


def _repeat(place: Path) -> None:
    first = shards(place)[0]
    shutil.copy(first, first.with_name(first.name.replace("00000-of", "00009-of")))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda place: shards(place)[-1].unlink(),
    "swapped": _swap,
    "cut": lambda place: _cut(shards(place)[0]),
    "changed": lambda place: _bend(shards(place)[0]),
    "one more": _repeat,
    "all deleted": lambda place: [path.unlink() for path in shards(place)],
    "all and rejects deleted": lambda place: [path.unlink() for path in place.rglob("*.parquet")],
    "rejects deleted": lambda place: next(
        iter(sorted((*place.glob("rejects-*"), *place.glob("rejected/*"))))
    ).unlink(),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Candidates, a release with text and one without, beside the corpus ``toy`` that they are of."""
    home = tmp_path_factory.mktemp("whole")
    folder = candidate_folder(home / "toy", 28, units=2)
    shutil.copytree(folder, home / "candidates")
    make_release(ReleaseSettings(candidates=folder, out=home / "release", shards=2))
    make_release(
        ReleaseSettings(candidates=folder, out=home / "stand-off", shards=2, stand_off=True)
    )
    return home


def cases() -> Iterator[tuple[str, str]]:
    for kind, readers in (
        ("candidates", CANDIDATES), ("release", RELEASES), ("stand-off", STAND_OFF)
    ):  # fmt: skip
        yield from ((kind, name) for name in readers)


@pytest.mark.parametrize(("kind", "name"), list(cases()))
def test_no_reader_takes_a_corpus_that_its_manifest_does_not_describe(
    made: Path, tmp_path: Path, kind: str, name: str
) -> None:
    """A shard deleted, swapped with another, cut short, changed by a bit, or too many: always one refusal."""
    read = {"candidates": CANDIDATES, "release": RELEASES, "stand-off": STAND_OFF}[kind][name]
    shutil.copytree(made / "toy", tmp_path / "toy")
    for damage, do in DAMAGES.items():
        place, out = tmp_path / damage.replace(" ", "-"), tmp_path / f"{damage} out"
        shutil.copytree(made / kind, place)
        do(place)
        with pytest.raises(InputError) as error:
            read(place, out)
        assert name == "validate" or str(place) in str(error.value)
        assert not out.exists(), damage


def test_a_report_does_not_leave_out_candidates_that_are_gone(made: Path, tmp_path: Path) -> None:
    """Their manifest is there: the folder is not one that was never filled."""
    corpus = shutil.copytree(made / "toy", tmp_path / "toy")
    assert generation_lists(corpus, COORDINATION.name, count=2, seed=0)
    for path in corpus.glob("candidates/*/*/*.parquet"):
        path.unlink()
    with pytest.raises(InputError, match="seed-0: all shards that"):
        generation_lists(corpus, COORDINATION.name, count=2, seed=0)


def test_every_command_that_takes_candidates_is_among_them() -> None:
    """By the names of its settings; ``generate`` and ``harvest`` make them."""
    takes = {"place", "places", "candidates", "release", "also"}
    named = {
        name for name, (settings, _, _) in COMMANDS.items() if takes & settings.model_fields.keys()
    }
    others = {"diagnose"}  # it reads them as train does
    assert named - others <= CANDIDATES.keys() | RELEASES.keys() | STAND_OFF.keys()


def test_what_has_no_list_of_shards_is_read(made: Path, tmp_path: Path) -> None:
    """Corpora of others have no manifest, and the oldest list no files."""
    place = shutil.copytree(made / "candidates", tmp_path / "old")
    manifest = json.loads((place / "manifest.json").read_text())
    del manifest["shards"]
    (place / "manifest.json").write_text(json.dumps(manifest))
    assert len(open_candidates(place)) == 2
    stats(StatsSettings(place=place))
    (place / "manifest.json").unlink()
    shutil.rmtree(place / ".units", ignore_errors=True)
    assert len(open_candidates(place)) == 2
    export(ExportSettings(place=place, format="jsonl", out=tmp_path / "rows.jsonl"))
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 24
