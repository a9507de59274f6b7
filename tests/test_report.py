"""The report: numbers, escaping, self-containment, determinism, and what is said when parts miss."""

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipeline.ground.coordination import CATEGORIES, Candidate, Span
from pipeline.ground.errors import InputError
from pipeline.ground.files import write_json, write_text
from pipeline.ground.schema import CANDIDATES, SCORED, candidate_row, write_rows
from pipeline.mechanisms.metrics import CRITERIA, mean_sd
from pipeline.mechanisms.reporting.examples import draw_examples, fill_statistics, marked
from pipeline.mechanisms.reporting.curves import acceptance, acceptance_by_label, learning_curves
from pipeline.mechanisms.reporting.findings import findings
from pipeline.mechanisms.reporting.paper_tables import (
    ablation_table,
    accuracy_table,
    criteria_table,
    sizes_table,
)
from pipeline.mechanisms.reporting.results import Metrics
from pipeline.mechanisms.reporting.runs import read_runs
from pipeline.mechanisms.reporting.systems import system_key, system_name
from pipeline.mechanisms.reporting.tables import code_span, markdown, percent, records_table
from pipeline.settings.report import Report
from pipeline.stages.report import run

NASTY = "<script>alert(1)</script>"
OVERALL = {
    "baseline": (0.50, 0.52, 0.54),
    "t5": (0.60, 0.61, 0.59),
    "bert": (0.55, 0.51, 0.56),
    "t5-no-filter": (0.57, 0.58, 0.56),
    "t5-self-train": (0.53, 0.54, 0.52),
    "my-own": (0.40, 0.41, 0.42),
}
MODES = {"baseline": "baseline", "t5-no-filter": "no-filter", "t5-self-train": "self-train"}
KINDS = {"bert": "bert-sync", "t5-self-train": "t5-no-sync"}
LABELS = ("NP", "VP", "PP")
COLUMNS = ("overall", *CATEGORIES)


def metrics_of(overall: dict[str, Sequence[float]], labelled: int = 100) -> dict[str, Any]:
    """The document that evaluate writes for these overall accuracies (by seed)."""
    runs, summary = [], []
    for system, values in overall.items():
        for seed, value in enumerate(values):
            accuracy: dict[str, float | None] = dict.fromkeys(CATEGORIES, value - 0.1)
            runs.append({"system": system, "labelled": labelled, "seed": seed,
                         "accuracy": accuracy | {"overall": value, "PP": None}})  # fmt: skip
        pairs = {
            name: mean_sd([r["accuracy"][name] for r in runs if r["system"] == system])
            for name in COLUMNS
        }
        mean, sd = mean_sd(values)
        summary.append({
            "system": system, "labelled": labelled, "seeds": list(range(len(values))),
            "mean": {k: v[0] for k, v in pairs.items()}, "sd": {k: v[1] for k, v in pairs.items()},
            "criteria": {c: {"mean": (mean or 0) - 0.01 * i, "sd": sd} for i, c in enumerate(CRITERIA)},
        })  # fmt: skip
    counts = {"overall": 1157, "NP, NX": 803, "ADJP, ADVP": 40, "VP": 155, "PP": 0, "S, SBAR": 79}
    return {"split": "test", "instances": counts, "runs": runs, "summary": summary}


def candidates_of(count: int, tag: str) -> list[Candidate]:
    """Candidates whose sentence tells their number; number 0 holds markup of every kind."""
    found = []
    for number in range(count):
        word = f"{NASTY}&`|*" if number % 5 == 0 else f"lamp{number}"
        words = ("She", "sold", "the", word, "and", "the", f"{tag}{number % 7}", "near", "it", ".")
        found.append(Candidate(
            candidate_id=f"{tag}-{number}", sentence_id=f"s{number}", words=words, coordinator=4,
            conjuncts=(Span(2, 4), Span(5, 7)), label=LABELS[number % 3], reference=Span(2, 4),
            fill=f"the {tag}{number % 7}", score=-1.0, score_append=-1.0, score_prepend=-1.0, license="x",
        ))  # fmt: skip
    return found


def write_run(corpus: Path, system: str, labelled: int, seed: int, top: float) -> None:
    """A run folder with a history of 30 validations and about 10 judgements in each."""
    rng = random.Random(f"{system} {seed}")
    mode, kind = MODES.get(system, "filter"), KINDS.get(system, "t5-sync")
    out = corpus / f"runs/{system}/{labelled}/seed-{seed}"
    scored: list[dict[str, Any]] = []
    history = []
    for step in range(20, 601 - 60 * seed, 20):
        recent: dict[str, Counter[str]] = {}
        for _ in range(10 if mode != "baseline" and step > 100 else 0):
            number = rng.randrange(60)
            chance = min(max(rng.gauss(0.6 + step / 3000, 0.25), 0), 1)
            label, accepted = LABELS[number % 3], mode == "no-filter" or chance >= 0.7
            recent.setdefault(label, Counter()).update(accepted=accepted, seen=1)
            scored.append({"step": step, "candidate_id": f"{kind}-{number}", "label": label,
                           "start": 2, "end": 7, "probability": chance, "accepted": accepted})  # fmt: skip
        accuracy = top * (1 - math.exp(-step / 80)) + rng.gauss(0, 0.01)
        history.append({
            "step": step, "loss": 1.0, "validation_accuracy": accuracy, "seen": len(scored),
            "accepted": sum(row["accepted"] for row in scored),
            "acceptance": {k: [c["accepted"], c["seen"]] for k, c in sorted(recent.items())},
        })  # fmt: skip
    write_text(out / "history.jsonl", "".join(json.dumps(h) + "\n" for h in history))
    write_rows(out / "scored.parquet", SCORED, scored)
    write_json(out / "timing.json", {"seconds": 12.3})
    settings = {"delta": 0.7, "k": 8, "warm_steps": 100, "steps": 600}
    if mode != "baseline":
        settings["candidates"] = f"candidates/{kind}/seed-{seed}"
    write_json(out / "run.json", {
        "system": system, "mode": mode, "labelled": labelled, "seed": seed, "settings": settings,
        "best_step": 500, "best_validation_accuracy": 0.61, "steps": 600, "seen": len(scored),
        "accepted": 7, "distinct": 5, "candidates": 60, "excluded": {},
    })  # fmt: skip


def build(corpus: Path, overall: dict[str, Sequence[float]] = OVERALL) -> Path:
    """A corpus folder as the stages before report leave it."""
    write_json(corpus / "evaluation/metrics.json", metrics_of(overall))
    counts = {"sentences": 14326, "with_coordination": 8101, "instances": 11596,
              "evaluable_instances": 11530}  # fmt: skip
    write_json(corpus / "ingest.json", {
        "reader": "genia", "splits": {"train": counts, "test": counts},
        "labels": {"train": {"NP": 9000, "VP": 12}, "test": {"NP": 803}},
        "unlabelled_seeds": {"without_coordination": 6225}, "refused": {"no words": 3}, "draws": {},
    })  # fmt: skip
    write_json(corpus / "preparse.json", {"parser": "trained here", "training": {"f1": 0.9612},
                                          "unlabelled": {"seen": 6, "kept": 5, "refused": {}}})  # fmt: skip
    write_json(corpus / "models/bert/ready.json", {"name": "google-bert/bert-large-cased"})
    write_json(corpus / "models/t5/pretrain.json", {
        "lm": "t5", "base": None, "parameters": 1234567, "steps": 2000, "tokens": 99, "loss": 2.0,
        "validation_loss": 2.345, "vocabulary": 4000, "texts": {}})  # fmt: skip
    for kind in ("t5-sync", "bert-sync", "t5-no-sync"):
        for seed in range(3):
            folder = corpus / f"candidates/{kind}/seed-{seed}"
            rows = [candidate_row(c) for c in candidates_of(60, kind)]
            write_rows(folder / "candidates-00000-of-00002.parquet", CANDIDATES, rows[:30])
            write_rows(folder / "candidates-00001-of-00002.parquet", CANDIDATES, rows[30:])
            refused = {"empty fill": 4, "fill equal to the reference": 36}
            tally = {"seen": 100, "kept": 60, "refused": refused}
            write_json(folder / "manifest.json", {"tally": tally})
    for system, values in overall.items():
        for seed, value in enumerate(values):
            write_run(corpus, system, 100, seed, value)
    return corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reported corpus with all parts."""
    folder = build(tmp_path_factory.mktemp("data") / "tiny")
    run(Report(corpus=folder, examples=5))
    return folder


@pytest.fixture(scope="module")
def page(corpus: Path) -> str:
    """Its HTML page."""
    return (corpus / "report/report.html").read_text()


class Checker(HTMLParser):
    """Collects mismatched tags, elements with their attributes, and the text outside <style>."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.wrong: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: D102
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: D102
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:  # noqa: D102
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:  # noqa: D102
        if "style" not in self.stack[-1:]:
            self.text.append(data)


@pytest.fixture(scope="module")
def parsed(page: str) -> Checker:
    """The page as a parser sees it."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    return checker


def cells(page: str, title: str) -> Iterator[list[str]]:
    """The rows of one table of the page, without markup."""
    section = page[page.index(f"<h2>{title}") :]
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", section[: section.index("</section>")]):
        yield [re.sub("<[^>]+>", "", c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]


def test_page_is_well_formed(parsed: Checker) -> None:
    """Every element is closed by its own end tag, and no id stands twice."""
    assert not parsed.wrong
    assert not parsed.stack
    ids = [attrs["id"] for _, attrs in parsed.seen if "id" in attrs]
    pictures = [tag for tag, _ in parsed.seen].count("figure")
    assert pictures >= 10
    assert len(ids) == len(set(ids))


def test_corpus_text_stays_text(page: str, parsed: Checker) -> None:
    """A sentence with a script element is shown, never executed."""
    assert "script" not in {tag for tag, _ in parsed.seen}
    assert NASTY in "".join(parsed.text)
    assert NASTY not in page


def test_page_loads_nothing(page: str, parsed: Checker) -> None:
    """No element or style names anything outside the page."""
    for _, attrs in parsed.seen:
        for name in ("src", "href", "xlink:href", "data", "action", "srcset"):
            assert (attrs.get(name) or "#").startswith("#")
    assert "http" not in page
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))


def test_pictures_take_the_pages_colours(page: str) -> None:
    """No fixed colour is left in a picture, and every variable used is defined."""
    style = page[page.index("<style>") : page.index("</style>")]
    svgs = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", svgs)
    used = set(re.findall(r"var\((--[\w-]+)\)", svgs))
    assert used
    for variable in used:
        assert style.count(f"{variable}:") == 2  # light and dark


def test_table_2_has_the_numbers_of_the_metrics(page: str) -> None:
    """Means and deviations computed here by hand stand in the page, best ones first in bold."""
    rows = {row[1]: row for row in cells(page, "Accuracy (%) on test")}
    values = [60.0, 61.0, 59.0]
    mean = sum(values) / 3
    sd = math.sqrt(sum((v - mean) ** 2 for v in values) / 2)
    assert rows["+ generation by T5"] == [
        "100", "+ generation by T5", "50.00", "50.00", "50.00", "–", "50.00",
        f"{mean:.2f} ± {sd:.2f}", "3",
    ]  # fmt: skip
    assert rows["Model"][2] == "NP, NX (803)"
    assert list(rows)[1:] == [
        "baseline (no generation)", "+ generation by BERT", "+ generation by T5", "my-own",
    ]  # fmt: skip
    assert "<strong>60.00 ± 1.00</strong>" in page


def test_table_3_nests_the_variations_under_their_generator() -> None:
    """Rows stand in the paper's order, variations one level deeper, and unknown systems not at all."""
    table = ablation_table(Metrics.parse(metrics_of(OVERALL)))
    assert table is not None
    assert [(row.cells[1], row.cells[2], row.level) for row in table.rows] == [
        ("baseline (no generation)", "52.00 ± 2.00", 0),
        ("+ generation by BERT", "54.00 ± 2.65", 0),
        ("+ generation by T5", "60.00 ± 1.00", 0),
        ("− filtering", "57.00 ± 1.00", 1),
        ("− sync + self-train", "53.00 ± 1.00", 1),
    ]
    assert ablation_table(Metrics.parse(metrics_of({"baseline": [0.5], "t5": [0.6]}))) is None


def test_criteria_table_shows_all_four() -> None:
    """Each criterion has its column, with deviation, for every system."""
    table = criteria_table(Metrics.parse(metrics_of(OVERALL)))
    first = table.rows[0].cells
    assert first[2:6] == ("52.00 ± 2.00", "51.00 ± 2.00", "50.00 ± 2.00", "49.00 ± 2.00")
    assert len(table.rows) == len(OVERALL)
    assert "n = 1157" in table.title


def test_ties_are_all_best_unless_nothing_is() -> None:
    """Equal figures are marked alike; where none is better than another nothing is marked."""
    tied = accuracy_table(
        Metrics.parse(metrics_of({"baseline": [0.5], "bert": [0.6], "t5": [0.6]}))
    )
    assert [row.best for row in tied.rows] == [set(), {2, 3, 4, 6, 7}, {2, 3, 4, 6, 7}]
    for overall in ({"baseline": [0.5]}, {"baseline": [0.5], "t5": [0.5]}):
        table = accuracy_table(Metrics.parse(metrics_of(overall)))
        assert not any(row.best for row in table.rows)


@pytest.mark.parametrize(
    ("overall", "wanted"),
    [
        (OVERALL, ["generation by T5, the best of 5", "60.00 %", "8.00 points more", "52.00 %", "in all 3"]),
        ({"baseline": [0.5, 0.5], "t5": [0.6, 0.6]}, ["10.00 points more", "cannot tell"]),
        ({"baseline": [0.5] * 3, "t5": [0.6, 0.4, 0.6]}, ["only 2 of 3", "not enough"]),
        ({"baseline": [0.5] * 3, "t5": [0.4] * 3}, ["nothing beats", "10.00 points less", "none of 3"]),
        ({"baseline": [0.5] * 3, "t5": [0.5] * 3}, ["nothing beats", "just as many", "none of 3"]),
        ({"baseline": [0.5]}, ["Nothing but the baseline"]),
        ({"t5": [0.5]}, ["no baseline run"]),
    ],
)  # fmt: skip
def test_the_point_is_what_the_numbers_say(
    overall: dict[str, Sequence[float]], wanted: list[str]
) -> None:
    """Two sentences, honest where the gain is none or the seeds are too few."""
    sentences = findings(Metrics.parse(metrics_of(overall)))
    assert len(sentences) == 2
    assert all(part in " ".join(sentences) for part in wanted), sentences


def test_each_size_has_its_own_two_sentences_and_block() -> None:
    """Blocks of Table 2 go by |L|, each with its own best figures."""
    small, large = metrics_of({"baseline": [0.3], "t5": [0.4]}, 50), metrics_of(OVERALL, 250)
    both = large | {part: large[part] + small[part] for part in ("runs", "summary")}
    assert [text[:8] for text in findings(Metrics.parse(both))[::2]] == ["With 50 ", "With 250"]
    rows = accuracy_table(Metrics.parse(both)).rows
    assert [row.cells[0] for row in rows] == ["50"] * 2 + ["250"] * 4
    assert [row.begins for row in rows] == [True, False, True, False, False, False]
    assert [7 in row.best for row in rows] == [False, True, False, False, True, False]


def test_systems_have_the_papers_names_and_order() -> None:
    """Known names become the paper's rows; unknown names stay and stand last."""
    names = ["zeta", "t5-self-train", "t5", "bert-no-filter", "bert", "baseline", "t5-other"]
    assert [system_name(name) for name in sorted(names, key=system_key)] == [
        "baseline (no generation)", "+ generation by BERT", "+ generation by BERT, − filtering",
        "+ generation by T5", "+ generation by T5, − sync + self-train", "t5-other", "zeta",
    ]  # fmt: skip


def test_examples_are_as_many_as_asked_and_judged_so(corpus: Path) -> None:
    """The draw gives distinct candidates with the verdict of their list, anew by another seed."""
    folder = corpus / "runs/t5/100/seed-0"
    source = [(0, folder / "scored.parquet", corpus / "candidates/t5-sync/seed-0")]
    accepted, rejected = draw_examples(source, 6, 0)
    assert len(accepted) == len(rejected) == 6
    assert all(e.accepted and e.probability >= 0.7 for e in accepted)
    assert all(not e.accepted and e.probability < 0.7 for e in rejected)
    assert len({e.candidate_id for e in accepted + rejected}) == 12
    assert (accepted, rejected) == draw_examples(source, 6, 0)
    assert (accepted, rejected) != draw_examples(source, 6, 1)
    assert len(draw_examples(source, 1000, 0)[0]) <= 60


def test_a_judged_candidate_that_is_gone_is_an_error(corpus: Path) -> None:
    """Judgements of other candidates than those in the folder are refused with a remedy."""
    scored = corpus / "runs/t5/100/seed-0/scored.parquet"
    with pytest.raises(InputError, match="train"):
        draw_examples([(0, scored, corpus / "candidates/bert-sync/seed-0")], 3, 0)


def test_reference_is_marked_inside_its_brackets() -> None:
    """The three pieces are Table 4's bracketed text, cut at the reference span."""
    words = ["She", "sold", "the", "lamp", "and", "the", "dog", "."]
    pieces = marked(words, [Span(2, 4), Span(5, 7)], Span(2, 4))
    assert pieces == ("She sold [", "the lamp", "] and [the dog] .")


def test_fills_are_counted(corpus: Path) -> None:
    """Distinct fills are counted within a folder; lengths are means in words."""
    found = fill_statistics([corpus / f"candidates/t5-sync/seed-{seed}" for seed in range(3)])
    assert (found.candidates, found.distinct) == (180, 21)
    assert (found.fill_words, found.reference_words) == (2.0, 2.0)


def test_counts_of_generation_are_summed_over_seeds(page: str) -> None:
    """Tries, candidates and reasons of the manifests stand in the page."""
    rows = {row[0]: row[1:] for row in cells(page, "Generation")}
    assert rows[""] == ["bert-sync", "t5-no-sync", "t5-sync"]
    assert rows["fills tried"] == ["300"] * 3
    assert rows["refused: fill equal to the reference"] == ["108"] * 3
    assert rows["distinct fills, %"] == ["11.67"] * 3
    corpus_rows = {row[0]: row[1:] for row in cells(page, "The corpus")}
    assert corpus_rows["evaluable: NP"] == ["9,000", "803"]
    assert corpus_rows["with coordination"] == ["8,101", "8,101"]


def test_pictures_show_the_systems_they_are_about(corpus: Path) -> None:
    """Curves for all; acceptance only where candidates are inspected; rare labels are named."""
    runs = read_runs(corpus)
    assert [panel.title for panel in learning_curves(runs)] == [
        system_name(system) for system in sorted(OVERALL, key=system_key)
    ]
    assert len(acceptance(runs)) == 1
    panels, rare = acceptance_by_label(runs)
    assert [panel.title for panel in panels] == ["NP", "VP", "PP"]
    assert not rare
    few = [r for r in runs if r.system == "t5" and r.seed == 2]
    thinned = [type(r)(**{f: getattr(r, f) for f in r.__dataclass_fields__} | {"history": r.history[:9]})
               for r in few]  # fmt: skip
    assert acceptance_by_label(thinned)[0] == []
    assert sum(acceptance_by_label(thinned)[1].values()) == thinned[0].history[-1]["seen"]
    baselines = [r for r in runs if r.mode == "baseline"]
    assert acceptance(baselines) == []


def test_same_input_gives_same_bytes(corpus: Path, tmp_path: Path) -> None:
    """A second run, and a run on a copy made from anew, write the same files."""
    names = ("report.md", "report.html")
    before = [(corpus / "report" / name).read_bytes() for name in names]
    run(Report(corpus=corpus, examples=5))
    assert before == [(corpus / "report" / name).read_bytes() for name in names]
    other = build(tmp_path / "tiny")
    run(Report(corpus=other, examples=5))
    assert before == [(other / "report" / name).read_bytes() for name in names]


def test_markdown_keeps_markup_as_text(corpus: Path) -> None:
    """Corpus text stands in code spans whose fence it cannot close, and tables line up."""
    text = (corpus / "report/report.md").read_text()
    for line in text.splitlines():
        if NASTY in line:
            assert re.fullmatch(r"- 0\.\d+ `\w+` ``+ .*<script>.* ``+", line), line
    assert NASTY in text
    assert "**60.00 ± 1.00**" in text
    assert code_span("a") == "`a`"
    assert code_span("a ``b` c") == "``` a ``b` c ```"
    table = markdown(records_table("t", [{"a|b": "<i>", "n": 1234}, {"a|b": "*", "n": None}]))
    assert table.splitlines() == [
        "| a\\|b   |     n |",
        "| ------ | ----: |",
        "| &lt;i> | 1,234 |",
        "| \\*     |     – |",
    ]


def test_missing_metrics_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    """Without evaluation there is nothing to report: what, where, and what to do."""
    with pytest.raises(InputError, match=r"metrics\.json.*conjoin evaluate") as error:
        run(Report(corpus=tmp_path))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "report").exists()


def test_damaged_input_is_named_with_its_place(tmp_path: Path) -> None:
    """Metrics of another shape and a broken line of history are refused."""
    write_json(tmp_path / "evaluation/metrics.json", {"split": "test"})
    with pytest.raises(InputError, match=r"metrics\.json: not what"):
        run(Report(corpus=tmp_path))
    folder = build(tmp_path / "broken", {"baseline": [0.5]})
    with (folder / "runs/baseline/100/seed-0/history.jsonl").open("a") as file:
        file.write("{oops\n")
    with pytest.raises(InputError, match=r"history\.jsonl:31: "):
        run(Report(corpus=folder))


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corpus with baseline runs only still has a report, which says what it lacks."""
    build(tmp_path / "full", {"baseline": [0.5, 0.6]})
    bare = tmp_path / "bare"
    write_json(bare / "evaluation/metrics.json", metrics_of({"baseline": [0.5]}))
    run(Report(corpus=bare))
    text = (bare / "report/report.md").read_text()
    for part in ("no run folders", "No corpus counts", "No parser figures", "No ablation table"):
        assert part in text
    run(Report(corpus=tmp_path / "full"))
    text = (tmp_path / "full/report/report.html").read_text()
    assert "No acceptance figures for 100 labelled sentences: only runs that inspect no" in text
    assert "No examples: no run that filters candidates." in text
    out = capsys.readouterr().out
    assert "55.00 ± 7.07" in out
    assert "report.html" in out


def test_percentages_have_two_decimals() -> None:
    """As the paper prints them; undefined is a dash."""
    assert percent(0.68684, 0.01512) == "68.68 ± 1.51"
    assert percent(None, 0.1) == "–"
