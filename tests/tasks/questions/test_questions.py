"""The task of questions: what a model learns, what it is measured by, and its options."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tasks.questions import quiz  # type: ignore[import-not-found]

from pipeline.core.annotation import described, from_json
from pipeline.core.answered import read_answered
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.experiments.diagnose import command as diagnose
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.report import stage as report
from pipeline.report.settings import ReportSettings
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.known import task_of
from pipeline.tasks.questions.evaluation import QuestionEvaluation
from pipeline.tasks.questions.examples import QuestionExample, example_from, example_of
from pipeline.tasks.questions.model import NO_WORDS, QuestionModel
from pipeline.tasks.questions.rows import QuestionRows
from pipeline.train import stage as train


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quiz.build(tmp_path_factory.mktemp("questions") / "small")


@pytest.fixture
def model(built: Path) -> QuestionModel:
    return QuestionModel.create(str(built / "models/bert"), seed=1).eval()


def test_it_learns_from_pseudo_questions_and_is_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Baseline, no-filter with λ and filter through Algorithm 1; accuracy by what is asked for, reported."""
    corpus = quiz.build(tmp_path / "small")
    for mode in ("baseline", "no-filter", "filter"):
        train.run(quiz.settings(corpus, mode=mode, weight=None if mode == "baseline" else 0.5))
        assert "best validation accuracy " in " ".join(capsys.readouterr().out.split())
    scored = pq.read_table(corpus / "runs/filter/36/seed-0/scored.parquet").to_pylist()
    assert {"answer", "probability", "accepted", "label"} <= set(scored[0])
    assert {row["label"] for row in scored} == {"because", "if"}
    accepted = [row for row in scored if row["accepted"]]
    assert 0 < len(accepted) < len(scored)
    seen = pq.read_table(corpus / "runs/no-filter/36/seed-0/scored.parquet")
    assert len(set(seen["candidate_id"].to_pylist())) > 20
    evaluate.run(EvaluateSettings(corpus=corpus))
    metrics = read_json(corpus / "evaluation/metrics.json")
    assert metrics["instances"] == {"overall": 60, "cause": 30, "effect": 30}
    for row in metrics["runs"]:
        figures = row["accuracy"]
        assert figures["overall"] == pytest.approx((figures["cause"] + figures["effect"]) / 2)
    assert max(row["accuracy"]["overall"] for row in metrics["runs"]) > 0.7
    assert {one["system"] for one in metrics["comparisons"]} == {"filter", "no-filter"}
    report.run(ReportSettings(corpus=corpus))
    text = (corpus / "report/report.md").read_text()
    assert "36 labelled questions" in text
    assert "cause (30)" in text
    kept = list(read_answered(corpus / "evaluation/answers.parquet"))
    for number, row in enumerate(metrics["runs"]):
        right = [each.answers[number].is_right for each in kept]
        assert row["accuracy"]["overall"] == pytest.approx(sum(right) / 60)
        assert all(
            (each.answers[number].text == each.right) == is_right
            for each, is_right in zip(kept, right, strict=True)
        )
    assert text.count("  - right: ") == 20
    made = {row["candidate_id"]: row for row in map(quiz.asked, range(48))}
    drawn = [line for line in text.splitlines() if line.startswith(("- `because`", "- `if`"))]
    assert len(drawn) == 20
    for line in drawn:
        row = made[line.split("`")[-2]]
        choices = " ".join(f"[{choice}]" for choice in row["choices"])
        right = row["choices"][row["answer"]]
        assert f"`{row['context']} Its effect: {choices} → {right}`" in line
    card = read_json(corpus / "runs/baseline/36/seed-0/run.json")
    assert described(from_json(card["annotation"]), "small") == "answers of 36 + 18"
    assert card["settings"]["choices_only"] is False
    assert not {"dropout", "logit_adjustment", "rnn_units"} & set(card["settings"])


def test_choices_alone_are_read_wherever_the_model_is(
    built: Path,
) -> None:
    """It stands in the model's card, and another context makes no difference to its answers."""
    out = built / "runs/only/36/seed-0"
    train.run(quiz.settings(built, mode="baseline", choices_only=True, out=out))
    card = read_json(out / "predictor/predictor.json")
    assert card["choices_only"] is True
    assert read_json(out / "run.json")["settings"]["choices_only"] is True
    with pytest.raises(SettingsError, match="is one of the task 'questions'"):
        diagnose.run(DiagnoseSettings(run=out))
    found = QuestionModel.load(out / "predictor")
    examples = [example_of(quiz.question(n)) for n in range(54, 84)]
    others = [
        example_from("here it was", [" ".join(each) for each in e.choices], e.answer, e.asks)
        for e in examples
    ]
    assert [a and a.probability for a in found.answers(examples)] == pytest.approx(
        [a and a.probability for a in found.answers(others)]
    )
    found.choices_only = False
    assert [a and a.probability for a in found.answers(examples)] != pytest.approx(
        [a and a.probability for a in found.answers(others)]
    )
    encoded = found.pairs.encode([((), ("we", "saw")), (("we", "saw"), ())])
    separator = found.encoding.tokenizer.sep_token_id
    assert encoded[0].ids[1] == separator == encoded[0].ids[-1]
    assert encoded[1].ids[-2:] == (separator, separator)


def test_what_is_asked_for_says_which_side_comes_first(model: QuestionModel) -> None:
    """The encoder reads the cause and then the effect."""
    effect = example_from("we saw it", ["it was", "here"], 0)
    assert model.sides(effect)[1] == (("we", "saw", "it"), ("here",))
    assert model.sides(replace(effect, asks="cause"))[1] == (("here",), ("we", "saw", "it"))


def test_loss_opinions_and_answers_are_of_one_distribution(model: QuestionModel) -> None:
    """Questions of two, four and five choices in a batch; weights count; a batch is what each is alone."""
    examples = [example_of(quiz.question(n)) for n in range(6)]
    rows = dict(model.distributions(examples))
    assert [len(rows[n]) for n in range(6)] == [2, 4, 5, 2, 4, 5]
    for n, scores in rows.items():
        alone = model._scores([model.pairs.encode(model.sides(examples[n]))])[0]
        assert torch.allclose(scores, alone.detach(), atol=1e-5)
        assert float(scores.exp().sum()) == pytest.approx(1, rel=1e-5)
    weights = [1.0, 2.0, 0.5, 0.0, 1.0, 1.0]
    nll = [-float(rows[n][e.answer]) for n, e in enumerate(examples)]
    assert float(model(examples).detach()) == pytest.approx(sum(nll), rel=1e-5)
    weighted = sum(w * each for w, each in zip(weights, nll, strict=True))
    assert float(model(examples, weights).detach()) == pytest.approx(weighted, rel=1e-5)
    for n, (opinion, answer) in enumerate(
        zip(model.opinions(examples), model.answers(examples), strict=True)
    ):
        best = int(rows[n].argmax())
        assert opinion is not None
        assert answer is not None
        assert opinion.probability == pytest.approx(
            float(rows[n][examples[n].answer].exp()), rel=1e-4
        )
        assert opinion.best == (best == examples[n].answer)
        assert answer.example == replace(examples[n], answer=best)
        assert answer.probability == pytest.approx(float(rows[n][best].exp()), rel=1e-4)
    measured = model.measure(examples)
    right = sum(int(rows[n].argmax()) == e.answer for n, e in enumerate(examples))
    assert measured.counts == ((right, 6, 6),)
    assert measured.loss == pytest.approx(sum(nll), rel=1e-4)


def test_what_cannot_be_learned_has_a_reason(model: QuestionModel) -> None:
    """A context or choice without words: no opinion, and wrong where measured."""
    examples = [
        example_from("", ["we", "it"], 0), example_from("we", ["", "it"], 1),
        example_from("we", ["it", "saw"], 0)
    ]  # fmt: skip
    assert model.obstacles(examples) == [NO_WORDS, NO_WORDS, None]
    assert [each is None for each in model.opinions(examples)] == [True, True, False]
    measured = model.measure(examples)
    assert (measured.scored, measured.counts[0][1:]) == (1, (3, 3))


def test_a_model_is_what_it_was_when_it_is_read_again(model: QuestionModel, tmp_path: Path) -> None:
    """Same answers; commands of coordination refuse its folder in a line."""
    examples = [example_of(quiz.question(n)) for n in range(12)]
    model.save(tmp_path / "model")
    assert QuestionModel.load(tmp_path / "model").answers(examples) == model.answers(examples)
    with pytest.raises(ModelError, match="on a corpus of coordination"):
        CoordinationPredictor.load(tmp_path / "model")
    card = json.loads((tmp_path / "model/predictor.json").read_text())
    (tmp_path / "model/predictor.json").write_text(json.dumps(card | {"choices_only": "yes"}))
    with pytest.raises(InputError, match="choices_only"):
        QuestionModel.load(tmp_path / "model")


def test_options_of_other_tasks_are_refused(built: Path) -> None:
    """Each in one line that names the task."""
    for option in ({"dropout": 0.1}, {"logit_adjustment": 1.0}):
        (name,) = option
        with pytest.raises(SettingsError, match=f"questions has no --{name.replace('_', '-')}"):
            train.run(quiz.settings(built, mode="baseline", out=built / "refused", **option))


def test_variants_change_the_context_alone(built: Path) -> None:
    """What masks words of sentences masks those of contexts."""
    out = built / "masked"
    train.run(quiz.settings(built, mode="baseline", augment="mask", steps=4, warm_steps=0, out=out))
    assert read_json(out / "run.json")["steps"] == 4


def test_long_questions_are_cut_and_counted(built: Path, model: QuestionModel) -> None:
    """The encoder reads 64 subwords; a question counts once, however many of its choices are cut."""
    long = replace(quiz.question(0), context="we " * 80)
    found = task_of(built).examples([long, quiz.question(1)], model)
    assert found.notes == {"questions cut to 64 subwords": 1}
    assert model([example_of(long)]).isfinite()


def test_figures_are_shares_of_right_answers() -> None:
    """Overall and by what is asked for, where both are; an answer that there is not is wrong."""
    evaluation = QuestionEvaluation()
    questions = [quiz.question(n, "test") for n in range(6)]
    said = [q.answer if n in (0, 1, 2) else -1 for n, q in enumerate(questions)]
    judged = evaluation.judged(questions, [{"predicted": each} for each in said])
    assert judged.figures == {"overall": 0.5, "cause": 1 / 3, "effect": 2 / 3}
    assert judged.unscored == 3
    assert judged.counts.sum(0).tolist() == [[3, 6, 6]]
    one_kind = [questions[0], questions[2]]
    assert evaluation.sizes(one_kind) == {"overall": 2}
    assert evaluation.documents(one_kind) == ["d0", "d2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"context": " "}, "row 11 has no context"), ({"answer": 4}, "row 11 has the answer 4 of 4 choices"),
        ({"answer": -1}, "row 11 has the answer -1"),
        ({"choices": ["a"]}, "row 11 has fewer than two choices"),
        ({"choices": ["a", "a"], "answer": 0}, "row 11 has two choices alike"),
        ({"choices": ["a", ""], "answer": 0}, "row 11 has no choice"),
        ({"choices": ["a", None], "answer": 0}, "row 11 has no choice"),
        ({"context": "w\x1b[1me"}, "row 11 has a control character in its context"),
        ({"label": ""}, "row 11 has no label"), ({"answer": None}, "row 11 has the answer None"),
    ],
)  # fmt: skip
def test_candidates_that_no_question_can_be_are_refused(
    given: dict[str, object], message: str
) -> None:
    """In a line that names file and row."""
    rows = QuestionRows()
    kept = {name: quiz.asked(0)[name] for name in rows.columns.names}
    batch = pa.RecordBatch.from_pylist([kept, kept | given], _nullable(rows.columns))
    with pytest.raises(InputError, match=f"shard: {message}"):
        rows.check(batch, "shard", 10)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [(f.name, pa.list_(pa.string()) if pa.types.is_list(f.type) else f.type) for f in schema]
    )


def test_a_candidates_key_has_all_that_is_read_of_it() -> None:
    """The id of the pair apart; the example asks for the effect."""
    rows, first = QuestionRows(), quiz.asked(0)
    others = [
        {"choices": first["choices"][::-1]},
        {"answer": 3},
        {"context": "we"},
        {"label": "if"},
    ]
    batch = pa.RecordBatch.from_pylist(
        [{n: row[n] for n in rows.columns.names} for row in (first, first | {"sentence_id": "x"}, *(
            first | other for other in others))],
        rows.columns,
    )  # fmt: skip
    keys = rows.keys(batch)
    assert keys[0] == keys[1]
    assert len(np.unique(keys)) == 5
    drawn = rows.drawn(first)
    assert drawn.example == QuestionExample(
        drawn.example.words, drawn.example.ends, "effect", first["answer"]
    )
    assert drawn.size == len(first["choices"][first["answer"]].split())
    assert [" ".join(each) for each in drawn.example.choices] == first["choices"]
