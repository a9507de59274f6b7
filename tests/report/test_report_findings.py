"""Findings and comparisons: which system is best and over what, what its gain is, and how certain."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_report import OVERALL, gain_of, metrics_from, metrics_of, system_of

from pipeline.core.markdown import percent, points
from pipeline.core.runs import Run, System
from pipeline.report.comparisons import caveat, comparisons_table
from pipeline.report.findings import Findings, findings
from pipeline.report.paper_tables import ablation_table, accuracy_table
from pipeline.report.prose import Fact
from pipeline.report.results import (
    CLEAR,
    FEW_SEEDS,
    ONE_SEED,
    UNCLEAR,
    Metrics,
    certainty,
    label_name,
    system_phrase,
)

KEY_WORDS = {
    ONE_SEED: "one seed",
    FEW_SEEDS: "too few seeds",
    UNCLEAR: "not distinguished from noise",
    CLEAR: "more than noise",
}


def point_of(overall: dict[str, Sequence[float]], *comparisons: dict[str, Any]) -> Findings:
    """The findings of an evaluation; they can be said."""
    found = findings(metrics_from(metrics_of(overall) | {"comparisons": list(comparisons)}))
    assert f"With {found.size}" in paragraph(found)
    return found


def paragraph(found: Findings) -> str:
    """What the page says of them."""
    return str(Fact("findings.paragraph", found=found))


@pytest.mark.parametrize(
    ("overall", "best", "among", "difference", "by_seed"),
    [
        (OVERALL, "t5", 2, 8.0, (10.0, 9.0, 5.0)),
        ({"baseline": [0.5, 0.5], "t5": [0.6, 0.6]}, "t5", 1, 10.0, (10.0, 10.0)),
        ({"baseline": [0.5] * 3, "t5": [0.6, 0.4, 0.6]}, "t5", 1, 10 / 3, (10.0, -10.0, 10.0)),
        ({"baseline": [0.5] * 3, "t5": [0.4] * 3}, "t5", 1, -10.0, (-10.0,) * 3),
        ({"baseline": [0.5] * 3, "t5": [0.5] * 3}, "t5", 1, 0.0, (0.0,) * 3),
        ({"baseline": [0.5] * 3, "a": [0.5] * 3, "b": [0.6] * 3}, "b", 2, 10.0, (10.0,) * 3),
    ],
)
def test_the_point_is_what_the_numbers_say(
    overall: dict[str, Sequence[float]], best: str, among: int, difference: float,
    by_seed: tuple[float, ...],
) -> None:  # fmt: skip
    """Which system finds most, among how many, and what that is beside the baseline, seed by seed."""
    found = point_of(overall)
    standing = found.best
    assert standing
    assert standing.rival
    assert (standing.result.system, standing.rival.system) == (best, "baseline")
    assert (standing.among, standing.gain) == (among, None)
    assert standing.difference == pytest.approx(difference)
    assert standing.by_seed == pytest.approx(by_seed)
    text = paragraph(found)
    assert system_phrase(system_of(best)) in text
    assert percent(standing.result.mean["overall"]) in text
    assert (
        f"{abs(difference):.2f} points {'more' if difference > 0 else 'less'}" in text
        or not difference
    )
    assert "more than noise" not in text  # which no mean alone can show
    up, seeds = sum(gain > 0 for gain in by_seed), len(by_seed)
    assert ("cannot tell such a difference from chance" in text) is (seeds < 3)
    some = f"all {up}" if up == seeds else f"only {up} of {seeds}" if up else f"none of {seeds}"
    assert (f" in {some} " in text) is (seeds > 2)
    assert ("not enough to tell" in text) is (seeds > 2 and 0 < up < seeds)


def test_the_gain_is_over_the_first_baseline() -> None:
    """A second one, of another name, neither takes its place nor counts as a system with generation."""
    three = {"baseline": [0.5] * 3, "baseline-b": [0.7] * 3, "t5": [0.6] * 3}
    best = point_of(three).best
    assert best
    assert (best.result.system, best.among) == ("t5", 1)


def test_without_generation_or_a_baseline_no_gain_is_stated() -> None:
    """The baseline's figure alone; a system's figure alone; nothing at all."""
    alone = point_of({"baseline": [0.5]})
    assert (alone.best, alone.scored) == (None, 1)
    assert "50.00 %" in paragraph(alone)
    assert "nothing to compare it with" in paragraph(alone)
    lonely = point_of({"t5": [0.5]})
    assert lonely.best
    assert (lonely.baseline, lonely.best.rival, lonely.best.difference) == (None, None, None)
    assert "50.00 %" in paragraph(lonely)
    assert "no baseline" in paragraph(lonely)
    document = metrics_of({"t5": [0.5]})
    document["summary"][0]["mean"]["overall"] = None
    nothing = findings(metrics_from(document))
    assert (nothing.best, nothing.baseline) == (None, None)
    assert not any("points" in paragraph(found) for found in (alone, lonely, nothing))


@pytest.mark.parametrize(
    ("comparisons", "said", "clear"),
    [
        ([gain_of("t5", 0.08, 0.03), gain_of("t5-no-filter", 0.05, 0.02), gain_of("bert", 0.02, 0.04)],
         CLEAR, ["t5-no-filter"]),
        ([gain_of("t5", 0.08, 0.09), gain_of("bert", -0.04, 0.01)], UNCLEAR, []),
    ],
)  # fmt: skip
def test_the_point_says_more_than_noise_only_where_the_interval_leaves_0_out(
    comparisons: list[dict[str, Any]], said: str, clear: list[str]
) -> None:
    """With intervals it rests on them, for the best system and for the others, whose losses are no gains."""
    found = point_of(OVERALL, *comparisons)
    assert found.best
    assert found.best.gain
    assert found.others
    assert certainty(found.best.gain) == said
    assert [each.result.system for each in found.others if each.helps] == clear
    assert len(found.others) == 4
    text = paragraph(found)
    low, high = (points(getattr(found.best.gain, bound)) for bound in ("low", "high"))
    assert f"{low} to {high}, 3 seeds" in text
    assert ("3 seeds: more than noise" in text) is (said == CLEAR)
    assert f"{len(clear) or 'None'} of the 4 other systems" in text
    assert all(system_phrase(system_of(name)) in text for name in clear)
    assert "Seed by seed" not in text


def test_the_only_other_system_has_its_gain() -> None:
    """With its interval; one without says that it is not known."""
    two = {"baseline": [0.5] * 3, "t5": [0.6] * 3, "bert": [0.55] * 3}
    found = point_of(two, gain_of("t5", 0.1, 0.02), gain_of("bert", 0.05, 0.07))
    assert found.others
    (other,) = found.others
    assert (other.result.system, other.helps) == ("bert", False)
    assert "+5.00 points (95 % interval −2.00 to +12.00" in paragraph(found)
    unknown = point_of(two, gain_of("t5", 0.1, 0.02))
    assert unknown.others
    assert unknown.others[0].gain is None
    assert point_of({"baseline": [0.5], "t5": [0.6]}, gain_of("t5", 0.1, 0.02)).others == ()


def test_the_point_names_a_variation_that_beats_the_paper_s_method() -> None:
    """What finds most, then what it gains over what it varies, then the paper's method."""
    overall = {
        "baseline": [0.5] * 3,
        "bert": [0.55] * 3,
        "t5": [0.52] * 3,
        "bert-no-filter": [0.6] * 3,
    }
    found = point_of(
        overall,
        gain_of("bert", 0.05, 0.02),
        gain_of("bert-no-filter", 0.1, 0.02),
        gain_of("bert-no-filter", 0.05, 0.06, against="bert"),
    )
    assert found.best
    assert found.over_control
    assert found.papers
    assert found.others is None
    assert (found.best.result.system, found.best.among, found.best.is_papers) == (
        "bert-no-filter", 3, False,
    )  # fmt: skip
    assert (found.over_control.against, found.over_control.gain) == ("bert", 0.05)
    assert certainty(found.over_control) == UNCLEAR
    assert (found.papers.result.system, found.papers.among) == ("bert", 2)
    assert found.papers.gain
    assert certainty(found.papers.gain) == CLEAR
    # In this order, each with its own interval.
    assert re.search(
        r"BERT without filtering.* 3 systems.* 60\.00 %.* 10\.00 points more.* \+8\.00 to \+12\.00, 3 seeds"
        r".*BERT.* \+5\.00 points .*−1\.00 to \+11\.00"
        r".*paper’s method.*BERT.* 55\.00 %.* 5\.00 points more.* \+3\.00 to \+7\.00",
        paragraph(found),
    )


def test_the_point_of_attested_fills_names_their_control_and_the_paper_s_delta() -> None:
    """The winner by its fields, what ranking adds, and what the paper's method did with which δ."""
    overall = {"baseline": [0.4] * 3, "t5": [0.39] * 3, "u": [0.42] * 3, "a": [0.47] * 3}
    fields = {"generator": "attested fills"}
    systems = [
        system_of("baseline"),
        system_of("t5"),
        System("u", "no-filter", caption="unranked", control_of="any", **fields),
        System("a", "no-filter", caption="ranked by BERT", **fields),
    ]
    comparisons = [
        gain_of("t5", -0.01, 0.02), gain_of("a", 0.07, 0.02), gain_of("a", 0.05, 0.01, against="u"),
    ]  # fmt: skip
    runs = [
        Run(Path(str(n)), systems[1], 100, "100", n, {"settings": {"delta": 0.7}}, (), None)
        for n in range(3)
    ]
    found = Metrics.parse(metrics_of(overall) | {"comparisons": comparisons}, systems)
    point = findings(found, runs)
    assert point.best
    assert point.over_control
    assert point.papers
    assert (point.best.result.system, point.over_control.against) == ("a", "u")
    assert (point.papers.result.system, point.delta) == ("t5", 0.7)
    assert point.papers.difference == pytest.approx(-1)
    assert findings(found).delta is None
    text = paragraph(point)
    for part in ("attested fills (ranked by BERT)", "attested fills (unranked)", "47.00 %", "+5.00 points",
                 "δ = 0.7", "39.00 %", "1.00 points less"):  # fmt: skip
        assert part in text
    table = accuracy_table(found, 100)
    assert [row.cells[1] for row in table.rows] == [
        "baseline", "T5", "attested fills (unranked)", "attested fills (ranked by BERT)",
    ]  # fmt: skip
    assert table.note
    assert table.note.about["unfiltered"] == ["u", "a"]
    assert "attested fills (unranked); attested fills (ranked by BERT)" in str(table.note)
    ablations = ablation_table(found, 100)
    assert ablations is not None
    assert [row.cells[3] for row in ablations.rows] == ["–", "–", "–", "+5.00"]
    assert [label_name(s) for s in systems[2:]] == [
        "attested fills (unranked)", "attested fills (BERT)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gain", "half", "seeds", "figures", "said"),
    [
        (0.019, 0.015, 3, ("+1.90", "+0.40 … +3.40"), CLEAR),
        (-0.019, 0.015, 5, ("−1.90", "−3.40 … −0.40"), CLEAR),
        (0.019, 0.02, 3, ("+1.90", "−0.10 … +3.90"), UNCLEAR),
        (0.0152, 0.0149, 3, ("+1.52", "+0.03 … +3.01"), CLEAR),
        (0.0, 0.01, 3, ("+0.00", "−1.00 … +1.00"), UNCLEAR),
        (0.019, 0.015, 2, ("+1.90", "+0.40 … +3.40"), FEW_SEEDS),
        (0.019, 0.015, 1, ("+1.90", "+0.40 … +3.40"), ONE_SEED),
    ],
)
def test_a_comparison_says_how_far_its_gain_is_certain(
    gain: float, half: float, seeds: int, figures: tuple[str, str], said: str
) -> None:
    """Clear and unclear, up and down, few seeds and one."""
    document = metrics_of(OVERALL) | {"comparisons": [gain_of("t5", gain, half, seeds=seeds)]}
    metrics = metrics_from(document)
    table = comparisons_table(metrics)
    assert table is not None
    (row,) = table.rows
    assert row.cells[:3] == ("100", "T5", "baseline")
    assert row.cells[5:7] == figures
    assert certainty(metrics.comparisons[0]) == said
    assert KEY_WORDS[said] in row.cells[8]
    assert (row.cells[8] == KEY_WORDS[CLEAR]) is bool(row.best) is (said == CLEAR)


@pytest.mark.parametrize(
    ("seeds", "count", "few"),
    [
        ((1,), 1, (1, 1)),
        ((3,), 1, (3, 3)),
        ((2, 4), 1, (2, 4)),
        ((3, 10), 1, (3, 3)),
        ((5,), 40, None),
    ],
)
def test_the_caveat_is_about_these_seeds_and_comparisons(
    seeds: tuple[int, ...], count: int, few: tuple[int, int] | None
) -> None:
    """Few seeds, one seed, and many comparisons are each warned of where they are, and only there."""
    gains = [gain_of("t5", 0.1, 0.2, seeds=number) for number in seeds] * count
    fact = caveat(metrics_from(metrics_of(OVERALL) | {"comparisons": gains}))
    assert fact
    assert fact.about["few"] == few
    judged = [number for number in seeds * count if number >= 3]
    assert (fact.about["judged"], fact.about["by_t"]) == (len(judged), bool(judged))
    assert fact.about["by_chance"] == pytest.approx(len(judged) * 0.05)
    text = str(fact)
    assert ("one seed" in text) is (few == (1, 1))
    assert ("too narrow" in text) is (few not in (None, (1, 1)))
    assert few in (None, (1, 1)) or f"{few[1]} seeds" in text
    assert ("would be called more than noise" in text) is (len(judged) >= 20)
    assert caveat(metrics_from(metrics_of(OVERALL))) is None


def test_all_comparisons_stand_in_one_table() -> None:
    """Both accuracies, difference, interval and the seeds one by one; bold where more than noise."""
    one = gain_of("t5", 0.08, 0.03) | {"by_seed": [0.1, 0.09, 0.05]}
    table = comparisons_table(metrics_from(metrics_of(OVERALL) | {"comparisons": [one]}))
    assert table is not None
    assert table.rows[0].cells == (
        "100", "T5", "baseline", "60.00 ± 1.00", "52.00 ± 2.00", "+8.00", "+5.00 … +11.00",
        "+1.43 … +14.57", "more than noise", "+10.0 +9.0 +5.0",
    )  # fmt: skip
    assert table.rows[0].best == {5}
    assert comparisons_table(metrics_from(metrics_of(OVERALL))) is None
