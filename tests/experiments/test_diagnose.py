"""`conjoin diagnose`: folds of L, errors by cell, and the targets that come of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny

from pipeline.core.errors import ConjoinError
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.experiments.diagnose import command as diagnose
from pipeline.experiments.diagnose.command import folds_of, targets_of
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.train import stage as train


def test_folds_part_l_and_depend_on_seed_and_ids_alone() -> None:
    """Every sentence is in one fold; sizes differ by one at most; the order of L does not matter."""
    sentences = [tiny.sentence(n) for n in range(17)]
    folds = folds_of(sentences, 5, seed=3)
    ids = [{s.sentence_id for s in fold} for fold in folds]
    assert sorted(map(len, ids)) == [3, 3, 3, 4, 4]
    assert set().union(*ids) == {s.sentence_id for s in sentences}
    again = [{s.sentence_id for s in fold} for fold in folds_of(sentences[::-1], 5, seed=3)]
    assert again == ids
    assert [{s.sentence_id for s in f} for f in folds_of(sentences, 5, seed=4)] != ids


def structure(number: int, words: str, label: str, *spans: tuple[int, int]) -> Sentence:
    """A sentence whose coordinator stands before its last conjunct."""
    found = tuple(words.split())
    at = spans[-1][0] - 1
    gold = Coordination(at, found[at], label, tuple(Span(*span) for span in spans))
    return Sentence(f"s{number}", "d", "train", found, None, None, (gold,), "test")


def test_shares_follow_the_documented_formula() -> None:
    """Two cells of which one is always wrong; its share, computed by hand."""
    sentences = [structure(n, "a and b", "NP", (0, 1), (2, 3)) for n in range(8)]
    sentences += [
        structure(n, "both a , b , and c", "NP", (1, 2), (3, 4), (6, 7)) for n in range(8, 10)
    ]
    wrong = {
        (s.sentence_id, s.coordinations[0].coordinator): n > 7 for n, s in enumerate(sentences)
    }
    found = targets_of(sentences, wrong, smoothing=2.0)
    assert (found["structures"], found["errors"], found["edges"], found["commas"]) == (
        10,
        2,
        [3],
        1.0,
    )
    r = 0.2
    easy, hard, label = (0 + 2 * r) / 10 / r, (2 + 2 * r) / 4 / r, (2 + 2 * r) / 12 / r
    rates = (0 + 2 * min(1, r * label * easy**3)) / 10, (2 + 2 * min(1, r * label * hard**3)) / 4
    masses = 8 * rates[0], 2 * rates[1]
    shares = [mass / sum(masses) for mass in masses]
    cells = {(c["preconjunction"], c["conjuncts"]): c for c in found["cells"]}
    assert cells[None, 2]["share"] == pytest.approx(shares[0], abs=1e-8)
    assert cells["both", 3]["share"] == pytest.approx(shares[1], abs=1e-8)
    assert (cells["both", 3]["length"], cells["both", 3]["errors"]) == (1, 2)
    nothing = targets_of(sentences, dict.fromkeys(wrong, False), smoothing=2.0)
    assert {cell["share"] for cell in nothing["cells"]} == {0.0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a tiny baseline."""
    corpus = tiny.build(tmp_path_factory.mktemp("diagnosed"))
    train.run(tiny.settings(corpus, mode="baseline", candidates=None, steps=12, warm_steps=0))
    return corpus / "runs/baseline/40/seed-0"


def test_every_sentence_is_judged_by_a_predictor_that_had_not_seen_it(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folds train as the run did on the rest of L; again, none is trained, and the file is the same."""
    out = tmp_path / "out"
    diagnose.run(DiagnoseSettings(run=finished, folds=2, out=out))
    found = json.loads((out / "targets.json").read_text())
    assert found["structures"] == sum(cell["structures"] for cell in found["cells"]) == 40
    assert found["errors"] == sum(cell["errors"] for cell in found["cells"])
    assert found["run"] == {"system": "baseline", "draw": "40", "seed": 0, "folds": 2}
    cards = [json.loads((out / f"fold-{n}-of-2/run.json").read_text()) for n in (1, 2)]
    assert [card["labelled"] for card in cards] == [20, 20]
    own = json.loads((finished / "run.json").read_text())
    assert [card["settings"] for card in cards] == [own["settings"]] * 2
    assert "errors in 40 structures of L, held out" in capsys.readouterr().out
    first = (out / "targets.json").read_bytes()
    shutil.rmtree(out / "fold-2-of-2")
    diagnose.run(DiagnoseSettings(run=finished, folds=2, out=out))
    assert capsys.readouterr().out.count("this very run is finished") == 1
    assert (out / "targets.json").read_bytes() == first
    other = finished.parent / "seed-8"
    other.mkdir()
    (other / "run.json").write_text(json.dumps(own | {"system": "another"}))
    with pytest.raises(
        ConjoinError, match="the targets of another run are here; choose another --out"
    ):
        diagnose.run(DiagnoseSettings(run=other, folds=2, out=out))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card["settings"].update(k="x"), "setting k: .*; another version of conjoin made"),
        (lambda card: card.update(draw="41"), "no such file; there are: 40; e.g. --labelled 40"),
        (lambda card: (card.update(mode="filter"), card["settings"].update(candidates="gone")),
         "gone: the run's candidates are not in the corpus; name them with --candidates"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_made_again_is_refused(
    finished: Path, change: Any, message: str
) -> None:
    """In one line that says what to do."""
    other = finished.parent / "seed-9"
    other.mkdir(exist_ok=True)
    card = json.loads((finished / "run.json").read_text())
    change(card)
    (other / "run.json").write_text(json.dumps(card))
    with pytest.raises(ConjoinError, match=message) as error:
        diagnose.run(DiagnoseSettings(run=other, out=finished.parent / "out"))
    assert "\n" not in str(error.value)


def test_folds_of_a_small_l_and_no_run_are_refused(finished: Path, tmp_path: Path) -> None:
    """With what to say instead."""
    with pytest.raises(
        ConjoinError, match="L has 40 sentences for 41 folds; say a smaller --folds"
    ):
        diagnose.run(DiagnoseSettings(run=finished, folds=41))
    with pytest.raises(ConjoinError, match="name a folder that `conjoin train` finished"):
        diagnose.run(DiagnoseSettings(run=tmp_path))
