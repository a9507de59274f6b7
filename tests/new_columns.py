"""Two columns more in the table of candidates' columns, and what becomes of them on the way to strangers.

A program of its own, run by tests/sharing/test_new_columns.py: the table is read when modules are imported.
"""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.core import types
from pipeline.core.types import Column


@dataclass(frozen=True, slots=True)
class Candidate(types.Candidate):
    """With what whoever computes the new columns puts into them."""

    tokens: int | None = None
    maker: str | None = None


NEW = (
    Column("tokens", "int32", "how many tokens the fill has", null=True, since=6),
    Column("maker", "string", "who wrote the fill", null=True, since=6),
)
AT = [each.name for each in types.COLUMNS].index("gap") + 1
types.COLUMNS = (*types.COLUMNS[:AT], *NEW, *types.COLUMNS[AT:])
types.Candidate = Candidate  # type: ignore[misc]

# Everything below reads the table that is there now.
import pyarrow.parquet as pq  # noqa: E402
import pytest  # noqa: E402
import shared_corpora  # noqa: E402

from pipeline.core.documents import read_json  # noqa: E402
from pipeline.core.errors import InputError  # noqa: E402
from pipeline.core.schema import CANDIDATES, read_candidates  # noqa: E402
from pipeline.corpus.digest import RowDigest  # noqa: E402
from pipeline.corpus.layout import find_shards  # noqa: E402
from pipeline.corpus.rows import STAND_OFF, read_accepted  # noqa: E402
from pipeline.release import stage as release  # noqa: E402
from pipeline.release.settings import ReleaseSettings  # noqa: E402
from pipeline.sharing.export import command as export  # noqa: E402
from pipeline.sharing.export.settings import ExportSettings  # noqa: E402
from pipeline.sharing.merge import command as merge  # noqa: E402
from pipeline.sharing.merge.settings import MergeSettings  # noqa: E402
from pipeline.sharing.rehydrate import command as rehydrate  # noqa: E402
from pipeline.sharing.rehydrate.settings import RehydrateSettings  # noqa: E402
from pipeline.sharing.validate import command as validate  # noqa: E402
from pipeline.sharing.validate.settings import ValidateSettings  # noqa: E402

Values = dict[str, tuple[int | None, str | None]]
plain_outcome = shared_corpora.outcome


def made_by(maker: str) -> None:
    """Have the folders of candidates that are made from now on say who wrote the fills of every other row."""

    def outcome(number: int, license_: str = "CC0-1.0", shift: float = 0.0) -> object:
        row = plain_outcome(number, license_, shift)
        if not isinstance(row, Candidate) or number % 2:
            return row
        return replace(row, tokens=len(row.fill.split()), maker=maker)

    shared_corpora.outcome = outcome  # type: ignore[assignment]


def valid(place: Path) -> Path:
    """A corpus in which `validate` finds nothing."""
    validate.run(ValidateSettings(place=place))
    return place


def values(place: Path) -> Values:
    """The new columns of a corpus's candidates, by their ids."""
    files = find_shards(place).accepted
    rows = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
    return {row["candidate_id"]: (row["tokens"], row["maker"]) for row in rows}


def digest(place: Path) -> str:
    """The digest of a corpus's candidates."""
    found = RowDigest()
    for batch in read_accepted(find_shards(place)):
        found.add(batch)
    return found.hex()


def main(folder: Path) -> None:
    """Write, validate, release, release without the text, rehydrate, merge, export."""
    usual = digest(shared_corpora.candidate_folder(folder / "usual"))
    made_by("bert-base_1.0")
    made = valid(shared_corpora.candidate_folder(folder / "toy"))
    assert CANDIDATES.names[-2:] == ["tokens", "maker"]
    expected = values(made)
    assert {maker for _, maker in expected.values()} == {None, "bert-base_1.0"}
    read = [row for file in find_shards(made).accepted for row in read_candidates(file)]
    assert {row.candidate_id: (row.tokens, row.maker) for row in read} == expected  # type: ignore[attr-defined]
    # The digest sees a value, and rows without one keep the digest that they had before.
    assert digest(made) != usual
    assert usual == sys.argv[2]

    out = folder / "release"
    release.run(ReleaseSettings(candidates=made, out=out))
    assert values(valid(out)) == expected
    assert read_json(out / "manifest.json")["format"] == 6
    for document in ("README.md", "croissant.json"):
        assert "how many tokens the fill has" in (out / document).read_text()

    stand_off, back = folder / "stand-off", folder / "back"
    release.run(ReleaseSettings(candidates=made, out=stand_off, stand_off=True))
    assert {"tokens", "maker"} <= set(STAND_OFF.names)
    kept = values(valid(stand_off))
    assert kept.items() <= expected.items()
    assert any(maker for _, maker in kept.values())
    rehydrate.run(RehydrateSettings(release=stand_off, source=folder / "toy", out=back))
    assert values(valid(back)) == kept

    both = folder / "both"
    merge.run(MergeSettings(places=[made, out], out=both))
    assert values(valid(both)) == expected

    lines = folder / "rows.jsonl"
    export.run(ExportSettings(place=back, format="jsonl", out=lines))
    rows = map(json.loads, lines.read_text().splitlines())
    assert {row["candidate_id"]: (row["tokens"], row["maker"]) for row in rows} == kept

    # Files of the version before lack both.
    (old, *_) = find_shards(made).accepted
    shared_corpora.without(old, "tokens", "maker")
    assert {row.tokens for row in read_candidates(old)} == {None}  # type: ignore[attr-defined]

    # What a stand-off release keeps must not be text of the source.
    made_by("near the door of the house")
    leak = shared_corpora.candidate_folder(folder / "leak")
    with pytest.raises(
        InputError, match="maker 'near the door of the house' could be text of the source"
    ):
        release.run(ReleaseSettings(candidates=leak, out=folder / "never", stand_off=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
