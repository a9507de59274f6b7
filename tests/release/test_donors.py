"""Attested fills in what shares corpora: released, rebuilt, read from earlier versions, united, exported."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from damaged import rewrite
from datasets import load_dataset
from shared_corpora import candidate_folder, source, without_donors

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_candidates, sentence_row
from pipeline.core.types import Candidate
from pipeline.corpus.layout import find_shards
from pipeline.corpus.statistics import summarise
from pipeline.release import stage as release
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.browse.command import open_corpus
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge.command import merge
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of free and attested fills, released with text and without."""
    folder = tmp_path_factory.mktemp("attested")
    candidates = candidate_folder(folder / "toy", attested=True)
    for name, stand_off in (("full", False), ("bare", True)):
        release.run(
            ReleaseSettings(candidates=candidates, out=folder / name, stand_off=stand_off, shards=2)
        )
    return folder


def rows(folder: Path, pattern: str = "*/train-*.parquet") -> list[dict[str, Any]]:
    return [r for f in sorted(folder.glob(pattern)) for r in pq.ParquetFile(f).read().to_pylist()]


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_a_stand_off_release_points_to_donors(made: Path) -> None:
    """It has no word of an attested fill, and withholds none of them."""
    bare, full = rows(made / "bare"), rows(made / "full")
    pointing = [row for row in bare if row["donor"]]
    assert len(pointing) == sum(row["donor"] is not None for row in full) > 30
    assert all(row["fill"] is row["fill_words"] is None for row in pointing)
    assert all(row["fill"] is not None for row in bare if not row["donor"])


def test_rehydrated_rows_are_those_released(made: Path, tmp_path: Path) -> None:
    """Words, fill, donor and digest, down to the bytes of the shards."""
    rehydrate.run(
        RehydrateSettings(release=made / "bare", source=made / "toy", out=tmp_path / "again")
    )
    full, again = manifest(made / "full"), manifest(tmp_path / "again")
    shards = [[s for s in m["shards"] if s["config"] == "train"] for m in (full, again)]
    assert shards[0] == shards[1]
    assert full["digests"]["train"] == again["digests"]["train"]
    validate.run(ValidateSettings(place=tmp_path / "again"))
    validate.run(ValidateSettings(place=made / "bare"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (6, r"\(their donor is not in it: \d+ rows, first toy/"),
        (12, "rebuilt to other words than were released"),
    ],
)
def test_a_donor_that_does_not_fit_is_one_error(
    words: int, message: str, made: Path, tmp_path: Path
) -> None:
    """A source whose donors are shorter, or say something else; nothing is written."""
    every = [source(n) for n in range(60)]
    used = {row["donor"]["sentence_id"] for row in rows(made / "bare") if row["donor"]}
    changed = [
        sentence_row(s)
        | ({"words": [*s.words[:5], *"nopqrst"][:words]} if s.sentence_id in used else {})
        for s in every
    ]
    write_rows(tmp_path / "sentences.parquet", SENTENCES, changed)
    with pytest.raises(InputError, match=message):
        rehydrate.run(RehydrateSettings(release=made / "bare", source=tmp_path, out=tmp_path / "r"))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("stand_off", [False, True])
def test_a_release_of_an_earlier_version_is_valid(
    stand_off: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the column its digests hold, and it is rebuilt as before."""
    candidates = candidate_folder(tmp_path / "toy")
    release.run(ReleaseSettings(candidates=candidates, out=tmp_path / "old", stand_off=stand_off))
    digests = manifest(tmp_path / "old")["digests"]
    for path in (tmp_path / "old").rglob("*.parquet"):
        without_donors(path)
    document = manifest(tmp_path / "old") | {"format": 1}
    (tmp_path / "old/manifest.json").write_text(json.dumps(document))
    rewrite_sums(tmp_path / "old")
    assert manifest(tmp_path / "old")["digests"] == digests
    validate.run(ValidateSettings(place=tmp_path / "old"))
    assert "no violations" in capsys.readouterr().out
    assert summarise(find_shards(tmp_path / "old"), None)["attested"] == {"rows": 0, "donors": 0}
    if stand_off:
        rehydrate.run(
            RehydrateSettings(
                release=tmp_path / "old", source=tmp_path / "toy", out=tmp_path / "again"
            )
        )
        assert all(row["donor"] is None for row in rows(tmp_path / "again"))


def rewrite_sums(folder: Path) -> None:
    """Let manifest and checksums name the files as they are, with the digests that they had."""
    document = manifest(folder)
    for entry in document["shards"]:
        facts = FileFacts.of(folder / entry["file"], entry["rows"])
        entry |= {"bytes": facts.bytes, "sha256": facts.sha256}
    (folder / "manifest.json").write_text(json.dumps(document))
    write_checksums(folder)


def test_an_old_and_a_new_corpus_unite(made: Path, tmp_path: Path) -> None:
    """Rows of both, null donors for those of the old one."""
    release.run(
        ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", seed=1), out=tmp_path / "old")
    )
    digest = manifest(tmp_path / "old")["digests"]["train"]
    for path in (tmp_path / "old").rglob("*.parquet"):
        without_donors(path)
    rewrite_sums(tmp_path / "old")
    merged = merge([find_shards(tmp_path / "old"), find_shards(made / "full")], tmp_path / "both")
    assert merged["merged"][0]["digests"]["train"] == digest
    found = rows(tmp_path / "both", "candidates-*.parquet")
    assert {row["donor"] is None for row in found} == {True, False}
    shards = sorted((tmp_path / "both").glob("candidates-*.parquet"))
    assert all(isinstance(each, Candidate) for path in shards for each in read_candidates(path))


def test_exports_name_the_donor(made: Path, tmp_path: Path) -> None:
    """JSON lines have it as an object, CoNLL-U in comments, brat in the note."""
    (row, *_) = [row for row in rows(made / "full", "data/*") if row["donor"]]
    donor = row["donor"]
    for form in ("jsonl", "conllu", "brat", "ptb-ext"):
        export.run(ExportSettings(place=made / "full", format=form, out=tmp_path / form))
    lines = map(json.loads, (tmp_path / "jsonl").read_text().splitlines())
    (line,) = [each for each in lines if each["candidate_id"] == row["candidate_id"]]
    assert line["donor"] == {"sentence_id": donor["sentence_id"], "span": [5, 9]}
    comments = f"# donor_sentence = {donor['sentence_id']}\n# donor_words = 6-9\n"
    assert comments in (tmp_path / "conllu").read_text()
    notes = "".join(p.read_text() for p in (tmp_path / "brat").glob("*.ann"))
    assert f"fill from {donor['sentence_id']} [5, 9)" in notes


def test_browse_and_stats_know_donors(made: Path, tmp_path: Path) -> None:
    """The page has where each fill is from, and stats counts rows and places."""
    every = [row for row in rows(made / "full", "data/*") if row["donor"]]
    attested = summarise(find_shards(made / "full"), None)["attested"]
    places = {tuple(row["donor"].values()) for row in every}
    assert attested == {"rows": len(every), "donors": len(places)}
    settings = BrowseSettings(place=made / "full", export=tmp_path / "page.html", sample=1000)
    with open_corpus(settings, find_shards(made / "full")) as corpus:
        shown = {row["id"]: row["donors"] for row in corpus.everything()}
    for row in every:
        donor = {"sentence": row["donor"]["sentence_id"], "span": [5, 9]}
        assert shown[row["candidate_id"]] == [donor]


def test_the_card_says_where_fills_are_from(made: Path) -> None:
    """Ranked constituents of other sentences; both papers; and a loader knows the column."""
    for name in ("full", "bare"):
        card = (made / name / "README.md").read_text()
        assert "then ranked 16 constituents of the same label" in card
        assert "-attested-" in read_json(made / name / "manifest.json")["name"]
        assert "Substructure Substitution" in card
        assert "wrote the second conjunct into" not in card
        assert "findings-acl.307" in (made / name / "CITATION.cff").read_text()
        loaded = load_dataset(str(made / name), split="train")
        assert any(loaded["donor"])
        croissant = json.loads((made / name / "croissant.json").read_text())
        fields = {f["name"]: f for f in croissant["recordSet"][0]["field"]}
        assert [f["name"] for f in fields["donor"]["subField"]] == ["sentence_id", "start", "end"]


def donor(**change: object) -> dict[str, object]:
    return {"sentence_id": "toy/000001", "start": 5, "end": 9, **change}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"donor": donor(start=-1, end=3)}, "span outside sentence"),
        ({"donor": donor(start=9, end=9)}, "empty span"),
        ({"donor": donor(end=10)}, "donor differs from its conjunct"),
        ({"donor": donor(sentence_id=" ")}, "id missing"),
        ({"donor": donor(start=None)}, "null value"),
        ({"donor": "own"}, "donor in the source sentence"),
        ({"fill": "other words"}, "fill differs from its conjunct"),
    ],
)
@pytest.mark.parametrize("name", ["full", "bare"])
def test_each_fault_of_a_donor_is_found(
    name: str, change: dict[str, Any], kind: str, made: Path, tmp_path: Path,
    *, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """In a release with text and in one without, where a text beside a donor is the fault."""
    shutil.copytree(made / name, tmp_path / "bad")

    def damage(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        at = next(i for i, row in enumerate(found) if row["donor"])
        found[at] |= change
        if change.get("donor") == "own":
            found[at]["donor"] = donor(sentence_id=found[at]["sentence_id"])
        return found

    rewrite(tmp_path / "bad", "data/train-00000-of-00002.parquet", damage)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=tmp_path / "bad", json_=True))
    found = json.loads(capsys.readouterr().out)["violations"]
    text = "text of a donor" if "fill" in change and name == "bare" else kind
    assert text in found


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"words": ["other", "words"] * 6}, "donor differs from the corpus"),
        ({"words": ["too", "short"]}, "donor differs from the corpus"),
        ({"sentence_id": "another"}, "donor not in the corpus"),
        (None, "sources that cannot be checked"),
    ],
)
def test_donors_of_candidates_are_held_against_their_corpus(
    change: dict[str, Any] | None, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a corpus that has changed every such row is counted; a copy elsewhere is not asked about it."""
    folder = candidate_folder(tmp_path / "toy", attested=True)
    validate.run(ValidateSettings(place=folder))
    found = rows(folder, "*-*.parquet")
    wanted = sum(
        bool(row["donor"]) and row["donor"]["sentence_id"] == "toy/000004" for row in found
    )
    assert wanted == 1
    sentences = tmp_path / "toy/sentences.parquet"
    if change is None:
        sentences.write_bytes(b"PAR1")
        wanted = 1
    else:
        changed = [sentence_row(source(n)) for n in range(60)]
        changed[4] |= change
        write_rows(sentences, SENTENCES, changed)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=folder, json_=True))
    violations = json.loads(capsys.readouterr().out)["violations"]
    assert {name: each["count"] for name, each in violations.items()} == {kind: wanted}
    shutil.copytree(folder, tmp_path / "elsewhere")
    validate.run(ValidateSettings(place=tmp_path / "elsewhere"))
