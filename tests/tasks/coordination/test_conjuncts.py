"""All conjuncts of a structure: places, the scorer of ends, and that outer boundaries know nothing of it."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.structures import as_conjuncts, places
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.tasks.coordination.conjuncts import (
    EndScorer,
    KnownPlaces,
    is_end,
    learned_ends,
    read,
)
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.instances import instances_of, predicted
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.task import CoordinationTask

NOUNS = "man dog girl lamp harbor".split()  # noqa: SIM905
TASK = CoordinationTask()


def spans(*pairs: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(*pair) for pair in pairs)


def places_of(text: str, coordinator: int, start: int, end: int) -> list[tuple[int, int]]:
    found = places(text.split(), coordinator, Span(start, end))
    return [(place.start, place.end) for place in found]


def test_places_are_runs_within_the_structure() -> None:
    """Commas, semicolons and coordinators on either side, but not the coordinator's own, nor at an end."""
    assert places_of("a , b ; c , and d", 6, 0, 8) == [(1, 2), (3, 4)]
    assert places_of("x , a , but b And c and d", 8, 2, 10) == [(3, 5), (6, 7)]
    assert places_of("a and b , or c", 1, 0, 6) == [(3, 5)]
    assert places_of(", , a and b , c ,", 3, 0, 8) == [(1, 2), (5, 6)]
    assert places_of("a and b", 1, 0, 3) == []
    assert places_of("a , and , b", 2, 0, 5) == []


def test_conjuncts_are_cut_at_ends() -> None:
    """Words of an end are in none; without ends there are two; something stands on either side."""
    words = "x , y , but z , and , w".split()  # noqa: SIM905
    extent = Span(0, 10)
    first, second = places(words, 7, extent)
    assert as_conjuncts(words, 7, extent) == spans((0, 6), (9, 10))
    assert as_conjuncts(words, 7, extent, [first]) == spans((0, 1), (2, 6), (9, 10))
    assert as_conjuncts(words, 7, extent, [second, first]) == spans((0, 1), (2, 3), (5, 6), (9, 10))


def test_cuts_keep_order_and_words() -> None:
    """Of random words, with all places or none: conjuncts are not empty, follow each other, keep the ends."""
    draw = random.Random(0)
    for _ in range(500):
        words = draw.choices([",", ";", "and", "or", "a", "b"], k=draw.randint(3, 12))
        k = draw.randint(1, len(words) - 2)
        extent = Span(draw.randrange(k), draw.randint(k + 2, len(words)))
        found = places(words, k, extent)
        for ends in ([], found, draw.sample(found, draw.randint(0, len(found)))):
            cut = as_conjuncts(words, k, extent, ends)
            assert (cut[0].start, cut[-1].end) == (extent.start, extent.end)
            assert all(len(each) > 0 for each in cut)
            assert all(one.end < two.start for one, two in itertools.pairwise(cut))
            assert len(cut) == 2 + len(ends)
            assert [is_end(place, cut) for place in found] == [place in ends for place in found]


def structure(number: int) -> tuple[tuple[str, ...], int, tuple[Span, ...]]:
    """A list of three or four nouns, or two conjuncts of which the first has a list of adjectives."""
    draw = random.Random(number)
    one, two, *others = draw.sample(NOUNS, 4)
    if number % 3 == 0:
        return (
            ("the", "old", ",", "small", one, "and", "the", two),
            5,
            spans((0, 5), (6, 8)),
        )
    if number % 3 == 1:
        return ("saw", one, ",", two, ",", "and", others[0]), 5, spans((1, 2), (3, 4), (6, 7))
    return (
        ("saw", one, ",", two, ";", others[0], "or", others[1]),
        6,
        spans((1, 2), (3, 4), (5, 6), (7, 8)),
    )


def sentence(number: int) -> Sentence:
    words, k, conjuncts = structure(number)
    gold = Coordination(k, words[k], "NP", conjuncts)
    return Sentence(f"s{number}", "d", "train", words, None, None, (gold,), "test")


@pytest.fixture
def model(tiny_bert: Path) -> CoordinationPredictor:
    """A random predictor in evaluation mode, that has learned no ends."""
    return CoordinationPredictor.create(str(tiny_bert), mlp_hidden=64, dropout=0.1, seed=1).eval()


def examples(*numbers: int) -> list[CoordinationExample]:
    """As ``train`` has them of L."""
    made = []
    for number in numbers:
        words, k, conjuncts = structure(number)
        extent = Span(conjuncts[0].start, conjuncts[-1].end)
        made.append(CoordinationExample(words, (k,), (extent,), conjuncts=(conjuncts,)))
    return made


def conjuncts_of(model: CoordinationPredictor, example: CoordinationExample) -> tuple[Span, ...]:
    """Those that the model gives at the gold outer boundary."""
    (one,) = model.scored([example.words], example.coordinators)
    (found,) = model.conjuncts(example.words, example.coordinators[0], example.extents, one.h)
    return found


def test_a_handful_of_lists_is_learned(model: CoordinationPredictor) -> None:
    """By heart, of three conjuncts and more, and of two with a comma in one."""
    known = examples(*range(12))
    before = [conjuncts_of(model, each) for each in known]
    assert all(len(each) == 2 for each in before)
    counts = model.complete(known, [], 0)
    assert counts == {
        "places in L": 16, "ends in L": 12, "places in candidates": 0, "ends in candidates": 0,
    }  # fmt: skip
    assert [conjuncts_of(model, each) for each in known] == [e.conjuncts[0] for e in known]


def test_candidates_are_learned_from(model: CoordinationPredictor) -> None:
    """Of an L without a place all is theirs; a repetition, or conjuncts that nobody knows, teach nothing."""
    pair = CoordinationExample(
        ("man", "and", "dog"), (1,), (Span(0, 3),), conjuncts=(spans((0, 1), (2, 3)),)
    )
    own = replace(examples(4)[0], conjuncts=())
    counts = model.complete([pair], [*examples(1, 2, 2), own], 0)
    assert counts == {
        "places in L": 0, "ends in L": 0, "places in candidates": 3, "ends in candidates": 3,
    }  # fmt: skip
    assert model.is_complete
    assert conjuncts_of(model, examples(2)[0]) == examples(2)[0].conjuncts[0]


def test_without_a_place_there_is_no_scorer(model: CoordinationPredictor, tmp_path: Path) -> None:
    """The predictor is what it was, and so is its card."""
    pair = CoordinationExample(
        ("man", "and", "dog"), (1,), (Span(0, 3),), conjuncts=(spans((0, 1), (2, 3)),)
    )
    assert set(model.complete([pair], [], 0).values()) == {0}
    assert not model.is_complete
    model.save(tmp_path / "predictor")
    assert "ends" not in read_json(tmp_path / "predictor/predictor.json")


def test_outer_boundaries_stay_bit_for_bit(model: CoordinationPredictor) -> None:
    """Weights, probabilities and the global stream of random numbers, whatever is learned beside them."""
    sentences, ks = zip(*((structure(n)[0], structure(n)[1]) for n in range(9)), strict=True)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    before = {i: scores.clone() for i, scores in model.distributions(sentences, ks)}
    best = model.predict(sentences, ks)
    state = torch.get_rng_state()
    model.complete(examples(*range(9)), examples(20, 22), 0)
    assert torch.equal(torch.get_rng_state(), state)
    after = dict(model.distributions(sentences, ks))
    assert all(torch.equal(after[i], scores) for i, scores in before.items())
    own = model.state_dict()
    assert all(torch.equal(own[name], value) for name, value in weights.items())
    assert {name.split(".")[0] for name in own.keys() - weights.keys()} == {"ends"}
    for one, other in zip(model.predict(sentences, ks), best, strict=True):
        assert one is not None
        assert other is not None
        assert (one.span, one.probability) == (other.span, other.probability)
        assert (one.conjuncts[0].start, one.conjuncts[-1].end) == (one.span.start, one.span.end)
    learned = [*model.encoder.parameters(), *model.scorer.parameters()]
    assert all(p.grad is None for p in learned)


def test_the_seed_decides(model: CoordinationPredictor) -> None:
    """The same scorer of the same seed, whatever was drawn before; another of another."""
    known = examples(*range(6))

    def learned(seed: int) -> torch.Tensor:
        torch.rand(seed + 3)
        model.ends = None
        model.complete(known, [], seed)
        assert model.ends is not None
        return model.ends.first.weight.detach().clone()

    first = learned(0)
    assert torch.equal(learned(0), first)
    assert not torch.equal(learned(1), first)


def test_labelled_places_are_not_outvoted() -> None:
    """A hundred candidates that contradict one place of L leave the decision open, not theirs."""
    torch.manual_seed(0)
    word = torch.randn(1, 8)
    own = KnownPlaces(word, torch.ones(1))
    others = KnownPlaces(word.repeat(100, 1), torch.zeros(100))
    scorer = learned_ends(own, others, hidden=4, dropout=0.0, seed=0)
    assert scorer(word).sigmoid().item() == pytest.approx(0.5, abs=0.1)


def test_what_is_read_of_a_place() -> None:
    """Its first word, and the coordinator."""
    h = torch.arange(12.0).view(6, 2)
    found = read(h, 4, spans((1, 3), (3, 4)))
    assert found.tolist() == [[2, 3, 8, 9], [6, 7, 8, 9]]
    scorer = EndScorer(2, 3, 0.5).eval()
    logits = scorer(found)
    ends = scorer.ends(h, 4, spans((1, 3), (3, 4)))
    wanted = [p for p, one in zip(spans((1, 3), (3, 4)), logits, strict=True) if one > 0]
    assert ends == wanted


def test_a_complete_predictor_is_saved_and_loaded(
    model: CoordinationPredictor, tmp_path: Path
) -> None:
    """With what its scorer of ends learned from; saved again it is the same."""
    known = examples(*range(9))
    model.complete(known, [], 0)
    model.save(tmp_path / "one")
    loaded = CoordinationPredictor.load(tmp_path / "one")
    sentences, ks = [e.words for e in known], [e.coordinators[0] for e in known]
    assert loaded.predict(sentences, ks) == model.predict(sentences, ks)
    loaded.save(tmp_path / "two")
    card = read_json(tmp_path / "two/predictor.json")
    assert card == read_json(tmp_path / "one/predictor.json")
    assert card["ends"]["ends in L"] == 9


def test_a_predictor_of_before_loads(model: CoordinationPredictor, tmp_path: Path) -> None:
    """It gives two conjuncts, with the probabilities that it gave."""
    model.save(tmp_path / "old")
    assert "ends" not in read_json(tmp_path / "old/predictor.json")
    loaded = CoordinationPredictor.load(tmp_path / "old")
    assert not loaded.is_complete
    found = loaded.predict([structure(2)[0]], [6])
    assert found == model.predict([structure(2)[0]], [6])
    assert found[0] is not None
    assert found[0].conjuncts == as_conjuncts(structure(2)[0], 6, found[0].span)


def test_a_damaged_card_is_one_line(model: CoordinationPredictor, tmp_path: Path) -> None:
    """What the scorer learned from is counts by name."""
    model.complete(examples(1), [], 0)
    model.save(tmp_path / "p")
    path = tmp_path / "p/predictor.json"
    write_json(path, read_json(path) | {"ends": ["some"]})
    with pytest.raises(InputError, match="ends"):
        CoordinationPredictor.load(tmp_path / "p")


def test_evaluation_judges_all_conjuncts(model: CoordinationPredictor) -> None:
    """Rows have as many conjuncts as the predictor finds, and exact counts them."""
    instances = instances_of(sentence(number) for number in (1, 2))
    model.complete(examples(1, 2), [], 0)
    rows = TASK.evaluation.rows(model, instances, 2048)
    for instance, row in zip(instances, rows, strict=True):
        found = predicted(row)
        words, k = instance.sentence.words, instance.gold.coordinator
        (one,) = model.predict([words], [k])
        assert one is not None
        assert found == list(one.conjuncts)
    right = [dict(row) | {"predicted": row["gold"]} for row in rows]
    assert TASK.evaluation.judged(instances, right).criteria["exact"] == 1


def test_examples_have_the_conjuncts_of_l(model: CoordinationPredictor) -> None:
    """Each structure its own, in a sentence with several; joined with one that nobody knows, none."""
    words = ("man", ",", "dog", "and", "girl", "or", "lamp")
    gold = (
        Coordination(3, "and", "NP", spans((0, 1), (2, 3), (4, 5))),
        Coordination(5, "or", "NP", spans((0, 5), (6, 7))),
    )
    (example,) = TASK.examples(
        [Sentence("s", "d", "train", words, None, None, gold, "test")], model
    ).learned
    assert example.conjuncts == (gold[0].conjuncts, gold[1].conjuncts)
    other = CoordinationExample(words, (1,), (Span(0, 3),))
    assert example.joined([other]).conjuncts == ()
    row = {
        "candidate_id": "c", "label": "NP", "words": list(words), "coordinator": 3,
        "conjuncts": [{"start": s.start, "end": s.end} for s in gold[0].conjuncts],
    }  # fmt: skip
    drawn = TASK.rows.drawn(row)
    assert drawn.example.conjuncts == (gold[0].conjuncts,)
    assert drawn.example.extents == (Span(0, 5),)
