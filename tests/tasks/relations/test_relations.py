"""The task of relations: what a model learns, what it is measured by, and its options."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tasks.relations import pairwise  # type: ignore[import-not-found]
from transformers import BertConfig, BertModel

from pipeline.core.answered import read_answered
from pipeline.core.comparison import compare_counts, resamples
from pipeline.core.corpora import RELATIONS
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.pairs import SYNTHETIC
from pipeline.core.parquet import write_rows
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.experiments.plan.estimates import probe_training
from pipeline.models.pairs import kept_places
from pipeline.report import stage as report
from pipeline.report.examples import place_of, to_hand_on
from pipeline.report.generations import generation_lists
from pipeline.report.provenance import confusions_table
from pipeline.report.settings import ReportSettings
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.known import task_of
from pipeline.tasks.relations.evaluation import RelationEvaluation
from pipeline.tasks.relations.examples import PairExample, example_of
from pipeline.tasks.relations.figures import counted
from pipeline.tasks.relations.model import NO_WORDS, UNKNOWN_SENSE, RelationModel
from pipeline.tasks.relations.rows import RelationRows
from pipeline.train import stage as train
from pipeline.train.optimizer import Schedule

A, B, C = pairwise.SENSES


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pairwise.build(tmp_path_factory.mktemp("relations") / "small")


@pytest.fixture
def model(built: Path) -> RelationModel:
    return RelationModel.create(str(built / "models/bert"), pairwise.SENSES, seed=1).eval()


def test_it_learns_filters_and_is_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Baseline, no-filter and filter through the seam; figures by sense, with documents resampled."""
    corpus = pairwise.build(tmp_path / "small")
    for mode in ("baseline", "no-filter", "filter"):
        weight = None if mode == "baseline" else 0.5
        train.run(pairwise.settings(corpus, mode=mode, weight=weight, warm_up=0.1))
        # What is measured is called by its name.
        said = " ".join(capsys.readouterr().out.split())
        assert "best validation macro-F1 0." in said
        assert "accuracy" not in said
    scored = pq.read_table(corpus / "runs/filter/36/seed-0/scored.parquet").to_pylist()
    assert {"sense", "probability", "accepted", "label"} <= set(scored[0])
    assert {row["sense"] for row in scored} == {C}
    # Those of validation pairs are not learned: they are made of them.
    assert {int(row["candidate_id"][1:]) for row in scored} <= set(range(36))
    accepted = [row for row in scored if row["accepted"]]
    assert 0 < len(accepted) < len(scored)
    evaluate.run(EvaluateSettings(corpus=corpus))
    metrics = read_json(corpus / "evaluation/metrics.json")
    assert metrics["instances"] == {"overall": 61, "micro-F1": 61, A: 31, B: 21, C: 10}
    assert metrics["resampled"] == "documents"
    for row in metrics["runs"]:
        assert row["accuracy"]["overall"] == pytest.approx(
            np.mean([row["accuracy"][sense] for sense in pairwise.SENSES])
        )
        assert set(row["criteria"]) == {"strict macro-F1", "strict micro-F1"}
    best = max(row["accuracy"]["overall"] for row in metrics["runs"])
    assert best > 0.6
    assert {one["system"] for one in metrics["comparisons"]} == {"filter", "no-filter"}
    _is_reported(corpus)
    _is_answered(corpus, metrics)
    card = read_json(corpus / "runs/baseline/36/seed-0/run.json")
    assert card["annotation"][0] | {"corpus": "", "draw": ""} == {
        "corpus": "", "part": "labelled", "draw": "", "sentences": 36, "pairs": 36,
    }  # fmt: skip
    # Nothing of other tasks, and nothing unused, is recorded as if it mattered.
    assert not {"dropout", "mlp_hidden", "brackets", "labels"} & set(card["settings"])
    assert card["settings"]["warm_up"] == 0.1
    assert card["settings"]["logit_adjustment"] == 0


def _is_answered(corpus: Path, metrics: dict[str, Any]) -> None:
    """A run's answers are right as often as its figures say; ten pairs have those of two systems shown."""
    kept = list(read_answered(corpus / "evaluation/answers.parquet"))
    for number, row in enumerate(metrics["runs"]):
        right = sum(each.answers[number].is_right for each in kept)
        assert {each.answers[number].system for each in kept} == {row["system"]}
        assert right == round(row["accuracy"]["micro-F1"] * metrics["instances"]["overall"])
    report.run(ReportSettings(corpus=corpus, examples=10))
    page = (corpus / "report/report.html").read_text()
    assert page.count("<dt>right</dt>") == 10
    assert page.count('<dd><span class="verdict') == 20


def _cells(text: str, begins: str) -> list[str]:
    """What stands in the one row of a table that begins so."""
    (line,) = [line for line in text.splitlines() if line.startswith(begins)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def _is_reported(corpus: Path) -> None:
    """Figures by sense and gains; nothing of fills, boundaries or sentences, and no next step with those."""
    report.run(ReportSettings(corpus=corpus))
    text = (corpus / "report/report.md").read_text()
    (table,) = [line for line in text.splitlines() if "| Overall (61) |" in line]
    columns = [cell.strip() for cell in table.strip("|").split("|")]
    others = ["micro-F1 (61)", f"{A} (31)", f"{B} (21)", f"{C} (10)"]
    assert [name for name in columns if name in others] == others
    assert "Gain" in columns
    assert "36 labelled pairs" in text
    assert "strict macro-F1" in text
    assert _cells(text, f"| {C} ") == [C, A, "made", "0", "2", "3"]
    assert _cells(text, "| refused: twice") == ["refused: twice", "6"]
    page = (corpus / "report/report.html").read_text()
    assert "validation macro-F1 over" in page
    assert "validation accuracy" not in page
    for word in (
        "boundar",
        "coordinat",
        "fill",
        "conjunct",
        "audit",
        "ccuracy (%)",
        "labelled sentence",
    ):
        assert word not in text.replace(A, ""), word


def test_new_pairs_are_drawn_for_a_report_as_they_were_made(tmp_path: Path) -> None:
    """As many as asked, first by the digest of seed and id; text that must not be handed on stays here."""
    corpus = pairwise.build(tmp_path / "small")
    shard = next(corpus.glob("candidates/made/seed-0/candidates-*"))
    rows = {row["candidate_id"]: row for row in pq.read_table(shard).to_pylist()}
    wanted = sorted(rows, key=lambda name: place_of(3, name))[:5]
    (shown,) = generation_lists(corpus, RELATIONS, count=5, seed=3)
    assert shown.title == "made, seed 0"
    assert [each.candidate_id for each in shown.drawn] == wanted
    for each in shown.drawn:
        row = rows[each.candidate_id]
        assert (each.label, each.license) == (row["label"], row["license"])
        assert each.text == f"[{row['arg1']}] [{row['arg2']}]"
        assert each.probability is each.verdict is None
    rows[wanted[1]]["license"] = "unknown"
    write_rows(shard, SYNTHETIC, rows.values())
    manifest = read_json(shard.parent / "manifest.json")
    manifest["shards"][0] |= {"sha256": sha256_of(shard), "bytes": shard.stat().st_size}
    write_json(shard.parent / "manifest.json", manifest)
    kept, withheld = to_hand_on(generation_lists(corpus, RELATIONS, count=5, seed=3))
    assert [each.candidate_id for each in kept[0].drawn] == [wanted[0], *wanted[2:]]
    assert withheld == 1


@pytest.mark.parametrize(
    "cell", [["a", "b", 1], ["a", "b", "1", 2], ["a", 2, 1, 2], ["a", "b", -1, 2]]
)
def test_confusions_of_another_form_are_refused(tmp_path: Path, cell: list[Any]) -> None:
    """In a line that says what they are instead."""
    corpus = pairwise.build(tmp_path / "small")
    place = corpus / "candidates/made/seed-0/manifest.json"
    write_json(place, read_json(place) | {"inputs": {"confusions": [cell]}})
    with pytest.raises(InputError, match=r"inputs\.confusions\.0"):
        confusions_table(corpus)


def test_without_weight_synthetic_rows_change_nothing(tmp_path: Path) -> None:
    """λ = 0 has the weights of vanilla, byte for byte: the labelled part of each batch is the same."""
    corpus = pairwise.build(tmp_path / "small")
    given = {"steps": 12, "warm_steps": 0, "encoder_dropout": 0.1}
    train.run(pairwise.settings(corpus, mode="baseline", n_batch=6, k=0, system="vanilla", **given))
    for weight in (0, 0.5):
        train.run(
            pairwise.settings(
                corpus,
                mode="no-filter",
                n_batch=9,
                k=3,
                weight=weight,
                system=f"w{weight}",
                **given,
            )
        )
    vanilla, none, half = (
        sha256_of(corpus / f"runs/{system}/36/seed-0/predictor/model.safetensors")
        for system in ("vanilla", "w0", "w0.5")
    )
    assert vanilla == none != half


def test_a_model_is_what_it_was_when_it_is_read_again(model: RelationModel, tmp_path: Path) -> None:
    """Same answers; each task refuses the other's folder in a line, and a damaged one."""
    examples = [example_of(pairwise.pair(n)) for n in range(12)]
    model.save(tmp_path / "model")
    again = RelationModel.load(tmp_path / "model")
    assert again.answers(examples) == model.answers(examples)
    assert again.senses == pairwise.SENSES
    with pytest.raises(ModelError, match="on a corpus of coordination"):
        CoordinationPredictor.load(tmp_path / "model")
    card = json.loads((tmp_path / "model/predictor.json").read_text())
    (tmp_path / "model/predictor.json").write_text(json.dumps(card | {"senses": [A]}))
    with pytest.raises(ModelError, match="sizes that no predictor has"):
        RelationModel.load(tmp_path / "model")


def test_loss_opinions_and_answers_are_of_one_distribution(model: RelationModel) -> None:
    """A pair of two senses is two instances; the share is over the best; weights count."""
    one, two = example_of(pairwise.pair(0)), PairExample(("we", "saw", "it"), 1, (A, C))
    rows = dict(model.distributions([one, two]))
    expected = -(rows[0][0] + rows[1][0] + rows[1][2])
    assert float(model([one, two]).detach()) == pytest.approx(float(expected), rel=1e-5)
    weighted = float(model([one, two], [2.0, 0.5]).detach())
    assert weighted == pytest.approx(
        float(-(2 * rows[0][0] + 0.5 * (rows[1][0] + rows[1][2]))), rel=1e-5
    )
    for sense in pairwise.SENSES:
        (opinion,) = model.opinions([PairExample(one.words, one.cut, (sense,))])
        place = pairwise.SENSES.index(sense)
        assert opinion is not None
        assert opinion.probability == pytest.approx(float(rows[0][place].exp()), rel=1e-4)
        assert opinion.best == (place == int(rows[0].argmax()))
        assert opinion.share == pytest.approx(
            float((rows[0][place] - rows[0].max()).exp()), rel=1e-4
        )
    (answer,) = model.answers([one])
    assert answer is not None
    assert answer.example.senses == (pairwise.SENSES[int(rows[0].argmax())],)


def test_what_cannot_be_learned_has_a_reason(model: RelationModel) -> None:
    """An argument without words, a sense of another inventory: no opinion, and wrong where measured."""
    examples = [
        PairExample(("we",), 1, (A,)), PairExample(("we", "saw"), 1, ("temporal.synchronous",)),
        PairExample(("we", "saw"), 1, (A,)),
    ]  # fmt: skip
    assert model.obstacles(examples) == [NO_WORDS, UNKNOWN_SENSE, None]
    assert [each is None for each in model.opinions(examples)] == [True, True, False]
    measured = model.measure(examples)
    assert measured.scored == 1
    assert sum(there for _, _, there in measured.counts) == 2


@pytest.mark.parametrize(
    ("sides", "longest", "kept"),
    [
        ((3, 4), 10, (3, 4)), ((3, 9), 10, (3, 4)), ((9, 2), 10, (5, 2)), ((9, 9), 10, (4, 3)),
        ((9, 9), 11, (4, 4)), ((20, 4), 10, (4, 3)), ((4, 20), 10, (3, 4)),
    ],
)  # fmt: skip
def test_the_longer_side_is_cut(
    sides: tuple[int, int], longest: int, kept: tuple[int, int]
) -> None:
    """As if the last subword of the longer side went until the pair fits; three are special."""
    side_of = [None, *[0] * sides[0], None, *[1] * sides[1], None]
    found = kept_places(side_of, longest)
    assert [side_of[place] for place in found] == [None, *[0] * kept[0], None, *[1] * kept[1], None]
    first = [place for place in found if side_of[place] == 0]
    assert first == list(range(1, 1 + kept[0]))


def test_pairs_that_are_cut_are_counted(built: Path) -> None:
    """The encoder reads 64 subwords; segments are told apart."""
    model = RelationModel.create(str(built / "models/bert"), pairwise.SENSES, seed=1)
    long = example_of(pairwise.pair(0))
    long = PairExample((*long.words[: long.cut], *["we"] * 80), long.cut, (A,))
    short = example_of(pairwise.pair(1))
    assert model.pairs.cut([long.sides, short.sides, long.sides]) == 2
    (one, other) = model.pairs.encode([long.sides, short.sides])
    assert len(one.ids) == 64
    assert len(other.ids) >= len(short.words) + 3
    first = other.types.index(1)
    assert other.ids[first - 1] == other.ids[-1] == model.encoding.tokenizer.sep_token_id
    assert other.types == (0,) * first + (1,) * (len(other.ids) - first)
    assert model([long, short]).isfinite()


def test_segments_and_packing_make_no_difference_to_the_pair(tmp_path: Path) -> None:
    """A wide encoder packs pairs on a CPU; alone and together they have the same states."""
    corpus = pairwise.build(tmp_path / "small")
    tokenizer_of = RelationModel.create(str(corpus / "models/bert"), pairwise.SENSES, seed=1)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokenizer_of.encoding.tokenizer), hidden_size=192, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    encoder = BertModel(config).eval()
    model = RelationModel(encoder, tokenizer_of.encoding.tokenizer, pairwise.SENSES).eval()
    example = example_of(pairwise.pair(4))
    (encoded,) = model.pairs.encode([example.sides])
    ids, types = torch.tensor([encoded.ids]), torch.tensor([encoded.types])
    with torch.inference_mode():
        state = encoder(input_ids=ids, token_type_ids=types).last_hidden_state[0, 0]
        expected = model.linear(state).log_softmax(-1)
    for _, found in list(model.distributions([example, example_of(pairwise.pair(5))]))[:2]:
        if torch.allclose(found, expected, atol=1e-5):
            break
    else:
        pytest.fail("no state of the pair is what the encoder has alone")


def test_logit_adjustment_is_of_the_draw_and_of_learning_alone(built: Path) -> None:
    """Learning adds τ · log of the senses' shares of L; what is predicted is without."""
    task, where = task_of(built), str(built / "models/bert")
    adjusted = task.create(where, pairwise.settings(built, logit_adjustment=2.0), 0)
    plain_model = task.create(where, pairwise.settings(built), 0)
    shares = torch.tensor([18 / 36, 12 / 36, 6 / 36])
    assert torch.allclose(adjusted.adjustment, 2 * shares.log())
    example = example_of(pairwise.pair(5))
    with torch.inference_mode():
        logits = adjusted.eval().logits(adjusted.pairs.encode([example.sides]))
        expected = -(logits + 2 * shares.log()).log_softmax(-1)[0, 2]
    assert float(adjusted([example]).detach()) == pytest.approx(float(expected), rel=1e-5)
    assert adjusted.answers([example]) == plain_model.eval().answers([example])


def test_variants_of_pairs_are_learned_from(built: Path) -> None:
    """What masks words of sentences masks those of pairs."""
    train.run(
        pairwise.settings(
            built, mode="baseline", augment="mask", steps=4, warm_steps=0, out=built / "masked"
        )
    )
    assert read_json(built / "masked/run.json")["steps"] == 4


def test_options_of_another_task_are_refused(built: Path) -> None:
    """Each in one line that names the task."""
    for option in ({"dropout": 0.1}, {"mlp_hidden": 8}, {"brackets": 1.0}):
        (name,) = option
        flag = name.replace("_", "-")
        with pytest.raises(SettingsError, match=f"a corpus of relations has no --{flag}"):
            train.run(pairwise.settings(built, mode="baseline", out=built / "refused", **option))


@pytest.mark.long
def test_plan_times_its_training(built: Path) -> None:
    """On pairs of its draw."""
    speed = probe_training(pairwise.settings(built, n_batch=4, k=2))
    assert min(speed.full, speed.least, speed.round, speed.validation) > 0


def test_the_rate_grows_and_falls() -> None:
    """A tenth of 40 updates; without warm-up it is what it was."""
    numbers = {"warm_steps": 0, "learning_rate": 1.0, "weight_decay": 0.0, "clip": 1.0, "eval_every": 1,
               "patience": 1, "seed": 0, "encoder_rate": 1.0}  # fmt: skip
    warm = Schedule(steps=40, warm_up=0.1, **numbers)  # type: ignore[arg-type]
    assert [warm.rate(step) for step in range(6)] == pytest.approx([0.25, 0.5, 0.75, 1, 1, 35 / 36])
    assert warm.rate(39) == pytest.approx(1 / 36)
    cold = Schedule(steps=40, **numbers)  # type: ignore[arg-type]
    assert [cold.rate(step) for step in (0, 7, 39)] == [1 - step / 40 for step in (0, 7, 39)]


def loops(
    right: list[tuple[str, ...]], said: list[str], *, strict: bool = False
) -> tuple[float, float]:
    """Macro- and micro-F1 by the definition, one pair of senses at a time."""
    gold, answers = [], []
    for own, one in zip(right, said, strict=True):
        for sense in own:
            gold.append(sense)
            answers.append(sense if one in own and not strict else one)
    f1s = []
    for sense in sorted(set(gold)):
        hits = sum(g == a == sense for g, a in zip(gold, answers, strict=True))
        precision = hits / answers.count(sense) if sense in answers else 0.0
        recall = hits / gold.count(sense)
        f1s.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    micro = sum(g == a for g, a in zip(gold, answers, strict=True)) / len(gold)
    return sum(f1s) / len(f1s), micro


def test_figures_are_those_of_plain_loops() -> None:
    """Macro- and micro-F1, loose and strict, of random answers, some of pairs with two senses."""
    draw = random.Random(5)
    pairs = [pairwise.pair(n, "test") for n in range(60)]
    pairs += [pairwise.pair(n, "test", draw.sample(pairwise.SENSES, 2)) for n in range(60, 90)]
    said = [draw.choice(pairwise.SENSES) for _ in pairs]
    evaluation = RelationEvaluation()
    judged = evaluation.judged(pairs, [{"predicted": one} for one in said])
    right = [pair.senses for pair in pairs]
    assert (judged.figures["overall"], judged.figures["micro-F1"]) == pytest.approx(
        loops(right, said)
    )
    strict = judged.criteria["strict macro-F1"], judged.criteria["strict micro-F1"]
    assert strict == pytest.approx(loops(right, said, strict=True))
    assert judged.unscored == 0


def test_the_bootstrap_of_macro_f1_is_that_of_plain_loops() -> None:
    """Documents and seeds drawn as the comparison draws them, the figure made again of the pairs drawn."""
    draw, count = random.Random(7), 40
    right = [(draw.choice(pairwise.SENSES),) for _ in range(count)]
    documents = [n % 10 for n in range(count)]
    said = [
        [
            [own[0] if draw.random() < sure else draw.choice(pairwise.SENSES) for own in right]
            for _ in range(2)
        ]
        for sure in (0.7, 0.4)
    ]
    counts = [
        {seed: counted(right, one, pairwise.SENSES) for seed, one in enumerate(system)}
        for system in said
    ]
    found = compare_counts(counts[0], counts[1], (0, 36), documents)
    assert found is not None

    def macro(chosen: list[int], answers: list[str]) -> float:
        f1s = []
        for sense in pairwise.SENSES:
            hits = sum(right[n][0] == answers[n] == sense for n in chosen)
            both = sum((right[n][0] == sense) + (answers[n] == sense) for n in chosen)
            f1s.append(2 * hits / both if both else 0.0)
        return sum(f1s) / len(f1s)

    every = list(range(count))
    by_seed = [macro(every, said[0][s]) - macro(every, said[1][s]) for s in range(2)]
    assert found.by_seed == pytest.approx(by_seed)
    means = []
    for of_seeds, of_units in resamples((0, 36), 2, 10):
        for seeds, units in zip(of_seeds[:20], of_units[:20], strict=True):
            chosen = [n for n in every for _ in range(units[documents[n]])]
            seed = int(np.flatnonzero(seeds)[0])  # of two seeds one is drawn
            means.append(macro(chosen, said[0][seed]) - macro(chosen, said[1][seed]))
    # The first draws of each block, against the quantiles of all: most lie within.
    inside = sum(found.low <= mean <= found.high for mean in means)
    assert 0.9 < inside / len(means) < 1


def test_candidates_without_words_or_with_control_characters_are_refused() -> None:
    """In a line that names file and row."""
    rows = RelationRows()
    good = {"candidate_id": "c", "sentence_id": "s", "label": A, "arg1": "we", "arg2": "saw"}
    batch = pa.RecordBatch.from_pylist([good, good | {"arg2": " "}], rows.columns)
    with pytest.raises(InputError, match="shard: row 11 has no arg2"):
        rows.check(batch, "shard", 10)
    batch = pa.RecordBatch.from_pylist([good, good | {"arg1": "w\x1b[1me"}], rows.columns)
    with pytest.raises(InputError, match="shard: row 11 has a control character in its arg1"):
        rows.check(batch, "shard", 10)
    keys = rows.keys(pa.RecordBatch.from_pylist([good, good, good | {"arg1": "us"}], rows.columns))
    assert keys[0] == keys[1] != keys[2]
