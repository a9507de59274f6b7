"""L's constituents beside its coordinations: targets, the head's loss, and what a run makes of them."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import COORDINATION, bracketed, build, history, ingested, scored, sentence, settings
from torch.nn import functional as F  # noqa: N812 - its usual name

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence, Span
from pipeline.tasks.coordination.brackets import BracketHead, BracketTask, brackets_of
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.data import fresh_model, read_data
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.settings import TrainSettings

WORDS = ("the", "man", "and", "the", "old", "dog", "saw")
TREE = "(S (NP (NP (D the) (N man)) (CC and) (NP (D the) (A old) (N dog))) (VP (V saw)))"
GOLD = {Span(0, 7), Span(0, 6), Span(0, 2), Span(3, 6)}


def of_tree(tree: str | None = TREE, words: tuple[str, ...] = WORDS) -> Sentence:
    return Sentence("s", "d", "train", words, None, tree, (), "test")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus with trees."""
    return build(tmp_path_factory.mktemp("data") / "tiny", trees=True)


def test_brackets_are_the_constituents_of_two_words_and_more() -> None:
    """Whatever their labels; unary chains are one, and single words none."""
    assert brackets_of(of_tree()) == GOLD
    assert brackets_of(of_tree("(S (S (X a) (X b)))", ("a", "b"))) == {Span(0, 2)}


def test_a_tree_of_other_words() -> None:
    """One line says where."""
    with pytest.raises(InputError, match="a tree of 7 words for a sentence of 2"):
        brackets_of(of_tree(words=("a", "b")))


def naive(head: BracketHead, h: torch.Tensor, n: int, gold: set[Span]) -> torch.Tensor:
    """The loss of a sentence, a span at a time, by the formula."""
    losses: dict[bool, list[torch.Tensor]] = {True: [], False: []}
    for i, j in itertools.combinations(range(n), 2):
        hidden = F.relu(head.first(torch.cat([h[i], h[j]])))
        p = torch.sigmoid(head.second(hidden))
        right = Span(i, j + 1) in gold
        losses[right].append(-torch.log(p if right else 1 - p))
    return torch.stack([torch.cat(each).mean() for each in losses.values() if each]).mean()


def test_the_loss_is_the_formula() -> None:
    """Of sentences of several lengths in one table of words, one of them twice; and so is its gradient."""
    torch.manual_seed(0)
    head, h = BracketHead(6, 5, 0.3).eval(), torch.randn(3, 9, 6, requires_grad=True)
    asked = [(2, 7, frozenset(GOLD)), (0, 3, frozenset({Span(0, 3)})), (2, 7, frozenset(GOLD))]
    wanted = torch.stack([naive(head, h[row], n, set(gold)) for row, n, gold in asked]).sum()
    found = head(h, asked)
    torch.testing.assert_close(found, wanted)
    weights = [h, *head.parameters()]
    for one, other in zip(
        torch.autograd.grad(found, weights), torch.autograd.grad(wanted, weights), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("gold", [{Span(0, 2)}, set()])
def test_a_sentence_with_spans_of_one_kind(gold: set[Span]) -> None:
    """All of its spans are constituents, or none is: that mean is the whole."""
    head, h = BracketHead(4, 3, 0.0), torch.randn(1, 2, 4)
    assert head(h, [(0, 2, frozenset(gold))]).item() == pytest.approx(
        naive(head, h[0], 2, gold).item(), rel=1e-5
    )


def test_both_halves_count_alike() -> None:
    """A head that says 1/2 of every span loses ln 2 of a sentence, however many are no constituents."""
    head = BracketHead(4, 3, 0.0)
    torch.nn.init.zeros_(head.second.weight)
    torch.nn.init.zeros_(head.second.bias)
    loss = head(torch.randn(1, 7, 4), [(0, 7, frozenset(GOLD))])
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    assert head.second.bias.grad is not None
    assert float(head.second.bias.grad) == pytest.approx(0, abs=1e-6)


def task_of(predictor: CoordinationPredictor, *sentences: Sentence) -> BracketTask:
    return BracketTask.of(predictor, 0, sentences)


def test_candidates_and_variants_teach_no_brackets(tiny_bert: Path) -> None:
    """Even with the words of a sentence of L; nor does a sentence of L that has no tree."""
    predictor = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=0)
    bare = of_tree(None, ("man", "and", "dog"))
    task = task_of(predictor, of_tree(), bare)
    own = CoordinationExample(WORDS, (2,), (Span(0, 6),))
    variant = CoordinationExample(WORDS, (2,), (Span(0, 6),), variant=True)
    other = CoordinationExample(bare.words, (1,), (Span(0, 3),))
    assert task.beside([own, own], [own, variant, other]) == [None, None, GOLD, None, None]


def test_a_fresh_head_disturbs_no_other_draw(tiny_bert: Path) -> None:
    """It is drawn from its own seed: the same whatever was drawn before, and what comes after is as ever."""
    predictor = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=0)
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    one = task_of(predictor, of_tree()).head
    assert torch.equal(torch.rand(3), wanted)
    other = task_of(predictor, of_tree()).head
    assert torch.equal(one.first.weight, other.first.weight)
    assert not torch.equal(BracketTask.of(predictor, 1, []).head.first.weight, one.first.weight)


def schedule(**given: Any) -> Schedule:
    usual = {
        "steps": 40, "warm_steps": 4, "learning_rate": 0.01, "weight_decay": 0.01, "clip": 1.0,
        "eval_every": 5, "patience": 10, "seed": 0, "encoder_rate": 1.0,
    }  # fmt: skip
    return Schedule(**usual | given)


def test_lambda_times_the_mean_over_sentences_is_added(tiny_bert: Path) -> None:
    """The coordinations' part is what it is without, dropout and all; a batch without trees has no other."""
    batch = [
        CoordinationExample(WORDS, (2,), (Span(0, 6),)),
        CoordinationExample(("man", "and", "dog"), (1,), (Span(0, 3),)),
    ]

    def first(factor: float | None, brackets: list[Any] | None, dropout: float = 0.5) -> float:
        predictor = CoordinationPredictor.create(
            str(tiny_bert), mlp_hidden=8, dropout=dropout, seed=0, encoder_dropout=dropout
        )
        pair = task_of(predictor).bracketed if factor else None
        numbers = schedule(brackets=factor)
        return Optimizer(predictor, numbers, 0, bracketed=pair).update(batch, 0, None, brackets)

    gold, none = frozenset(GOLD), frozenset({Span(0, 3)})
    plain = first(None, None)
    assert first(0.5, [None, None]) == plain
    once = first(0.5, [gold, None]) - plain
    assert once > 0.1
    assert first(1.0, [gold, None]) - plain == pytest.approx(2 * once, rel=1e-4)
    # Of two sentences the mean, of one its own, whatever else is in the batch.
    calm = first(None, None, 0.0)
    both, *alone = (
        first(1.0, given, 0.0) - calm for given in ([gold, none], [gold, None], [None, none])
    )
    assert both == pytest.approx(sum(alone) / 2, rel=1e-4)


def test_the_head_learns(tiny_bert: Path) -> None:
    """A hundred updates tell the spans of a sentence apart: by what the encoder has learned."""
    sizes = {"mlp_hidden": 64, "dropout": 0.0, "encoder_dropout": 0.0}
    predictor = CoordinationPredictor.create(str(tiny_bert), seed=0, **sizes).eval()  # type: ignore[arg-type]
    task = task_of(predictor, of_tree())
    batch = [CoordinationExample(WORDS, (2,), (Span(0, 6),))]

    @torch.no_grad()
    def loss() -> float:
        _, h, (row,) = predictor.loss_and_words(batch)
        return float(task.head(h, [(row, len(WORDS), frozenset(GOLD))]))

    before, encoder = loss(), predictor.encoder.state_dict()
    encoder = {name: value.clone() for name, value in encoder.items()}
    numbers = schedule(steps=100, learning_rate=0.01, brackets=1.0)
    optimizer = Optimizer(predictor, numbers, 0, bracketed=task.bracketed)
    for step in range(100):
        optimizer.update(batch, step, None, task.beside([], batch))
    assert loss() < 0.2 * before
    assert not predictor.training
    assert not task.head.training
    moved = predictor.encoder.state_dict()
    assert any(not torch.equal(value, moved[name]) for name, value in encoder.items())


@pytest.mark.long
def test_a_run_with_brackets(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is recorded, another predictor comes out, and the head is no part of it."""
    train.run(settings(corpus, mode="baseline", out=tmp_path / "plain"))
    train.run(settings(corpus, mode="baseline", brackets=1.0, out=tmp_path / "run"))
    assert "brackets are learned of 40 of 40 labelled sentences" in " ".join(
        capsys.readouterr().out.split()
    )
    plain, run = (read_json(tmp_path / name / "run.json")["settings"] for name in ("plain", "run"))
    assert run == plain | {"brackets": 1.0}
    one, other = (
        CoordinationPredictor.load(tmp_path / name / "predictor") for name in ("plain", "run")
    )
    assert one.state_dict().keys() == other.state_dict().keys()
    assert not torch.equal(one.scorer.first.weight, other.scorer.first.weight)
    losses = [history(tmp_path / name)[0]["loss"] for name in ("plain", "run")]
    assert losses[1] > losses[0] + 0.1


def test_candidates_come_beside_them(corpus: Path, tmp_path: Path) -> None:
    """Algorithm 1 goes on as ever, with λ of the generated ones and variants."""
    train.run(settings(corpus, brackets=0.5, weight=0.5, augment="copy", out=tmp_path))
    assert any(row["accepted"] for row in scored(tmp_path))


def with_sentences(corpus: Path, folder: Path, trees: int) -> Path:
    """The corpus with trees of some of its first sentences."""
    folder.mkdir()
    for name in ("models", "candidates", "draws"):
        (folder / name).symlink_to(corpus / name)
    made = [sentence(n) for n in range(64)]
    made = [bracketed(s) if n < trees else s for n, s in enumerate(made)]
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, made))
    return ingested(folder)


def test_no_tree_to_learn_from(corpus: Path, tmp_path: Path) -> None:
    """One line; of some without a tree their number is said."""
    bare = with_sentences(corpus, tmp_path / "bare", 0)
    with pytest.raises(InputError, match="no labelled sentence has a tree whose brackets"):
        train.run(settings(bare, mode="baseline", brackets=1.0, out=tmp_path / "run"))


def test_some_trees(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many of L teach brackets is printed, and other trees are another run."""
    some = with_sentences(corpus, tmp_path / "some", 30)
    given = settings(some, mode="baseline", brackets=1.0, steps=10, out=tmp_path / "run")
    train.run(given)
    assert "brackets are learned of 30 of 40 labelled sentences" in " ".join(
        capsys.readouterr().out.split()
    )
    predictor = fresh_model(given, COORDINATION, 0, torch.device("cpu"))
    facts = [
        read_data(settings(c, mode="baseline", brackets=1.0), COORDINATION, predictor).about(
            trees=True
        )
        for c in (some, corpus)
    ]
    assert facts[0].pop("trees") != facts[1].pop("trees")
    assert facts[0] == facts[1]


def test_a_frozen_encoder_cannot_be_taught() -> None:
    """Refused before anything is read."""
    with pytest.raises(ValueError, match="which --encoder-rate 0 freezes"):
        TrainSettings(corpus=Path("x"), mode="baseline", brackets=1.0, encoder_rate=0)


def test_unset_it_leaves_no_trace(corpus: Path, tmp_path: Path) -> None:
    """The settings that a finished run or a checkpoint is known by have no word of it."""
    train.run(settings(corpus, steps=10, out=tmp_path / "run"))
    recorded = read_json(tmp_path / "run/run.json")["settings"]
    assert not {"brackets", "gold_of", "relative"} & recorded.keys()
