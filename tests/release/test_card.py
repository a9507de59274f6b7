"""The documents of a release for people: its card, licence and citation."""

import re
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
import shared_corpora
import yaml
from shared_corpora import NOUNS, candidate_folder

from pipeline.core.documents import read_json
from pipeline.core.markdown import code, grid, plain
from pipeline.corpus.layout import find_shards
from pipeline.corpus.statistics import summarise
from pipeline.release.card import write_documents
from pipeline.release.licence_files import bibtex, citation_file, hub_licence, licence_file
from pipeline.release.method_text import parsers
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run
from pipeline.sharing.rehydrate.command import run as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings

DOCUMENTS = ("README.md", "LICENSE", "CITATION.cff", "croissant.json")


def released(
    corpus: Path, out: Path, rows: int = 60, license_: str = "CC0-1.0", **also: Any
) -> Path:
    """The release of a small corpus, in two shards of each configuration."""
    candidates = candidate_folder(corpus, rows, license_=license_)
    run(ReleaseSettings(candidates=candidates, out=out, **{"shards": 2, **also}))
    return out


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("card")
    return released(place / "toy", place / "out")


@pytest.fixture(scope="module")
def stand_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bare")
    licence = "CC-BY-3.0 AND LicenseRef-PubMed"
    return released(place / "toy", place / "out", license_=licence, stand_off=True, shards=None)


def front_matter(folder: Path) -> dict[str, Any]:
    card: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    return card


def test_dataset_info_is_what_datasets_finds(release: Path, tmp_path: Path) -> None:
    """Features, rows and bytes of the front matter are those that `datasets` counts itself."""
    infos = {info["config_name"]: info for info in front_matter(release)["dataset_info"]}
    assert set(infos) == {"default", "rejected"}
    for config, info in infos.items():
        found = datasets.load_dataset(str(release), config, cache_dir=str(tmp_path))["train"]
        (split,) = info["splits"]
        counted = found.info.splits["train"]
        assert (split["num_examples"], split["num_bytes"]) == (len(found), counted.num_bytes)
        assert datasets.Features._from_yaml_list(info["features"]) == found.features
        folder = release / ("data" if config == "default" else "rejected")
        assert info["download_size"] == sum(p.stat().st_size for p in folder.iterdir())
        assert info["dataset_size"] == split["num_bytes"]


def test_card_counts_what_is_there(release: Path) -> None:
    """Rows, labels, reasons, digests and the model stand in the card as the files have them."""
    text = (release / "README.md").read_text()
    manifest = read_json(release / "manifest.json")
    summary = summarise(find_shards(release), None)
    assert (
        f"{manifest['rows']['train']} in `default`, {manifest['rows']['rejected']} refused" in text
    )
    for label, count in summary["labels"].items():
        assert re.search(rf"\| `{label}` \| {count} \|", text)
        assert (
            len(re.findall(rf"^- \*\*{label}\*\* `.*\[.+\] and \[.+\].*`", text, re.MULTILINE)) == 1
        )
    for reason, count in summary["reasons"].items():
        assert re.search(rf"\| `{reason}` \| .+ \| {count} \|", text)
    (generation,) = manifest["generations"].values()
    for said in (*manifest["digests"].values(), generation["model"], manifest["command"]):
        assert said in text
    assert front_matter(release)["size_categories"] == ["n<1K"]


def test_example_is_the_first_row_of_its_label(release: Path) -> None:
    """The card shows what comes first in the shuffled order, so nobody picked it."""
    rows = pq.read_table(sorted((release / "data").iterdir())).to_pylist()
    text = (release / "README.md").read_text()
    for label in {row["label"] for row in rows}:
        first = next(row for row in rows if row["label"] == label)
        (line,) = re.findall(rf"^- \*\*{label}\*\* `(.*)`", text, re.MULTILINE)
        assert line.replace("[", "").replace("]", "").split() == first["words"]


def test_stand_off_card_has_no_word_of_the_source(stand_off: Path) -> None:
    """The card of a stand-off release explains how to rebuild it and shows no source text."""
    text = (stand_off / "README.md").read_text()
    assert "conjoin rehydrate" in text
    assert read_json(stand_off / "manifest.json")["full_digests"]["train"] in text
    assert "clerk" not in text
    assert 'row["words"]' not in text
    assert {"license": "other", "license_link": "LICENSE"}.items() <= front_matter(
        stand_off
    ).items()
    for document in DOCUMENTS:
        content = (stand_off / document).read_text()
        assert not [noun for noun in NOUNS if f"kept the {noun}" in content]


def test_licence_file_names_every_licence_and_source(stand_off: Path) -> None:
    """Each part of an expression has its address, and sources the attribution they ask for."""
    manifest = read_json(stand_off / "manifest.json")
    text = licence_file(manifest, ["genia", "toy"])
    assert manifest["licenses"] == {"CC-BY-3.0 AND LicenseRef-PubMed": 58}
    assert "CC-BY-3.0 AND LicenseRef-PubMed (58 rows)" in text
    assert "(c) GENIA Project" in text
    assert "the corpus 'toy'" in text
    assert "Apache License" not in text
    free = licence_file(
        {**manifest, "licenses": {"Apache-2.0": 60}, "license": "Apache-2.0"}, ["world"]
    )
    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in free


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("Apache-2.0", "apache-2.0"),
        ("ODC-By-1.0", "odc-by"),
        ("CC-BY-4.0 OR MIT", "other"),
        ("LicenseRef-Mine", "other"),
    ],
)
def test_hub_knows_the_licence_or_gets_its_name(expression: str, said: str) -> None:
    """A licence that the hub has no name for is `other` with a name and the file."""
    card = hub_licence(expression)
    assert card["license"] == said
    assert ("license_name" in card and card["license_link"] == "LICENSE") == (said == "other")


def test_same_input_gives_the_same_bytes(release: Path) -> None:
    """Written again, the documents do not change: there are no dates in them."""
    before = {name: (release / name).read_bytes() for name in DOCUMENTS}
    manifest = read_json(release / "manifest.json")
    corpus = release.parent / "toy"
    write_documents(release, manifest, summarise(find_shards(release), corpus))
    assert {name: (release / name).read_bytes() for name in DOCUMENTS} == before


def test_citation_file_has_what_cff_requires(release: Path) -> None:
    """CITATION.cff 1.2.0: required keys, type dataset, people and others as authors, the paper."""
    cff = yaml.safe_load((release / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cff.keys()
    assert (cff["cff-version"], cff["type"], cff["authors"]) == (
        "1.2.0",
        "dataset",
        [{"name": "conjoin"}],
    )
    (paper,) = cff["references"]
    assert {"type", "title", "authors"} <= paper.keys()
    manifest = read_json(release / "manifest.json") | {"authors": ["Doe, Jane", "Lab {X}_1"]}
    authors = yaml.safe_load(citation_file(manifest))["authors"]
    assert authors == [{"family-names": "Doe", "given-names": "Jane"}, {"name": "Lab {X}_1"}]
    assert r"author    = {Doe, Jane and {Lab X \_1}}" in bibtex(manifest)


def test_text_of_corpora_is_never_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backticks, bars, tags and brackets in a fill stay text on the card."""
    monkeypatch.setattr(shared_corpora, "FILLS", ("a `<script>|x` {}",))
    out = released(tmp_path / "toy", tmp_path / "out", 20)
    lines = (out / "README.md").read_text().splitlines()
    shown = [line for line in lines if re.search(r"\bscript", line)]
    assert shown
    assert all(
        re.fullmatch(r"- \*\*\w+\*\* `` .*<.*script.* `` \(score .*\)", line) for line in shown
    )
    assert plain("*a* [b](c) <d> `e`\n# f_g") == r"\*a\* \[b\](c) &lt;d&gt; \`e\` \# f\_g"
    assert grid(["a"], [[code("x|y")]]).endswith("| `x\\|y` |")


def test_card_of_a_hub_release_loads_by_its_name(tmp_path: Path) -> None:
    """With the address of a hub repository the card says its name wherever rows are loaded."""
    url = "https://huggingface.co/datasets/jane/toy"
    out = released(tmp_path / "toy", tmp_path / "out", 20, url=url, author=["Doe, Jane"])
    text = (out / "README.md").read_text()
    assert 'load_dataset("jane/toy", split="train")' in text
    assert f"url       = {{{url}}}" in text


def test_card_of_a_rebuilt_release_says_that_it_stays_here(stand_off: Path, tmp_path: Path) -> None:
    """Whoever rebuilds what is not free reads at the top of its card that he must not hand it on."""
    out = tmp_path / "full"
    rehydrate(RehydrateSettings(release=stand_off, source=stand_off.parent / "toy", out=out))
    text = (out / "README.md").read_text()
    assert "**This folder was rebuilt from a stand-off release" in text
    assert "conjoin rehydrate" not in text.split("## How it was made")[0]


def test_card_without_rejects_has_one_configuration(tmp_path: Path) -> None:
    """A corpus of which nothing was refused declares no configuration that has no files."""
    out = released(tmp_path / "toy", tmp_path / "out", 5, shards=1)
    assert [c["config_name"] for c in front_matter(out)["configs"]] == ["default"]
    text = (out / "README.md").read_text()
    assert "Nothing was refused." in text
    assert '"rejected"' not in text


def test_parser_is_named_if_its_trees_are_those_of_the_rows(release: Path) -> None:
    """A source's trees name the parser only where a run says that it read these very trees."""
    manifest = read_json(release / "manifest.json")
    (used,) = (g["inputs"]["trees"] for g in manifest["generations"].values())
    for digest, found in ((used, ["stanza:train:1"]), ("0" * 64, [None])):
        source = {"corpus": "toy", "trees": {"sha256": digest, "parser": "stanza:train:1"}}
        assert parsers(manifest | {"sources": [source]}) == found
