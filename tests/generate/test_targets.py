"""`generate --targets`: references and structures as often as they are wanted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.buckets import bucket_of
from pipeline.core.errors import ConjoinError
from pipeline.core.files import write_json
from pipeline.core.schema import read_candidates
from pipeline.core.types import Reference, Span, Structure
from pipeline.generate.free_infilling import FreeInfilling
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.generate.targets import Targets
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings

EDGES = [3, 5, 8]


def cell(label: str, length: int, conjuncts: int, share: float, **more: object) -> dict[str, Any]:
    given = {"label": label, "length": length, "conjuncts": conjuncts, "share": share}
    return {"coordinator": "or", "preconjunction": None, **given, **more}


def written(corpus: Path, *cells: dict[str, Any], **more: object) -> Path:
    """A file of targets."""
    path = corpus / "targets.json"
    write_json(path, {"format": 1, "edges": EDGES, "commas": 1.0, "cells": list(cells), **more})
    return path


def settings(corpus: Path, **more: object) -> GenerateSettings:
    usual = {"corpus": corpus, "lm": "bert", "unit": 8, "batch_tokens": 300}
    return GenerateSettings.model_validate({**usual, "targets": corpus / "targets.json", **more})


def references(corpus: Path, **more: object) -> list[Reference]:
    source = FreeInfilling(settings(corpus, **more))
    return [each for unit in range(len(source.sizes)) for each in source.items(unit)[0]]


def test_only_what_is_wanted_is_drawn(corpus: Path) -> None:
    """One cell: all references have its label, coordinator, conjuncts and come into its bucket."""
    written(corpus, cell("NP", 2, 3, 0.5), cell("NP", 1, 2, 0.0), cell("QP", 0, 2, 0.5))
    found = references(corpus)
    assert len(found) == 30
    assert {each.label for each in found} == {"NP"}
    assert {bucket_of(EDGES, 3 * len(each.span) + 2) for each in found} == {2}
    drawn = {each.structure for each in found}
    assert {(s.coordinator, s.conjuncts, s.comma, s.preconjunction) for s in drawn if s} == {
        ("or", 3, True, None)
    }


def test_what_no_reference_can_make_is_reported(corpus: Path) -> None:
    """Three words hold no three conjuncts with their links; QP is no reference's label; both are counted."""
    written(corpus, cell("NP", 2, 3, 0.5), cell("NP", 0, 3, 0.3), cell("QP", 2, 2, 0.2))
    notes = FreeInfilling(settings(corpus)).notes
    start = "of 1,000 structures that the targets want cannot be made: "
    assert {note.removeprefix(start): count for note, count in notes.items()} == {
        "no reference makes a structure of that many conjuncts and words": 300,
        "the label is none of a reference span's": 200,
    }


def test_cells_are_drawn_as_often_as_they_are_wanted(corpus: Path) -> None:
    """Two labels that U offers unequally often; each sentence depends on itself and the seed alone."""
    written(
        corpus,
        cell("NP", 1, 2, 0.5, coordinator="nor", preconjunction="neither"),
        cell("ADVP", 0, 2, 0.5, coordinator="but"),
    )
    labels = Counter[str]()
    for seed in range(4):
        found = references(corpus, seed=seed, model=str(corpus / "models/bert"))
        labels.update(each.label for each in found)
        for each in found:
            assert each.structure is not None
            pair = each.label == "NP"
            assert each.structure.preconjunction == ("neither" if pair else None)
            assert each.span.start or not pair  # it would have to take over the capital
    assert abs(labels["NP"] - 60) < 20, labels
    fewer = references(corpus, limit=9, unit=2)
    assert fewer == references(corpus)[:9]


def test_what_is_offered_seldom_weighs_more() -> None:
    """A weight is a share over what a uniform draw offers."""
    targets = Targets(
        0, EDGES, 0.0, {("NP", 0, 2): [(Structure("or"), 0.5)], ("VP", 0, 2): [(Structure("or"), 0.5)]},
        {("NP", 0, 2): 0.25}, rarest=0.125,
    )  # fmt: skip
    assert 2 * targets.weight(Span(0, 1), "NP") == targets.weight(Span(4, 5), "VP") == 4.0
    assert targets.weight(Span(0, 9), "NP") == targets.weight(Span(0, 1), "PP") == 0.0


def test_a_run_by_targets_is_valid_and_named_apart(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rows pass `validate`; other targets make its shards stale."""
    written(corpus, cell("NP", 2, 3, 0.5), cell("VP", 3, 2, 0.5))
    given = settings(corpus, out=corpus / "candidates/x/seed-0")
    run(given)
    capsys.readouterr()
    out = given.out or Path()
    validate.run(ValidateSettings(place=out, json_=True))
    assert not json.loads(capsys.readouterr().out)["violations"]
    rows = [c for path in out.glob("candidates-*.parquet") for c in read_candidates(path)]
    assert {row.words[row.coordinator] for row in rows} == {"or"}
    assert default_out(given).parent.name == "bert-sync-targets"
    before = FreeInfilling(given).inputs()
    written(corpus, cell("NP", 2, 3, 0.5))
    assert FreeInfilling(given).inputs() != before


@pytest.mark.parametrize(
    ("cells", "more", "given", "message"),
    [
        ([], {}, {}, "nothing is wanted of the labels NP, VP"),
        ([cell("NP", 0, 2, 0.0)], {}, {}, "nothing is wanted of the labels"),
        ([cell("NP", 0, 2, 1e308), cell("VP", 0, 2, 1e308)], {}, {}, "share: .* make it"),
        ([cell("NP", 0, 5, 1.0)], {}, {}, "make it with `conjoin diagnose RUN`"),
        ([cell("NP", 0, 2, 1.0)], {"edges": [4, 3]}, {}, "the edges do not ascend"),
        ([cell("NP", 0, 2, 1.0)], {"format": 2}, {}, "make it with `conjoin diagnose RUN`"),
        ([cell("NP", 0, 2, 1.0, preconjunction="both")], {}, {}, "'both' … 'or' is no pair"),
        ([cell("NP", 0, 2, 1.0, coordinator="&")], {}, {}, "must be one of and, and/or, but, nor, or"),
        ([cell("NP", 0, 2, 1.0)], {}, {"arity": "like-L", "labelled": 5}, "targets say which coordinators"),
        ([cell("NP", 0, 2, 1.0)], {}, {"coordinators": "and,or"}, "targets say which coordinators"),
        ([cell("NP", 0, 2, 1.0)], {}, {"spans": "random"}, "targets are for constituents"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_used_are_refused(
    corpus: Path,
    cells: list[dict[str, Any]],
    more: dict[str, Any],
    given: dict[str, Any],
    message: str,
) -> None:
    """In one line that says what to do."""
    written(corpus, *cells, **more)
    with pytest.raises(ConjoinError, match=message) as error:
        FreeInfilling(settings(corpus, **given))
    assert "\n" not in str(error.value)
