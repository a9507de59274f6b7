"""The record of what was annotated, from folder to folder: merge, select, train, release."""

import shutil
from pathlib import Path

import pytest
import tiny
from shared_corpora import candidate_folder

from pipeline.core.annotation import (
    Annotation,
    as_json,
    from_json,
    joined,
    of_draw,
    part_of,
    unknown,
)
from pipeline.core.documents import read_json
from pipeline.core.files import sha256_of, write_json
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.corpus.annotated import annotation_of_predictor
from pipeline.corpus.layout import find_shards
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.merge.command import merge
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train


def sentence(name: str) -> Sentence:
    coordination = Coordination(3, "and", "NP", (Span(1, 3), Span(4, 5)))
    words = ("the", "old", "man", "and", "wife")
    return Sentence(
        name, "doc", "train", words, None, "(S1 (NP (X x)))", (coordination,), "CC0-1.0"
    )


def of_l(seed: int = 0, *, trees: bool = True) -> Annotation:
    own, validation = [sentence(f"l{seed}{n}") for n in range(4)], [sentence(f"v{seed}")]
    return of_draw("toy", f"4/seed-{seed}", own, validation, trees=trees)


OTHERS = (part_of("gum", "others", [sentence(f"o{n}") for n in range(9)], trees=True),)


def with_record(folder: Path, annotation: Annotation) -> Path:
    """A folder whose manifest says what was annotated."""
    manifest = read_json(folder / "manifest.json")
    write_json(folder / "manifest.json", manifest | {"annotation": as_json(annotation)})
    return folder


def record(path: Path) -> Annotation:
    return from_json(read_json(path)["annotation"])


def test_a_merger_rests_on_what_both_rest_on(tmp_path: Path) -> None:
    """Each set of sentences once; a folder that does not say it is listed as not known, by its name."""
    one = with_record(candidate_folder(tmp_path / "one", 20), of_l())
    two = with_record(candidate_folder(tmp_path / "two", 20, seed=1), (*of_l(), *OTHERS))
    other = candidate_folder(tmp_path / "three", 20, seed=2)
    merge([find_shards(one), find_shards(two)], tmp_path / "both")
    assert record(tmp_path / "both/manifest.json") == joined([*of_l(), *OTHERS])
    merge([find_shards(tmp_path / "both"), find_shards(other)], tmp_path / "all")
    assert record(tmp_path / "all/manifest.json") == joined([*of_l(), *OTHERS, *unknown("t5-sync")])


def test_one_generation_with_and_without_a_record_is_one(tmp_path: Path) -> None:
    """A copy that an earlier version left is no other generation."""
    new = candidate_folder(tmp_path / "one", 20)
    old = Path(shutil.copytree(new, tmp_path / "old"))
    with_record(new, of_l())
    manifest = merge([find_shards(new), find_shards(old)], tmp_path / "both")
    assert len(manifest["generations"]) == 1


@pytest.fixture
def predictor(tiny_bert: Path, tmp_path: Path) -> Path:
    """A predictor that has learned nothing, where a run would leave it."""
    folder = tmp_path / "runs/baseline/4/seed-1/predictor"
    made = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.0, seed=0)
    made.save(folder)
    return folder


def test_a_selection_rests_on_its_judges_too(predictor: Path, tmp_path: Path) -> None:
    """Of a predictor whose run says nothing it is not known what it learned from."""
    folder = with_record(candidate_folder(tmp_path / "toy", 20), of_l())
    select.run(SelectSettings(places=[folder], out=tmp_path / "plain", label=["NP"]))
    assert record(tmp_path / "plain/manifest.json") == of_l()
    asked = {"places": [folder], "predictor": predictor, "delta": 0.0}
    select.run(SelectSettings(**asked, out=tmp_path / "unknown"))
    assert record(tmp_path / "unknown/manifest.json") == joined([*of_l(), *unknown("baseline")])
    known = {"system": "baseline", "mode": "baseline", "labelled": 4, "seed": 1}
    known |= {"annotation": as_json(of_l(1, trees=False))}
    write_json(predictor.parent / "run.json", known)
    assert annotation_of_predictor(predictor) == of_l(1, trees=False)
    select.run(SelectSettings(**asked, out=tmp_path / "known"))
    corpus = tiny.build(tmp_path / "tiny")
    earlier = {"system": "baseline", "mode": "baseline", "labelled": 40, "draw": "40", "seed": 0}
    write_json(corpus / "runs/baseline/40/seed-0/run.json", earlier)
    of_earlier = annotation_of_predictor(corpus / "runs/baseline/40/seed-0/predictor")
    assert of_earlier == annotation_of_run_card(earlier, corpus)
    assert [part.part for part in of_earlier] == ["labelled", "validation"]
    assert record(tmp_path / "known/manifest.json") == joined([*of_l(), *of_l(1, trees=False)])


def test_a_run_rests_on_l_and_on_its_candidates(tmp_path: Path) -> None:
    """L's boundaries and its validation sentences; the candidates' record, if they have one."""
    corpus = tiny.build(tmp_path / "tiny")
    places = {"t5-sync": corpus / "candidates/t5-sync/seed-0"}
    places["known"] = Path(shutil.copytree(places["t5-sync"], corpus / "candidates/known/seed-0"))
    write_json(places["known"] / "manifest.json", {"annotation": as_json(OTHERS)})
    few = {"steps": 4, "warm_steps": 2, "eval_every": 2}
    found = {}
    for name, place in places.items():
        train.run(tiny.settings(corpus, **few, candidates=place, out=tmp_path / name))
        found[name] = record(tmp_path / name / "run.json")
    train.run(tiny.settings(corpus, **few, mode="baseline", out=tmp_path / "baseline"))
    own = record(tmp_path / "baseline/run.json")
    assert [(p.part, p.draw, p.use, p.boundaries, p.trees, p.coordinations) for p in own] == [
        ("labelled", "40/seed-0", "learned", 40, 0, 40),
        ("validation", "40/seed-0", "chosen", 24, 0, 24),
    ]
    assert found == {
        "t5-sync": joined([*own, *unknown("t5-sync")]), "known": joined([*own, *OTHERS]),
    }  # fmt: skip


def test_a_release_says_what_was_annotated_for_it(tmp_path: Path) -> None:
    """In its manifest and, in words, on its card; whoever selects from it carries it on."""
    folder = with_record(candidate_folder(tmp_path / "toy", 20), joined([*of_l(), *OTHERS]))
    release.run(ReleaseSettings(candidates=folder, out=tmp_path / "out"))
    assert record(tmp_path / "out/manifest.json") == joined([*of_l(), *OTHERS])
    card = (tmp_path / "out/README.md").read_text("utf-8")
    assert "| annotated by people for it | trees of 4 + 1; trees of 9 others of gum |" in card
    select.run(SelectSettings(places=[tmp_path / "out"], out=tmp_path / "part", label=["NP"]))
    assert record(tmp_path / "part/manifest.json") == joined([*of_l(), *OTHERS])


def test_a_damaged_record_is_one_line(tmp_path: Path) -> None:
    """A manifest from elsewhere may say anything; what is no part is refused where it is read."""
    folder = candidate_folder(tmp_path / "toy", 20)
    manifest = read_json(folder / "manifest.json")
    write_json(
        folder / "manifest.json", manifest | {"annotation": [{"corpus": "x", "part": "odd"}]}
    )
    with pytest.raises(Exception, match=r"not a manifest of a corpus: annotation\[0\]\.part"):
        find_shards(folder)


def test_what_else_a_run_learns_from_is_recorded(tmp_path: Path) -> None:
    """L's trees by their brackets; the sentences of a parser, as the parser's record has them."""
    corpus = tiny.build(tmp_path / "tiny", more=6, trees=True)
    few = {"steps": 2, "warm_steps": 1, "eval_every": 2, "mode": "baseline"}
    train.run(tiny.settings(corpus, **few, brackets=0.1, out=tmp_path / "brackets"))
    own = record(tmp_path / "brackets/run.json")
    assert [(p.part, p.trees, p.boundaries) for p in own] == [
        ("labelled", 40, 40), ("validation", 0, 24),
    ]  # fmt: skip
    others = [tiny.sentence(n) for n in range(94, 100)]
    ids = [each.sentence_id for each in others]
    parser = corpus / "parsers/others/40/seed-0"
    write_json(parser / "learned.json", {"trees": ids, "dev": []})
    card = {
        "source": "parser.pt", "wrapper": None, "training": None,
        "files": {"learned.json": {"sha256": sha256_of(parser / "learned.json")}},
    }  # fmt: skip
    write_json(parser / "parser.json", card)
    train.run(
        tiny.settings(corpus, **few, gold_of="parsers/others/40/seed-0", out=tmp_path / "gold")
    )
    found = record(tmp_path / "gold/run.json")
    (part,) = [each for each in found if each.part == "others"]
    assert (part.sentences, part.boundaries, part.trees, part.coordinations) == (6, 6, 0, 6)
    assert part.ids == part_of("tiny", "others", others, trees=True).ids  # one set, not two
