"""Rows of two levels of annotation: no gain stands between them, and a difference says what it is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_report import annotation_of, build, gain_of, metrics_of

from pipeline.core.annotation import rests_on_other_trees
from pipeline.core.documents import read_json
from pipeline.core.files import write_json
from pipeline.core.runs import System, read_runs
from pipeline.report.comparisons import across_table, comparisons_table
from pipeline.report.findings import findings
from pipeline.report.next_steps import next_steps
from pipeline.report.opening import HELPS, WITHOUT, cautions, headline, unhelpful, verdicts
from pipeline.report.paper_tables import accuracy_table, criteria_table
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics, label_name, system_phrase
from pipeline.report.settings import ReportSettings
from pipeline.report.stage import run

BASELINE = System("baseline", "baseline", generator="none")
T5 = System("t5", "filter", generator="T5")
ALONE = System.parser_alone("corpus")
ELSE, TOGETHER = (BASELINE.with_parser("corpus", way) for way in ("else", "together"))
BESIDE = T5.with_parser("corpus", "together")
SYSTEMS = {each: each for each in (BASELINE, T5, ALONE, ELSE, TOGETHER, BESIDE)}
FIGURES = {BASELINE: 0.3, T5: 0.55, ALONE: 0.41, ELSE: 0.5, TOGETHER: 0.47, BESIDE: 0.6}
ACROSS, EQUAL = 0.2543, 0.0512
LEVEL = "boundaries of 100; trees of 800 others"
"""Of all but the baseline, in words."""


def document(*left_out: System) -> dict[str, Any]:
    """A baseline of L's boundaries, and systems for which 800 trees were annotated as well."""
    figures = {str(s): [value] * 3 for s, value in FIGURES.items() if s not in left_out}
    made = metrics_of(figures)
    for each in made["runs"]:
        each.update(SYSTEMS[each["system"]].as_row())
        if each["system"] != BASELINE:
            each["annotation"] = annotation_of(100, each["seed"], others=800)
    found = [
        gain_of(str(T5), ACROSS, 0.01), gain_of(str(T5), EQUAL, 0.01, against=str(ELSE)),
        gain_of(str(T5), 0.0812, 0.01, against=str(TOGETHER)),
        gain_of(str(BESIDE), 0.1034, 0.01, against=str(ELSE)),
        gain_of(str(BESIDE), 0.3055, 0.01),
    ]  # fmt: skip
    there = [c for c in found if {c["system"], c["against"]} <= figures.keys()]
    # Whatever list they stand in, the runs say what is of one level.
    return made | {"comparisons": there}


def test_the_headline_is_a_gain_at_equal_annotation() -> None:
    """Over the best without candidates of the same level, which is named with how many there were."""
    metrics = Metrics.parse(document())
    (line,) = verdicts(metrics)
    assert str(headline([line])).startswith("At equal annotation")
    assert line.best
    assert line.gain
    assert (line.kind, line.best.system, line.against and line.against.system) == (
        HELPS, BESIDE, ELSE,
    )  # fmt: skip
    assert (line.gain.gain, line.gain.across, line.without) == (0.1034, False, 3)
    assert line.best.annotated == LEVEL
    who = str(Fact("opening.who", verdict=line))
    for part in (
        "over parser corpus, else baseline",
        "the best of 3 without candidates",
        f"both annotated: {LEVEL}",
    ):
        assert part in who
    found = findings(metrics)
    assert found.best
    assert found.best.rival
    assert (found.best.result.system, found.best.rival.system) == (BESIDE, ELSE)
    assert (found.best.among, found.best.rivals, found.levels) == (2, 3, 2)
    assert found.best.difference == pytest.approx(10)
    text = str(Fact("findings.paragraph", found=found))
    assert f"annotated: {LEVEL}" in text
    for part in (system_phrase(BESIDE), system_phrase(ELSE), "60.00 %", "10.00 points more", "50.00 %",
                 "best of 3 systems without candidates at equal annotation"):  # fmt: skip
        assert part in text
    (fact,) = unhelpful(metrics, [line])
    assert fact.sentence == "opening.all_help"


def test_the_best_is_the_best_of_its_annotation() -> None:
    """Not of all with generation: one that learned from less is not counted among them."""
    made = document()
    for each in made["runs"]:
        if each["system"] == T5:
            each["annotation"] = annotation_of(100, each["seed"])
    found = findings(Metrics.parse(made))
    assert found.best
    assert (found.best.result.system, found.best.among) == (BESIDE, 1)
    assert "with generation" not in str(Fact("findings.paragraph", found=found))


def test_a_gain_that_may_be_the_trees_is_said_to_be_so() -> None:
    """Unless something without candidates learned the coordinations of the 800 trees, too."""
    made = document()
    (fact,) = cautions(verdicts(Metrics.parse(made)))
    assert "nothing without candidates learned the coordinations of the other trees" in str(fact)
    for run_ in made["runs"]:
        if run_["system"] == str(ELSE):
            run_["gold_of"] = "parser"
    (line,) = verdicts(Metrics.parse(made))
    assert (line.kind, cautions([line])) == (HELPS, [])
    own = ("tiny", "labelled", "100", "trees", "")
    choosing = ("tiny", "others", "300", "trees", "chosen")  # the parser's epoch, and nothing else
    assert not rests_on_other_trees([own, choosing])
    assert rests_on_other_trees([own, ("tiny", "others", "800", "trees", "learned")])


def test_rows_stand_by_annotation_and_only_those_of_one_are_compared() -> None:
    """The baseline apart without a gain; the best means and the gains are of one block each."""
    table = accuracy_table(Metrics.parse(document()), 100)
    assert [(row.cells[:5], row.begins) for row in table.rows] == [
        (("trees of 100", "baseline", "30.00 ± 0.00", "–", "–"), True),
        (("boundaries of 100; trees of 800 others", "parser corpus alone", "41.00 ± 0.00", "–", "–"), True),
        (("boundaries of 100; trees of 800 others", "parser corpus, else baseline", "50.00 ± 0.00", "–", "–"),
         False),
        (("boundaries of 100; trees of 800 others", "parser corpus with baseline by τ", "47.00 ± 0.00", "–",
          "–"), False),
        (("boundaries of 100; trees of 800 others", "T5", "55.00 ± 0.00", "+5.12", "+4.12 … +6.12"), False),
        (("boundaries of 100; trees of 800 others", "parser corpus with T5 by τ", "60.00 ± 0.00", "+10.34",
          "+9.34 … +11.34"), False),
    ]  # fmt: skip
    assert [2 in row.best for row in table.rows] == [False] * 5 + [True]
    assert table.note
    assert table.note.about["rivals"] == [ELSE]
    assert "here: parser corpus, else baseline" in str(table.note)
    top = criteria_table(Metrics.parse(document(BESIDE, T5, TOGETHER, ALONE)), 100)
    assert not any(row.best for row in top.rows)  # each is alone in its block


def test_differences_across_levels_stand_in_a_table_that_says_so() -> None:
    """With the annotation of both, and not among the comparisons."""
    metrics = Metrics.parse(document())
    across, equal = across_table(metrics), comparisons_table(metrics)
    assert across is not None
    assert equal is not None
    assert across.title == "Differences between levels of annotation"
    assert "no gains" in str(across.note)
    assert [row.cells[1:6] for row in across.rows] == [
        ("T5", "boundaries of 100; trees of 800 others", "baseline", "trees of 100", "+25.43"),
        ("parser corpus with T5 by τ", "boundaries of 100; trees of 800 others", "baseline", "trees of 100",
         "+30.55"),
    ]  # fmt: skip
    assert {row.cells[5] for row in equal.rows} == {"+5.12", "+8.12", "+10.34"}


@pytest.mark.parametrize("left_out", [(), (ALONE, ELSE, TOGETHER)])
def test_no_gain_is_printed_across_levels_without_the_words(
    tmp_path: Path, left_out: tuple[System, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the page, in Markdown and on the terminal such a difference stands in that one table alone."""
    corpus = build(tmp_path / "tiny", {"baseline": [0.3] * 3, "t5": [0.55] * 3})
    write_json(corpus / "evaluation/metrics.json", document(*left_out))
    capsys.readouterr()
    run(ReportSettings(corpus=corpus, examples=1))
    printed = capsys.readouterr().out
    texts = {name: (corpus / "report" / name).read_text() for name in ("report.md", "report.html")}
    title = "Differences between levels of annotation"
    # Figures of differences: the two of the document, and what the means would give.
    wrong = re.compile(r"(25\.43|30\.55|25\.00|30\.00) points|[+](25\.[40]|30\.[50])")
    for text in texts.values():
        head, _, rest = text.partition(f"{title}<")
        section, _, tail = rest.partition("</details>")
        assert "+25.43" in section
        assert "These are no gains" in section
        assert not wrong.search(head)
        assert not wrong.search(tail)
    assert not wrong.search(printed)
    assert ("nothing at equal annotation to compare with" in texts["report.md"]) is bool(left_out)
    for picture in (corpus / "report/pictures").glob("*.svg"):
        assert not wrong.search(picture.read_text())


def test_without_anything_of_equal_annotation_it_is_said_what_makes_it(tmp_path: Path) -> None:
    """No gain, no “more than noise”, and the command that puts a parser beside the baseline."""
    metrics = Metrics.parse(document(ALONE, ELSE, TOGETHER))
    (line,) = verdicts(metrics)
    assert (line.kind, line.against, line.gain) == (WITHOUT, None, None)
    assert not headline([line]).about["compared"]
    assert "nothing at equal annotation" in str(headline([line]))
    found = findings(metrics)
    assert found.baseline
    assert found.best
    assert (found.best.rival, found.best.gain, found.best.difference) == (None, None, None)
    text = str(Fact("findings.paragraph", found=found))
    assert "nothing at equal annotation to compare with: `conjoin evaluate --parser`" in text
    assert not re.search("more than noise|points", text)
    assert metrics.gains(metrics.block(100)) == {}
    steps = next_steps(metrics, [line], [], tmp_path / "tiny")
    assert steps[0].command == "conjoin evaluate data/tiny --parser NAME"


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ({"trees": "parsed"}, "corpus"),
        ({"trees": "l-trees"}, "l-trees"),
        ({"trees": "treebank"}, "NAME"),
        ({"fills": "harvested", "parser": "corpus"}, "corpus"),
        ({"fills": "harvested", "parser": "corpus", "trees": "l-trees"}, "l-trees"),
        ({"fills": "harvested", "parser": "labelled", "labelled": "100"}, "labelled-100"),
        (
            {"fills": "harvested", "parser": "labelled", "labelled": "100", "tags": "treebank"},
            "NAME",
        ),
    ],
)
def test_the_parser_of_the_candidates_is_named_where_their_manifest_tells(
    tmp_path: Path, made: dict[str, str], name: str
) -> None:
    """The command puts that parser beside the baseline, not always the corpus's."""
    corpus = build(tmp_path / "tiny", {"baseline": [0.3] * 3, "t5": [0.55] * 3})
    for manifest in corpus.glob("candidates/*/*/manifest.json"):
        write_json(manifest, read_json(manifest) | {"settings": made})
    metrics = Metrics.parse(document(ALONE, ELSE, TOGETHER, BESIDE))
    steps = next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
    assert f"conjoin evaluate data/tiny --parser {name}" in [step.command for step in steps]


def test_where_trees_are_gold_no_parser_is_named_that_is_not_there(tmp_path: Path) -> None:
    """As in the short demo: the command makes a parser instead."""
    corpus = build(tmp_path / "tiny", {"baseline": [0.3] * 3, "t5": [0.55] * 3})
    write_json(corpus / "preparse.json", {"parser": "treebank"})
    metrics = Metrics.parse(document(ALONE, ELSE, TOGETHER, BESIDE))
    commands = [
        step.command for step in next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
    ]
    assert "conjoin preparse data/tiny --parser train" in commands
    assert not any("evaluate" in command for command in commands)


@pytest.mark.parametrize(("way", "option"), [("else", " --tau 0"), ("together", "")])
def test_the_best_system_s_parser_is_part_of_the_command_that_predicts(
    tmp_path: Path, way: str, option: str
) -> None:
    """Where every structure of the parser stands, τ is 0; else it is the usual one."""
    corpus = build(tmp_path / "tiny", {"baseline": [0.3] * 3, "t5": [0.55] * 3})
    for run_ in read_runs(corpus):
        (run_.folder / "predictor").mkdir(exist_ok=True)
    best = T5.with_parser("corpus", way)
    made = json.loads(json.dumps(document()).replace(str(BESIDE), str(best)))
    for each in made["runs"]:
        if each["system"] == str(best):
            each.update(best.as_row())
    metrics = Metrics.parse(made)
    commands = [
        step.command for step in next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
    ]
    end = f"predictor TEXT --parser data/tiny{option}"
    assert any(command.endswith(end) for command in commands), commands


def test_rivals_are_compared_on_the_seeds_of_the_system() -> None:
    """Neither a lucky seed that the system lacks nor a rival with few of its seeds decides."""
    figures = {"baseline": [0.3, 0.3, 0.9], "a": [0.4, 0.4, 0.1], "b": [0.8], "t5": [0.5, 0.5]}
    made = metrics_of(figures)
    systems = [BASELINE, System("a", "baseline", "copy"), System("b", "baseline", "mask"), T5]

    def rival(system: str, document: dict[str, Any]) -> str | None:
        metrics = Metrics.parse(document, systems)
        result = metrics.result(100, system)
        assert result
        found = metrics.rival(result)
        return found and str(found.system)

    assert rival("t5", made) == "a"
    fewer = metrics_of({"a": [0.4, 0.4], "b": [0.8], "t5": [0.5] * 3})
    assert rival("t5", fewer) == "a"  # none has all of them


def test_two_levels_with_candidates_have_a_line_each() -> None:
    """And the headline says which is which."""
    made = document()
    more = metrics_of({"mine": [0.35] * 3})
    for part in ("runs", "summary"):
        made[part] += more[part]  # of L's trees, as the baseline
    made["comparisons"].append(gain_of("mine", 0.05, 0.01))
    found = verdicts(Metrics.parse(made, [System("mine", "filter")]))
    assert [(line.kind, line.several, line.gain and line.gain.gain) for line in found] == [
        (HELPS, True, 0.05), (HELPS, True, 0.1034),
    ]  # fmt: skip
    assert f"100 (trees of 100) and 100 ({LEVEL})" in str(headline(found))


def test_a_document_that_does_not_say_what_was_annotated_has_no_gains() -> None:
    """One of an earlier version: its systems may differ in it, so nothing is subtracted without saying so."""
    made = document()
    for each in made["runs"]:
        del each["annotation"]
    metrics = Metrics.parse(made)
    assert not metrics.comparisons
    assert len(metrics.across) == 5


def test_what_stands_beside_a_parser_is_called_so() -> None:
    """In charts, and within a sentence."""
    assert [label_name(each) for each in (ALONE, ELSE, BESIDE)] == [
        "parser corpus alone", "parser corpus, else baseline", "parser corpus with T5 by τ",
    ]  # fmt: skip
    mine = System("mine", "filter").with_parser("l-trees", "else")
    assert system_phrase(mine) == "“mine” beside the parser l-trees (else)"
    assert system_phrase(ALONE) == "the parser corpus alone"


def test_where_nothing_is_gained_the_best_without_candidates_is_used(tmp_path: Path) -> None:
    """With its parser, if it has one; its predictor is learned anew, with its options, where it is gone."""
    corpus = build(tmp_path / "tiny", {"baseline": [0.3] * 3, "t5": [0.55] * 3})
    made = document(T5)
    made["comparisons"] = [gain_of(str(BESIDE), 0.001, 0.002, against=str(ELSE), seeds=20)]
    metrics = Metrics.parse(made)

    def steps() -> dict[str, str]:
        found = next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
        return {step.text.sentence: step.command for step in found}

    assert steps()["next_steps.without"] == "conjoin train data/tiny --mode baseline --labelled 100"
    for each in read_runs(corpus):
        (each.folder / "predictor").mkdir(exist_ok=True)
    place = "data/tiny/runs/baseline/100/seed-0/predictor"
    command = f"conjoin predict {place} TEXT --parser data/tiny --tau 0"
    assert steps()["next_steps.without"] == command
    (step,) = (
        step
        for step in next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
        if step.command == command
    )
    assert "use parser corpus, else baseline: the best system with candidates gains" in str(
        step.text
    )
