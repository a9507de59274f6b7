"""``conjoin release --trees``: two columns more, which others load and ``validate`` holds against rows."""

from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from with_trees import attested, candidate_folder, world

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import RELEASED, WITH_TREES, read_accepted
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.text.trees import leaves, parse_tree


@pytest.fixture
def released(tmp_path: Path, write_trees: Callable[..., None]) -> Path:
    """A release with trees of sixteen sentences' candidates."""
    sentences = world(16)
    write_trees(tmp_path / "corpus", sentences)
    candidates = attested(sentences)
    place = candidate_folder(tmp_path / "corpus", candidates)
    release.run(ReleaseSettings(candidates=place, out=tmp_path / "release", trees=True))
    return tmp_path / "release"


def test_a_release_with_trees_loads(released: Path, tmp_path: Path) -> None:
    """`datasets` gives a bracketing whose leaves are the words, and whose it is; the card has both."""
    loaded = datasets.load_dataset(str(released), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.column_names == WITH_TREES.names
    for row in loaded:
        assert leaves(parse_tree(row["tree"])) == row["words"]
        assert row["tree_from"] == "treebank"
    manifest = read_json(released / "manifest.json")
    assert manifest["trees"] == {
        "of": "best",
        "treebank": len(loaded),
        "parser": 0,
        "without": {},
    }
    beside = [part for part in manifest["annotation"] if part["part"] == "others"]
    assert [part["trees"] > 0 for part in beside] == [True]  # people's trees, of no draw
    card = (released / "README.md").read_text()
    assert "| `tree`" in card
    assert "| `tree_from`" in card


def test_validate_merge_and_export_take_it(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No violations; merging leaves the trees out; ptb is written from the column, without the corpus."""
    validate.run(ValidateSettings(place=released))
    assert "no violations" in capsys.readouterr().out
    alone = tmp_path / "alone"
    released.rename(alone)
    export.run(ExportSettings(place=alone, format="ptb", out=tmp_path / "out.mrg"))
    rows = sum(len(batch) for batch in read_accepted(find_shards(alone)))
    assert len((tmp_path / "out.mrg").read_text().splitlines()) == rows
    merge.run(
        MergeSettings(
            places=[alone, tmp_path / "corpus/candidates/t5-attested/seed-0"], out=tmp_path / "m"
        )
    )
    (made,) = (tmp_path / "m").glob("candidates-*.parquet")
    assert pq.read_schema(made).names == RELEASED.names
    assert f"{alone}: the trees of these rows are not copied" in capsys.readouterr().err
    select.run(SelectSettings(places=[alone], out=tmp_path / "s", where="label = 'NP'"))
    assert "the trees of these rows are not copied" in capsys.readouterr().err


def test_export_goes_by_the_trees_of_a_release(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tags come from them in every format; one that is another's or no tree, or not asked for, is counted."""
    alone = tmp_path / "alone"
    released.rename(alone)
    export.run(ExportSettings(place=alone, format="conllu", out=tmp_path / "out.conllu"))
    lines = (tmp_path / "out.conllu").read_text("utf-8").splitlines()
    assert not [line for line in lines if line[:1].isdigit() and line.split("\t")[4] == "_"]
    (shard,) = (alone / "data").iterdir()
    rows = pq.read_table(shard).to_pylist()
    flat = "".join(f"(X {word})" for word in rows[2]["words"])
    rows[0]["tree"], rows[1]["tree"], rows[2]["tree"] = rows[1]["tree"], "(S1 (NP", f"(S1 {flat})"
    pq.write_table(pa.Table.from_pylist(rows, WITH_TREES), shard)
    capsys.readouterr()
    export.run(ExportSettings(place=shard, format="ptb", out=tmp_path / "out.mrg"))
    printed = capsys.readouterr().out
    for why in (
        "a tree of other words",
        "brackets that cannot be read",
        "a conjunct that is no constituent",
    ):
        assert f"1 with {why}" in printed


def test_export_takes_a_release_s_word_for_trees_of_a_parser_alone(
    released: Path, tmp_path: Path
) -> None:
    """A row's ``parser`` means that a part is a parser's, so the release must have been made so."""
    settings = ExportSettings(
        place=released, format="ptb", out=tmp_path / "o.mrg", trees_of="parser"
    )
    with pytest.raises(SettingsError, match="may be the treebank's in part; release it again with"):
        export.run(settings)
    manifest = read_json(released / "manifest.json")
    manifest["trees"]["of"] = "parser"
    write_json(released / "manifest.json", manifest)
    with pytest.raises(InputError, match="with a tree of the treebank"):
        export.run(settings)


def test_a_tree_that_is_not_its_row_s_is_found(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another row's tree, no tree at all, an origin that nobody writes, and one of two columns null."""
    (shard,) = (released / "data").iterdir()
    table = pq.read_table(shard).to_pylist()
    table[0]["tree"], table[1]["tree"] = table[1]["tree"], "(S1 (NP"
    table[2]["tree_from"] = "me"
    table[3]["tree"] = None
    table[4]["tree"] = table[4]["tree"].replace("(CC ", "(NN ")
    pq.write_table(pa.Table.from_pylist(table, schema=WITH_TREES), shard)
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=released, examples=9))
    printed = capsys.readouterr().out
    for what in (
        "a tree of other words", "malformed brackets", "tree_from is 'me'",
        "one of tree and tree_from is null", "finds other conjuncts",
    ):  # fmt: skip
        assert what in printed


def test_trees_are_not_for_stand_off_releases(released: Path, tmp_path: Path) -> None:
    """They hold the source's words; and they are made from a source, which must be there."""
    place = tmp_path / "corpus/candidates/t5-attested/seed-0"
    with pytest.raises(
        SettingsError, match="tree holds the source's words, which --stand-off leaves"
    ):
        ReleaseSettings.build(
            {"candidates": place, "out": tmp_path / "o", "trees": True, "stand_off": True}, None
        )
    alone = tmp_path / "alone"
    place.rename(alone)
    with pytest.raises(InputError, match="--trees needs the source"):
        release.run(ReleaseSettings(candidates=alone, out=tmp_path / "o", trees=True))


def test_a_release_without_trees_is_as_before(released: Path, tmp_path: Path) -> None:
    """Without the flag there is no such column, and a release that has it can be released without."""
    release.run(
        ReleaseSettings(candidates=released, out=tmp_path / "bare", corpus=tmp_path / "corpus")
    )
    (shard,) = (tmp_path / "bare/data").iterdir()
    assert pq.read_schema(shard).names == RELEASED.names
    assert "trees" not in read_json(tmp_path / "bare/manifest.json")
    validate.run(ValidateSettings(place=tmp_path / "bare"))


def test_trees_that_are_gone_are_not_described(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """Where not one candidate has the tree that is asked for, no card says what the columns would hold."""
    sentences = world(16)
    write_trees(tmp_path / "corpus", sentences)
    place = candidate_folder(tmp_path / "corpus", attested(sentences))
    wanted = ReleaseSettings(
        candidates=place, out=tmp_path / "release", trees=True, trees_of="parser"
    )
    with pytest.raises(
        InputError, match="not one candidate has a tree of --trees-of parser: "
    ) as said:
        release.run(wanted)
    assert "a source sentence without such a tree (16)" in str(said.value)
    assert not (tmp_path / "release").exists()
