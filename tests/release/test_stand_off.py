"""Releases without the text: no sentence of the source survives, and who has the source gets it all back."""

import json
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared_corpora import candidate_folder, source

from pipeline.core.errors import ConjoinError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.parquet import write_rows
from pipeline.core.schema import (
    CANDIDATES,
    REJECTS,
    SENTENCES,
    candidate_row,
    reject_row,
    sentence_row,
)
from pipeline.core.tally import Tally
from pipeline.core.types import Candidate, Reference, Reject, Sentence, Span
from pipeline.corpus.rows import STAND_OFF, STAND_OFF_REJECTS
from pipeline.executor.units import UnitFolder
from pipeline.infill.base import Fill
from pipeline.infill.candidates import make_candidate
from pipeline.release import stage as release
from pipeline.release.readable import meaning
from pipeline.release.settings import ReleaseSettings
from pipeline.release.shards import SOURCE, with_source
from pipeline.release.stand_off import REPEATS, STRANGE, Repeats
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.text.columns import natural_columns
from pipeline.text.natural import join_words

COUNT = 36
LEAKS = (  # what a language model that learned the source by heart could write
    "the {noun}",  # the reference itself
    "THE {noun}",
    "{next}",  # another whole sentence
    "a lamp; {next} and so on",
    "{next_upper}",
    "near the door of nothing",  # four words of its own sentence
    "Near  the, door OF the house",
    "don't go ( there ) now",  # a short sentence with other words in the treebank
    "so x + y = z !",  # a formula
    "the cafes sell re\u0301sume\u0301s",  # other accents, or none
    "Caf\u00e9s sell  r\u00e9sum\u00e9s!",
    "Mr. Vinken agreed, and so on",  # other punctuation
    "a lamp, I am: a ox",
    "the dog runs",  # with the coordinator before it a sentence
    "the old boat",
    "",
    "...",
    "a dog runs",
)
OPEN = {"the old boat", "", "...", "a dog runs"}
ODD = (
    ["Do", "n't", "go", "(", "there", ")", "now"],
    ["x", "+", "y", "=", "z"],  # letters: digits may stand in a size or a digest by chance
    ["Cafe\u0301s", "sell", "r\u00e9sum\u00e9s", "."],
    ["Mr.", "Vinken", "agreed", "."],
    ["I", "am", "a", "ox"],
    ["And", "the", "dog", "runs"],
    ["Yes", "."],
)
ODD_COORDINATOR = "and-so-on-and-so-forth"


def sentences() -> list[Sentence]:
    license_ = "LDC-User-Agreement"
    plain = [source(n, license_) for n in range(COUNT + 1)]
    odd = [
        Sentence(f"odd/{n}", "d", "dev", tuple(words), None, None, (), license_)
        for n, words in enumerate(ODD)
    ]
    return plain + odd


def leaking_folder(corpus: Path) -> Path:
    """Candidates whose fills repeat the source in every way, and one whose coordinator could be text."""
    every = sentences()
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, every))
    made: list[Candidate | Reject] = []
    for n in range(COUNT):
        words = every[n].words
        following = join_words(every[n + 1].words).text
        text = LEAKS[n % len(LEAKS)].format(
            noun=words[4], next=following, next_upper=following.upper()
        )
        reference = Reference(every[n].sentence_id, words, Span(3, 5), "NP", every[n].license)
        made.append(make_candidate(reference, Fill(text, -1.0, -1.0, None), "and"))
    reference = Reference("toy/000000", every[0].words, Span(3, 5), "NP", every[0].license)
    made.append(make_candidate(reference, Fill("a boat", None, None, None), ODD_COORDINATOR))
    out = corpus / "candidates/t5-sync/seed-0"
    facts = {"lm": "t5", "sync": True, "coordinator": ODD_COORDINATOR}
    made_of = Fingerprint(facts, model="sha256:00")
    folder = UnitFolder(out, 1, {"candidates": CANDIDATES, "rejects": REJECTS}, made_of)
    folder.begin()
    kept = [candidate_row(row) for row in made if isinstance(row, Candidate)]
    refused = [row for row in made if isinstance(row, Reject)]
    tally = Tally(len(kept), Counter(row.reason for row in refused))
    folder.write(0, {"candidates": kept, "rejects": list(map(reject_row, refused))}, tally)
    folder.write_manifest()
    return out


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus folder, with its candidates and their stand-off release as ``release``."""
    corpus = tmp_path_factory.mktemp("leaking") / "toy"
    folder = leaking_folder(corpus)
    release.run(
        ReleaseSettings(
            candidates=folder, out=corpus / "release", corpus=corpus, stand_off=True, shards=2
        )
    )
    return corpus


def rows(folder: Path, pattern: str = "*/train-*.parquet") -> list[dict[str, Any]]:
    return [r for f in sorted(folder.glob(pattern)) for r in pq.ParquetFile(f).read().to_pylist()]


def texts(row: Mapping[str, Any]) -> list[str]:
    """What can be read in a row of generated text: its columns, alone and after the coordinator."""
    strings = [each for each in row.values() if isinstance(each, str)]
    word = row.get("word") or ""
    return [*strings, f"{word} {row['fill']}", " ".join([word, *(row.get("fill_words") or [])])]


def letters(text: str) -> str:
    """Letters and digits without accents in one case, written otherwise than the code does it."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isalnum()).lower()


def test_no_source_sentence_survives(leaking: Path) -> None:
    """None of four or more words, by letters and digits, in any row or file of the release."""
    folder = leaking / "release"
    everything = [letters(text) for row in rows(folder) for text in texts(row)]
    for path in (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".parquet"):
        everything.append(letters(path.read_text()))
    raw = b"".join(path.read_bytes() for path in folder.rglob("*.parquet"))
    long = [each for each in sentences() if len(each.words) >= 4]
    assert len(long) == COUNT + 1 + len(ODD) - 1
    for sentence in long:
        assert not any(letters(" ".join(sentence.words)) in text for text in everything)
        for text in (" ".join(sentence.words), join_words(sentence.words).text):
            assert text.encode() not in raw


def test_the_leaks_are_leaks(leaking: Path) -> None:
    """The check above can fail: the candidates' fills, of which some are withheld, hold whole sentences."""
    files = (leaking / "candidates/t5-sync/seed-0").glob("*-00000-of-00001.parquet")
    before = [
        letters(text)
        for file in files
        for row in pq.read_table(file).to_pylist()
        for text in texts({**row, "word": "and"})
    ]
    long = [letters(" ".join(each.words)) for each in sentences() if len(each.words) >= 4]
    assert sum(any(each in text for text in before) for each in long) >= COUNT // 6 + len(ODD) - 1


def test_what_repeats_is_withheld_and_nothing_else(leaking: Path) -> None:
    """All but four of the kinds of fill, and the row with an odd coordinator; both are counted."""
    found = rows(leaking / "release")
    released = COUNT * len(OPEN) // len(LEAKS)
    assert len(found) == released
    assert {row["fill"] for row in found} == OPEN
    assert ODD_COORDINATOR not in {row["word"] for row in found}
    manifest = json.loads((leaking / "release/manifest.json").read_text())
    assert sum(manifest["rows"].values()) == released
    withheld = Counter[str]()
    for reasons in manifest["withheld"].values():
        withheld.update(reasons)
    assert withheld == {REPEATS: COUNT - released, STRANGE: 1}
    card = (leaking / "release/README.md").read_text()
    for config, reasons in manifest["withheld"].items():
        for why, count in reasons.items():
            name = "default" if config == "train" else config
            said = rf"Withheld .* of `{name}`: .*\b{count} rows \({why}\)"
            assert re.search(said, card)
    for pattern, schema in (("data/*", STAND_OFF), ("rejected/*", STAND_OFF_REJECTS)):
        for file in (leaking / "release").glob(pattern):
            assert pq.read_schema(file).equals(schema)


def test_rehydrated_is_what_a_full_release_would_be(leaking: Path, tmp_path: Path) -> None:
    """Rows but for those withheld, order, shards and digests; and it says of itself what it is."""
    rehydrate.run(
        RehydrateSettings(release=leaking / "release", source=leaking, out=tmp_path / "r")
    )
    stand_off, full = (
        json.loads((folder / "manifest.json").read_text())
        for folder in (leaking / "release", tmp_path / "r")
    )
    assert full["digests"] == stand_off["full_digests"]
    assert (full["stand_off"], full["rehydrated"]) == (False, True)
    assert "full_digests" not in full
    release.run(
        ReleaseSettings(
            candidates=tmp_path / "r", corpus=leaking, out=tmp_path / "again", stand_off=True
        )
    )
    again = json.loads((tmp_path / "again/manifest.json").read_text())
    assert again["withheld"] == stand_off["withheld"]
    released = {row["candidate_id"] for row in rows(leaking / "release")}
    original = [
        row
        for row in rows(leaking / "candidates/t5-sync/seed-0", "*.parquet")
        if row["candidate_id"] in released
    ]
    rebuilt = rows(tmp_path / "r")
    assert len(rebuilt) == len(original) == len(released)
    for row in original:
        wanted = row | natural_columns(row["words"])
        assert wanted in [
            {key: each[key] for key in wanted} for each in rebuilt if wanted.keys() <= each.keys()
        ]
    with pytest.raises(ConjoinError, match="forbids handing on"):
        release.run(ReleaseSettings(candidates=tmp_path / "r", out=tmp_path / "x"))
    with pytest.raises(ConjoinError, match="this has its text already"):
        rehydrate.run(RehydrateSettings(release=tmp_path / "r", source=leaking, out=tmp_path / "x"))
    (tmp_path / "r/manifest.json").unlink()
    with pytest.raises(ConjoinError, match="this has no manifest"):
        rehydrate.run(RehydrateSettings(release=tmp_path / "r", source=leaking, out=tmp_path / "x"))


def test_where_the_licence_permits_both_the_files_are_equal(tmp_path: Path) -> None:
    """A full release and a rehydrated one of the same rows have the same bytes of data.

    Refused rows whose fill is the reference are withheld from the latter.
    """
    folder = candidate_folder(tmp_path / "toy")
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "full", shards=3))
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "bare", shards=3, stand_off=True))
    source_file = tmp_path / "toy/sentences.parquet"
    rehydrate.run(
        RehydrateSettings(release=tmp_path / "bare", source=source_file, out=tmp_path / "again")
    )
    full, again = (
        json.loads((tmp_path / n / "manifest.json").read_text()) for n in ("full", "again")
    )
    for key in ("seed", "name", "version", "sources"):
        assert full[key] == again[key]
    assert again["withheld"] == {"train": {}, "rejected": {REPEATS: 2}}
    assert [s for s in full["shards"] if s["config"] == "train"] == [
        s for s in again["shards"] if s["config"] == "train"
    ]
    assert full["digests"]["train"] == again["digests"]["train"]
    assert [
        row
        for row in rows(tmp_path / "full", "rejected/*.parquet")
        if row["reason"] != "fill equal to the reference"
    ] == rows(tmp_path / "again", "rejected/*.parquet")


def changed_source(folder: Path, kind: str) -> Path:
    every = sentences()
    if kind == "missing":
        every = [s for s in every if s.sentence_id not in {"toy/000014", "toy/000032"}]
    elif kind == "other":
        every = [
            Sentence(s.sentence_id, "d", s.split, (*s.words[:-1], "!"), None, None, (), s.license)
            for s in every
        ]
    elif kind == "twice":
        every = [*every, every[0]]
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, every))
    return folder


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", r"\(their sentence is not in it: 2 rows, first toy/0000(14|32)"),
        ("other", r"\(rebuilt to other words than were released: 8 rows, first toy/\d+"),
        ("twice", "two sentences have the same id"),
        ("none", "no such corpus"),
    ],
)  # fmt: skip
def test_a_wrong_source_is_refused(kind: str, message: str, leaking: Path, tmp_path: Path) -> None:
    """One line on what is missing or different; nothing is written."""
    given = tmp_path / "source"
    given.mkdir()
    if kind != "none":
        changed_source(given, kind)
    with pytest.raises(ConjoinError, match=message):
        rehydrate.run(
            RehydrateSettings(release=leaking / "release", source=given, out=tmp_path / "r")
        )
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_another_digest_is_refused(leaking: Path, tmp_path: Path) -> None:
    """Whatever else is as it was: the rows are held against the digest that the manifest has of them."""
    shutil.copytree(leaking / "release", tmp_path / "lying")
    manifest = json.loads((tmp_path / "lying/manifest.json").read_text())
    manifest["full_digests"]["train"] = "0" * 64
    write_json(tmp_path / "lying/manifest.json", manifest)
    with pytest.raises(ConjoinError, match="come out with another digest"):
        rehydrate.run(
            RehydrateSettings(release=tmp_path / "lying", source=leaking, out=tmp_path / "r")
        )
    assert not (tmp_path / "r").exists()


def test_stand_off_needs_the_whole_source(tmp_path: Path) -> None:
    """It is looked for above the candidates; without it, or with part of it, nothing is written."""
    folder = candidate_folder(tmp_path / "toy", 20)
    moved = shutil.move(folder, tmp_path / "moved")
    with pytest.raises(ConjoinError, match=r"--stand-off needs the source.*--corpus"):
        release.run(ReleaseSettings(candidates=moved, out=tmp_path / "r", stand_off=True))
    candidate_folder(tmp_path / "small", 10)
    with pytest.raises(
        ConjoinError, match="10 rows are of sentences that this corpus does not have"
    ):
        release.run(
            ReleaseSettings(
                candidates=moved, out=tmp_path / "r", stand_off=True, corpus=tmp_path / "small"
            )
        )
    assert not (tmp_path / "r").exists()


def test_nothing_is_released_where_everything_repeats(tmp_path: Path) -> None:
    """One line, and no folder."""
    with pytest.raises(ConjoinError, match="all usable candidates are withheld"):
        stand_off_of(tmp_path, [made_of_merger("the secret merger closed")], MERGER)
    assert not (tmp_path / "r").exists()


SOURCE_WORDS = ["The", "clerk", "kept", "the", "lamp", "near", "the", "door", "."]
CORPUS = [
    SOURCE_WORDS,
    ["She", "did", "n't", "say", "so"],
    ["a", "<", "b", "<", "c"],
    ["So", "it", "is"],
    ["And", "so", "he", "left", "."],
    ["Zoe\u0308", "et", "\ufb01ls", "."],
    ["``", "Well", ",", "''"],
]


@pytest.mark.parametrize(
    ("fill", "words", "repeats"),
    [
        ("The Lamp", ["The", "Lamp"], True),  # the reference
        ("the l\u00e1mp", ["the", "l\u00e1mp"], True),
        ("a kept the lamp near it", ["a", "kept", "the", "lamp", "near", "it"], True),
        ("kept the, lamp near", ["kept", "the", ",", "lamp", "near"], True),
        ("kept thelamp-n\u00ebar", ["kept", "thelamp-n\u00ebar"], True),  # other spacing
        ("kept the lamp", ["kept", "the", "lamp"], False),  # three words
        ("kept the lamp ne", ["kept", "the", "lamp", "ne"], False),  # and a part of one
        ("well, she didn't say so", ["well", ",", "she", "did", "n't", "say", "so"], True),
        ("where a<b <c holds", ["where", "a<b", "<", "c", "holds"], True),
        ("ABC", ["ABC"], True),
        ("abcess", ["abcess"], False),
        ("so it is", ["so", "it", "is"], False),  # a sentence of three words
        ("so he left", ["so", "he", "left"], True),  # after the coordinator
        ("zoe et fils", ["zoe", "et", "fils"], True),
        ("ZO\u00cb et f\u00adils", ["ZO\u00cb", "et", "f\u00adils"], True),  # a soft hyphen
        ("well", ["well"], False),  # a single word may coincide
        ("the boat", ["the", "boat"], False),
    ],
)
def test_what_counts_as_repeating(fill: str, words: list[str], repeats: bool) -> None:
    """The reference, four words of its sentence in a row, any sentence of four words; not less."""
    found = Repeats(CORPUS).found("and", fill, words, SOURCE_WORDS, SOURCE_WORDS[3:5])
    assert found is repeats


def test_a_run_begins_with_the_coordinator() -> None:
    """Three words after the coordinator, which with it stand in the source, are four."""
    source_words = ["He", "came", "and", "the", "dog", "ran", "."]
    for word, repeats in (("and", True), ("or", False), (None, False)):
        found = Repeats([]).found(word, "the dog ran", ["the", "dog", "ran"], source_words, ["He"])
        assert found is repeats


def stand_off_of(corpus: Path, made: list[Candidate | Reject], words: str) -> Path:
    """What became of rows when the corpus has one sentence of these words under their id."""
    folder = UnitFolder(
        corpus / "candidates/t5-sync/seed-0", 1, {"candidates": CANDIDATES, "rejects": REJECTS},
        Fingerprint({"lm": "t5", "sync": True, "spans": "given"}, model="sha256:00"),
    )  # fmt: skip
    folder.begin()
    kept = [candidate_row(row) for row in made if isinstance(row, Candidate)]
    refused = [row for row in made if isinstance(row, Reject)]
    tally = Tally(len(kept), Counter(row.reason for row in refused))
    folder.write(0, {"candidates": kept, "rejects": list(map(reject_row, refused))}, tally)
    folder.write_manifest()
    other = Sentence("toy/000000", "d", "train", tuple(words.split()), None, None, (), "CC0-1.0")
    write_rows(corpus / "sentences.parquet", SENTENCES, [sentence_row(other)])
    release.run(
        ReleaseSettings(
            candidates=corpus / "candidates/t5-sync/seed-0", out=corpus / "r", stand_off=True
        )
    )
    return corpus / "r"


MERGER = "The secret merger closed on Monday ."


def made_of_merger(fill: str, label: str = "NP") -> Candidate | Reject:
    reference = Reference("toy/000000", tuple(MERGER.split()), Span(0, 3), label, "CC0-1.0")
    return make_candidate(reference, Fill(fill, -1.0, -1.0, None), "and")


@pytest.mark.parametrize(
    "words",
    [
        "Once upon a time there was .",
        "The secret merger .",  # the rest of the sentence would pass for the fill
        "The secret merger",
        "The secret merger closed on Monday !",
        "Before The secret merger closed on Monday .",
    ],
)
def test_rows_of_another_text_under_the_same_ids_are_refused(words: str, tmp_path: Path) -> None:
    """No sentence ingested since is taken for the source; one line with count, sentence and remedy."""
    made = [made_of_merger("a dog"), made_of_merger("two cats"), made_of_merger("")]
    message = r"3 rows are not what this corpus has .*toy/000000.*--corpus"
    with pytest.raises(ConjoinError, match=message):
        stand_off_of(tmp_path, made, words)
    assert not (tmp_path / "r").exists()


def test_a_label_that_could_be_text_is_refused(tmp_path: Path) -> None:
    """Labels stay readable, and those of `--spans given` may be twice as long."""
    assert stand_off_of(tmp_path / "a", [made_of_merger("a dog", "NP-SBJ")], MERGER).is_dir()
    with pytest.raises(ConjoinError, match=r"label 'THESECRETMERGER' could be text of the source"):
        stand_off_of(tmp_path / "b", [made_of_merger("a dog", "THESECRETMERGER")], MERGER)


def test_rows_keep_their_order_beside_their_source(leaking: Path) -> None:
    """Files one after the other, each row with its own sentence's words."""
    files = sorted((leaking / "release/data").glob("*.parquet"))
    words = {s.sentence_id: list(s.words) for s in sentences()}
    with with_source(files, STAND_OFF, leaking / "sentences.parquet") as batches:
        found = [row for batch in batches for row in batch.to_pylist()]
    assert [row["candidate_id"] for row in found] == [
        row["candidate_id"] for row in rows(leaking / "release", "data/*")
    ]
    assert all(row[SOURCE.name] == words[row["sentence_id"]] for row in found)


def smuggling(tmp_path: Path, column: str, value: str) -> None:
    """Release candidates and rejects without text, of which the first has a value of its own."""
    folder = candidate_folder(tmp_path / "toy", 20, units=1)
    manifest = json.loads((folder / "manifest.json").read_text())
    for shard in manifest["shards"]:
        file = folder / shard["file"]
        table = pq.ParquetFile(file).read()
        if column in table.schema.names:
            values = [value, *table[column].to_pylist()[1:]]
            field = table.schema.field(column)
            index = table.schema.get_field_index(column)
            table = table.set_column(index, field, pa.array(values, field.type))
            pq.write_table(table, file)
            shard["bytes"], shard["sha256"] = file.stat().st_size, sha256_of(file)
    write_json(folder / "manifest.json", manifest)
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "r", stand_off=True))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("candidate_id", "SRC The clerk0 kept the lamp near the door"),
        ("candidate_id", "0" * 24),
        ("reason", "The clerk kept the lamp near the door"),
        ("reason", "condition not met: The clerk kept the lamp"),
        ("reason", "label not among the, clerk"),
        ("reason", "beyond the first clerk"),
        ("license", "The clerk kept\nthe lamp"),
        ("license", "x" * 101),
    ],
)
def test_columns_that_stay_readable_hold_no_text(column: str, value: str, tmp_path: Path) -> None:
    """An id is the row's own hash, a reason one that conjoin gives, a licence a short line."""
    with pytest.raises(
        ConjoinError, match=rf"{column} .*could be text of the source.*again|id differs"
    ):
        smuggling(tmp_path, column, value)
    assert not (tmp_path / "r").exists()


def test_a_reason_that_repeats_the_source_is_withheld(tmp_path: Path) -> None:
    """What was asked for stands in a reason of `select`, and capitals could spell a sentence."""
    smuggling(tmp_path, "reason", "label not among NEAR, THE, DOOR, OF")
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["withheld"]["rejected"][REPEATS] == 1
    assert "NEAR" not in str(rows(tmp_path / "r"))


def test_reasons_of_select_may_be_handed_on(tmp_path: Path) -> None:
    """All that `select` gives are known, with what was asked for in them."""
    folder = candidate_folder(tmp_path / "toy")
    asked: dict[str, Any] = {
        "label": ["NP", "ADJP"], "words": "1-3", "min_score": -2.25, "max_score": -1.2,
        "where": "sentence_id <> 'toy/000002'", "limit": 3,
    }  # fmt: skip
    select.run(SelectSettings(places=[folder], out=tmp_path / "toy/chosen", **asked))
    release.run(
        ReleaseSettings(candidates=tmp_path / "toy/chosen", out=tmp_path / "r", stand_off=True)
    )
    card = (tmp_path / "r/README.md").read_text()
    refused = {row["reason"] for row in rows(tmp_path / "r", "rejected/*.parquet")}
    chosen = {
        "label not among ADJP, NP", "words of the fill not 1-3", "score below -2.25",
        "score above -1.2", "condition not met", "beyond the first 3",
    }  # fmt: skip
    assert chosen < refused
    for reason in refused:
        assert f"| `{reason}` | –" not in card
    for reason in (
        "no score",
        "score above 1e-05",
        "probability below 0.5",
        "words of the fill not 2-",
    ):
        assert meaning(reason)
    for reason in ("score below x", "no score at all", "condition not met: the lamp"):
        assert meaning(reason) is None


def test_a_manifest_that_repeats_the_source_is_refused(tmp_path: Path) -> None:
    """Its commands and settings are handed on, and a foreign one may say anything."""
    folder = candidate_folder(tmp_path / "toy", 20)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["settings"]["note"] = {"x": [" ".join(source(3).words)]}
    write_json(folder / "manifest.json", manifest)
    with pytest.raises(ConjoinError, match="holds a sentence of the source: 'The clerk3 kept"):
        release.run(ReleaseSettings(candidates=folder, out=tmp_path / "r", stand_off=True))
    assert not (tmp_path / "r").exists()
