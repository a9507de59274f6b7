"""Evaluation: figures recounted from the rows, and predictions that are kept for runs that stay."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import build, ingested, sentence, settings

from benchmarks import outcomes, table_parts
from pipeline.audit import stage as audit
from pipeline.audit.settings import AuditSettings
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, digest_of, write_json
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import PREDICTIONS, SENTENCES, sentence_row
from pipeline.core.types import Sentence
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.report import stage as report
from pipeline.report.settings import ReportSettings
from pipeline.train import stage as train

ROOT = Path(__file__).resolve().parents[2]
LEXICON = ROOT / "data" / "raw" / "world"
SYSTEMS: dict[str, dict[str, Any]] = {
    "a-baseline": {"mode": "baseline", "generator": "none"},
    "b-t5": {"mode": "filter", "generator": "T5"},
    "c-no-filter": {"mode": "no-filter", "generator": "T5", "variation": "no-filter"},
    "d-twins": {"mode": "filter", "generator": "T5", "caption": "adapted on twins", "k": 4},
    "e-more": {"mode": "filter", "generator": "T5", "caption": "trained on", "k": 2,
               "control_of": "adapted on twins"},
}  # fmt: skip
NONSENSE = dict(zip(SYSTEMS, ("zug", "t5-quux", "baseline", "xyzzy", "blorp"), strict=True))


CARD: dict[str, Any] = {
    "system": "x", "mode": "filter", "labelled": 40, "seed": 0, "best_validation_accuracy": 0.5,
    "best_step": 1, "steps": 1, "seen": 1, "accepted": 1,
}  # fmt: skip
"""What evaluate reads of a ``run.json``."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with one finished run of each system."""
    corpus = build(tmp_path_factory.mktemp("data") / "tiny")
    for name, given in SYSTEMS.items():
        train.run(settings(corpus, system=name, **given))
    return corpus


@pytest.fixture
def corpus(trained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(trained, tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Evaluates a corpus; returns the systems whose predictors were asked."""
    asked: list[str] = []
    predict = evaluate._predict

    def noted(task: Any, folder: Path, *rest: Any) -> list[dict[str, Any]]:
        asked.append(folder.parents[1].name)
        return predict(task, folder, *rest)

    monkeypatch.setattr(evaluate, "_predict", noted)

    def run(corpus: Path, **given: Any) -> list[str]:
        asked.clear()
        evaluate.run(EvaluateSettings(corpus=corpus, threads=1, **given))
        return sorted(asked)

    return run


def test_an_interrupted_evaluation_is_done_again(
    corpus: Path, evaluated: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amid predictions, or between the two files that it ends with: the next one goes on."""
    evaluated(corpus)
    whole = {path: path.read_bytes() for path in (corpus / "evaluation").glob("*.*")}
    assert {path.name for path in whole} == {"metrics.json", "answers.parquet"}
    for stopped in ("_metrics", "write_answered"):
        with monkeypatch.context() as patch:
            patch.setattr(evaluate, stopped, _stop)
            with pytest.raises(KeyboardInterrupt):
                evaluated(corpus)
        assert evaluated(corpus) == []
        assert {path: path.read_bytes() for path in whole} == whole


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.long
def test_only_a_new_run_is_predicted(
    corpus: Path, tmp_path: Path, evaluated: Callable[..., list[str]]
) -> None:
    """A run that comes or goes asks no other predictor, and the metrics are those of a first time."""
    shutil.move(corpus / "runs/b-t5", tmp_path / "b-t5")
    metrics = corpus / "evaluation/metrics.json"
    assert evaluated(corpus) == sorted(SYSTEMS.keys() - {"b-t5"})
    without = metrics.read_bytes()
    shutil.move(tmp_path / "b-t5", corpus / "runs/b-t5")
    assert evaluated(corpus) == ["b-t5"]
    second = metrics.read_bytes()
    assert evaluated(corpus) == []
    assert metrics.read_bytes() == second
    shutil.rmtree(corpus / "evaluation")
    assert evaluated(corpus) == sorted(SYSTEMS)
    assert metrics.read_bytes() == second
    shutil.rmtree(corpus / "runs/b-t5")
    assert evaluated(corpus) == []
    assert metrics.read_bytes() == without
    assert not list((corpus / "evaluation").rglob("b-t5-*"))
    for own in ("a person's", "[]", '{"figures": 3}'):
        metrics.write_text(own)
        with pytest.raises(InputError, match="no earlier output of `conjoin evaluate`"):
            evaluated(corpus)
        assert metrics.read_text() == own


@pytest.mark.long
def test_stale_and_damaged_predictions_are_made_again(
    corpus: Path, evaluated: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another predictor, test set, setting or algorithm; with a bit changed; without a record."""
    evaluated(corpus)
    metrics = (corpus / "evaluation/metrics.json").read_bytes()
    damaged = corpus / "evaluation/predictions/c-no-filter-40-0.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-40] + bytes([content[-40] ^ 1]) + content[-39:])
    assert evaluated(corpus) == ["c-no-filter"]
    assert damaged.read_bytes() == content
    for record in ("{", "[]"):
        (corpus / "evaluation/kept/c-no-filter-40-0.json").write_text(record)
        assert evaluated(corpus) == ["c-no-filter"]
    shutil.rmtree(corpus / "evaluation/kept")
    assert evaluated(corpus) == sorted(SYSTEMS)
    assert (corpus / "evaluation/metrics.json").read_bytes() == metrics
    card = corpus / "runs/d-twins/40/seed-0/predictor/predictor.json"
    card.write_text(card.read_text() + "\n")
    assert evaluated(corpus) == ["d-twins"]
    assert evaluated(corpus, batch_tokens=100) == sorted(SYSTEMS)
    assert evaluated(corpus, batch_tokens=100, limit=7) == sorted(SYSTEMS)
    assert read_json(corpus / "evaluation/metrics.json")["limit"] == 7
    monkeypatch.setattr(evaluate, "ALGORITHM", evaluate.ALGORITHM + 1)
    assert evaluated(corpus, batch_tokens=100, limit=7) == sorted(SYSTEMS)


@pytest.mark.long
def test_a_system_of_any_name_stands_in_every_table(corpus: Path, tmp_path: Path) -> None:
    """All systems renamed to nonsense, also to one another's names: the same rows and figures."""
    other = shutil.copytree(corpus, tmp_path / "renamed/tiny")
    shutil.rmtree(other / "runs")
    for old, new in NONSENSE.items():
        shutil.copytree(corpus / "runs" / old, other / "runs" / new)
        card = other / "runs" / new / "40/seed-0/run.json"
        write_json(card, {**read_json(card), "system": new})
    found = []
    for folder, names in ((corpus, NONSENSE), (other, {})):
        evaluate.run(EvaluateSettings(corpus=folder, threads=1))
        audit.run(AuditSettings(corpus=folder, source=LEXICON, sample=20))
        report.run(ReportSettings(corpus=folder, examples=3))
        documents = [read_json(folder / f) for f in ("evaluation/metrics.json", "audit/audit.json")]
        found.append([_rows(document, names) for document in documents])
    assert found[0] == found[1]
    metrics, judged = found[0]
    # Nobody knows what was annotated for these candidates, but it is the same for all of them.
    assert len(metrics["comparisons"]) == 4  # 3 over T5, 1 over its control
    assert [each["against"] for each in metrics["across"]] == [NONSENSE["a-baseline"]] * 4
    assert len(judged["filter"]) == 4
    # The folder of a run, which a command of the first screen names, has its system's name.
    first, second = (
        re.sub(r"/runs/[^/]+/", "/runs/…/", (folder / "report/report.md").read_text())
        for folder in (corpus, other)
    )
    assert first == second
    for row in ("baseline", "T5", "− filtering", "T5 (adapted on twins)", "T5 (trained on)"):
        assert f"{row} " in first


def test_what_runs_got_right_outlives_them(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """benchmarks/outcomes.py keeps evaluate's verdicts, and adds those of runs made elsewhere."""
    for module in (outcomes, table_parts):
        monkeypatch.setattr(module, "FOLDER", tmp_path / "kept")
    evaluate.run(EvaluateSettings(corpus=corpus, threads=1))
    metrics = read_json(corpus / "evaluation/metrics.json")
    outcomes.main(corpus)
    shutil.rmtree(corpus / "runs/a-baseline")
    evaluate.run(EvaluateSettings(corpus=corpus, threads=1))
    outcomes.main(corpus)
    study = table_parts.Study(Path("tiny"))
    for run in metrics["runs"]:
        [(seed, right)] = study.right(run["system"], "40", [0]).items()
        assert sum(right) / len(right) == pytest.approx(run["accuracy"]["overall"])
        kept = study.outcomes.of(run["system"], "40", [seed])[seed]
        for name, share in run["accuracy"].items():
            if name != "overall" and share is not None:
                bits = study.outcomes.right(kept, name)
                assert sum(bits) / len(bits) == pytest.approx(share)
    assert len(study.outcomes.runs) == len(SYSTEMS)
    made = re.compile(outcomes.commands_of(study.outcomes.runs))
    for system, seed, known in (("b-t5", 0, True), ("b-t5", 1, False), ("b-t5x", 0, False)):
        command = f"conjoin train data/tiny --system {system} --mode x --labelled 40 --seed {seed} --resume"
        assert bool(made.search(command)) == known
    assert not re.search(outcomes.commands_of([]), "conjoin train")


@pytest.mark.parametrize("bits", ["", "0", "1", "0001", "10110"])
def test_bits_are_kept_with_zeros_in_front(bits: str) -> None:
    wanted = [bit == "1" for bit in bits]
    assert outcomes.unpacked(outcomes.packed(wanted), len(wanted)) == wanted


def _rows(document: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The lists of a document with other names for its systems, their entries in one order."""

    def renamed(entry: dict[str, Any]) -> dict[str, Any]:
        called = {k: names.get(entry[k], entry[k]) for k in ("system", "against") if k in entry}
        return {**entry, **called}

    return {
        key: sorted(map(renamed, value), key=json.dumps) if isinstance(value, list) else value
        for key, value in document.items()
    }


def test_evaluate_scores_every_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two seeds of a baseline: figures per run and their mean and sd, recounted from the rows."""
    corpus = build(tmp_path / "tiny")
    write_json(corpus / "draws/seed-1/40.json", read_json(corpus / "draws/seed-0/40.json"))
    ingested(corpus)
    for seed in (0, 1):
        train.run(settings(corpus, mode="baseline", seed=seed))
    for seed, begun in enumerate(("history.jsonl", ".lock")):  # the second never began
        (corpus / f"runs/filter/40/seed-{seed}").mkdir(parents=True)
        (corpus / f"runs/filter/40/seed-{seed}" / begun).touch()
    (corpus / "runs/filter/40/seed-2").symlink_to(tmp_path / "elsewhere")  # which is not there
    (corpus / "runs/filter/40/seed-3.tar").touch()
    (corpus / "evaluation/predictions").mkdir(parents=True)
    (corpus / "evaluation/predictions/gone-40-0.parquet").touch()
    gone = FileFacts.of(corpus / "evaluation/predictions/gone-40-0.parquet")
    kept = corpus / "evaluation/kept"
    Output(kept, kept / "gone-40-0.json", Fingerprint()).finish({"gone-40-0.parquet": gone}, {})
    (corpus / "evaluation/predictions/mine.parquet").touch()  # by nobody's record
    evaluate.run(EvaluateSettings(corpus=corpus, threads=1))
    metrics = read_json(corpus / "evaluation/metrics.json")
    assert metrics["split"] == "test"
    assert metrics["instances"] == {
        "overall": 30, "NP, NX": 10, "VP": 10, "ADJP, ADVP": 0, "PP": 0, "S, SBAR": 0, "other": 10,
    }  # fmt: skip
    *files, mine = sorted((corpus / "evaluation/predictions").iterdir())
    assert [p.name for p in files] == ["baseline-40-0.parquet", "baseline-40-1.parquet"]
    assert mine.name == "mine.parquet"
    for path, run in zip(files, metrics["runs"], strict=True):
        rows = list(read_rows(path, PREDICTIONS))
        hits = [row["gold"] == row["predicted"] for row in rows]
        assert run["accuracy"]["overall"] == run["criteria"]["exact"] == sum(hits) / 30 > 0.3
        assert run["accuracy"]["PP"] is None
        assert (run["system"], run["labelled"], run["steps"]) == ("baseline", 40, 60)
    one, two = (run["accuracy"]["VP"] for run in metrics["runs"])
    (summary,) = metrics["summary"]
    assert summary["seeds"] == [0, 1]
    assert summary["mean"]["VP"] == pytest.approx((one + two) / 2)
    assert summary["sd"]["VP"] == pytest.approx(abs(one - two) / 2**0.5)
    assert summary["criteria"]["whole"]["mean"] == summary["mean"]["overall"]
    printed = capsys.readouterr().out
    assert printed.count("no run.json") == 3
    assert f"{100 * summary['mean']['overall']:.2f}" in printed


def test_evaluate_does_not_average_runs_of_different_settings(tmp_path: Path) -> None:
    """Two seeds of one system that differ in more than the seed are named, with the difference."""
    corpus = build(tmp_path / "tiny")
    for seed, delta in ((0, 0.4), (1, 0.5)):
        settings = {
            "seed": seed,
            "delta": delta,
            "candidates": f"c/seed-{seed}",
            "threads": 1 + seed,
        }
        card = CARD | {"settings": settings}
        write_json(corpus / f"runs/filter/40/seed-{seed}/run.json", card)
    with pytest.raises(InputError, match="seed-1: differs from seed-0 in delta, so their mean"):
        evaluate.run(EvaluateSettings(corpus=corpus, threads=1))


def test_evaluation_counts_what_cannot_be_scored_as_wrong(trained: Path, tmp_path: Path) -> None:
    """A test sentence longer than the encoder stays in the denominator with an empty prediction."""
    corpus = build(tmp_path / "tiny")
    long = sentence(64, "test")
    words = (*long.words, *["here"] * 40)
    long = Sentence("long", "d", "test", words, None, None, long.coordinations, "test")
    every = [*(sentence(n) for n in range(64)), long, sentence(65, "test")]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, every))
    ingested(corpus)
    train_run = corpus / "runs/baseline/40/seed-0"
    shutil.copytree(trained / "runs/a-baseline/40/seed-0", train_run)
    card = read_json(train_run / "run.json")
    write_json(train_run / "run.json", {**card, "held_out": digest_of(["long", "s65"])})
    evaluate.run(EvaluateSettings(corpus=corpus, threads=1))
    metrics = read_json(corpus / "evaluation/metrics.json")
    rows = list(read_rows(corpus / "evaluation/predictions/a-baseline-40-0.parquet", PREDICTIONS))
    assert [len(row["predicted"]) for row in rows] == [0, 2]
    assert rows[0]["probability"] == 0
    assert metrics["instances"]["overall"] == 2
    assert metrics["runs"][0]["unscored"] == 1
    assert metrics["runs"][0]["accuracy"]["overall"] <= 0.5


@pytest.mark.parametrize(
    "changed",
    [
        [], {"system": 3}, {"system": "../../x"}, {"labelled": "40"}, {"seed": None}, {"settings": []},
        {"shown_as": {"caption": 3}}, {"shown_as": {"name": "x"}}, {"best_step": {}}, {"draw": []},
        {"seen": None},
    ],
)  # fmt: skip
def test_a_card_of_another_form_is_one_line(tmp_path: Path, changed: Any) -> None:
    """A run may come from anywhere, and its card names files here."""
    card: dict[str, Any] = {
        "system": "x",
        "mode": "filter",
        "labelled": 40,
        "seed": 0,
        "best_step": 1,
    }
    card |= {"best_validation_accuracy": 0.5, "steps": 1, "seen": 1, "accepted": 1}
    path = tmp_path / "runs/x/40/seed-0/run.json"
    write_json(path, card | changed if changed else changed)
    with pytest.raises(InputError, match=r"run\.json: not ") as caught:
        evaluate.run(EvaluateSettings(corpus=tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["name", "mode"])
def test_the_key_that_is_wrong_is_named(tmp_path: Path, key: str) -> None:
    """A field that no system has, and would stand for the name or mode of this one."""
    path = tmp_path / "runs/x/40/seed-0/run.json"
    write_json(path, CARD | {"shown_as": {key: "y"}})
    with pytest.raises(InputError, match=rf"run\.json: .*shown_as\.{key}"):
        evaluate.run(EvaluateSettings(corpus=tmp_path))


def test_evaluate_without_anything_to_do(tmp_path: Path) -> None:
    """No run, and a split without coordination, are named."""
    corpus = build(tmp_path / "tiny")
    with pytest.raises(InputError, match="no trained run here; run `conjoin train`"):
        evaluate.run(EvaluateSettings(corpus=corpus, threads=1))
    (corpus / "runs/a/40/seed-0").mkdir(parents=True)
    write_json(corpus / "runs/a/40/seed-0/run.json", CARD)
    with pytest.raises(InputError, match="no evaluable coordination in split 'dev'"):
        evaluate.run(EvaluateSettings(corpus=corpus, split="dev", threads=1))


def test_a_run_of_before_the_corpus_was_divided_otherwise_is_left_out(
    corpus: Path, evaluated: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What it learned may be in the test split now; another draw, or none, makes no difference."""
    shutil.rmtree(corpus / "runs/e-more")
    card = corpus / "runs/a-baseline/40/seed-0/run.json"
    earlier = read_json(card)
    del earlier["held_out"]  # as earlier versions wrote it
    write_json(card, earlier)
    draw = read_json(corpus / "draws/seed-0/40.json")
    (corpus / "draws/seed-0/40.json").unlink()
    ingested(corpus)
    assert evaluated(corpus) == ["a-baseline", "b-t5", "c-no-filter", "d-twins"]
    write_json(corpus / "draws/seed-0/40.json", draw)
    parts = [*range(1, 64), 0, *range(64, 94)]
    every = [sentence(n, "test" if n in {0, *range(64, 94)} else "train") for n in parts]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, every))
    ingested(corpus)
    # With a run that is left out no other is averaged, so they need not be alike.
    gone = corpus / "runs/a-baseline/40/seed-1"
    shutil.copytree(card.parent, gone)
    other = {"held_out": "other", "seed": 1, "settings": {**earlier["settings"], "steps": 9}}
    write_json(gone / "run.json", earlier | other)
    assert evaluated(corpus) == ["a-baseline"]
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("the corpus is divided otherwise since it was trained") == 4
    shutil.rmtree(corpus / "runs/a-baseline")
    with pytest.raises(InputError, match="divided otherwise since its runs were trained"):
        evaluated(corpus)


def test_runs_whose_parser_of_gold_is_of_their_seed_are_alike() -> None:
    """As their candidates' folders; of another parser they are not."""

    def runs(*parsers: str) -> list[tuple[Path, dict[str, Any]]]:
        return [
            (Path(f"runs/x/40/seed-{seed}"), CARD | {"seed": seed, "settings": {"gold_of": parser}})
            for seed, parser in enumerate(parsers)
        ]

    evaluate._check_alike(runs("parsers/l/40/seed-0", "parsers/l/40/seed-1"))
    with pytest.raises(InputError, match="gold_of"):
        evaluate._check_alike(runs("parsers/l/40/seed-0", "parsers/m/40/seed-1"))


def test_runs_of_other_candidates_are_not_alike() -> None:
    """Those of another seed are; of which kind they are is what a mean would hide."""

    def runs(*candidates: str | None) -> list[tuple[Path, dict[str, Any]]]:
        return [
            (
                Path(f"runs/x/40/seed-{seed}"),
                CARD | {"seed": seed, "settings": {"candidates": each}},
            )
            for seed, each in enumerate(candidates)
        ]

    evaluate._check_alike(
        runs("candidates/a/seed-0", "candidates/a/seed-1", "candidates/a/seed-1/")
    )
    evaluate._check_alike(runs("candidates/chosen", "candidates/chosen"))
    for others in ("candidates/b/seed-1", "candidates/chosen", None):
        with pytest.raises(InputError, match="differs from seed-0 in candidates, so their mean"):
            evaluate._check_alike(runs("candidates/a/seed-0", others))


def test_runs_whose_encoder_lies_elsewhere_are_alike() -> None:
    """Of the same weights by their digest; of others, or unknown ones, they are not."""

    def runs(*models: str | None) -> list[tuple[Path, dict[str, Any]]]:
        cards = [
            CARD | {"seed": seed, "settings": {"encoder": f"folder-{seed}"}, "model": model}
            for seed, model in enumerate(models)
        ]
        return [(Path(f"runs/x/40/seed-{card['seed']}"), card) for card in cards]

    evaluate._check_alike(runs("sha256:a", "sha256:a"))
    for models in [("sha256:a", "sha256:b"), (None, None)]:
        with pytest.raises(InputError, match="differs from seed-0 in encoder"):
            evaluate._check_alike(runs(*models))
