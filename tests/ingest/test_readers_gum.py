"""GUM: its own split, a licence by genre, GENTLE as test2; the whole of it where the data are there."""

import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence
from pipeline.ingest.documents import Document
from pipeline.ingest.readers.gum import gum_licences
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.text.coordinations import WITHHELD

ARCHIVE = Path(__file__).resolve().parents[2] / "../shared/data/gum/gum-const.tar.xz"
NEEDS_GUM = pytest.mark.skipif(not ARCHIVE.exists(), reason=f"needs {ARCHIVE}")

TREE = "(ROOT\n  (S (NP-SBJ (NNS dogs) (CC and) (NNS cats)) (VP (VBD ran))\n    (. .)))\n\n"


def ingested(source: Path, out: Path, **given: Any) -> list[Sentence]:
    run(
        IngestSettings.build(
            {"reader": "gum", "source": source, "out": out, "labelled": [5], **given}, None
        )
    )
    return list(read_sentences(out / "sentences.parquet"))


def folder(place: Path, *names: str) -> Path:
    place.mkdir()
    for name in names:
        (place / f"{name}.ptb").write_text(TREE * 8)
    return place


LICENCES = {
    "GUM_academic_art": "CC-BY-4.0",
    "GUM_bio_chao": "CC-BY-SA-3.0",
    "GUM_conversation_atoms": "unknown",
    "GUM_court_fire": "CC-BY-4.0",
    "GUM_essay_food": "CC-BY-NC-SA-4.0",
    "GUM_fiction_moon": "CC-BY-NC-SA-3.0",
    "GUM_interview_ants": "CC-BY-2.5",
    "GUM_letter_zora": "CC-BY-NC-SA-4.0",
    "GUM_news_clock": "CC-BY-2.5",
    "GUM_podcast_llms": "CC-BY-NC-SA-4.0",
    "GUM_speech_data": "unknown",
    "GUM_textbook_grit": "unknown",
    "GUM_vlog_hair": "unknown",
    "GUM_voyage_cuba": "CC-BY-SA-3.0",
    "GUM_whow_basil": "CC-BY-NC-SA-3.0",
    "GENTLE_poetry_road": "unknown",
}
"""A document of each genre, and what GUM's LICENSE.txt says of it."""


def test_split_and_licence_by_document(tmp_path: Path) -> None:
    """Each genre has its licence; who the licence file does not name is unknown, and GENTLE is test2."""
    source = folder(tmp_path / "gum-trees", *LICENCES, "GUM_bio_byron", "GUM_bio_dvorak")
    found = ingested(source, tmp_path / "gum")
    assert {s.doc_id: s.license for s in found if s.doc_id in LICENCES} == LICENCES
    splits = {s.doc_id: s.split for s in found}
    assert splits["GENTLE_poetry_road"] == "test2"
    assert (splits["GUM_bio_byron"], splits["GUM_bio_dvorak"]) == ("dev", "test")
    assert splits["GUM_bio_chao"] == "train"
    assert found[0].sentence_id == "gum/GENTLE_poetry_road/1"
    card = read_json(tmp_path / "gum/ingest.json")
    assert set(card["splits"]) == {"train", "dev", "test", "test2"}
    absent = "document of a split list that the source lacks (counts documents)"
    assert card["refused"] == {absent: 281 - len(splits)}


@pytest.mark.parametrize("licence", ["CC0-1.0", "CC-BY-4.0", "unknown"])
def test_no_file_gives_leave_that_gum_does_not(tmp_path: Path, licence: str) -> None:
    """What its texts' licences forbid stays forbidden; what nobody knew can be named, and stricter terms."""
    source = folder(tmp_path / "gum-trees", "GUM_speech_data", "GUM_news_clock", "GUM_whow_basil")
    (tmp_path / "l.txt").write_text(f"* {licence}\n")
    given = {"licenses": tmp_path / "l.txt"}
    with pytest.raises(
        InputError, match=rf"GUM_(whow_basil|news_clock) is under CC-BY-[\w.-]+, and '{licence}'"
    ):
        ingested(source, tmp_path / "gum", **given)
    assert not (tmp_path / "gum").exists()
    (tmp_path / "l.txt").write_text(
        "GUM_speech_data CC-BY-4.0\nGUM_whow_basil LDC-User-Agreement\n"
    )
    found = ingested(source, tmp_path / "gum", **given)
    assert {s.doc_id: s.license for s in found} == {
        "GUM_speech_data": "CC-BY-4.0", "GUM_news_clock": "CC-BY-2.5",
        "GUM_whow_basil": "LDC-User-Agreement",
    }  # fmt: skip


def test_the_licence_of_other_genres_may_be_named() -> None:
    """Of those that are known it changes nothing."""
    documents = [Document(name, name, 1) for name in ("GUM_news_clock", "GUM_speech_data")]
    assert gum_licences(documents, "CC-BY-SA-4.0") == {
        "GUM_news_clock": "CC-BY-2.5", "GUM_speech_data": "CC-BY-SA-4.0",
    }  # fmt: skip


@pytest.mark.parametrize("reader", ["ptb", "ptb-ext", "genia"])
def test_no_option_gives_leave_that_a_corpus_does_not(tmp_path: Path, reader: str) -> None:
    """The readers whose licence is one know it."""
    given = {"reader": reader, "source": tmp_path, "out": tmp_path / "out"}
    with pytest.raises(SettingsError, match="permits more; leave --license out"):
        IngestSettings.build(given | {"license": "CC0-1.0"}, None)


@pytest.mark.parametrize("reader", ["genia", "world", "asked"])
def test_a_licence_that_no_row_would_have_is_refused(tmp_path: Path, reader: str) -> None:
    """Their rows have licences of their own."""
    given = {"reader": reader, "source": tmp_path, "out": tmp_path / "out"}
    with pytest.raises(SettingsError, match=f"{reader} says under which licences it is; leave"):
        IngestSettings.build(given | {"license": "LDC-User-Agreement"}, None)


def test_conllu_has_no_strict(tmp_path: Path) -> None:
    """What is no tree ends it anyway, and what is counted is well-formed."""
    given = {"reader": "conllu", "source": tmp_path, "out": tmp_path / "out", "strict": True}
    with pytest.raises(SettingsError, match="the reader conllu takes no --strict"):
        IngestSettings.build(given, None)


def test_words_that_are_withheld_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents from Reddit have underscores for words: no coordinator, no sentence, no text."""
    source = folder(tmp_path / "trees", "GUM_bio_chao")
    hidden = "(ROOT (S (NP (NNS ____) (CC ___) (NNS ____)) (VP (VBD ___)) (. _)))\n"
    (source / "GUM_reddit_macroeconomics.ptb").write_text(hidden * 8)
    found = ingested(source, tmp_path / "gum")
    assert {s.doc_id for s in found} == {"GUM_bio_chao"}
    assert "_" not in (tmp_path / "gum/text.txt").read_text()
    assert read_json(tmp_path / "gum/ingest.json")["refused"][WITHHELD] == 8
    assert f"{WITHHELD}: {source}/GUM_reddit_macroeconomics.ptb:1" in capsys.readouterr().out


def test_a_document_in_no_list_is_counted(tmp_path: Path) -> None:
    """A document that GUM's split does not name is not taken into any."""
    found = ingested(folder(tmp_path / "trees", "GUM_bio_chao", "GUM_bio_new"), tmp_path / "gum")
    assert {s.doc_id for s in found} == {"GUM_bio_chao"}
    refused = read_json(tmp_path / "gum/ingest.json")["refused"]
    assert refused["tree of a document in no split"] == 8


@pytest.mark.long
@NEEDS_GUM
def test_all_of_gum(tmp_path: Path) -> None:
    """Counts by split; and what the folder holds is what the archive holds."""
    found = ingested(ARCHIVE, tmp_path / "gum")
    assert Counter(s.split for s in found) == {
        "train": 10_224, "dev": 1_575, "test": 1_464, "test2": 1_334,
    }  # fmt: skip
    evaluable = Counter(s.split for s in found for _ in s.evaluable)
    assert evaluable == {"train": 4_402, "dev": 769, "test": 773, "test2": 476}
    assert len(found) == 14_597
    assert evaluable.total() == 6_420
    card = read_json(tmp_path / "gum/ingest.json")
    assert card["refused"] == {
        "document of a split list that the source lacks (counts documents)": 18,  # of Reddit
        "coordinator between phrases that are not alike (counts coordinators)": 717,
        "coordinator without conjuncts on both sides (counts coordinators)": 957,
    }
    for document, licence in LICENCES.items():
        assert {s.license for s in found if s.doc_id == document} == {licence}
    some = tmp_path / "some"
    (some / "const").mkdir(parents=True)
    with tarfile.open(ARCHIVE) as archive:  # extractall has no filter before Python 3.11.4
        for name in list(LICENCES)[:6]:
            member = archive.extractfile(f"const/{name}.ptb")
            assert member is not None
            (some / f"const/{name}.ptb").write_bytes(member.read())
    few = {f"gum/{name}" for name in list(LICENCES)[:6]}
    wanted = [s for s in found if s.sentence_id.rpartition("/")[0] in few]
    assert ingested(some, tmp_path / "again" / "gum") == wanted
