"""The ground floor: trees, files, schemas, tallies, settings."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pipeline.core import parquet, schema
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import atomic, digest_of, folder_lock, sha256_of, write_json
from pipeline.core.settings import Settings
from pipeline.core.tally import Tally
from pipeline.core.types import (
    Candidate,
    Coordination,
    Reject,
    Sentence,
    Span,
    bracketed,
    is_undecided_seed,
    is_unlabelled_seed,
)
from pipeline.ellipsis.gap.settings import GapSettings
from pipeline.ingest.settings import IngestSettings
from pipeline.pretrain.settings import PretrainSettings
from pipeline.text.trees import (
    Constituent,
    base_label,
    constituents,
    leaves,
    one_line,
    parse_tree,
    read_trees,
)

ROOT = Path(__file__).resolve().parents[2]
SENTENCE = Sentence(
    sentence_id="x/1",
    doc_id="x",
    split="train",
    words=("dogs", "And", "cats", "ran"),
    tags=("NNS", "CC", "NNS", "VBD"),
    tree="(S1 (S (NP (NNS dogs) (CC And) (NNS cats)) (VP (VBD ran))))",
    coordinations=(Coordination(1, "And", "NP", (Span(0, 1), Span(2, 3))),),
    license="L",
)
CANDIDATE = Candidate(
    candidate_id="c",
    sentence_id="x/1",
    words=("dogs", "and", "cats", "ran"),
    coordinator=1,
    conjuncts=(Span(0, 1), Span(2, 3)),
    label="NP",
    reference=Span(0, 1),
    fill=" cats",
    score=-0.5,
    score_append=None,
    score_prepend=-0.25,
    license="L",
)


# --- coordination ---------------------------------------------------------------------------------


def test_coordination_knows_its_extent_and_evaluability() -> None:
    """The outer boundary runs from the first conjunct to the last; case does not matter."""
    found = SENTENCE.coordinations[0]
    assert (found.start, found.end) == (0, 3)
    loud = replace(found, word="AND")
    plus = Coordination(1, "plus", "NP", found.conjuncts)
    sentence = replace(SENTENCE, coordinations=(loud, plus))
    assert sentence.evaluable == (loud,)
    assert replace(sentence, coordinators=frozenset({"plus"})).evaluable == (plus,)
    assert CANDIDATE.coordination == Coordination(1, "and", "NP", found.conjuncts)


def test_bracketed_nests() -> None:
    """Spans that share an end get a bracket each."""
    assert bracketed(["a", "b", "c"], [Span(0, 3), Span(1, 3)]) == "[a [b c]]"


@pytest.mark.parametrize(
    ("split", "word", "count", "expected"),
    [
        ("train", None, 10, True),
        ("train", None, 9, False),
        ("dev", None, 10, False),
        ("train", "and", 10, False),
        ("train", "plus", 10, True),
    ],
)
def test_unlabelled_seeds(split: str, word: str | None, count: int, expected: bool) -> None:
    """U: training split, ten words, no evaluable coordination."""
    found = () if word is None else (Coordination(1, word, "NP", (Span(0, 1), Span(2, 3))),)
    sentence = Sentence("x", "x", split, ("w",) * count, None, None, found, "L")
    assert is_unlabelled_seed(sentence) is expected


@pytest.mark.parametrize(
    ("word", "gold", "seed"),
    [
        ("And", None, False),
        ("and/or", None, False),
        ("android", None, True),
        ("and", "tags", True),
        ("and", "tree", True),
        ("and", "plus", True),
    ],
)
def test_raw_text_with_a_coordinator_is_no_seed(word: str, gold: str | None, seed: bool) -> None:
    """In any case and place; where tags, a tree or an annotated structure speak, they are believed."""
    words = ("w",) * 9 + (word,)
    tags = ("NN",) * 10 if gold == "tags" else None
    tree = "(S1 (X w))" if gold == "tree" else None
    plus = (Coordination(1, "plus", "NP", (Span(0, 1), Span(2, 3))),) if gold == "plus" else ()
    sentence = Sentence("x", "x", "train", words, tags, tree, plus, "L")
    assert (is_unlabelled_seed(sentence), is_undecided_seed(sentence)) == (seed, not seed)
    assert not is_undecided_seed(sentence, 11)
    assert not is_undecided_seed(replace(sentence, split="dev"))


# --- trees ----------------------------------------------------------------------------------------


def test_constituents_are_in_pre_order_with_half_open_spans() -> None:
    """Tags are left out, functions cut off, unary chains kept from the top."""
    tree = parse_tree("( (S (NP-SBJ=1 (NP (DT the) (NN dog))) (VP (VBD ran) (ADVP (RB off)))) )")
    assert constituents(tree) == [
        Constituent("S", Span(0, 4)), Constituent("NP", Span(0, 2)), Constituent("NP", Span(0, 2)),
        Constituent("VP", Span(2, 4)), Constituent("ADVP", Span(3, 4)),
    ]  # fmt: skip
    assert one_line(tree).count("\n") == 0


def test_base_label() -> None:
    """Functions and indices go; labels that begin with a hyphen stay."""
    labels = ["NP-SBJ-1", "NP=2", "-LRB-", "PRP$", "-NONE-"]
    assert [base_label(x) for x in labels] == ["NP", "NP", "-LRB-", "PRP$", "-NONE-"]


def test_leaves_are_unescaped() -> None:
    """Treebank escapes become the characters they stand for."""
    tree = parse_tree("(X (A -LRB-) (A 1\\/2) (A \\*) (A -RCB-) (A IL-LRB-2-RRB-))")
    assert leaves(tree) == ["(", "1/2", "*", "}", "IL(2)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN dog))", r"f:1: the tree that begins here is never closed"),
        ("(S (NN dog))\n\n(S (NN dog)))", r"f:3: a '\)' too many"),
        ("(S (NN dog))\nand so on", r"f:2: text outside brackets: 'and so on'"),
        ("(S (NN dog))\n()", r"f:2: "),
        (" \n", "f: the file holds no tree"),
    ],
)
def test_malformed_trees_are_reported_with_their_line(
    tmp_path: Path, text: str, message: str
) -> None:
    """File and line of what is wrong."""
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_trees(tmp_path / "f"))


def test_trees_may_span_lines(tmp_path: Path) -> None:
    """Each tree comes with the line it begins on."""
    (tmp_path / "f").write_text("\n( (S\n  (NN dog))\n)\n(S (NN cat))\n")
    found = [(line, one_line(tree)) for line, tree in read_trees(tmp_path / "f")]
    assert found == [(2, "(S (NN dog))"), (5, "(S (NN cat))")]


def test_wrong_encoding_is_reported(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are an InputError."""
    (tmp_path / "f").write_bytes(b"(S (NN caf\xe9))")
    with pytest.raises(InputError, match="not UTF-8"):
        list(read_trees(tmp_path / "f"))


# --- errors ---------------------------------------------------------------------------------------


def test_an_error_is_one_line() -> None:
    """Place, problem, sentence and remedy on one line."""
    error = InputError("bad\n thing", path="f", line=3, sentence_id="x/1", remedy="mend it")
    assert str(error) == "f:3: bad thing (sentence x/1); mend it"
    assert str(InputError("bad", path="f")) == "f: bad"


# --- files ----------------------------------------------------------------------------------------


def test_atomic_leaves_nothing_of_a_failed_write(tmp_path: Path) -> None:
    """The old content stays and no temporary file is left."""
    path = tmp_path / "deep/f.txt"
    with atomic(path) as temporary:
        temporary.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic(path) as temporary:
        temporary.write_text(f"new {1 / 0}")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A permission problem is an InputError with the path."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match=r"f\.json: cannot write here"):
        write_json(tmp_path / "f.json", {})
    assert list(tmp_path.iterdir()) == []


def test_json_is_canonical_and_checked(tmp_path: Path) -> None:
    """Key order does not matter; a missing or damaged file is an error."""
    write_json(tmp_path / "a", {"b": 1, "a": "ü"})
    write_json(tmp_path / "b", {"a": "ü", "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    with pytest.raises(InputError, match="no such file; run this"):
        read_json(tmp_path / "no", remedy="run this")
    (tmp_path / "c").write_text('{\n"a": }')
    with pytest.raises(InputError, match=r"c:2: not JSON"):
        read_json(tmp_path / "c")


def test_digest_of_a_folder_covers_names_and_content(tmp_path: Path) -> None:
    """Renaming or changing a file changes the folder's digest."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_text("1")
    first = sha256_of(tmp_path / "d")
    (tmp_path / "d/a").rename(tmp_path / "d/b")
    second = sha256_of(tmp_path / "d")
    (tmp_path / "d/b").write_text("2")
    assert len({first, second, sha256_of(tmp_path / "d")}) == 3


def test_a_locked_folder_is_reported(tmp_path: Path) -> None:
    """A second process does not get in while the first is there, and does afterwards."""
    code = (
        "import sys; from pathlib import Path; from pipeline.core.files import folder_lock\n"
        "with folder_lock(Path(sys.argv[1])): print('in')"
    )

    def enter() -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, str(tmp_path)],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip

    with folder_lock(tmp_path):
        assert "another conjoin process is writing here" in enter().stderr
    assert enter().stdout == "in\n"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    """Where a file has the folder's name, that is an InputError."""
    (tmp_path / "f").write_text("")
    with pytest.raises(InputError, match="f: cannot write into this folder: File exists"), \
            folder_lock(tmp_path / "f"):  # fmt: skip
        pytest.fail("got in")


# --- schemas --------------------------------------------------------------------------------------


def test_sentences_survive_parquet(tmp_path: Path) -> None:
    """A row read is the row written, nulls and empty lists included."""
    plain = Sentence("x/2", "x", "test", ("a",), None, None, (), "L")
    rows = map(schema.sentence_row, (SENTENCE, plain))
    assert parquet.write_rows(tmp_path / "f", schema.SENTENCES, rows) == 2
    assert list(schema.read_sentences(tmp_path / "f")) == [SENTENCE, plain]
    kept = schema.read_sentences(tmp_path / "f", keep=lambda s: s.split == "test")
    assert list(kept) == [plain]


def test_that_somebody_looked_survives_parquet(tmp_path: Path) -> None:
    """In a column that only such sentences need: rows of others, and their digests, are as before."""
    looked = Sentence("x/2", "x", "train", ("a", "and"), None, None, (), "L", examined=True)
    assert schema.sentences_schema([SENTENCE]) is schema.SENTENCES
    assert list(schema.sentence_row(SENTENCE)) == schema.SENTENCES.names
    columns = schema.sentences_schema([SENTENCE, looked])
    parquet.write_rows(tmp_path / "f", columns, map(schema.sentence_row, (SENTENCE, looked)))
    assert list(schema.read_sentences(tmp_path / "f")) == [SENTENCE, looked]


def test_many_rows_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are taken as they are needed, and all of them stand in the file in their order."""
    monkeypatch.setattr(parquet, "_AT_ONCE", 3)
    every = [replace(SENTENCE, sentence_id=f"x/{number}") for number in range(7)]
    assert (
        parquet.write_rows(tmp_path / "f", schema.SENTENCES, map(schema.sentence_row, every)) == 7
    )
    assert list(schema.read_sentences(tmp_path / "f")) == every


def test_candidates_and_rejects_survive_parquet(tmp_path: Path) -> None:
    """Scores may be null; the file's metadata comes back."""
    row = schema.candidate_row(CANDIDATE)
    parquet.write_rows(tmp_path / "c", schema.CANDIDATES, [row], {"made": "by a test"})
    assert list(schema.read_candidates(tmp_path / "c")) == [CANDIDATE]
    assert pq.read_schema(tmp_path / "c").metadata[b"made"] == b"by a test"
    reject = Reject(CANDIDATE, "empty")
    parquet.write_rows(tmp_path / "r", schema.REJECTS, [schema.reject_row(reject)])
    assert list(schema.read_candidates(tmp_path / "r")) == [CANDIDATE]
    (row,) = parquet.read_rows(tmp_path / "r", schema.REJECTS)
    assert row == schema.reject_row(reject)


def test_an_empty_file_keeps_its_schema(tmp_path: Path) -> None:
    """No row, but every column with its type."""
    assert parquet.write_rows(tmp_path / "f", schema.SENTENCES, []) == 0
    assert pq.read_schema(tmp_path / "f").equals(schema.SENTENCES)
    assert list(schema.read_sentences(tmp_path / "f")) == []


def test_a_row_that_does_not_fit_is_reported_and_not_written(tmp_path: Path) -> None:
    """A wrong type leaves no file behind."""
    row = {**schema.sentence_row(SENTENCE), "words": 3}
    with pytest.raises(InputError, match="a row does not fit the schema"):
        parquet.write_rows(tmp_path / "f", schema.SENTENCES, [row])
    assert list(tmp_path.iterdir()) == []


def test_unreadable_parquet_is_reported(tmp_path: Path) -> None:
    """Missing, damaged, and another schema."""
    with pytest.raises(InputError, match="no such file; run the stage"):
        list(schema.read_sentences(tmp_path / "f"))
    (tmp_path / "f").write_text("not Parquet")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        list(schema.read_sentences(tmp_path / "f"))
    parquet.write_rows(tmp_path / "f", schema.CANDIDATES, [])
    with pytest.raises(InputError, match=r"another schema .*\(differs in: .*reason"):
        list(parquet.read_rows(tmp_path / "f", schema.REJECTS))


def test_a_column_that_was_required_is_read_where_it_may_be_null_by_now(tmp_path: Path) -> None:
    """As of runs before candidates could go unscored; a null where none may be is no such file."""
    now = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("p", pa.float64())])
    then = pa.schema([now.field("id"), now.field("p").with_nullable(False)])
    rows = [{"id": "a", "p": 0.5}]
    parquet.write_rows(tmp_path / "f", then, rows)
    assert list(parquet.read_rows(tmp_path / "f", now)) == rows
    parquet.write_rows(tmp_path / "g", now, rows)
    with pytest.raises(InputError, match=r"another schema .*\(differs in: p\)"):
        list(parquet.read_rows(tmp_path / "g", then))


@given(
    lengths=st.lists(st.integers(0, 5)), sizes=st.lists(st.integers(1, 7), min_size=1, max_size=9)
)
def test_rows_are_regrouped_in_their_order(lengths: list[int], sizes: list[int]) -> None:
    """Batches of the sizes asked for, the last one smaller where the rows are used up."""
    numbers = iter(range(sum(lengths)))
    batches = [
        pa.record_batch([pa.array([next(numbers) for _ in range(length)], pa.int64())], ["n"])
        for length in lengths
    ]
    found = [batch.column("n").to_pylist() for batch in parquet.regroup(batches, sizes)]
    assert [n for part in found for n in part] == list(range(min(sum(lengths), sum(sizes))))
    assert all(len(part) == size for part, size in zip(found[:-1], sizes, strict=False))
    assert min(map(len, found), default=1) > 0


@pytest.mark.parametrize(
    ("title", "columns"),
    [
        ("Sentences", schema.SENTENCES),
        ("Trees", schema.TREES),
        ("Unparsed", schema.UNPARSED),
        ("Candidates", schema.CANDIDATES),
        ("Rejects", schema.schema_of("reject")),
        ("Trees of candidates", schema.schema_of("trees")),
        ("Scored", schema.SCORED),
        ("Predictions", schema.PREDICTIONS),
    ],
)
def test_schemas_are_documented(title: str, columns: pa.Schema) -> None:
    """docs/schema.md lists each column, in order, its type, and whether it may be null."""
    text = (ROOT / "docs/schema.md").read_text(encoding="utf-8")
    section = next(s for s in text.split("\n## ") if s.startswith(f"{title}:"))
    rows = re.findall(r"^\|`(\w+)`\|([^|]+)\|(yes|no)\|", section, re.MULTILINE)
    expected = [(f.name, documented(f.type), "yes" if f.nullable else "no") for f in columns]
    assert rows[: len(expected)] == expected


def documented(kind: pa.DataType) -> str:
    """A type as docs/schema.md has it."""
    if pa.types.is_list(kind):
        return f"list of {documented(kind.value_type)}"
    if not pa.types.is_struct(kind):
        return {"float": "float32"}.get(str(kind), str(kind))
    names = [field.name for field in kind]
    if names == ["start", "end"]:
        return "span"
    return "struct" if "conjuncts" in names else f"struct `{{{', '.join(names)}}}`"


# --- tally ----------------------------------------------------------------------------------------


def test_tally_counts_and_merges() -> None:
    """Reasons come most frequent first, ties by name; sums add up."""
    tally = Tally()
    tally.keep(2)
    for reason in ("b", "a", "c", "c"):
        tally.refuse(reason)
    assert tally.rows() == [("kept", 2), ("c", 2), ("a", 1), ("b", 1)]
    assert tally.seen == 6
    both = Tally.merged([tally, tally])
    assert both.to_dict() == {"seen": 12, "kept": 4, "refused": {"c": 4, "a": 2, "b": 2}}
    assert tally.kept == 2


# --- settings -------------------------------------------------------------------------------------


class Knead(Settings):
    """A made-up stage."""

    stage: ClassVar[str] = "knead"
    summary: ClassVar[str] = "Knead."
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    variant_field: ClassVar[str | None] = "kind"
    table: ClassVar[str] = "doughs"

    corpus: Path = Field(description="Corpus.")
    kind: Literal["bert", "t5"] = Field("bert", description="Kind.")
    a: int = Field(1, ge=0, description="a")
    b: int = Field(1, description="b")
    d: int = Field(1, description="d")
    e: int = Field(1, description="e")
    many: list[int] = Field([1], description="many")
    flag: bool = Field(True, description="flag")


PARAMS = """
knead:
  default: {a: 2, b: 2, d: 2, bert: {e: 2}}
  genia: {b: 3, d: 3, bert: {d: 4}, t5: {d: 5}}
other: {default: {x: 1}}
doughs: {rye: {b: 8, kind: t5, many: [5, 6]}, plain: null, flat: 3}
"""


def knead(tmp_path: Path, text: str = PARAMS, **options: Any) -> Knead:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return Knead.build({"corpus": Path("data/genia"), **options}, path)


def test_precedence_of_settings(tmp_path: Path) -> None:
    """Flag over name over corpus entry over default entry over class default; a kind over its level."""
    plain = knead(tmp_path)
    assert (plain.a, plain.b, plain.d, plain.e) == (2, 3, 4, 2)
    assert knead(tmp_path, kind="bert", a=7) == plain.model_copy(update={"a": 7})
    assert (knead(tmp_path, kind="t5").d, knead(tmp_path, kind="t5").e) == (5, 1)
    assert knead(tmp_path, PARAMS.replace("b: 3", "b: 3, kind: t5")).d == 5
    elsewhere = knead(
        tmp_path, PARAMS.replace("other:", "  world: {}\nother:"), corpus=Path("data/world")
    )
    assert (elsewhere.a, elsewhere.b) == (2, 2)
    params = tmp_path / "params.yaml"
    params.write_text(PARAMS)
    rye = Knead.build({"corpus": Path("data/genia"), "many": [7]}, params, "rye")
    assert (rye.a, rye.b, rye.d, rye.kind, rye.many) == (2, 8, 5, "t5", [7])
    assert Knead.build({"corpus": Path("data/genia")}, params, "rye").many == [5, 6]
    assert Knead.build({"corpus": Path("data/genia")}, params, "plain") == plain
    assert Knead.build({"corpus": Path("c"), "b": None, "many": []}, None).b == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (PARAMS, {"a": -1}, r"^knead\.a = -1: Input should be greater than or equal to 0$"),
        ("knead: {default: {a: x}, genia: {}}", {}, r"params\.yaml: knead\.a = 'x': Input should be a valid"),
        ("knead: {default: {z: 1}, genia: {}}", {}, r"params\.yaml: knead\.z = 1: no such setting; there"),
        ("knead: [1]", {}, r"params\.yaml: section 'knead' must be a mapping"),
        ("knead: {genia: 1}", {}, r"params\.yaml: entries of section 'knead' must be mappings"),
        ("knead: {geni: {}}", {}, r"ml: section knead has no entry 'genia'; .*did you mean 'geni'\?$"),
        ("kned: {}", {}, r"params\.yaml: no section 'knead'; did you mean 'kned'\?$"),
        ("- knead", {}, r"params\.yaml: must be a mapping of sections"),
        ("knead: {", {}, r"params\.yaml:1: not YAML"),
    ],
)  # fmt: skip
def test_bad_settings_are_reported(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    """Key, value, reason, and the file where it stands."""
    with pytest.raises(SettingsError, match=message) as caught:
        knead(tmp_path, text, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (
            "ryes",
            r"params\.yaml: doughs has no entry 'ryes'; there are: rye, .*did you mean 'rye'\?",
        ),
        ("flat", r"params\.yaml: doughs\.flat must be a mapping of options"),
    ],
)
def test_options_by_a_name_that_is_none_are_reported(tmp_path: Path, named: str, said: str) -> None:
    """The table, the name and what there is; without a file there is no table."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    with pytest.raises(SettingsError, match=said):
        Knead.build({"corpus": Path("data/genia")}, tmp_path / "params.yaml", named)
    with pytest.raises(SettingsError, match=f"knead: --named '{named}' needs --params"):
        Knead.build({"corpus": Path("data/genia")}, None, named)


def test_a_command_without_a_corpus_has_no_entries_by_corpus(tmp_path: Path) -> None:
    """What stands beside its ``default`` would be read by nobody, and is an error."""
    path = tmp_path / "params.yaml"
    path.write_text("gap: {default: {tier: 1}, tier: 2}")
    with pytest.raises(SettingsError, match=r"params\.yaml: gap\.tier: .* into gap\.default$"):
        GapSettings.build({"source": "s", "out": "o"}, path)
    path.write_text("gap: {default: {tier: 1}}")
    assert GapSettings.build({"source": "s", "out": "o"}, path).tier == 1


def test_a_nested_section_where_there_are_no_kinds_is_reported(tmp_path: Path) -> None:
    """A stage without kinds does not pass over a nested section."""
    (tmp_path / "p.yaml").write_text("ingest: {default: {text: {segment: punkt}}, o: {}}")
    with pytest.raises(SettingsError, match=r"ingest\.text = .*: no such setting"):
        IngestSettings.build({"reader": "text", "source": "s", "out": "o"}, tmp_path / "p.yaml")


def test_a_misspelled_kind_is_reported(tmp_path: Path) -> None:
    """A nested section that is no kind of the stage is a typing error, not somebody else's."""
    (tmp_path / "p.yaml").write_text("pretrain: {default: {brt: {steps: 9}}, x: {}}")
    with pytest.raises(SettingsError, match=r"pretrain\.brt: no such kind; a language model"):
        PretrainSettings.build({"corpus": "data/x", "lm": "bert"}, tmp_path / "p.yaml")


def test_a_command_about_no_corpus_needs_no_entry() -> None:
    """Of a stage whose corpus is found otherwise only the default holds."""
    section = Knead._section({"knead": {"default": {"a": 7}, "genia": {"a": 8}}}, Path("p"), {})
    assert section == {"a": 7}


def test_missing_params_file_is_reported(tmp_path: Path) -> None:
    """A --params file that does not exist is an error, not an empty section."""
    with pytest.raises(SettingsError, match=r"no\.yaml: no such file"):
        Knead.build({"corpus": "c"}, tmp_path / "no.yaml")


def test_settings_make_their_own_command_line() -> None:
    """Positions, repeated flags, and switches that are off."""
    made = Knead.build({"corpus": Path("c"), "many": [3, 4], "flag": False}, None)
    line = made.command_line()
    assert line[:2] == ["knead", "c"]
    assert line[-5:] == ["--many", "3", "--many", "4", "--no-flag"]


def test_settings_are_frozen() -> None:
    """Nobody changes a setting after the fact."""
    made = Knead.build({"corpus": Path("c")}, None)
    with pytest.raises(ValueError, match="frozen"):
        made.a = 2
