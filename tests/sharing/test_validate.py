"""``conjoin validate``: a good release has no violation, and each of these kinds of damage is named."""

import json
import os
import re
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import (
    OTHER,
    REJECTS,
    SHARD,
    Row,
    identified,
    make_release,
    replace,
    rewrite,
)
from shared_corpora import candidate_folder
from tiny import COORDINATION

from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.types import LABEL
from pipeline.corpus.novelty import REPEATED
from pipeline.corpus.rows import RELEASED, RELEASED_REJECTS
from pipeline.corpus.validity import checks
from pipeline.corpus.validity.identity import SPLIT_WORD
from pipeline.corpus.validity.rules import (
    EXAMPLE_RULES,
    RULES,
    SOURCE_HAS_SPECIAL,
    SPECIAL_IN_FILL,
)
from pipeline.infill import base, candidates
from pipeline.release import stage as release
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.browse import command as browse
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.push import command as push
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate import files as reading
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.sharing.validate.violations import printable
from pipeline.train.candidate_location import find_location
from pipeline.train.candidate_store import write_store

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release, a stand-off release of the same rows, and their candidates."""
    folder = tmp_path_factory.mktemp("good")
    make_release(folder / "release", folder / "toy")
    make_release(folder / "stand-off", folder / "toy", stand_off=True)
    return folder


def violations(place: Path, capsys: pytest.CaptureFixture[str], **more: Any) -> dict[str, Any]:
    """What ``--json`` prints under ``violations``; checks that the exit code fits it."""
    capsys.readouterr()
    code: object = 0
    try:
        validate.run(ValidateSettings(place=place, json_=True, **more))
    except SystemExit as end:
        code = end.code
    report = json.loads(capsys.readouterr().out)
    assert code == (1 if report["violations"] else 0)
    found: dict[str, Any] = report["violations"]
    return found


def span(start: int | None, end: int | None) -> dict[str, int | None]:
    return {"start": start, "end": end}


def row(change: Callable[[Row], Row], shard: str = SHARD, *, keep_id: bool = False) -> Damage:
    """Damage to row 3 of a shard (or the only such), under the id of what it then holds."""

    def damage(folder: Path) -> None:
        def changed(rows: list[Row]) -> list[Row]:
            new = rows[3] | change(rows[3])
            rows[3] = new if keep_id else identified(new)
            return rows

        rewrite(folder, shard, changed)

    return damage


def value(shard: str = SHARD, **columns: Any) -> Damage:
    """Other values in row 3, under its old id: of columns that are not part of it, or null."""
    return row(lambda _: columns, shard, keep_id=True)


def word(text: str, at: int = 0) -> Damage:
    """Another first word (which no conjunct has)."""
    return row(lambda old: {"words": [*old["words"][:at], text, *old["words"][at + 1 :]]})


def insert(text: str, words: list[str]) -> Damage:
    """Another fill."""

    def change(old: Row) -> Row:
        start, end = (old["conjuncts"][1][name] for name in ("start", "end"))
        sentence = [*old["words"][:start], *words, *old["words"][end:]]
        conjuncts = [old["conjuncts"][0], span(start, start + len(words))]
        return {"fill": text, "words": sentence, "conjuncts": conjuncts}

    return row(change)


def conjuncts(change: Callable[[dict[str, int], dict[str, int], int], list[Any]]) -> Damage:
    """Other conjuncts made of the first, the second and the coordinator."""
    return row(lambda old: {"conjuncts": change(*old["conjuncts"], old["coordinator"])})


def file(name: str, change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def in_manifest(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another manifest, with a right checksum."""

    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        write_json(folder / "manifest.json", manifest)
        write_checksums(folder)

    return damage


def text_manifest(text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / "manifest.json").write_text(text)
        write_checksums(folder)

    return damage


def columns(change: Callable[[pa.Table], pa.Table], shard: str = SHARD) -> Damage:
    return lambda folder: replace(folder, shard, change(pq.read_table(folder / shard)))


def alien(table: pa.Table) -> pa.Table:
    """Bytes in ``label`` that are not UTF-8, as a careless writer leaves them."""
    raw = [b"\xff\xfe", *(label.encode() for label in table["label"].to_pylist()[1:])]
    at = table.column_names.index("label")
    return table.set_column(at, "label", pa.array(raw, pa.binary()).view(pa.string()))


def exchanged(table: pa.Table) -> pa.Table:
    """``label`` holds the fills, and ``fill`` the labels."""
    names = {"label": "fill", "fill": "label"}
    return table.rename_columns([names.get(n, n) for n in table.column_names]).select(
        table.column_names
    )


def foreign_shard(folder: Path) -> None:
    """A shard of a release of another run lies among the others."""
    source = candidate_folder(folder.parent / f"{folder.name}-other", 8, first=90, units=1)
    table = pq.read_table(next(source.glob("candidates-*")))
    keys = pa.array(["0123456789abcdef"] * len(table))
    table = table.append_column(pa.field("generation", pa.string(), nullable=False), keys)
    pq.write_table(table, folder / "data/train-00000-of-00003.parquet")
    write_checksums(folder)


def repeat(change: Callable[[Row], Row]) -> Damage:
    """The first row of the other shard, changed, at the end of this one."""

    def damage(folder: Path) -> None:
        first = pq.read_table(folder / OTHER).slice(0, 1).to_pylist()[0]
        rewrite(folder, SHARD, lambda rows: [*rows, change(first)])

    return damage


COUNT, DIGEST = "row count differs from manifest", "row digest differs from manifest"
FILL = "fill differs from its conjunct"
OTHER_CONFIG = {"train": "rejected", "rejected": "train"}


def shifted(by: int) -> Damage:
    """The offsets of all words after the second, moved."""

    def change(old: Row) -> Row:
        moved = [span(s["start"] + by, s["end"] + by) for s in old["offsets"][2:]]
        return {"offsets": [*old["offsets"][:2], *moved]}

    return row(change, keep_id=True)


AT = RELEASED.get_field_index("coordinator")
TEXT, OFFSETS = "text differs from its words", "offsets differ from the words"

DAMAGE: list[tuple[str, Damage, set[str]]] = [
    # Text.
    ("another text", row(lambda old: {"text": old["text"].replace("door", "gate")}, keep_id=True), {TEXT}),
    ("two spaces", row(lambda old: {"text": old["text"].replace(" ", "  ", 1)}, keep_id=True), {TEXT}),
    ("more text", row(lambda old: {"text": old["text"] + " And more."}, keep_id=True), {TEXT}),
    ("offsets moved", shifted(1), {OFFSETS}),
    ("offsets of one word less", row(lambda old: {"offsets": old["offsets"][:-1]}, keep_id=True),
     {OFFSETS}),
    ("offsets before the text", shifted(-99), {OFFSETS, TEXT}),
    ("text without offsets", value(offsets=None), {"null value"}),
    ("offsets without text", value(text=None), {"null value"}),
    ("a null among the offsets",
     row(lambda old: {"offsets": [span(0, None), *old["offsets"][1:]]}, keep_id=True), {"null value"}),
    ("neither text nor offsets", value(text=None, offsets=None), set()),
    # Spans.
    ("span beyond the sentence", conjuncts(lambda a, b, k: [a, span(b["start"], 99)]),
     {"span outside sentence"}),
    ("span before the sentence", conjuncts(lambda a, b, k: [span(-1, 1), a, b]),
     {"span outside sentence", "reference differs from its conjunct"}),
    ("huge span", conjuncts(lambda a, b, k: [a, span(b["start"], 2**31 - 1)]), {"span outside sentence"}),
    ("empty span", conjuncts(lambda a, b, k: [a, b, span(b["end"], b["end"])]), {"empty span", FILL}),
    ("overlapping conjuncts", conjuncts(lambda a, b, k: [a, span(k - 1, k), b]),
     {"conjuncts overlap or out of order"}),
    ("conjuncts out of order", conjuncts(lambda a, b, k: [b, a]),
     {"conjuncts overlap or out of order", "coordinator outside", "reference differs from its conjunct",
      FILL}),
    ("one conjunct", conjuncts(lambda a, b, k: [a]),
     {"fewer than two conjuncts", "coordinator outside", FILL}),
    ("no conjunct", conjuncts(lambda a, b, k: []), {"fewer than two conjuncts"}),
    ("coordinator moved", row(lambda old: {"coordinator": old["coordinator"] + 1}),
     {"coordinator inside a conjunct", "not a coordinator"}),
    ("coordinator nowhere", row(lambda old: {"coordinator": -1}), {"coordinator outside"}),
    ("another word at the coordinator",
     row(lambda old: {"words": ["plus" if w == "and" else w for w in old["words"]]}),
     {"not a coordinator"}),
    ("a word more between conjuncts",
     row(lambda old: {
         "conjuncts": [span(old["conjuncts"][0]["start"], old["coordinator"] - 1), old["conjuncts"][1]],
         "reference": span(old["conjuncts"][0]["start"], old["coordinator"] - 1)}),
     {"text between conjuncts is not the coordinator"}),
    ("reference shifted", row(lambda old: {"reference": span(1, old["reference"]["end"])}),
     {"reference differs from its conjunct"}),
    # Nulls.
    ("null spans", value(conjuncts=None), {"null value"}),
    ("null in a span", value(reference=span(None, 4)), {"null value"}),
    ("null word", value(words=["The", None]), {"null value"}),
    ("null id", value(candidate_id=None), {"null value"}),
    # Text.
    ("mask token in text", word("[MASK]"), {"mask or sentinel in text"}),
    ("sentinel in the fill", insert("the <extra_id_0>", ["the", "<", "extra_id_0", ">"]),
     {"mask or sentinel in text"}),
    ("mask cut into words", row(lambda old: {"words": [*old["words"][:-3], "[", "MASK", "]"]}),
     {"mask or sentinel in text"}),
    ("control character", word("a\x1b[31mb"), {"control character in text"}),
    ("replacement character", word("caf\ufffd"), {"replacement character in text"}),
    ("word with a space", word("The old"), {"word with whitespace"}),
    ("empty word", word(""), {"empty word"}),
    ("another fill than the conjunct", value(fill="quite another"), {FILL}),
    ("not UTF-8", columns(alien), {"text not UTF-8"}),
    # Other values.
    ("unknown label", value(label="NPX"), {"invalid label"}),
    ("score not a number", value(score=float("nan")), {"score not finite"}),
    ("positive score", value(score_append=0.5), {"positive log-probability"}),
    ("no licence", value(license=" "), {"licence missing"}),
    ("unknown licence", value(license="Foo-1.0"), {"licence unknown"}),
    ("endless licence", value(license="(" * 5000), {"licence unknown", "licence too long"}),
    ("licence that forbids", value(license="LDC-User-Agreement"), {"text under a licence that forbids it"}),
    ("another run's row", value(generation="0123456789abcdef"), {"generation unknown"}),
    ("reject without reason", value(REJECTS, reason=""), {"reject without reason"}),
    ("sentence unknown", row(lambda _: {"sentence_id": ""}), {"id missing"}),
    # Ids.
    ("another id", value(candidate_id="0" * 24), {"id differs from content"}),
    ("duplicated row", repeat(lambda old: old), {"duplicate row"}),
    ("the id of another row", repeat(lambda old: old | {"sentence_id": "toy/999999"}),
     {"duplicate id", "id differs from content"}),
    ("the content of another row", repeat(lambda old: old | {"candidate_id": "ab"}),
     {"duplicate content", "id differs from content"}),
    # Columns.
    ("swapped columns", columns(exchanged), {"invalid label", FILL}),
    ("columns in another order", columns(lambda t: t.select([*t.column_names[1:], t.column_names[0]])),
     {"columns out of order"}),
    ("renamed column",
     columns(lambda t: t.rename_columns(["tag" if n == "label" else n for n in t.column_names])),
     {"missing column", "unexpected column"}),
    ("column of another type",
     columns(lambda t: t.set_column(AT, "coordinator", t["coordinator"].cast(pa.string()))),
     {"wrong column type"}),
    ("number too large",
     columns(lambda t: t.set_column(AT, "coordinator", pa.array([2**40] * len(t)))),
     {"wrong column type", DIGEST}),
    # Files.
    ("truncated shard", file(SHARD, lambda data: data[:-100]),
     {"unreadable file", "checksum differs", "size differs from manifest"}),
    ("empty shard", file(SHARD, lambda data: b""),
     {"unreadable file", "checksum differs", "size differs from manifest"}),
    ("missing shard", lambda folder: (folder / OTHER).unlink(),
     {"file missing", COUNT, DIGEST, "licences differ from manifest"}),
    ("shard from another run", foreign_shard,
     {"generation unknown", "shard not in manifest", COUNT, DIGEST, "licences differ from manifest"}),
    ("wrong checksum", file("SHA256SUMS", lambda text: text.replace(text[:8], b"01234567", 1)),
     {"checksum differs"}),
    ("checksum line that leads away",
     file("SHA256SUMS", lambda text: text + b"0" * 64 + b"  ../../etc/passwd\n"),
     {"line of SHA256SUMS unreadable"}),
    ("manifest that leads away", in_manifest(lambda m: m["shards"].append({"file": "/etc/passwd"})),
     {"file missing", "manifest incomplete"}),
    ("file nobody listed", lambda folder: (folder / "notes.txt").write_text("?"),
     {"file not in SHA256SUMS"}),
    ("no checksums", lambda folder: (folder / "SHA256SUMS").unlink(), {"file missing"}),
    ("no card", lambda folder: [(folder / "README.md").unlink(), write_checksums(folder)],
     {"document missing"}),
    ("empty card", lambda folder: [(folder / "README.md").write_text(" "), write_checksums(folder)],
     {"document empty"}),
    ("card without end",
     lambda folder: [os.truncate(folder / "README.md", 2**27), write_checksums(folder)],
     {"document unreadable"}),
    ("empty licence", lambda folder: [(folder / "LICENSE").write_text(""), write_checksums(folder)],
     {"document empty"}),
    ("Croissant cut short",
     lambda folder: [(folder / "croissant.json").write_text("{"), write_checksums(folder)],
     {"document unreadable"}),
    # The manifest.
    ("manifest lies about rows", in_manifest(lambda m: m["shards"][0].update(rows=7)), {COUNT}),
    ("manifest lies about all rows", in_manifest(lambda m: m["rows"].update(rejected=7)), {COUNT}),
    ("manifest lies about a digest", in_manifest(lambda m: m["shards"][0].update(digest="0" * 64)), {DIGEST}),
    ("manifest lies about the digest", in_manifest(lambda m: m["digests"].update(train="0" * 64)), {DIGEST}),
    ("manifest lies about bytes", in_manifest(lambda m: m["shards"][0].update(bytes=1)),
     {"size differs from manifest"}),
    ("manifest lies about a checksum", in_manifest(lambda m: m["shards"][0].update(sha256="0" * 64)),
     {"checksum differs"}),
    ("manifest lies about licences", in_manifest(lambda m: m.update(licenses={"MIT": 60})),
     {"licences differ from manifest"}),
    ("manifest without runs", in_manifest(lambda m: m.update(generations=[])),
     {"generation unknown", "manifest unreadable"}),
    ("manifest without shards", in_manifest(lambda m: m.update(shards=[{"file": 7}])),
     {"manifest unreadable", "manifest incomplete"}),
    ("another licence of the whole", in_manifest(lambda m: m.update(license="MIT")),
     {"licence of the whole differs from its rows"}),
    ("no licence of the whole", in_manifest(lambda m: m.pop("license")), {"manifest incomplete"}),
    ("no name", in_manifest(lambda m: m.pop("name")), {"manifest incomplete"}),
    ("name and digests of another form", in_manifest(lambda m: m.update(name=5, digests=3)),
     {"manifest unreadable"}),
    ("no digests", in_manifest(lambda m: [m.pop("digests"), *(e.pop("digest") for e in m["shards"])]),
     {"manifest incomplete"}),
    ("no checksums of shards", in_manifest(lambda m: [e.pop("sha256") for e in m["shards"]]),
     {"manifest incomplete"}),
    ("configurations exchanged",
     in_manifest(lambda m: [e.update(config=OTHER_CONFIG[e["config"]]) for e in m["shards"]]),
     {"shard under another configuration"}),
    ("a shard twice", in_manifest(lambda m: m["shards"].insert(0, {**m["shards"][0], "rows": 99})),
     {"shard listed twice"}),
    ("rows of a run", in_manifest(lambda m: [g.update(rows={"train": 1, "rejected": 999})
                                      for g in m["generations"].values()]), {COUNT}),
    ("a source without a name", in_manifest(lambda m: m.update(sources=[{}])), {"manifest incomplete"}),
    ("manifest without end", text_manifest("[" * 100_000), {"manifest unreadable"}),
    ("a number without end", text_manifest('{"x":' + "9" * 5000 + "}"), {"manifest unreadable"}),
    ("manifest of the future", in_manifest(lambda m: m.update(format=9)), {"manifest of another format"}),
    ("manifest cut short", text_manifest('{"format": 1,'), {"manifest unreadable"}),
    ("manifest of another kind", text_manifest("[1]"), {"manifest unreadable"}),
    ("no manifest", lambda folder: [(folder / "manifest.json").unlink(), write_checksums(folder)],
     {"file missing"}),
]  # fmt: skip
"""Name, damage, and the kinds it is found under: these and no others."""


@pytest.mark.parametrize(
    ("damage", "kinds"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE]
)
def test_damage_is_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Damage, kinds: set[str]
) -> None:
    """Each kind of damage to a copy of a good release is found under its name, and nothing else is."""
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)
    damage(folder)
    assert set(violations(folder, capsys)) == kinds


OF_ROWS = {rule.kind for rule in RULES} | {
    "null value", "text not UTF-8", "duplicate row", "duplicate id", "duplicate content",
}  # fmt: skip
"""Kinds of what is wrong with rows, and not with files, columns or the manifest."""

WRITERS: dict[str, Callable[[Path, Path], object]] = {
    "select": lambda place, out: select.run(SelectSettings(places=[place], out=out)),
    "merge": lambda place, out: merge.run(MergeSettings(places=[place, place], out=out)),
    "release": lambda place, out: release.run(ReleaseSettings(candidates=place, out=out)),
    "push": lambda place, _: push.run(PushSettings(release=place, repository="jane/toy")),
    "export": lambda place, out: export.run(ExportSettings(place=place, format="jsonl", out=out)),
    "browse": lambda place, out: browse.run(BrowseSettings(place=place, export=out)),
}
FIRST_COUNTS = {"select", "merge"}
"""Writers that keep the first of equal rows."""


REFUSED = [
    (*case, writer)
    for case, writer in zip((c for c in DAMAGE if c[2] & OF_ROWS), cycle(WRITERS), strict=False)
    if not (writer in FIRST_COUNTS and case[2] == {"duplicate row"})
]
"""Each damage with the writer whose turn it is: all ask by one function, which takes a second for all six."""


@pytest.mark.parametrize(
    ("damage", "writer"), [(case[1], case[3]) for case in REFUSED],
    ids=[f"{case[0]}-{case[3]}" for case in REFUSED],
)  # fmt: skip
def test_who_writes_rows_on_refuses_what_validate_refuses(
    made: Path, tmp_path: Path, damage: Damage, writer: str
) -> None:
    """Whatever is wrong with a row, no command that writes rows takes it, and nothing is written."""
    folder, out = tmp_path / "release", tmp_path / "out"
    shutil.copytree(made / "release", folder)
    damage(folder)
    with pytest.raises(InputError):
        WRITERS[writer](folder, out)
    assert not out.exists()


ASKED_IN_TRAINING = {rule.kind for rule in EXAMPLE_RULES}
UNREAD_IN_TRAINING = {"unknown label", "positive score"}  # the manifest, and the twins' scores
IN_TRAINING = [
    case for case in DAMAGE
    if case[2] and case[2] <= ASKED_IN_TRAINING and case[0] not in UNREAD_IN_TRAINING
]  # fmt: skip


@pytest.mark.parametrize(
    "damage", [case[1] for case in IN_TRAINING], ids=[case[0] for case in IN_TRAINING]
)
def test_training_refuses_what_validate_refuses_of_what_it_reads(
    made: Path, tmp_path: Path, damage: Damage
) -> None:
    """Ids, words, spans, labels and scores; of a row's other columns it knows nothing."""
    folder, copy = tmp_path / "release", tmp_path / "copy"
    shutil.copytree(made / "release", folder)
    damage(folder)
    copy.mkdir()
    with pytest.raises(InputError):
        write_store(find_location(folder, COORDINATION.rows.columns), COORDINATION.rows, copy)


TEXT_IN_STAND_OFF = "text in a stand-off release"


STAND_OFF: list[tuple[str, Damage, set[str]]] = [
    ("text beside the offsets",
     columns(lambda t: t.append_column("words", pa.array([["a"]] * len(t)))), {"unexpected column"}),
    ("fill of other words", value(fill_words=["no", "such"]), {FILL}),
    ("null in an optional list", value(fill_words=["no", None]), {"null value"}),
    ("sentinel", value(fill="<extra_id_0>", fill_words=["<", "extra_id_0", ">"]),
     {"mask or sentinel in text"}),
    ("overlap", conjuncts(lambda a, b, k: [a, a, b]), {"conjuncts overlap or out of order"}),
    ("other coordinator", value(word="plus"), {"not a coordinator"}),
    ("no coordinator", value(word=None), {"not a coordinator"}),
    ("twice", repeat(lambda old: old), {"duplicate id"}),
    ("id that could be text", value(candidate_id="Victor found it ."), {TEXT_IN_STAND_OFF}),
    ("reason that could be text", value(REJECTS, reason="Victor found it ."), {TEXT_IN_STAND_OFF}),
    ("no digests to rebuild by", in_manifest(lambda m: m.pop("full_digests")), {"manifest incomplete"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "kinds"), [case[1:] for case in STAND_OFF], ids=[case[0] for case in STAND_OFF]
)
def test_damage_to_a_stand_off_release_is_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Damage, kinds: set[str]
) -> None:
    """Rows without the source's words are checked as far as they go."""
    folder = tmp_path / "release"
    shutil.copytree(made / "stand-off", folder)
    damage(folder)
    assert set(violations(folder, capsys)) == kinds
    with pytest.raises(InputError):
        push.run(PushSettings(release=folder, repository="jane/toy"))


def test_what_is_good_has_no_violations(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A release, a stand-off release, candidates as generated, and single files of each are right."""
    generated = made / "toy/candidates/t5-sync/seed-0"
    files = [
        *(made / "release").glob("*/*.parquet"), *(made / "stand-off").glob("*/*.parquet"),
        *generated.glob("*.parquet"),
    ]  # fmt: skip
    assert len(files) == 12
    for place in (made / "release", made / "stand-off", generated, *files):
        assert violations(place, capsys) == {}, place


@pytest.mark.long
@pytest.mark.parametrize("licence", ["unknown", "LDC-User-Agreement"])
def test_a_licence_that_forbids_the_text_is_right_where_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str
) -> None:
    """A stand-off release is made for such sources, and has no violation for them."""
    folder = make_release(tmp_path / "made", tmp_path / "toy", stand_off=True, license_=licence)
    assert violations(folder, capsys) == {}
    rebuilt = tmp_path / "rebuilt"
    rehydrate.run(RehydrateSettings(release=folder, source=tmp_path / "toy", out=rebuilt))
    assert violations(rebuilt, capsys) == {}


def test_a_corpus_of_given_spans_may_have_their_labels(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ``generate`` takes as a label is none that ``validate`` counts, and nothing else."""
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)

    def given(manifest: dict[str, Any]) -> None:
        for run in manifest["generations"].values():
            run["settings"]["spans"] = "given"

    in_manifest(given)(folder)
    labels = ["NP-SBJ", "PRP$", "X", "np", "", "NP\n", "A" * 17, "1P", "NP|VP"]
    assert [bool(re.fullmatch(LABEL, label)) for label in labels] == [True] * 3 + [False] * 6

    def labelled(rows: list[Row]) -> list[Row]:
        return [{**old, "label": new} for old, new in zip(rows, labels, strict=False)]

    rewrite(folder, SHARD, lambda rows: labelled(rows) + rows[len(labels) :])
    assert {k: v["count"] for k, v in violations(folder, capsys).items()} == {"invalid label": 6}


@pytest.mark.parametrize("at", [0.02, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97])
def test_a_bit_flip_anywhere_is_found(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], at: float
) -> None:
    """One bit of a shard, in its pages or its footer: its sum is wrong, and the check goes on."""
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)
    data = bytearray((folder / SHARD).read_bytes())
    data[int(at * len(data))] ^= 16
    (folder / SHARD).write_bytes(data)
    assert "checksum differs" in violations(folder, capsys)


def test_shards_of_two_runs_are_distinguished(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shard that another run of ``generate`` wrote is named by its fingerprint."""
    folder = tmp_path / "candidates"
    shutil.copytree(made / "toy/candidates/t5-sync/seed-0", folder)
    other = candidate_folder(tmp_path / "other", 30, first=60, seed=1)
    name = "candidates-00001-of-00003.parquet"
    shutil.copy(other / name, folder / name)
    assert {"shard of another run", "checksum differs"} <= set(violations(folder, capsys))
    (folder / "manifest.json").unlink()
    assert set(violations(folder, capsys)) == {"generation not finished"}


def test_rows_are_named_and_counted(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All are counted, the first few shown with file, row, id and what; printing cannot be abused."""
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)

    def five(rows: list[Row]) -> list[Row]:
        return [each | {"label": "\x1b[2J"} if 2 <= i < 7 else each for i, each in enumerate(rows)]

    rewrite(folder, SHARD, five)
    found = violations(folder, capsys, examples=2)["invalid label"]
    ids = pq.read_table(folder / SHARD)["candidate_id"].to_pylist()
    assert found["count"] == 5
    assert [(each["file"], each["row"]) for each in found["examples"]] == [(SHARD, 2), (SHARD, 3)]
    assert [each["candidate_id"] for each in found["examples"]] == ids[2:4]
    with pytest.raises(SystemExit) as end:
        validate.run(ValidateSettings(place=folder))
    printed = capsys.readouterr().out
    assert end.value.code == 1
    assert f"{SHARD}, row 2, candidate {ids[2]}: " in printed
    assert "60 rows in 3 files: 5 violations of 1 kind; rows count from 0" in printed
    assert "\x1b" not in printed


def test_a_duplicate_names_the_first(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times the same row are two violations that name the first, also from batch to batch."""
    monkeypatch.setattr(reading, "BATCH", 5)
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)
    rewrite(folder, OTHER, lambda rows: [*rows, rows[5], rows[5]])
    found = violations(folder, capsys)["duplicate row"]
    assert found["count"] == 2
    assert found["examples"][1]["what"] == f"as {OTHER}, row 5"


@pytest.mark.parametrize("name", ["magic", "empty", "other"])
def test_files_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """What is no Parquet file is unreadable, and what is one of other columns lacks all of ours."""
    path = tmp_path / f"{name}.parquet"
    kinds = {"unreadable file"}
    if name == "other":
        pq.write_table(pa.table({"a": [1], "words": ["no list"]}), path)
        kinds = {"missing column", "wrong column type"}
    else:
        path.write_bytes(b"PAR1" * 9 if name == "magic" else b"")
    assert set(violations(path, capsys)) == kinds


def test_what_nobody_thought_of_is_a_violation_too(
    made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that breaks on some rows says on which, and does not end the check."""

    def breaks(_: object, batch: pa.RecordBatch, *__: object) -> Any:
        raise OverflowError(f"{len(batch)} rows")

    monkeypatch.setattr(checks, "faults", breaks)
    found = violations(made / "release", capsys)
    assert set(found) == {"rows that cannot be checked"}
    assert found["rows that cannot be checked"]["count"] == 3
    assert "OverflowError: 8 rows" in found["rows that cannot be checked"]["examples"][2]["what"]


def test_nothing_to_check_is_bad_input(tmp_path: Path) -> None:
    """A path without a corpus is one line, not a violation."""
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputError, match=r"no such file|neither candidates nor a release"):
            validate.run(ValidateSettings(place=place))


def test_a_candidate_that_is_a_reject_too_is_named(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But not where the reject only says that it repeats one, or that its fill was cut off."""
    folder = tmp_path / "release"
    shutil.copytree(made / "release", folder)
    usable, refused = (next((folder / name).glob("*.parquet")) for name in ("data", "rejected"))
    table = pq.read_table(usable, partitioning=None).slice(0, 4)
    reasons = ["below", "same content as an earlier row", REPEATED, SPLIT_WORD]
    table = table.append_column(RELEASED_REJECTS.field("reason"), pa.array(reasons))
    old = pq.read_table(refused, partitioning=None)
    pq.write_table(pa.concat_tables([old, table.select(old.schema.names)]), refused)
    found = violations(folder, capsys)["candidate and reject"]
    assert found["count"] == 1
    assert found["examples"][0]["row"] == len(old)
    assert found["examples"][0]["what"].endswith(f"{usable.name}, row 0")


def test_the_reasons_that_contradict_no_candidate_are_those_of_infill() -> None:
    """They do not speak of the words."""
    assert (REPEATED, SPLIT_WORD) == (candidates.REPEATED, base.SPLIT_WORD)


def test_the_reasons_that_permit_sentinels_are_those_of_infill() -> None:
    """Only rejects with these may hold one."""
    named = (base.SPECIAL_IN_FILL, base.SOURCE_HAS_SPECIAL)
    assert named == (SPECIAL_IN_FILL, SOURCE_HAS_SPECIAL)


def test_what_is_shown_is_one_printable_line() -> None:
    """Commands to the terminal and line ends are spelled out, and what is long is cut."""
    assert printable("a\n\x1b[31m\u202eé") == "a\\n\\x1b[31m\\u202eé"
    assert len(printable("x" * 999)) == 160
