"""The head of the report: the verdict over every |L|, what to do next, and links that lead somewhere."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_report import (
    COMPARISONS,
    OVERALL,
    build,
    gain_of,
    metrics_from,
    metrics_of,
    sizes_of,
)

from pipeline.core.files import write_json, write_text
from pipeline.core.runs import System, read_runs
from pipeline.report.next_steps import next_steps
from pipeline.report.opening import (
    ALONE,
    FEW,
    HELPS,
    NO_INTERVAL,
    UNCLEAR,
    WITHOUT,
    WORSE,
    headline,
    opening_panels,
    unhelpful,
    verdicts,
)
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics
from pipeline.report.settings import ReportSettings
from pipeline.report.stage import run


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a corpus with all parts, one of whose runs has a predictor."""
    corpus = build(tmp_path_factory.mktemp("data") / "tiny")
    write_text(corpus / "runs/t5/100/seed-0/predictor/predictor.json", "{}")
    run(ReportSettings(corpus=corpus, examples=2))
    return corpus / "report"


def at(size: int, gain: dict[str, Any], best: float = 0.6) -> dict[str, Any]:
    """A baseline of 50 % and T5 at one |L|, with its gain."""
    return metrics_of({"baseline": [0.5] * 3, "t5": [best] * 3}, size) | {
        "comparisons": [gain | {"labelled": size}]
    }


def four_sizes() -> Metrics:
    """Generation helps with 50, shows nothing with 100 and 250, and harms with all 2,113."""
    documents = [
        at(50, gain_of("t5", 0.1, 0.02)),
        at(100, gain_of("t5", 0.01, 0.05), 0.51),
        at(250, gain_of("t5", -0.01, 0.015), 0.49),
        at(2113, gain_of("t5", -0.04, 0.01), 0.46),
    ]
    for entry in documents[3]["summary"]:
        entry["draw"] = "full"
    return sizes_of(*documents)


def test_every_size_has_its_answer() -> None:
    """From what to what, the gain with its interval, and one of four answers, by interval and seeds."""
    metrics = four_sizes()
    found = verdicts(metrics)
    assert [(v.labelled, v.kind, v.full) for v in found] == [
        (50, HELPS, False), (100, UNCLEAR, False), (250, UNCLEAR, False), (2113, WORSE, True),
    ]  # fmt: skip
    first = found[0]
    assert first.best
    assert first.against
    assert first.gain
    assert (first.best.system, first.against.system) == ("t5", "baseline")
    assert (first.gain.gain, first.among, first.without, first.seeds) == (0.1, 1, 1, 3)
    assert str(Fact("opening.accuracies", verdict=first)) == "50.00 → 60.00 %"
    assert str(Fact("opening.interval", gain=first.gain)) == "+8.00 to +12.00"
    who = str(Fact("opening.who", verdict=first))
    assert re.search("T5; the only one.* 3 seeds.* over baseline.*trees of 50", who)
    (panel,) = opening_panels(metrics, found)
    assert "+10.0 at 50, +1.0 at 100, -1.0 at 250, -4.0 at full (2,113)" in panel.alt


def test_the_headline_has_every_size_with_its_answer() -> None:
    """In the order of the answers; sizes of one answer stand together, and only some are “all”."""
    fact = headline(verdicts(four_sizes()))
    assert fact.about["compared"] is True
    groups = [(kind, [v.labelled for v in of]) for kind, of in fact.about["groups"]]
    assert groups == [(HELPS, [50]), (UNCLEAR, [100, 250]), (WORSE, [2113])]
    text = str(fact)
    assert text.startswith("At equal annotation")
    assert re.search(
        r"helps with 50 labelled sentences,.* 100 and 250 .*worse.* all 2,113\.$", text
    )
    (one,) = verdicts(sizes_of(at(1, gain_of("t5", 0.1, 0.02))))
    assert str(headline([one])).endswith("with 1 labelled sentence.")


@pytest.mark.parametrize(
    ("kind", "word", "clause"),
    [
        (HELPS, "helps", "helps"),
        (UNCLEAR, "no gain", "no gain"),
        (WORSE, "worse", "worse"),
        (FEW, "few seeds", "want of seeds"),
        (NO_INTERVAL, "no interval", "no interval"),
        (ALONE, "nothing to compare", "not been tried"),
        (WITHOUT, "nothing at equal annotation", "nothing at equal annotation"),
    ],
)
def test_every_kind_of_answer_has_its_words(kind: str, word: str, clause: str) -> None:
    """Of a line and of the headline, and no other's."""
    line = verdicts(four_sizes())[0]
    assert word in str(Fact("opening.word", kind=kind))
    assert clause in str(headline([replace(line, kind=kind)]))


@pytest.mark.parametrize(
    ("overall", "comparisons", "kind", "compared"),
    [
        ({"baseline": [0.5]}, [], ALONE, False),
        ({"t5": [0.5]}, [], WITHOUT, False),
        ({"baseline": [0.5], "t5": [0.6]}, [], NO_INTERVAL, True),
        ({"baseline": [0.5] * 2, "t5": [0.6] * 2}, [gain_of("t5", 0.1, 0.01, seeds=2)], FEW, True),
    ],
)
def test_what_cannot_be_said_is_not_said(
    overall: dict[str, Sequence[float]], comparisons: list[Any], kind: str, compared: bool
) -> None:
    """Without a baseline, without generation, without an interval, with two seeds: no verdict on it."""
    metrics = metrics_from(metrics_of(overall) | {"comparisons": comparisons})
    found = verdicts(metrics)
    assert [v.kind for v in found] == [kind]
    fact = headline(found)
    assert fact.about["compared"] is compared
    assert ("At equal annotation" in str(fact)) is compared
    assert "with 100 labelled sentences" in str(fact)
    assert not re.search("helps|no gain|worse", str(fact))
    assert str(Fact("opening.word", kind=kind))
    assert len(opening_panels(metrics, found)) == 1


def test_the_line_is_about_the_best_whose_gain_is_clear() -> None:
    """A higher mean that may be noise does not hide that generation helps; the others are named."""
    comparisons = [gain_of("t5", 0.08, 0.09), gain_of("bert", 0.02, 0.01),
                   gain_of("t5-no-filter", 0.05, 0.06), gain_of("t5-self-train", -0.04, 0.01)]  # fmt: skip
    metrics = metrics_from(metrics_of(OVERALL) | {"comparisons": comparisons})
    (found,) = verdicts(metrics)
    assert found.best
    assert (found.kind, found.best.system, found.among, found.seeds) == (HELPS, "bert", 5, 3)
    assert str(Fact("opening.who", verdict=found)).startswith("BERT; best of 5, 3 seeds")
    unclear, worse = unhelpful(metrics, [found])
    assert (unclear.about["kind"], unclear.about["systems"]) == (UNCLEAR, ["t5", "t5-no-filter"])
    assert (worse.about["kind"], worse.about["systems"]) == (WORSE, ["t5-self-train"])
    assert re.search("no gain .* T5; T5 − filtering", str(unclear))
    assert "worse than the baseline: T5 − sync + self-train" in str(worse)
    assert all("With 100 " in str(fact) for fact in (unclear, worse))
    helped = [gain_of("t5", 0.08, 0.03), gain_of("bert", 0.02, 0.01)]
    metrics = metrics_from(metrics_of(OVERALL) | {"comparisons": helped})
    (fact,) = unhelpful(metrics, verdicts(metrics))
    assert fact.sentence == "opening.all_help"


def test_of_many_that_do_not_help_the_first_are_named() -> None:
    """And the rest are counted."""
    names = [f"own-{n}" for n in range(6)]
    overall = {"baseline": [0.5] * 3, "t5": [0.6] * 3} | dict.fromkeys(names, [0.5] * 3)
    gains = [gain_of("t5", 0.1, 0.02), *(gain_of(name, 0.0, 0.02) for name in names)]
    metrics = metrics_from(metrics_of(overall) | {"comparisons": gains})
    (fact,) = unhelpful(metrics, verdicts(metrics))
    assert fact.about["systems"] == names
    assert "own-3; and 2 more" in str(fact)
    assert "own-4" not in str(fact)


def test_steps_follow_from_the_figures(report: Path, tmp_path: Path) -> None:
    """The best system's candidates and predictor where they are; then more seeds, or L alone."""
    corpus = report.parent
    metrics = metrics_from(metrics_of(OVERALL) | {"comparisons": COMPARISONS})
    steps = next_steps(metrics, verdicts(metrics), read_runs(corpus), corpus)
    assert [step.command for step in steps] == [
        "conjoin browse data/tiny/candidates/t5-sync/seed-0",
        "conjoin predict data/tiny/runs/t5/100/seed-0/predictor TEXT",
    ]
    assert steps[0].text.about["folder"] == "candidates/t5-sync/seed-0"
    assert "100 labelled sentences" in str(steps[0].text)
    metrics = four_sizes()
    steps = next_steps(metrics, verdicts(metrics), [], tmp_path / "my corpus")
    assert [step.command for step in steps] == [
        "conjoin train 'data/my corpus' --system t5 --labelled 100 --seed 3",
        "conjoin train 'data/my corpus' --mode baseline --labelled 250",
    ]
    more, alone = (step.text for step in steps)
    assert more.about == {
        "size": "100 labelled sentences",
        "seeds": 3,
        "few": False,
        "by_hand": True,
    }
    assert alone.about["sizes"] == ["250", "full (2,113)"]
    assert alone.about["most"] == pytest.approx(0.005)
    assert "3 leave an interval" in str(more)
    assert re.search(r"250 and full \(2,113\).* \+0\.50 points", str(alone))


def test_the_next_seed_is_the_first_that_is_not_there(tmp_path: Path) -> None:
    """However many there are: a run of 1 and 2 is not trained over."""
    document = metrics_of({"baseline": [0.5, 0.5], "t5": [0.6, 0.6]})
    for one in document["runs"]:
        one["seed"] += 1
    for row in document["summary"]:
        row["seeds"] = [1, 2]
    gain = {**gain_of("t5", 0.1, 0.11, seeds=2), "seeds": [1, 2]}
    metrics = metrics_from(document | {"comparisons": [gain]})
    first, *_ = next_steps(metrics, verdicts(metrics), [], tmp_path / "tiny")
    assert first.command.endswith("--labelled 100 --seed 0")


def test_more_seeds_are_an_experiment_s_where_there_is_one(tmp_path: Path) -> None:
    """In a project of DVC `repro` makes all cells; which experiment it was is left to be said."""
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    metrics = four_sizes()
    step, _ = next_steps(metrics, verdicts(metrics), [], tmp_path / "data/mine")
    assert step.command == "conjoin repro EXPERIMENT --set 'seeds=[0,1,2,3,4,5]'"
    assert str(step.text).endswith("Name the experiment that it was:")


@pytest.mark.parametrize(
    ("overall", "comparisons", "wanted"),
    [
        ({"baseline": [0.5]}, [], ["conjoin generate data/tiny --lm bert --fills attested"]),
        ({"t5": [0.5]}, [], ["conjoin train data/tiny --mode baseline --labelled 100",
                             "conjoin generate data/tiny --lm bert --fills attested"]),
        ({"baseline": [0.5], "t5": [0.6]}, [gain_of("t5", 0.1, 0.01, seeds=1)],
         ["conjoin train data/tiny --system t5 --labelled 100 --seed 1",
          "conjoin generate data/tiny --lm bert --fills attested"]),
        ({"baseline": [0.5], "t5": [0.6]}, [gain_of("t5", 0.01, 0.05, seeds=20)],
         ["conjoin train data/tiny --mode baseline --labelled 100",
          "conjoin generate data/tiny --lm bert --fills attested"]),
    ],
)  # fmt: skip
def test_steps_where_nothing_helps_yet(
    tmp_path: Path, overall: dict[str, Sequence[float]], comparisons: list[Any], wanted: list[str]
) -> None:
    """A baseline, candidates, seeds; attested fills where no folder has them; no more than twenty seeds."""
    metrics = metrics_from(metrics_of(overall) | {"comparisons": comparisons})
    corpus = tmp_path / "tiny"
    steps = next_steps(metrics, verdicts(metrics), [], corpus)
    assert [step.command for step in steps] == wanted
    assert all(str(step.text).endswith((":", ".")) for step in steps)
    made = {"settings": {"lm": "bert", "sync": True, "fills": "attested"}}
    write_json(corpus / "candidates/mine/seed-0/manifest.json", made)
    steps = next_steps(metrics, verdicts(metrics), [], corpus)
    assert not any("generate" in step.command for step in steps)
    if len(overall) == 1 and "baseline" in overall:
        (step,) = steps
        assert step.command == (
            "conjoin train data/tiny --mode no-filter --candidates data/tiny/candidates/mine/seed-0 "
            "--labelled 100"
        )


def test_the_page_opens_with_one_screen(report: Path) -> None:
    """Verdicts, one picture, steps and contents, in few words; all else is folded."""
    page = (report / "report.html").read_text()
    main = page[page.index("<main>") : page.index("</main>")]
    opening, _, rest = main.partition("<section>")
    assert opening.count('<li class="helps">') == 1
    assert "52.00 → 60.00 %" in opening
    assert opening.count("<figure") == 1
    assert "<code>conjoin predict data/tiny/runs/t5/100/seed-0/predictor TEXT</code>" in opening
    words = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", opening, flags=re.DOTALL).split()
    assert len(words) < 170
    sections = re.findall("<section>.*?</section>", f"<section>{rest}", re.DOTALL)
    assert len(sections) > 10
    assert all(
        re.match(r'<section>\s*<details id="[a-z0-9-]+">\s*<summary><h2>', s) for s in sections
    )


def test_links_lead_to_sections(report: Path) -> None:
    """Each chapter of the contents has its place, in the page and in Markdown, and no two the same."""
    for name, link in (("report.html", 'href="#([^"]+)"'), ("report.md", r"\]\(#([^)]+)\)")):
        text = (report / name).read_text()
        targets = re.findall('<details id="([^"]+)"', text)
        links = [each for each in re.findall(link, text) if not re.match("p[0-9a-f]{10}", each)]
        assert len(links) >= 10
        assert len(set(targets)) == len(targets)
        assert set(links) <= set(targets)
        assert links[-1] == "missing"


def test_no_table_can_widen_the_page(report: Path) -> None:
    """Every table scrolls in a box of its own, which a hint is for and a keyboard reaches."""
    page = (report / "report.html").read_text()
    boxes = re.findall(
        r'<div class="table"><div class="scroll" tabindex="0" [^>]+>\s*<table>', page
    )
    assert len(boxes) == page.count("<table>") > 10
    assert ".table.more::before" in page


def test_markdown_opens_with_the_verdict_and_folds_the_rest(report: Path) -> None:
    """The lines of every |L|, the picture as a file, and every part below in a fold that is closed again."""
    text = (report / "report.md").read_text()
    opening, _, rest = text.partition("<details")
    assert (
        "**100 labelled sentences: helps.** 52.00 → 60.00 %, **+8.00 points** (+5.00 to +11.00): T5;"
        in opening
    )
    assert "](pictures/opening.svg)" in opening
    assert (report / "pictures/opening.svg").is_file()
    assert text.count("<details") == text.count("</details>") > 10
    assert not re.search(r"^#", rest.split("</summary>")[0], re.MULTILINE)


def test_variants_of_l_are_not_called_generation() -> None:
    """What is said of them is over the better of L as it is and copies of it, which are no variants."""
    systems = [
        System("baseline", "baseline"),
        System("twice", "baseline", "copy"),
        System("masked", "baseline", "mask"),
    ]
    metrics = metrics_of({"baseline": [0.4] * 3, "twice": [0.5] * 3, "masked": [0.6] * 3})
    by_name = {str(system): system for system in systems}
    for each in metrics["runs"]:
        each.update(by_name[each["system"]].as_row())
    gain = gain_of("masked", 0.1, 0.01, against="twice")
    found = Metrics.parse(metrics | {"comparisons": [gain, gain_of("twice", 0.1, 0.01)]})
    (line,) = verdicts(found)
    assert line.best is not None
    assert line.against is not None
    assert (line.best.system, line.against.system, line.among) == ("masked", "twice", 1)
    assert "without candidates" not in str(Fact("opening.who", verdict=line))
    assert line.kind == HELPS
    assert str(headline([line])) == (
        "At equal annotation, augmentation helps with 100 labelled sentences."
    )
    said = str(Fact("opening.figures", split="test", compared="F1", of_variants=True))
    assert said.startswith("F1 on test: L as it is or copied →")
    assert not unhelpful(found, [line])
    assert systems[2].is_compared_with(systems[1])
    assert not systems[1].is_compared_with(systems[2])
