"""``conjoin release RUN`` of runs of other tasks than coordination, and intervals by column."""

import random
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from tasks.arguments import clausal  # type: ignore[import-not-found]
from tasks.questions import quiz  # type: ignore[import-not-found]
from tasks.relations import pairwise  # type: ignore[import-not-found]

from pipeline.api import Predictor
from pipeline.core.comparison import resamples
from pipeline.core.corpora import CORPORA
from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError
from pipeline.core.figures import figure
from pipeline.core.parquet import read_rows
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.evaluate.stage import run as evaluate
from pipeline.release.predictors.figures import intervals_of
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run as release
from pipeline.sharing.validate.command import run as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.known import TASKS
from pipeline.tasks.protocol import JudgedRows
from pipeline.train.stage import run as train
from pipeline.trying.predict.command import run as predict
from pipeline.trying.predict.settings import PredictSettings

SMALL = {"relations": pairwise, "questions": quiz, "arguments": clausal}


@pytest.fixture(scope="module", params=SMALL)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Path]:
    """A task, a corpus with an evaluated baseline, and the release of its run."""
    module: ModuleType = SMALL[request.param]
    corpus = module.build(tmp_path_factory.mktemp(request.param) / "toy")
    train(module.settings(corpus, mode="baseline", candidates=None, steps=10))
    evaluate(EvaluateSettings(corpus=corpus, threads=1))
    return request.param, corpus, released(corpus, corpus.parent / "out")


def released(corpus: Path, out: Path) -> Path:
    (card,) = corpus.rglob("run.json")
    release(ReleaseSettings(candidates=card.parent, out=out, license="MIT"))
    return out


def test_a_run_of_another_task_is_released(
    made: tuple[str, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With its own figure and interval; `validate` takes it, and the card's own lines load it."""
    task, corpus, out = made
    found = read_json(out / "manifest.json")["figures"]
    evaluation = TASKS[task].evaluation
    assert (found["title"], found["figure"]) == (evaluation.title, evaluation.figure)
    (run,) = read_json(corpus / "evaluation/metrics.json")["runs"]
    assert found["overall"] == pytest.approx(run["accuracy"]["overall"])
    assert found["low"] < found["overall"] < found["high"]
    capsys.readouterr()
    validate(ValidateSettings(place=out))
    assert "every digest holds" in capsys.readouterr().out
    card = (out / "README.md").read_text()
    # A baseline learned from no candidates, which is what that algorithm is about.
    assert "Algorithm 1" not in card
    assert "Teranishi" not in card
    assert ("Konno" if task == "arguments" else "Omura") in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    known: dict[str, Any] = {}
    exec(re.sub(r"path/to/[\w.-]+", str(out), code), known)  # noqa: S102 - the card's
    instances = evaluation.instances(corpus, "test", None)
    rows = evaluation.rows(known["model"], instances, 1000)
    (kept,) = (corpus / "evaluation/predictions").glob("*.parquet")
    again = evaluation.judged(instances, list(read_rows(kept, evaluation.schema)))
    assert evaluation.judged(instances, rows).figures == pytest.approx(again.figures)


def test_every_column_has_its_counts(made: tuple[str, Path, Path]) -> None:
    """Of which its figure is made, as the first is; those with enough have intervals in the card."""
    task, corpus, out = made
    evaluation = TASKS[task].evaluation
    instances = evaluation.instances(corpus, "test", None)
    (kept,) = (corpus / "evaluation/predictions").glob("*.parquet")
    judged = evaluation.judged(instances, list(read_rows(kept, evaluation.schema)))
    assert list(judged.of_columns) == list(judged.figures)
    for name, counts in judged.of_columns.items():
        assert figure(counts.tolist()) == pytest.approx(judged.figures[name])
    manifest = read_json(out / "manifest.json")["figures"]
    # Questions for a cause are of six contexts of the twelve, and those for an effect of the others.
    assert bool(manifest["intervals"]) == (task != "questions")
    card = (out / "README.md").read_text()
    for name, (low, high) in manifest["intervals"].items():
        assert low <= manifest["figures"][name] <= high
        line = next(each for each in card.splitlines() if each.startswith(f"| {name} |"))
        assert line.endswith(f"| {100 * low:.2f} to {100 * high:.2f} |")


def test_predict_refuses_it_in_a_line(made: tuple[str, Path, Path]) -> None:
    """It finds conjuncts, and the API's Predictor, too."""
    task, _, out = made
    said = rf"another format: 'conjoin-{task}'.*of a run on a corpus of coordination"
    for ask in (
        lambda: Predictor.load(out),
        lambda: predict(PredictSettings(predictor=str(out), text=out / "README.md")),
    ):
        with pytest.raises(ModelError, match=said) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_a_card_says_the_language_of_its_corpus(
    made: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of one reader's is Japanese."""
    _, corpus, out = made
    reader = read_json(corpus / "ingest.json")["reader"]
    for language in ("en", "ja"):
        changed = replace(CORPORA[reader], language=language)
        monkeypatch.setitem(CORPORA, reader, changed)  # type: ignore[arg-type]
        card = (released(corpus, out) / "README.md").read_text()
        assert yaml.safe_load(card.split("---\n")[1])["language"] == [language]
    assert CORPORA["wac"].language == "ja"


@pytest.mark.parametrize("documents", [30, 4])
def test_intervals_are_those_of_a_plain_loop(documents: int) -> None:
    """Over documents, or where there are few over instances; a column of few has none."""
    draw = random.Random(documents)
    names = [f"d{draw.randrange(documents)}" for _ in range(80)]
    counts = np.array([[[draw.randrange(2), 1, draw.randrange(1, 3)] for _ in "ab"] for _ in names])
    some = counts.copy()
    some[40:] = 0
    few = np.zeros_like(counts)
    few[:5] = counts[:5]
    judged = JudgedRows({}, {}, 0, counts, {"overall": counts, "some": some, "few": few})
    found = intervals_of(judged, names, (0, 40))
    units = list(dict.fromkeys(names[:40])) if documents >= 10 else list(range(40))
    members = [
        [at for at in range(40) if unit == (names[at] if documents >= 10 else at)] for unit in units
    ]
    means = []
    for _, block in resamples((0, 40), 1, len(units)):
        for times in block:
            drawn = [at for own, n in zip(members, times, strict=True) for at in own * int(n)]
            means.append(figure([counts[at].tolist() for at in drawn]))
    assert list(found) == ["some"]
    assert found["some"] == pytest.approx([np.quantile(means, 0.025), np.quantile(means, 0.975)])
