"""Paired differences with bootstrap intervals over seeds and instances."""

from typing import Any

import numpy as np
import pytest

from pipeline.core.comparison import (
    FEWEST_DOCUMENTS,
    compare,
    compare_all,
    compare_counts,
    compared,
    documents_of,
    resamples,
    t_interval,
)
from pipeline.core.runs import System
from pipeline.report.results import baseline_of
from pipeline.train.settings import TrainSettings


def _system(rate: float, seeds: range, salt: int = 0) -> dict[int, list[bool]]:
    drawn = {s: np.random.default_rng([salt, s]).random(400) for s in seeds}
    return {s: (values < rate).tolist() for s, values in drawn.items()}


_SEED = (0,)


def _counted(correct: dict[Any, dict[int, list[bool]]]) -> dict[Any, dict[int, np.ndarray]]:
    return {
        cell: {s: _counts(right) for s, right in seeds.items()} for cell, seeds in correct.items()
    }


def test_the_same_system_gains_nothing() -> None:
    """Equal verdicts: no difference and an interval of no width."""
    system = _system(0.5, range(3))
    assert compare(system, system, _SEED) == ((0, 1, 2), 0, 0, 0, (0, 0, 0))


def test_a_clear_gain_excludes_zero_and_an_unclear_one_does_not() -> None:
    """Ten points on 5 × 400 paired instances are clear; independent equal systems are not."""
    figures = compare(_system(0.6, range(5)), _system(0.5, range(5)), _SEED)
    assert figures is not None
    assert 0 < figures[2] < figures[1] < figures[3]
    assert figures[1] == pytest.approx(0.1, abs=0.03)
    figures = compare(_system(0.5, range(5), salt=1), _system(0.5, range(5)), _SEED)
    assert figures is not None
    assert figures[2] < 0 < figures[3]


def test_differing_seeds_widen_the_interval() -> None:
    """The same mean gain is less sure when it comes from one seed of four."""

    def width(gains: list[int]) -> float:
        second = {s: [False] * 400 for s in range(4)}
        first = {s: [True] * gain + [False] * (400 - gain) for s, gain in enumerate(gains)}
        figures = compare(first, second, _SEED)
        assert figures is not None
        assert figures[1] == pytest.approx(0.1)
        return figures[3] - figures[2]

    assert width([160, 0, 0, 0]) > 2 * width([40, 40, 40, 40])


def test_the_interval_of_instances_is_the_binomial_one() -> None:
    """One seed, 400 instances, 100 of them gained: the normal interval of a share is known."""
    found = compare({0: [True] * 100 + [False] * 300}, {0: [False] * 400}, _SEED)
    assert found is not None
    half = 1.96 * (0.25 * 0.75 / 400) ** 0.5
    assert found.gain == 0.25
    assert (found.low, found.high) == pytest.approx((0.25 - half, 0.25 + half), abs=0.004)


def test_the_interval_of_seeds_has_the_width_of_the_standard_error() -> None:
    """Instances that all agree leave the seeds alone: gains 0 and 1 by turns, of n seeds n − 1 drawn."""
    count = 40
    first = {s: [bool(s % 2)] * 5 for s in range(count)}
    found = compare(first, {s: [False] * 5 for s in range(count)}, _SEED)
    assert found is not None
    assert found.by_seed == tuple(float(s % 2) for s in range(count))
    half = 1.96 * (0.25 / (count - 1)) ** 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.015)


def test_two_seeds_are_drawn_one_at_a_time() -> None:
    """Of two seeds one is drawn, so the interval reaches from one's gain to the other's."""
    found = compare({0: [True] * 5, 1: [False] * 5}, {s: [False] * 5 for s in (0, 1)}, _SEED)
    assert found is not None
    assert (found.low, found.gain, found.high) == (0, 0.5, 1)


def test_the_interval_covers_what_it_should() -> None:
    """Of 60 independent experiments without a true difference some 95 % have 0 inside."""
    inside = 0
    for trial in range(60):
        figures = compare(
            _system(0.4, range(8), salt=2 * trial),
            _system(0.4, range(8), salt=2 * trial + 1),
            _SEED,
        )
        assert figures is not None
        inside += figures[2] <= 0 <= figures[3]
    assert inside >= 51


def test_only_common_seeds_and_sizes_are_compared() -> None:
    """A seed that one system lacks is left out; a size without the pair gives nothing."""
    bert, baseline = System("bert", "filter"), System("baseline", "baseline")
    correct = {
        (100, bert): _system(0.6, range(4)),
        (100, baseline): _system(0.5, range(1, 6)),
        (250, bert): _system(0.6, range(2)),
    }
    (found,) = compare_all(_counted(correct))
    assert (found.system, found.against, found.labelled) == ("bert", "baseline", 100)
    assert found.seeds == (1, 2, 3)
    assert found.clear
    assert compare(_system(0.6, range(2)), _system(0.6, range(5, 7)), _SEED) is None
    with pytest.raises(ValueError, match="different instances"):
        compare({0: [True]}, {0: [True, False]}, _SEED)


def test_the_twins_are_held_against_their_control() -> None:
    """Baselines, what a variation varies, and t5-more for t5-twins; nothing the other way round."""
    twins = {"generator": "T5", "caption": "adapted on twins"}
    systems = [
        System("baseline", "baseline", generator="none"),
        System("t5", "filter", generator="T5"),
        System("t5-twins", "filter", **twins),
        System("t5-twins-no-filter", "no-filter", **twins, variation="no-filter"),
        System("t5-more", "filter", generator="T5", caption="more", control_of="adapted on twins"),
    ]
    found = compared(systems)
    assert [against for system, against in found if system == "t5-twins"] == [
        "baseline", "t5", "t5-more",
    ]  # fmt: skip
    assert [against for system, against in found if system == "t5-more"] == ["baseline", "t5"]
    assert [against for system, against in found if system == "t5-twins-no-filter"] == [
        "baseline", "t5", "t5-twins",
    ]  # fmt: skip


def test_a_control_for_any_caption_is_what_every_caption_is_held_against() -> None:
    """Ranked by either model against unranked, not the other way round, and not against each other."""
    made = {"generator": "attested fills"}
    systems = [
        System("baseline", "baseline", generator="none"),
        System("t5", "filter", generator="T5"),
        System("unranked", "no-filter", **made, caption="unranked", control_of="any"),
        System("by-bert", "no-filter", **made, caption="ranked by BERT"),
        System("by-t5", "no-filter", **made, caption="ranked by T5"),
    ]
    found = compared(systems)
    for name in ("by-bert", "by-t5"):
        assert [against for system, against in found if system == name] == ["baseline", "unranked"]
    assert [against for system, against in found if system == "unranked"] == ["baseline"]


def test_variants_of_the_labelled_sentences_are_no_baseline() -> None:
    """L with variants is compared with the baseline; what has candidates with both, at equal annotation."""
    baseline, attested = System("baseline", "baseline"), System("attested", "no-filter")
    mask = System.of(
        {"system": "augment-mask", "mode": "baseline", "settings": {"augment": "mask"}}
    )
    assert not mask.is_baseline
    assert mask.is_compared_with(baseline)
    assert not baseline.is_compared_with(mask)
    assert attested.is_compared_with(mask)
    assert not attested.is_compared_across(mask)
    assert baseline_of([mask, baseline]) == baseline
    settings = {"corpus": "data/world", "mode": "baseline"}
    assert TrainSettings.build(settings, None).usual_name == "baseline"
    settings["augment"] = "mask"
    assert TrainSettings.build(settings, None).usual_name == "baseline-mask"
    settings["mask_tags"] = "NOUN+ADJ"
    assert TrainSettings.build(settings, None).usual_name == "baseline-mask-NOUN-ADJ"


def test_systems_of_different_annotation_are_compared_across_or_not_at_all() -> None:
    """A gain over all without candidates is of one level; of two there is the baseline, marked as across."""
    baseline, t5 = System("baseline", "baseline"), System("t5", "filter")
    alone, beside = System.parser_alone("corpus"), baseline.with_parser("corpus", "else")
    level = {baseline: "boundaries", t5: "trees", alone: "trees", beside: "trees"}
    assert compared(level) == [(t5, baseline), (t5, alone), (t5, beside), (alone, baseline),
                               (beside, baseline)]  # fmt: skip
    assert compared(level, level) == [(t5, baseline), (t5, alone), (t5, beside), (alone, baseline),
                                      (beside, baseline)]  # fmt: skip
    assert compared(level, {**level, alone: "others"}) == [
        (t5, baseline), (t5, beside), (alone, baseline), (beside, baseline),
    ]  # fmt: skip
    correct = {(100, system): _system(0.5, range(3), salt=n) for n, system in enumerate(level)}
    found = compare_all(_counted(correct), {(100, system): name for system, name in level.items()})
    assert {(c.system, c.against): c.across for c in found} == {
        (t5, baseline): True, (t5, alone): False, (t5, beside): False, (alone, baseline): True,
        (beside, baseline): True,
    }  # fmt: skip
    assert not any(c.across for c in compare_all(_counted(correct)))


def test_a_row_says_what_its_system_is() -> None:
    """Written and read again it is the same; beside a parser it varies only what stands beside that alike."""
    t5 = System("t5", "filter", generator="T5")
    free = System("t5-no-filter", "no-filter", generator="T5", variation="no-filter")
    for system in (t5, free, t5.with_parser("corpus", "together"), System.parser_alone("corpus")):
        read = System.of_row(system.as_row())
        assert (read, read.as_row()) == (system, system.as_row())
    beside = [each.with_parser("corpus", "else") for each in (t5, free)]
    assert beside[1].varies(beside[0])
    assert not beside[1].varies(t5)
    assert not free.varies(beside[0])
    assert [each.predictor for each in (t5, beside[0])] == ["t5", "t5"]
    assert t5.has_candidates
    assert not System.parser_alone("corpus").has_candidates


def test_whole_documents_are_resampled() -> None:
    """Instances that agree within their document leave as much doubt as there are documents."""
    names = [f"d{n // 20}" for n in range(400)]
    documents = documents_of(names)
    assert documents == [n // 20 for n in range(400)]
    by_document = np.random.default_rng(0).random(20) < 0.5
    first = {s: [bool(by_document[n // 20]) for n in range(400)] for s in range(3)}
    second = {s: [False] * 400 for s in range(3)}
    alone, whole = (compare(first, second, _SEED, each) for each in (None, documents))
    assert alone is not None
    assert whole is not None
    assert whole.gain == alone.gain
    assert whole.high - whole.low > 3 * (alone.high - alone.low)
    single = compare(first, second, _SEED, list(range(400)))
    assert single == alone
    for count, enough in ((FEWEST_DOCUMENTS - 1, False), (FEWEST_DOCUMENTS, True)):
        assert (documents_of([f"d{n % count}" for n in range(400)]) is not None) == enough


def test_documents_of_different_sizes_count_by_their_instances() -> None:
    """A resampled mean is over the instances of the documents drawn, so that it stays a share."""
    documents = [0] * 391 + list(range(1, 10))
    right = {0: [True] * 400}
    found = compare(right, {0: [False] * 400}, _SEED, documents)
    assert found is not None
    assert (found.low, found.gain, found.high) == pytest.approx((1, 1, 1))


def test_the_t_interval_is_students() -> None:
    """Three and four seeds by hand; more than the table has, near the normal's; of two none."""
    assert t_interval([0.01, 0.02, 0.03]) == pytest.approx(
        (0.02 - 4.303 * 0.01 / 3**0.5, 0.02 + 4.303 * 0.01 / 3**0.5)
    )
    low, high = t_interval([0.01, 0.02, 0.03, 0.06]) or (0, 0)
    half = 3.182 * (0.0014 / 3) ** 0.5 / 2
    assert (low, high) == pytest.approx((0.03 - half, 0.03 + half))
    many = [float(n % 2) for n in range(100)]
    low, high = t_interval(many) or (0, 0)
    assert high - low == pytest.approx(2 * 1.984 * (25 / 99) ** 0.5 / 10, rel=1e-3)
    assert t_interval([0.1, 0.2]) is None


@pytest.mark.parametrize("more", [{"brackets": 0.5}, {"gold_of": "parsers/l-trees/250/seed-0"}])
def test_what_learns_more_of_gold_is_no_baseline_but_a_rival(more: dict[str, object]) -> None:
    """It is held against the baseline, and what has candidates against it; its row says what it learned."""
    baseline, attested = System("baseline", "baseline"), System("attested", "no-filter")
    made = System.of({"system": "a-gold", "mode": "baseline", "settings": more})
    for system in (made, System.of_row(made.as_row())):
        assert not system.is_baseline
        assert compared([baseline, system, attested]) == [
            (system, baseline), (attested, baseline), (attested, system),
        ]  # fmt: skip
        assert baseline_of([system, baseline]) == baseline
    assert made.as_row().items() >= more.items()
    assert not {"brackets", "gold_of"} & baseline.as_row().keys()


def _counts(right: list[bool]) -> np.ndarray:
    counts = np.ones((len(right), 1, 3), dtype=np.int64)
    counts[:, 0, 0] = right
    return counts


def test_accuracies_counted_are_accuracies_compared() -> None:
    """One answer said and one there: the very figures of ``compare``."""
    first, second = _system(0.6, range(3)), _system(0.5, range(3))
    counted = [{s: _counts(right) for s, right in system.items()} for system in (first, second)]
    assert compare_counts(*counted, _SEED) == compare(first, second, _SEED)


def _f1(counts: np.ndarray) -> float:
    """Macro-F1 in plain loops."""
    shares = []
    for group in range(counts.shape[1]):
        right, said, there = (sum(int(unit[group][c]) for unit in counts) for c in range(3))
        shares.append(2 * right / (said + there) if said + there else 0.0)
    return sum(shares) / len(shares)


@pytest.mark.parametrize("documents", [None, [n // 3 for n in range(30)]])
def test_macro_f1_is_resampled_as_in_plain_loops(documents: list[int] | None) -> None:
    """The figure of every draw is made again; a group that nothing is drawn of is 0."""
    random = np.random.default_rng(7)

    def system() -> dict[int, np.ndarray]:
        return {seed: _drawn_counts(random) for seed in (0, 1, 2)}

    first, second = system(), system()
    found = compare_counts(first, second, _SEED, documents)
    assert found is not None
    gains = [_f1(first[s]) - _f1(second[s]) for s in range(3)]
    assert found.by_seed == pytest.approx(gains)
    assert found.gain == pytest.approx(sum(gains) / 3)
    units = documents or list(range(30))
    members = [[n for n, unit in enumerate(units) if unit == u] for u in range(max(units) + 1)]
    of_seeds, of_units = resamples(_SEED, 3, len(members))[0]
    one = 0.0
    for seed in range(3):
        rows = [n for u, times in enumerate(of_units[0]) for n in members[u] * int(times)]
        one += of_seeds[0][seed] * (_f1(first[seed][rows]) - _f1(second[seed][rows])) / 2
    every = []
    for seeds, drawn in resamples(_SEED, 3, len(members)):
        for weights, times in zip(seeds, drawn, strict=True):
            rows = np.repeat(np.arange(30), times[units])
            each = [_f1(first[s][rows]) - _f1(second[s][rows]) for s in range(3)]
            every.append(sum(w * e for w, e in zip(weights, each, strict=True)) / 2)
        break
    assert every[0] == pytest.approx(one)
    low, high = np.quantile(every, [0.025, 0.975])  # of the first block, a sixteenth of all
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.15 * (high - low))


def _drawn_counts(random: np.random.Generator) -> np.ndarray:
    gold, said = random.integers(3, size=30), random.integers(3, size=30)
    counts = np.zeros((30, 3, 3), dtype=np.int64)
    for n in range(30):
        counts[n, gold[n], 2] += 1
        counts[n, said[n], 1] += 1
        counts[n, gold[n], 0] += gold[n] == said[n]
    return counts
