"""`generate --coordinators` and `--arity`: what is drawn, what is built, and who reads it afterwards."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tiny import ingested

from pipeline.core.errors import ConjoinError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_candidates, read_sentences, sentence_row
from pipeline.core.structures import structure_of
from pipeline.core.types import Candidate, Coordination, Sentence, Span, Structure
from pipeline.corpus.layout import find_shards
from pipeline.corpus.statistics import summarise
from pipeline.generate.free_infilling import FreeInfilling
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.generate.structures import observed
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.browse.table import corpus_table, rows_by_number
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings

COORDINATED = (
    ("they saw both the lamp and the harbor .", "and", 1, [(3, 5), (6, 8)]),
    ("they saw either lamps or dogs .", "or", 1, [(3, 4), (5, 6)]),
    ("lamps , dogs , and harbors stayed .", "and", 0, [(0, 1), (2, 3), (5, 6)]),
    ("a , b , c , d and e stayed .", "and", 0, [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]),
    ("lamps but dogs stayed .", "but", 0, [(0, 1), (2, 3)]),
)


def labelled(number: int) -> Sentence:
    """A sentence of L."""
    text, word, _, spans = COORDINATED[number]
    words = tuple(text.split())
    where = words.index(word)
    structure = Coordination(where, word, "NP", tuple(Span(*span) for span in spans))
    return Sentence(f"l/{number}", "l", "train", words, None, None, (structure,), "CC0-1.0")


@pytest.fixture(scope="module")
def drawn(
    tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, tiny_t5: Path,
    write_trees: Callable[..., None],
) -> Path:  # fmt: skip
    """A corpus with 30 sentences of U, gold structures of all kinds, and a draw of them all."""
    folder = tmp_path_factory.mktemp("structures")
    tree = (
        "(S1 (S (NP (DT the) (JJ {a}) (NN man)) (VP (VBD saw) (NP (NP (DT a) (NN dog)) "
        "(PP (IN near) (NP (DT the) (NN {b})))) (ADVP (RB yesterday)))))"
    )
    unlabelled = []
    for number in range(30):
        a, b = ("old", "small", "unfathomable")[number % 3], ("lamp", "harbor")[number % 2]
        words = tuple(f"the {a} man saw a dog near the {b} yesterday".split())
        bracketing = tree.format(a=a, b=b)
        unlabelled.append(
            Sentence(f"c/{number:02d}", "d", "train", words, None, bracketing, (), "CC0-1.0")
        )
    write_trees(folder, unlabelled, size=7)
    path = folder / "sentences.parquet"
    write_rows(path, SENTENCES, map(sentence_row, [*unlabelled, *map(labelled, range(5))]))
    manifest = json.loads((folder / "trees/manifest.json").read_text())
    write_json(
        folder / "trees/manifest.json", manifest | {"inputs": {"sentences": sha256_of(path)}}
    )
    for seed in (0, 1):
        draw = {"labelled": [f"l/{n}" for n in range(5)], "validation": ["c/00"]}
        write_json(folder / f"draws/seed-{seed}/5.json", draw)
    write_json(folder / "draws/seed-0/1.json", {"labelled": ["c/01"], "validation": ["c/00"]})
    (folder / "models").mkdir()
    (folder / "models/bert").symlink_to(tiny_bert)
    (folder / "models/t5").symlink_to(tiny_t5)
    return ingested(folder)


@pytest.fixture(scope="module")
def attested(drawn: Path) -> Path:
    """The folder of a run with donors."""
    out = drawn / "candidates/attested/seed-0"
    run(settings(drawn, fills="attested", out=out))
    return out


def settings(corpus: Path, **more: object) -> GenerateSettings:
    usual = {"lm": "bert", "references": 2, "coordinators": "like-L", "arity": "like-L"}
    given = {"corpus": corpus, "unit": 16, "batch_tokens": 300, "labelled": 5, **usual, **more}
    return GenerateSettings.model_validate(given)


def rows_of(out: Path, kind: str = "candidates") -> list[Candidate]:
    return [c for path in sorted(out.glob(f"{kind}-*.parquet")) for c in read_candidates(path)]


def test_structures_are_read_off_sentences() -> None:
    """Correlative words, a comma before the coordinator, and no more than four conjuncts."""
    assert observed(map(labelled, range(5))) == [
        Structure("and", "both"),
        Structure("or", "either"),
        Structure("and", None, 3, True),
        Structure("and", None, 4, False),
        Structure("but"),
    ]


def built(candidate: Candidate) -> Structure | None:
    """The structure of a candidate, from its places."""
    word = candidate.words[candidate.coordinator]
    return structure_of(word, candidate.coordinator, candidate.conjuncts, candidate.reference)


@pytest.mark.parametrize(
    ("lm", "fills"), [("bert", "free"), ("t5", "free"), ("bert", "attested"), ("t5", "attested")]
)
def test_structures_are_those_of_l_around_their_references(
    drawn: Path, lm: str, fills: str
) -> None:
    """All kinds of L are built, each around its source's words; and `validate` finds nothing wrong."""
    made = settings(
        drawn, lm=lm, fills=fills, coordinators_in_fills=True, out=drawn / "candidates/x/seed-0"
    )
    run(made)
    sources = {s.sentence_id: s.words for s in read_sentences(drawn / "sentences.parquet")}
    rows, rejects = rows_of(made.out or Path()), rows_of(made.out or Path(), "rejects")
    assert len(rows) + len(rejects) == 60
    kinds = Counter[tuple[str, int]]()
    for row in rows:
        found, words, span = built(row), sources[row.sentence_id], row.reference
        assert found is not None
        kinds[found.preconjunction or found.coordinator, found.conjuncts] += 1
        first, last = row.conjuncts[0], row.conjuncts[-1]
        assert row.words[first.start : first.end] == words[span.start : span.end]
        before = row.words[: first.start - (found.preconjunction is not None)]
        assert (*before, *words[span.start : span.end]) == words[: span.end]
        assert row.words[last.end :] == words[span.end :]
        between = set(row.words[first.start : last.end])
        for each in row.conjuncts:
            between -= set(row.words[each.start : each.end])
        assert between <= {",", found.coordinator}
        conjuncts = [tuple(w.lower() for w in row.words[c.start : c.end]) for c in row.conjuncts]
        assert len(set(conjuncts)) == len(conjuncts)
        donors = [*(row.middle_donors or ()), *([row.donor] if row.donor else [])]
        assert len(donors) == (len(row.conjuncts) - 1 if fills == "attested" else 0)
        assert len({d.sentence_id for d in donors} | {row.sentence_id}) == len(donors) + 1
        for donor, conjunct in zip(donors, row.conjuncts[1:], strict=False):
            stands = sources[donor.sentence_id][donor.start : donor.end]
            assert stands == row.words[conjunct.start : conjunct.end]
    if (lm, fills) != ("t5", "free"):  # a random T5 writes little that can be used
        assert {"both", "either", "and", "but"} <= {word for word, _ in kinds}
        assert {size for _, size in kinds} == {2, 3, 4}
    assert {size for word, size in kinds if word in {"both", "either", "but"}} == {2}
    assert all(row.words[row.coordinator] == "and" for row in rows if len(row.conjuncts) > 2)
    validate.run(ValidateSettings(place=made.out or Path()))


def test_named_coordinators_are_drawn_evenly(drawn: Path) -> None:
    """Each by (seed, sentence, span) alone; other seeds draw others."""
    drawn_by = {}
    for seed in (0, 1):
        given = settings(
            drawn,
            coordinators="and,or,plus",
            arity="two",
            labelled=None,
            seed=seed,
            model=str(drawn / "models/bert"),
        )
        source = FreeInfilling(given)
        every = [r for unit in range(len(source.sizes)) for r in source.items(unit)[0]]
        assert {r.structure.conjuncts for r in every if r.structure} == {2}
        drawn_by[seed] = {(r.sentence_id, r.span): r.structure for r in every}
        counts = Counter(r.structure.coordinator for r in every if r.structure)
        assert set(counts) == {"and", "or", "plus"}
        assert min(counts.values()) > 10
    both = drawn_by[0].keys() & drawn_by[1].keys()
    assert 0 < sum(drawn_by[0][key] == drawn_by[1][key] for key in both) < len(both)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("like-l", "'like-l' is no coordinator, did you mean 'like-L'"),
        ("like_L", "did you mean 'like-L'"),
        ("And,and", "coordinators are in lower case"),
    ],
)
def test_a_slip_is_no_coordinator(words: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        GenerateSettings.build({"corpus": "data/x", "coordinators": words}, None)


def test_what_is_unset_leaves_a_run_as_it_was(drawn: Path) -> None:
    """Neither the fingerprint nor the references know of structures."""
    source = FreeInfilling(settings(drawn, coordinators=None, arity="two", labelled=None))
    assert {"coordinators", "arity", "labelled"} <= source.inert
    assert "structures" not in source.inputs()
    assert {r.structure for r in source.items(0)[0]} == {None}
    assert default_out(settings(drawn)).parent.name == "bert-sync-coordinators-arity"


def test_rows_do_not_depend_on_units_or_interruption(
    drawn: Path, attested: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shard that is lost is made again as it was, and smaller units give the same rows."""
    out = tmp_path / "out"
    shutil.copytree(attested, out)
    whole = {path.name: sha256_of(path) for path in sorted(out.glob("*.parquet"))}
    ids = sorted(row.candidate_id for row in rows_of(out))
    sorted(out.glob("candidates-*.parquet"))[1].unlink()
    run(settings(drawn, fills="attested", out=out))
    assert {path.name: sha256_of(path) for path in sorted(out.glob("*.parquet"))} == whole
    run(settings(drawn, fills="attested", out=tmp_path / "other", unit=4))
    assert sorted(row.candidate_id for row in rows_of(tmp_path / "other")) == ids
    capsys.readouterr()
    run(settings(drawn, fills="attested", out=out, arity="two", labelled=5))
    assert "arity like-L → unset" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labelled": None}, "like-L needs to know L"),
        ({"coordinators": None, "arity": "two"}, "a draw of L is for coordinators or arity like-L"),
        ({"coordinator": "or"}, "coordinator = or and coordinators = like-L; give one of the two"),
        ({"labelled": 6}, "there are: 1, 5; e.g. --labelled 5"),
        ({"labelled": 1}, "the draw 1 of seed 0 has no coordination"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    drawn: Path, given: dict[str, object], message: str
) -> None:
    """In one line, before a model is loaded."""
    with pytest.raises(ConjoinError, match=message) as error:
        FreeInfilling(settings(drawn, **given))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("words", ["", "and,,or", "and,and", "and, or", "like-L,or,"])
def test_a_list_of_coordinators_is_different_words(words: str) -> None:
    """Anything else is refused with the form that it should have."""
    with pytest.raises(ConjoinError, match="must be like-L, or different words"):
        GenerateSettings.build({"corpus": "data/x", "coordinators": words or ","}, None)


def test_structures_with_donors_are_shared_without_their_words(
    drawn: Path, attested: Path, tmp_path: Path
) -> None:
    """A release, its stand-off form and what is rebuilt of it have the same rows; no donor's word leaks."""
    folder = attested
    for name, stand_off in (("full", False), ("bare", True)):
        release.run(ReleaseSettings(candidates=folder, out=tmp_path / name, stand_off=stand_off))
        validate.run(ValidateSettings(place=tmp_path / name))
    bare = [
        r
        for f in sorted((tmp_path / "bare").glob("*/train-*.parquet"))
        for r in pq.ParquetFile(f).read().to_pylist()
    ]
    several = [row for row in bare if row["middle_donors"]]
    assert len(several) > 5
    assert all(row["fill"] is row["fill_words"] is None for row in bare if row["donor"])
    rehydrate.run(
        RehydrateSettings(release=tmp_path / "bare", source=drawn, out=tmp_path / "again")
    )
    validate.run(ValidateSettings(place=tmp_path / "again"))
    first, second = (
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("full", "again")
    )
    assert first["digests"] == second["digests"]
    summary = summarise(find_shards(tmp_path / "full"), None)
    assert summary["attested"]["donors"] > 10
    assert summary["coordinators"]["and"] > 20


def test_free_structures_are_rebuilt_too(drawn: Path, tmp_path: Path) -> None:
    """Of a stand-off release with generated words: all fills in their order, cut by the spans."""
    made = settings(drawn, coordinators_in_fills=True, out=drawn / "candidates/x/seed-0")
    run(made)
    for name, stand_off in (("full", False), ("bare", True)):
        release.run(
            ReleaseSettings(candidates=made.out or Path(), out=tmp_path / name, stand_off=stand_off)
        )
    validate.run(ValidateSettings(place=tmp_path / "bare"))
    bare = [
        r
        for f in sorted((tmp_path / "bare/data").glob("train-*.parquet"))
        for r in pq.ParquetFile(f).read().to_pylist()
    ]
    for row in bare:
        assert len(row["fill_words"]) == sum(c["end"] - c["start"] for c in row["conjuncts"][1:])
    assert {len(row["conjuncts"]) for row in bare} == {2, 3, 4}
    rehydrate.run(
        RehydrateSettings(release=tmp_path / "bare", source=drawn, out=tmp_path / "again")
    )
    validate.run(ValidateSettings(place=tmp_path / "again"))


def test_browse_and_export_name_every_donor(attested: Path, tmp_path: Path) -> None:
    """In the order of the conjuncts."""
    folder = attested
    rows = {row.candidate_id: row for row in rows_of(folder)}
    with corpus_table(find_shards(folder)) as database:
        shown = {row["id"]: row for row in rows_by_number(database, range(60))}
    for format_ in ("jsonl", "conllu", "brat", "ptb-ext"):
        export.run(ExportSettings(place=folder, format=format_, out=tmp_path / f"x.{format_}"))
    written = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert len(written) == len(rows)
    for row in written:
        donors = [*(row["middle_donors"] or []), row["donor"]]
        expected = [[d["sentence_id"], d["span"]] for d in donors]
        assert [
            [d["sentence"], d["span"]] for d in shown[row["candidate_id"]]["donors"]
        ] == expected
        assert len(expected) == len(row["conjuncts"]) - 1
    text = (tmp_path / "x.conllu").read_text()
    assert text.count("# donor_sentence = ") == sum(len(row["conjuncts"]) - 1 for row in written)


@pytest.mark.long
def test_a_change_to_a_middle_conjunct_is_found(
    attested: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another donor, a missing one, a conjunct with other words: `validate` says which row."""
    folder = attested

    def moved(row: dict[str, Any]) -> None:
        row["middle_donors"][0]["end"] += 1

    def named(row: dict[str, Any], name: str) -> None:
        row["middle_donors"][0]["sentence_id"] = name

    changes: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
        (lambda row: named(row, "c/99"), "donor not in the corpus"),
        (moved, "donor differs from its conjunct"),
        (lambda row: row.update(middle_donors=None), "donor differs from its conjunct"),
        (lambda row: named(row, row["sentence_id"]), "donor in the source sentence"),
        (lambda row: row.update(reference={"start": 0, "end": 1}), "reference differs from its"),
    ]
    for change, kind in changes:
        path = next(
            p
            for p in sorted(folder.glob("candidates-*.parquet"))
            if any(row.middle_donors for row in read_candidates(p))
        )
        kept = path.read_bytes()
        table = pq.read_table(path, partitioning=None)
        rows = table.to_pylist()
        change(next(row for row in rows if row["middle_donors"]))
        pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
        capsys.readouterr()
        with pytest.raises(SystemExit):
            validate.run(ValidateSettings(place=folder, json_=True))
        found = json.loads(capsys.readouterr().out)
        assert kind in str(found)
        path.write_bytes(kept)
