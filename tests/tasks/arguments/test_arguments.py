"""The task of arguments: what a model learns, how θ is settled, and how arguments are judged."""

import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tasks.arguments import clausal  # type: ignore[import-not-found]
from tiny import digest, history
from torch import Tensor

from pipeline.core.answered import read_answered, write_answered
from pipeline.core.corpora import ARGUMENTS
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import write_rows
from pipeline.core.predicates import ROLES, Argument, Predicate
from pipeline.core.types import Sentence, Span
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.experiments.plan.estimates import probe_training
from pipeline.report import stage as report
from pipeline.report.examples import place_of
from pipeline.report.settings import ReportSettings
from pipeline.tasks.arguments.decoding import GRIDS, BestWord, best_words, settled
from pipeline.tasks.arguments.evaluation import ArgumentEvaluation, chosen_in
from pipeline.tasks.arguments.examples import NONE, ArgumentExample, example_of
from pipeline.tasks.arguments.figures import counted, f1
from pipeline.tasks.arguments.model import MOST_LAYERS, MOST_UNITS, OF_LONG, ArgumentModel, Labeller
from pipeline.tasks.arguments.permutation import p_value
from pipeline.tasks.arguments.predicates import Clause, _fault, clauses_of, clauses_of_split
from pipeline.tasks.arguments.rows import NoRows
from pipeline.tasks.arguments.task import ArgumentTask
from pipeline.tasks.augmentation import Labelled, Material
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.known import task_of
from pipeline.train import stage as train
from pipeline.train.augmentation.kinds import kinds_of
from pipeline.train.learner import Learner
from pipeline.train.optimizer import Schedule
from pipeline.train.settings import TrainSettings

TASK = ArgumentTask()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clausal.build(tmp_path_factory.mktemp("arguments") / "small")


@pytest.fixture
def model(built: Path) -> ArgumentModel:
    where = str(built / "models/bert")
    return ArgumentModel.create(where, layers=3, units=8, seed=1).eval()


@pytest.fixture(scope="module")
def clauses(built: Path) -> list[Clause]:
    return clauses_of_split(built, "test")


def test_it_learns_and_is_evaluated(built: Path) -> None:
    """Zeros, dependents and all, by role; intervals over sentences; a record of what was annotated."""
    for augment in ("none", "mask"):
        train.run(clausal.settings(built, augment=augment, mask_tags="all-VERB", steps=50))
    evaluate.run(EvaluateSettings(corpus=built))
    metrics = read_json(built / "evaluation/metrics.json")
    there = metrics["instances"]
    assert there["overall"] == there["ZAR"] + there["DEP"] == 111
    assert there["ZAR"] == there["ZAR NOM"]
    assert metrics["resampled"] == "sentences"
    assert {row["system"] for row in metrics["comparisons"]} == {"baseline-mask-all-VERB"}
    best = max(metrics["runs"], key=lambda row: row["accuracy"]["overall"])
    assert best["accuracy"]["overall"] > 0.25
    assert set(best["criteria"]) == {"ALL with mentions", "ZAR with mentions", "DEP with mentions"}
    card = read_json(built / "runs/baseline/40/seed-0/run.json")
    assert card["labelled"] == 40
    own, watched = card["annotation"]
    assert (own["sentences"], own["predicates"]) == (40, 80)
    assert (watched["sentences"], watched["use"]) == (12, "chosen")
    assert card["settings"]["rnn_layers"] == 2
    # Nothing of other tasks is recorded as if it mattered.
    others = {"dropout", "mlp_hidden", "brackets", "labels", "logit_adjustment"}
    assert not others & set(card["settings"])
    report.run(ReportSettings(corpus=built))
    text = (built / "report/report.md").read_text()
    assert "| Overall (111) |" in text
    assert "40 labelled sentences" in text
    assert "arguments of 40 + 12" in text
    for word in ("boundar", "coordinat", "conjunct", "audit", "ccuracy (%)"):
        assert word not in text, word
    _zeros_are_shown(built)


def _zeros_are_shown(corpus: Path) -> None:
    """Every predicate with a zero is kept with what each run said; text is shown if it may be handed on."""
    kept = list(read_answered(corpus / "evaluation/answers.parquet"))
    zeros = [
        clause
        for clause in clauses_of_split(corpus, "test")
        if any(each.kind == "ZAR" for each in clause.predicate.arguments)
    ]
    assert [each.name for each in kept] == [
        f"{clause.sentence_id}:{clause.predicate.predicate}" for clause in zeros
    ]
    assert {len(each.answers) for each in kept} == {2}
    kept = [replace(each, license="unknown") for each in kept]
    write_answered(corpus / "evaluation/answers.parquet", kept)
    report.run(ReportSettings(corpus=corpus))
    text = (corpus / "report/report.md").read_text()
    assert f"{len(kept)} of the drawn predicates with a zero are not shown" in text
    assert "  - right: " not in text
    report.run(ReportSettings(corpus=corpus, own_use=True, examples=7, seed=3))
    text = (corpus / "report/report.md").read_text()
    assert "Drawn with seed 3 and not chosen, from the predicates with a zero of test" in text
    shown = {each.name for each in kept if f"`{each.name}`" in text}
    assert len(shown) == text.count("  - right: ") == 7
    assert shown == {each.name for each in sorted(kept, key=lambda e: place_of(3, e.name))[:7]}


def test_a_zero_is_shown_in_its_sentence() -> None:
    """In a text without blanks the predicate's own word is in brackets; zeros are told from dependents."""
    sentence = Sentence(
        sentence_id="s", doc_id="d", split="test", license="CC0-1.0", tags=None, tree=None, coordinations=(),
        words=("太郎", "は", "公園", "に", "行き", "、", "遊んだ", "。"),
    )  # fmt: skip
    arguments = (Argument("NOM", "ZAR", (0,)), Argument("DAT", "DEP", (2, 4)))
    predicate = Predicate("s", 6, Span(6, 7), True, arguments, (Span(2, 6),))
    clause, evaluation = Clause(sentence, predicate, (4, 6)), ArgumentEvaluation()
    shown = evaluation.shown(clause)
    assert shown is not None
    assert shown.text == "太郎は公園に行き、[遊んだ]。"
    assert shown.right == "NOM 太郎 (zero), DAT 公園 or 行き"
    for chosen, said in (
        ({"NOM": 0, "DAT": 4}, ("NOM 太郎 (zero), DAT 行き", True)),
        ({"DAT": 2}, ("DAT 公園", False)),  # the zero is missing
        ({"NOM": 0, "ACC": 2, "DAT": 2}, ("NOM 太郎 (zero), ACC 公園, DAT 公園", False)),
        ({}, ("", False)),
        ({"NOM": 7}, ("NOM 。 (zero)", False)),
    ):
        choices = [{"role": r, "word": w, "chosen": True} for r, w in chosen.items()]
        assert evaluation.said(clause, {"choices": choices}) == said
    # An argument that one of its fillers makes a dependent is none of the zeros, whichever is chosen.
    either = replace(predicate, arguments=(arguments[0], Argument("DAT", "DEP", (2, 7))))
    choices = [
        {"role": "NOM", "word": 0, "chosen": True},
        {"role": "DAT", "word": 7, "chosen": True},
    ]
    said = evaluation.said(Clause(sentence, either, (4, 6)), {"choices": choices})
    assert said == ("NOM 太郎 (zero), DAT 。", True)
    # The second 公園 is not the first.
    again = Clause(
        replace(sentence, words=("公園", *sentence.words[1:])),
        replace(predicate, arguments=(Argument("NOM", "ZAR", (2,)),)), (4, 6),
    )  # fmt: skip
    shown = evaluation.shown(again)
    assert shown is not None
    assert shown.right == "NOM 公園 2 of 2 (zero)"
    choices = [{"role": "NOM", "word": 0, "chosen": True}]
    assert evaluation.said(again, {"choices": choices}) == ("NOM 公園 1 of 2 (zero)", False)
    without = replace(predicate, arguments=arguments[1:])
    assert evaluation.shown(Clause(sentence, without, (4, 6))) is None


def test_without_masks_a_variant_is_a_copy(built: Path) -> None:
    """α = 0 is ``copy`` bit for bit, dropout and all, and not the baseline."""
    given = {"steps": 6, "encoder_dropout": 0.1, "encoder_rate": 1.0}
    found = {}
    for name, more in {
        "copy": {"augment": "copy"}, "mask": {"augment": "mask", "alpha": 0.0},
        "fill": {"augment": "fill", "alpha": 0.0}, "baseline": {}, "masked": {"augment": "mask"},
    }.items():  # fmt: skip
        out = built / "alpha" / name
        train.run(clausal.settings(built, out=out, **given, **more))
        found[name] = sha256_of(out / "predictor/model.safetensors")
    assert found["copy"] == found["mask"] == found["fill"]
    assert len(set(found.values())) == 3


def material(corpus: Path, model: ArgumentModel, clauses: list[Clause], **given: Any) -> Material:
    labelled = [
        Labelled(each, example_of(each), TASK.protected(each), TASK.place(each))  # type: ignore[arg-type]
        for each in clauses
    ]
    usual = {"alpha": 0.9, "mask_tags": "all", "fill_mode": "multi-argmax", "seed": 0}
    return Material(
        corpus=corpus, labelled=labelled, encoding=model.encoding, lm=str(corpus / "models/bert"),
        device=torch.device("cpu"), **usual | given,
    )  # fmt: skip


def test_the_target_is_never_masked(
    built: Path, model: ArgumentModel, clauses: list[Clause]
) -> None:
    """In 10,000 draws; the sentence's other predicates are, and each of its predicates has its own masks."""
    masks = kinds_of(TASK)["mask"](material(built, model, clauses))
    mask = str(model.encoding.tokenizer.mask_token)
    others = drawn = apart = 0
    for epoch in range(-(-10_000 // len(clauses))):
        variants = masks.variants(epoch)
        for clause, variant in zip(clauses, variants, strict=True):
            drawn += 1
            words = list(clause.words)
            assert variant.words[clause.predicate.predicate] == words[clause.predicate.predicate]
            assert variant.predicates == clause.predicates
            others += sum(
                variant.words[i] == mask
                for i in clause.predicates
                if i != clause.predicate.predicate
            )
        apart += sum(
            [w == mask for w in one.words] != [w == mask for w in two.words]
            for one, two in zip(variants[::2], variants[1::2], strict=True)
        )
    assert drawn >= 10_000
    assert 0.85 < others / drawn < 0.95
    assert apart > drawn / 4


@pytest.mark.long
def test_a_killed_run_ends_as_if_it_had_not_been(built: Path, tmp_path: Path, forks: Any) -> None:
    """Weights, θ and history, bit for bit, of a run with masks."""
    usual = {"checkpoint_every": 4, "eval_every": 5, "augment": "mask", "steps": 20}
    train.run(clausal.settings(built, out=tmp_path / "whole", **usual))
    killed = clausal.settings(built, out=tmp_path / "killed", resume=True, **usual)

    def work() -> None:
        update = Learner.update

        def dying(self: Learner, *given: Any) -> None:
            update(self, *given)
            if self.step == 14:
                os.kill(os.getpid(), signal.SIGKILL)

        Learner.update = dying  # type: ignore[method-assign]
        train.run(killed)

    assert forks.end(forks.start(work)) == -signal.SIGKILL
    train.run(killed)
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    assert history(tmp_path / "killed") == history(tmp_path / "whole")


def test_a_frozen_encoder_reads_a_sentence_once(
    model: ArgumentModel, clauses: list[Clause], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a variant each time; what it learns is the same, whoever asked first, but for rounding."""
    examples = [example_of(clause) for clause in clauses[:4]]
    varied = [replace(each, variant=True) for each in examples]
    sentences = len({each.words for each in examples})
    model.zero_grad()
    expected = model([*examples, *varied])
    expected.backward()
    gradient = model.labeller.linear.weight.grad
    assert gradient is not None
    read: list[int] = []
    passes = model.encoding.encode
    monkeypatch.setattr(model.encoding, "encode", lambda own: read.append(len(own)) or passes(own))
    model.encoder.requires_grad_(requires_grad=False)
    model.measure(examples)  # validation comes first, in inference mode
    assert sum(read) - sentences == sentences  # batches are cut by lengths, too
    read.clear()
    model.zero_grad()
    found = model([*examples, *varied])
    found.backward()
    assert sum(read) == sentences
    torch.testing.assert_close(found, expected)
    again = model.labeller.linear.weight.grad
    torch.testing.assert_close(again, gradient)


def by_hand(labeller: Labeller, words: Tensor) -> Tensor:
    """Eqs. 5-7 word by word, with the cells of the labeller's weights."""
    h = words
    for number, layer in enumerate(labeller.layers):
        cell = torch.nn.GRUCell(layer.input_size, layer.hidden_size)
        cell.load_state_dict(
            {name.removesuffix("_l0"): value for name, value in layer.state_dict().items()}
        )
        order = range(len(h)) if number % 2 == 0 else reversed(range(len(h)))
        state, out = torch.zeros(layer.hidden_size), [torch.empty(0)] * len(h)
        for place in order:
            state = cell(h[place], state)
            out[place] = state if number == 0 else h[place] + state
        h = torch.stack(out)
    return labeller.linear(h).log_softmax(-1)


def test_the_labeller_is_the_papers_loop() -> None:
    """Of sentences of any lengths, in any order: odd layers forwards, even ones backwards, residuals."""
    torch.manual_seed(3)
    labeller = Labeller(7, 5, 6)
    words = [torch.randn(length, 7) for length in (4, 1, 9, 4, 2)]
    found = labeller(words)
    for own, scores in zip(words, found, strict=True):
        assert torch.allclose(scores, by_hand(labeller, own), atol=1e-6)
        assert torch.allclose(scores, labeller([own])[0], atol=1e-6)


def test_a_word_is_its_first_subword_and_two_bits(model: ArgumentModel) -> None:
    """Of the encoder's states; the target is among the predicates (Eqs. 2-4)."""
    words = ("the", "shipwrightshipwright", "hid", "it", "and", "fled")
    example = ArgumentExample(words, 2, (2, 5), Span(2, 3), ((1,), (3,), ()))
    (encoded,) = model.encoding.encode([words])
    assert len(encoded.ids) > len(words) + 2
    with torch.inference_mode():
        states = model.encoder(input_ids=torch.tensor([encoded.ids])).last_hidden_state[0]
        h = states[torch.tensor(encoded.first)]
        bits = torch.tensor([[0, 0], [0, 0], [1, 1], [0, 0], [0, 0], [0, 1]], dtype=h.dtype)
        expected = by_hand(model.labeller, torch.cat([h, bits], 1))
    ((_, scores),) = model.distributions([example])
    assert torch.allclose(scores, expected, atol=1e-5)
    labels = [NONE, 0, NONE, 1, NONE, NONE]
    assert example.labels == labels
    mean = -sum(float(expected[i, label]) for i, label in enumerate(labels)) / len(words)
    assert float(model([example]).detach()) == pytest.approx(mean, rel=1e-4)
    assert float(model([example, example], [2.0, 0.5]).detach()) == pytest.approx(
        2.5 * mean, rel=1e-4
    )
    assert model.measure([example]).loss == pytest.approx(mean, rel=1e-4)
    (opinion,) = model.opinions([example])
    assert opinion is not None
    assert opinion.probability == pytest.approx(np.exp(-mean * len(words)), rel=1e-3)
    assert opinion.best == all(
        int(row.argmax()) == label for row, label in zip(scores, labels, strict=True)
    )


def test_what_is_chosen_is_outside_the_predicates_phrase() -> None:
    """The most probable word of a role, but of its own bunsetsu; nothing if that is the sentence."""
    scores = torch.full((4, 4), 0.1)
    scores[1, 0], scores[3, 0], scores[2, 1] = 0.9, 0.4, 0.8
    example = ArgumentExample(tuple("abcd"), 1, (1,), Span(1, 3), ((), (), ()))
    nom, acc, dat = best_words(example, scores.log())
    assert nom == BestWord(3, pytest.approx(0.4))
    assert acc == dat == BestWord(0, pytest.approx(0.1))
    whole = replace(example, phrase=Span(0, 4))
    assert best_words(whole, scores.log()) == [None, None, None]


def test_thresholds_have_the_best_f1_of_their_role() -> None:
    """As a plain loop over the grid finds it; of equals the least, and only what exceeds θ is chosen."""
    draw = random.Random(4)
    examples, choices = [], []
    for _ in range(60):
        fillers = tuple((draw.randrange(3),) if draw.random() < 0.6 else () for _ in ROLES)
        examples.append(ArgumentExample(tuple("abcd"), 3, (3,), Span(3, 4), fillers))
        own: list[BestWord | None] = []
        for gold in fillers:
            word = gold[0] if gold and draw.random() < 0.7 else draw.randrange(3)
            own.append(BestWord(word, draw.random() * (1 if word in gold else 0.6)))
        choices.append(own)
    choices[0] = [None, None, None]
    for role, theta in enumerate(settled(examples, choices)):
        scored = []
        for hundredths in range(GRIDS[role][0], GRIDS[role][1] + 1):
            right = said = there = 0
            for example, mine in zip(examples, choices, strict=True):
                gold, choice = example.fillers[role], mine[role]
                there += bool(gold)
                if choice is not None and choice.probability > hundredths / 100:
                    said += 1
                    right += choice.word in gold
            scored.append((2 * right / (said + there), -hundredths))
        assert theta == -max(scored)[1] / 100
    # A role of which nothing is right with any θ is said as seldom as can be.
    assert settled([], []) == (0.7, 0.85, 0.6)
    wrong = [[BestWord(2, 0.5)] * len(ROLES)]
    nobody = ArgumentExample(tuple("abcd"), 3, (3,), Span(3, 4), ((0,), (), ()))
    assert settled([nobody], wrong) == (0.7, 0.85, 0.6)


def test_thresholds_are_of_the_validation_set_alone(built: Path, tmp_path: Path) -> None:
    """The run's θ are what its weights give on the draw's validation sentences, and are saved with them."""
    train.run(clausal.settings(built, out=tmp_path / "run", steps=60))
    model = ArgumentModel.load(tmp_path / "run/predictor")
    own, watched = TASK.draw(built, 0, "40")
    kept = model.thresholds
    model.settle([example_of(each) for each in watched])
    assert model.thresholds == kept != (0.5, 0.5, 0.5)
    model.settle([example_of(each) for each in own])
    assert model.thresholds != kept
    card = read_json(tmp_path / "run/predictor/predictor.json")
    assert tuple(card["thresholds"]) == kept
    last = history(tmp_path / "run")[-1]
    assert last["validation_accuracy"] > 0.3


def test_a_model_is_what_it_was_when_it_is_read_again(
    model: ArgumentModel, clauses: list[Clause], tmp_path: Path
) -> None:
    """Same answers by the same θ; each task refuses the other's folder in a line, and a damaged one."""
    model.thresholds = (0.25, 0.3, 0.2)
    examples = [example_of(each) for each in clauses[:8]]
    model.save(tmp_path / "model")
    again = ArgumentModel.load(tmp_path / "model")
    assert again.answers(examples) == model.answers(examples)
    assert again.thresholds == (0.25, 0.3, 0.2)
    with pytest.raises(ModelError, match="on a corpus of coordination"):
        CoordinationPredictor.load(tmp_path / "model")
    path = tmp_path / "model/predictor.json"
    card = json.loads(path.read_text())
    for wrong in (
        {"thresholds": [0.5, 0.5]}, {"thresholds": [0.5, 0.5, 7]}, {"layers": 0}, {"layers": 10**9},
        {"units": 10**9},
    ):  # fmt: skip
        path.write_text(json.dumps(card | wrong))
        with pytest.raises(ModelError, match="sizes that no predictor has"):
            ArgumentModel.load(tmp_path / "model")


def test_what_is_too_long_is_counted(model: ArgumentModel, clauses: list[Clause]) -> None:
    """It is not learned, and its arguments count as missed."""
    long = replace(clauses[0].sentence, words=(*clauses[0].words, *["the"] * 90), tags=None)
    clause = replace(clauses[0], sentence=long)
    found = TASK.examples([clause, clauses[1]], model)
    assert found.tally.refused == {OF_LONG: 1}
    assert (len(found.learned), len(found.measured)) == (1, 2)
    assert model.obstacles(found.measured) == [OF_LONG, None]
    measured = model.measure(found.measured)
    assert measured.scored == 1
    gold = [each.predicate.arguments for each in (clause, clauses[1])]
    assert measured.counts[0][2] == sum(map(len, gold))
    assert model.choices(found.measured)[0] == [None, None, None]
    row, _ = ArgumentEvaluation().rows(model, [clause, clauses[1]], 512)
    assert row["choices"] == []
    judged = ArgumentEvaluation().judged([clause], [row])
    assert judged.unscored == 1
    assert judged.figures["overall"] == 0


def toy(draw: random.Random, number: int) -> tuple[Predicate, dict[str, int]]:
    """A predicate at word 4 with arguments among ten words, and words chosen for some roles."""
    tied = (Span(2, 4), Span(7, 8))
    arguments = []
    for role in ROLES:
        if draw.random() < 0.6:
            words = draw.sample([0, 1, 2, 3, 5, 6, 7, 8, 9], 3)
            kind = "DEP" if {words[0]} & {2, 3, 7} else "ZAR"
            fillers = tuple(words[: draw.choice((1, 1, 2))])
            arguments.append(Argument(role, kind, fillers, (words[2],)))
    predicate = Predicate(f"s{number // 2}", 4, Span(4, 5), True, tuple(arguments), tied)
    own = {a.role: a.fillers + a.mentions for a in arguments}
    chosen = {}
    for role in ROLES:
        if draw.random() < 0.7:
            right = role in own and draw.random() < 0.6
            chosen[role] = draw.choice(own[role]) if right else draw.choice([0, 1, 2, 7, 9])
    return predicate, chosen


@pytest.mark.parametrize("mentions", [False, True])
def test_figures_are_those_of_plain_loops(mentions: bool) -> None:
    """A right choice is of its argument's kind, a wrong one of the kind that it would have."""
    draw = random.Random(6)
    made = [toy(draw, number) for number in range(200)]
    predicates, chosen = [p for p, _ in made], [c for _, c in made]
    counts = counted(predicates, chosen, mentions=mentions)
    for k, kind in enumerate(("ZAR", "DEP")):
        right = said = there = 0
        for predicate, words in made:
            gold = {a.role: a for a in predicate.arguments}
            there += sum(a.kind == kind for a in predicate.arguments)
            for role, word in words.items():
                answer = gold.get(role)
                accepted = () if answer is None else answer.fillers
                if mentions and answer is not None:
                    accepted += answer.mentions
                if answer is not None and word in accepted:
                    right += answer.kind == kind
                    said += answer.kind == kind
                else:
                    said += ("DEP" if word in (2, 3, 7) else "ZAR") == kind
        assert counts[:, k].reshape(-1, 3).sum(0).tolist() == [right, said, there]
        assert f1(counts[:, k]) == pytest.approx(2 * right / (said + there))
    assert f1(counts[:0]) is None


def test_the_permutation_test_is_a_plain_loop() -> None:
    """The share of exchanges of whole sentences that are as far apart; of a system and itself all are."""
    draw = random.Random(9)
    made = [toy(draw, number) for number in range(60)]
    predicates = [predicate for predicate, _ in made]
    good = [{a.role: a.fillers[0] for a in p.arguments} for p in predicates]
    mixed = [one if draw.random() < 0.4 else two for one, (_, two) in zip(good, made, strict=True)]
    first, second = (counted(predicates, each) for each in (mixed, [c for _, c in made]))
    sentences = [number // 2 for number in range(60)]
    found = p_value(first, second, sentences, exchanges=400)
    random_ = np.random.default_rng(0)
    difference = abs((f1(first) or 0) - (f1(second) or 0))
    as_large = 0
    swaps = np.concatenate([random_.random((n, 30)) < 0.5 for n in (250, 150)])
    for swap in swaps:
        one, two = first.copy(), second.copy()
        for place, sentence in enumerate(sentences):
            if swap[sentence]:
                one[place], two[place] = second[place], first[place]
        as_large += abs((f1(one) or 0) - (f1(two) or 0)) >= difference - 1e-12
    assert found == (as_large + 1) / 401
    assert found < 0.2
    assert p_value(first, first, sentences, exchanges=50) == 1
    with pytest.raises(ValueError, match="different predicates"):
        p_value(first, second[:-1], sentences)


def test_rows_of_predictions_say_what_was_chosen(
    model: ArgumentModel, clauses: list[Clause]
) -> None:
    """The most probable word of each role, with its probability, and those above θ."""
    model.thresholds = (0.3, 0.2, 0.9)
    rows = ArgumentEvaluation().rows(model, clauses, 256)
    answers = model.answers([example_of(each) for each in clauses])
    for clause, row, answer in zip(clauses, rows, answers, strict=True):
        assert (row["sentence_id"], row["predicate"]) == (
            clause.sentence_id, clause.predicate.predicate,
        )  # fmt: skip
        chosen = chosen_in(row)
        assert answer is not None
        assert answer.example.fillers == tuple(
            (chosen[role],) if role in chosen else () for role in ROLES
        )
        for each in row["choices"]:
            theta = model.thresholds[ROLES.index(each["role"])]
            assert each["chosen"] == (each["probability"] > theta)


def test_options_of_another_task_are_refused(built: Path) -> None:
    """Each in one line that names the task; and so are candidates, of which there are none."""
    for option in ({"dropout": 0.1}, {"mlp_hidden": 8}, {"logit_adjustment": 1.0}):
        (name,) = option
        flag = name.replace("_", "-")
        with pytest.raises(SettingsError, match=f"a corpus of {ARGUMENTS} has no --{flag}"):
            train.run(clausal.settings(built, out=built / "refused", **option))
    rows = [dict.fromkeys(NoRows.columns.names, "x")]
    made = built / "candidates/made"
    write_rows(made / "candidates-00000-of-00001.parquet", NoRows.columns, rows)
    with pytest.raises(InputError, match="learns from no candidates; say --mode baseline"):
        train.run(clausal.settings(built, mode="no-filter", candidates=made, out=built / "refused"))


@pytest.mark.long
def test_plan_times_its_training(built: Path) -> None:
    """On predicates of its draw."""
    speed = probe_training(clausal.settings(built, n_batch=4, k=2))
    assert min(speed.full, speed.least, speed.validation) > 0


def test_predicates_that_do_not_fit_their_sentence_are_refused() -> None:
    """In a line that names the sentence and the word."""
    good = Predicate("s", 4, Span(4, 5), True, (Argument("NOM", "DEP", (1,)),), (Span(1, 2),))
    assert _fault(good, 6) is None
    for wrong, what in (
        (replace(good, phrase=Span(4, 9)), "beyond 6 words"),
        (replace(good, predicate=2), "outside its phrase"),
        (replace(good, arguments=(Argument("GEN", "DEP", (1,)),)), "no role: 'GEN'"),
        (replace(good, arguments=(Argument("ACC", "DEP", (6,)),)), "ACC beyond 6 words"),
        (replace(good, arguments=(Argument("ACC", "DEP", ()),)), "no filler of ACC"),
        (replace(good, arguments=(Argument("ACC", "XXX", (1,)),)), "no kind: 'XXX'"),
        (replace(good, arguments=good.arguments * 2), "two arguments of NOM"),
        (replace(good, arguments=(Argument("ACC", "ZAR", (4,)),)), "ACC in its own phrase"),
    ):
        assert what in str(_fault(wrong, 6))


def test_a_predicate_stands_once(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two of one word nobody could say which is right."""
    sentence = Sentence("s", "d", "train", ("he", "hid"), None, None, (), "CC0-1.0")
    predicate = Predicate("s", 1, Span(1, 2), True, (Argument("NOM", "DEP", (0,)),), (Span(0, 1),))
    monkeypatch.setattr(
        "pipeline.tasks.arguments.predicates.read_predicates", lambda *_: [predicate, predicate]
    )
    with pytest.raises(
        InputError, match=r"the predicate at word 1 stands here twice \(sentence s\)"
    ):
        clauses_of(built, [sentence])


@pytest.mark.parametrize("kind", ["removed", "a folder", "a pipe", "a dangling link"])
def test_a_corpus_without_its_record_is_of_no_task(tmp_path: Path, kind: str) -> None:
    """It was taken for one of coordination, which has no --rnn-layers."""
    record = tmp_path / "ingest.json"
    (tmp_path / "draws").mkdir()
    match kind:
        case "a folder":
            record.mkdir()
        case "a pipe":
            os.mkfifo(record)
        case "a dangling link":
            record.symlink_to("nowhere")
    with pytest.raises(InputError, match=r"ingest\.json"):
        task_of(tmp_path)


def test_as_many_layers_as_train_takes() -> None:
    """What a model's folder may say is what a run's settings may."""
    for name, most in (("rnn_layers", MOST_LAYERS), ("rnn_units", MOST_UNITS)):
        (found,) = [
            each for each in TrainSettings.model_fields[name].metadata if hasattr(each, "le")
        ]
        assert found.le == most


def test_a_word_of_two_roles_is_learned_as_the_first() -> None:
    """And counted; joined examples have the arguments of both."""
    sentence = Sentence("s", "d", "train", ("he", "hid", "himself"), None, None, (), "CC0-1.0")
    arguments = (Argument("NOM", "DEP", (0,)), Argument("DAT", "DEP", (0, 2)))
    predicate = Predicate("s", 1, Span(1, 2), True, arguments, (Span(0, 1), Span(2, 3)))
    example = example_of(Clause(sentence, predicate, (1,)))
    assert example.labels == [0, NONE, 2]
    assert example.row == {"nom": 0, "acc": None, "dat": 0}
    other = replace(example, fillers=((), (2,), ()))
    assert example.joined([other]).fillers == ((0,), (2,), (0, 2))


def test_schedules_know_nothing_of_it() -> None:
    """What shapes the head is no number of the optimizer."""
    assert not {"rnn_layers", "rnn_units"} & set(Schedule.__dataclass_fields__)
