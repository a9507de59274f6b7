"""The report: numbers, escaping, self-containment, determinism, and what is said when parts miss."""

import csv
import html
import json
import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from defusedxml import ElementTree

from pipeline.core.comparison import mean_sd
from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json, write_text
from pipeline.core.markdown import code_span, percent
from pipeline.core.parquet import write_rows
from pipeline.core.runs import Run, System, read_runs
from pipeline.core.schema import CANDIDATES, SCORED, VERDICTS, candidate_row
from pipeline.core.types import CATEGORIES, CRITERIA, Candidate, Span
from pipeline.report.accuracy_figures import (
    ablation_dots,
    accuracy_dots,
    accuracy_over_sizes,
    gain_dots,
    gain_over_sizes,
)
from pipeline.report.audit import filter_table, read_audit, read_verdicts
from pipeline.report.charts import spread
from pipeline.report.comparisons import comparisons_table
from pipeline.report.differences import differences
from pipeline.report.examples import (
    draw_examples,
    fill_statistics,
    marked,
    place_of,
)
from pipeline.report.findings import findings
from pipeline.report.generations import generation_lists
from pipeline.report.markdown import markdown, records_table
from pipeline.report.paper_tables import ablation_table, accuracy_table, criteria_table, sizes_table
from pipeline.report.prose import Fact
from pipeline.report.provenance import selections, times_table
from pipeline.report.results import (
    CLEAR,
    FEW_SEEDS,
    Metrics,
    certainty,
    read_generation,
    short_name,
    system_key,
    system_name,
)
from pipeline.report.sections import Section
from pipeline.report.settings import ReportSettings
from pipeline.report.stage import chapters_of, read_material, run
from pipeline.report.training_curves import acceptance, learning_curves, reuse, training

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
FIELDS = {
    "baseline": {"generator": "none"},
    "t5": {"generator": "T5"},
    "bert": {"generator": "BERT"},
    "t5-no-filter": {"generator": "T5", "variation": "no-filter"},
    "t5-self-train": {"generator": "T5", "variation": "self-train"},
    "t5-quantile": {"generator": "T5", "variation": "quantile"},
    "t5-other-way": {"generator": "T5", "variation": "other-way"},
    "bert-no-filter": {"generator": "BERT", "variation": "no-filter"},
    "t5-gold": {"generator": "T5", "caption": "spans from gold trees"},
    "t5-twins": {"generator": "T5", "caption": "adapted on twins"},
    "t5-more": {"generator": "T5", "caption": "trained on", "control_of": "adapted on twins"},
    "t5-twins-no-filter": {"generator": "T5", "caption": "adapted on twins", "variation": "no-filter"},
    "bert-twins": {"generator": "BERT", "caption": "adapted on twins"},
    "bert-twins-no-filter": {
        "generator": "BERT", "caption": "adapted on twins", "variation": "no-filter",
    },
}  # fmt: skip
"""Systems of params.yaml with their fields; others have none."""
LABELS = ("NP", "VP", "PP")
FILL_LENGTHS = ("1", "9", "10+")
COLUMNS = ("overall", *CATEGORIES)


def annotation_of(labelled: int, seed: int, others: int = 0) -> list[dict[str, Any]]:
    """The record of a system for which L's trees were annotated, or L's boundaries and trees of others."""
    own = {"corpus": "tiny", "part": "labelled", "draw": f"{labelled}/seed-{seed}",
           "sentences": labelled, "boundaries": labelled}  # fmt: skip
    if not others:
        return [own | {"trees": labelled}]
    return [
        own,
        {"corpus": "tiny", "part": "others", "ids": "x", "sentences": others, "trees": others},
    ]


def metrics_of(overall: dict[str, Sequence[float]], labelled: int = 100) -> dict[str, Any]:
    """The document that evaluate writes for these overall accuracies (by seed)."""
    runs, summary = [], []
    for system, values in overall.items():
        for seed, value in enumerate(values):
            accuracy: dict[str, float | None] = dict.fromkeys(CATEGORIES, value - 0.1)
            runs.append({"system": system, "labelled": labelled, "seed": seed,
                         "annotation": annotation_of(labelled, seed),
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
    return {
        "split": "test",
        "corpus": "tiny",
        "instances": counts,
        "runs": runs,
        "summary": summary,
    }


def system_of(name: str) -> System:
    """A system with the mode and the fields it has in params.yaml."""
    default = "baseline" if name.startswith("baseline") else "filter"
    return System(name, MODES.get(name, default), **FIELDS.get(name, {}))


def metrics_from(document: dict[str, Any]) -> Metrics:
    """The metrics, their systems with their fields."""
    return Metrics.parse(document, [system_of(run["system"]) for run in document["runs"]])


def gain_of(
    system: str,
    gain: float,
    half: float,
    labelled: int = 100,
    *,
    against: str = "baseline",
    seeds: int = 3,
) -> dict[str, Any]:
    """An entry of ``comparisons`` with the interval gain ± half."""
    return {"system": system, "against": against, "labelled": labelled, "seeds": list(range(seeds)),
            "gain": gain, "low": gain - half, "high": gain + half}  # fmt: skip


COMPARISONS = [
    gain_of("t5", 0.08, 0.03), gain_of("bert", 0.02, 0.04), gain_of("t5-no-filter", 0.05, 0.02),
    gain_of("t5-self-train", 0.01, 0.03), gain_of("t5-no-filter", -0.03, 0.02, against="t5"),
]  # fmt: skip


def sizes_of(*documents: dict[str, Any]) -> Metrics:
    """The metrics of several |L| together."""
    first = documents[0]
    parts = {part: [entry for d in documents for entry in d.get(part, [])]
             for part in ("runs", "summary", "comparisons")}  # fmt: skip
    return metrics_from(first | parts)


def shares(right: float, judged: int = 50) -> dict[str, Any]:
    """What the audit says of one group."""
    return {"judged": judged, "right": right, "sensible": right / 2}


def write_audit(corpus: Path) -> None:
    """An audit of a grammar's corpus: shares, and a verdict on two of three candidates of t5-sync."""
    generation = [
        {"candidates": kind, "seeds": [0], **shares(right), "other": 0.2, "ungrammatical": 0.8 - right,
         "repeats": 0.1, "distinct": 0.4, "by_label": {"VP": shares(right), "NP": shares(0.99)},
         "by_fill_length": {"9+": shares(0.11, 9), "1": shares(0.77)}}
        for kind, right in (("t5-no-sync", 0.41), ("t5-sync", 0.72), ("bert-sync", 0.63))
    ]  # fmt: skip
    one = {"judged": 50, "acceptance": 0.25, "accepted_right": 0.85, "rejected_right": None}
    by_label = {"PP": one, "NP": one | {"acceptance": 0.9}, "S": one | {"judged": 3}}
    filtered = [{"system": "t5", "labelled": 100, "seeds": [0], "accepted": shares(0.81),
                 "rejected": shares(0.52), "by_label": by_label}]  # fmt: skip
    write_json(corpus / "audit/audit.json",
               {"oracle": True, "generation": generation, "filter": filtered})  # fmt: skip
    kinds = (("right", True), ("right", False), ("other", True), ("ungrammatical", False))
    write_rows(corpus / "audit/verdicts.parquet", VERDICTS, [
        {"candidate_id": f"t5-sync-{n}", "folder": f"candidates/t5-sync/seed-{seed}",
         "kind": kinds[n % 4][0], "sensible": kinds[n % 4][1]}
        for seed in range(3) for n in range(60) if n % 3
    ])  # fmt: skip


def write_times(corpus: Path) -> None:
    """What repro recorded of two cells of this corpus, and of one of another."""
    name = f"data/{corpus.name}"
    write_json(corpus.parent / "times.json", {
        "train@1": {"stage": "train", "command": f"conjoin train {name}", "seconds": 10.4,
                    "cpu_seconds": 9.0},
        "train@2": {"stage": "train", "command": f"conjoin train {name} --seed 1", "seconds": 20.2,
                    "cpu_seconds": 19.0},
        "ingest@1": {"stage": "ingest", "command": f"conjoin ingest world data/raw/w --out {name}",
                     "seconds": 1.0, "cpu_seconds": 1.0},
        "train@9": {"stage": "train", "command": f"conjoin train {name}-2", "seconds": 999.0,
                    "cpu_seconds": 999.0},
    })  # fmt: skip


def candidates_of(count: int, tag: str) -> list[Candidate]:
    """Candidates whose sentence tells their number; number 0 holds markup of every kind."""
    found = []
    for number in range(count):
        word = f"{NASTY}&`|*" if number % 5 == 0 else f"lamp{number}"
        words = ("She", "sold", "the", word, "and", "the", f"{tag}{number % 7}", "near", "it", ".")
        found.append(Candidate(
            candidate_id=f"{tag}-{number}", sentence_id=f"s{number}", words=words, coordinator=4,
            conjuncts=(Span(2, 4), Span(5, 7)), label=LABELS[number % 3], reference=Span(2, 4),
            fill=f"the {tag}{number % 7}", score=-1.0, score_append=-1.0, score_prepend=-1.0, license="MIT",
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
        lengths: dict[str, Counter[str]] = {}
        for _ in range(10 if mode != "baseline" and step > 100 else 0):
            number = rng.randrange(60)
            chance = min(max(rng.gauss(0.6 + step / 3000, 0.25), 0), 1)
            label, accepted = LABELS[number % 3], mode == "no-filter" or chance >= 0.7
            recent.setdefault(label, Counter()).update(accepted=int(accepted), seen=1)
            length = FILL_LENGTHS[number % 3]
            lengths.setdefault(length, Counter()).update(accepted=int(accepted), seen=1)
            scored.append({"step": step, "candidate_id": f"{kind}-{number}", "label": label,
                           "start": 2, "end": 7, "probability": chance, "accepted": accepted})  # fmt: skip
        accuracy = top * (1 - math.exp(-step / 80)) + rng.gauss(0, 0.01)
        history.append({
            "step": step, "loss": 1.0, "validation_accuracy": accuracy, "seen": len(scored),
            "accepted": sum(row["accepted"] for row in scored),
            "distinct": len({row["candidate_id"] for row in scored}),
            "acceptance": {k: [c["accepted"], c["seen"]] for k, c in sorted(recent.items())},
            "acceptance_by_length": {k: [c["accepted"], c["seen"]] for k, c in lengths.items()},
        })  # fmt: skip
    write_text(out / "history.jsonl", "".join(json.dumps(h) + "\n" for h in history))
    write_rows(out / "scored.parquet", SCORED, scored)
    write_json(out / "timing.json", {"seconds": 12.3})
    settings = {"delta": 0.7, "k": 8, "warm_steps": 100, "steps": 600}
    if mode != "baseline":
        settings["candidates"] = f"candidates/{kind}/seed-{seed}"
    write_json(out / "run.json", {
        "system": system, "mode": mode, "labelled": labelled, "seed": seed, "settings": settings,
        "shown_as": FIELDS.get(system, {}),
        "paper": {"alike": ["k", "delta"], "unlike": [["warm_steps", 1000], ["steps", 10000]]},
        "best_step": 500, "best_validation_accuracy": 0.61, "steps": 600, "seen": len(scored),
        "accepted": 7, "distinct": 5, "candidates": 60 * (mode != "baseline"), "excluded": {},
    })  # fmt: skip


def build(corpus: Path, overall: dict[str, Sequence[float]] = OVERALL) -> Path:
    """A corpus folder as the stages before report leave it."""
    known = [c for c in COMPARISONS if {c["system"], c["against"]} <= overall.keys()]
    write_json(corpus / "evaluation/metrics.json", metrics_of(overall) | {"comparisons": known})
    write_audit(corpus)
    write_times(corpus)
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
        "validation_loss": 2.345, "vocabulary": 4000,
        "texts": {"seen": 0, "kept": 0, "refused": {}}})  # fmt: skip
    for kind in ("t5-sync", "bert-sync", "t5-no-sync"):
        for seed in range(3):
            folder = corpus / f"candidates/{kind}/seed-{seed}"
            rows = [candidate_row(c) for c in candidates_of(60, kind)]
            write_rows(folder / "candidates-00000-of-00002.parquet", CANDIDATES, rows[:30])
            write_rows(folder / "candidates-00001-of-00002.parquet", CANDIDATES, rows[30:])
            refused = {"empty fill": 4, "fill equal to the reference": 36}
            tally = {"seen": 100, "kept": 60, "refused": refused}
            lm, _, context = kind.partition("-")
            made = {"lm": lm, "sync": context == "sync", "trees": "parsed", "decoding": "greedy"}
            write_json(folder / "manifest.json", {"tally": tally, "settings": made})
    for system, values in overall.items():
        for seed, value in enumerate(values):
            write_run(corpus, system, 100, seed, value)
    return corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reported corpus with all parts."""
    folder = build(tmp_path_factory.mktemp("data") / "tiny")
    run(ReportSettings(corpus=folder, examples=5))
    return folder


@pytest.fixture(scope="module")
def page(corpus: Path) -> str:
    """Its HTML page."""
    return (corpus / "report/report.html").read_text()


class Checker(HTMLParser):
    """Collects mismatched tags, elements with their attributes, and the text outside <style> and <script>."""

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
        if not {"style", "script"} & {*self.stack[-1:]}:
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
    """A sentence with a script element is shown, never executed: the page's own script is its only one."""
    assert [tag for tag, _ in parsed.seen].count("script") == 1
    assert page.count("<script") == 1
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
    # The annotation stands in the first row of its block.
    found = list(cells(page, "Accuracy (%) on test"))
    assert [row[0] for row in found] == ["annotated", "trees of 100", "", "", ""]
    rows = {row[0]: row for row in (row[1:] for row in found)}
    values = [60.0, 61.0, 59.0]
    mean = sum(values) / 3
    sd = math.sqrt(sum((v - mean) ** 2 for v in values) / 2)
    assert rows["T5"] == [
        "T5", f"{mean:.2f} ± {sd:.2f}", "+8.00", "+5.00 … +11.00",
        *["50.00 ± 1.00"] * 3, "–", "50.00 ± 1.00", "3",
    ]  # fmt: skip
    assert rows["Model"][4] == "NP, NX (803)"
    assert rows["baseline"][2:4] == rows["my-own"][2:4] == ["–", "–"]
    assert list(rows)[1:] == ["baseline", "BERT", "T5", "my-own"]
    assert "<strong>60.00 <small>± 1.00</small></strong>" in page
    assert "<strong>+8.00</strong>" in page
    assert "<strong>+2.00</strong>" not in page  # its interval holds 0


def test_figures_of_a_part_of_the_split_say_so() -> None:
    """In every title that names the split."""
    whole = metrics_of({"baseline": [0.5], "t5": [0.6]})
    titles = [
        accuracy_table(metrics_from(each), 100).title for each in (whole, whole | {"limit": 40})
    ]
    assert [" on test, cut off by --limit 40, " in each for each in titles] == [False, True]


def test_table_2_has_variations_where_nothing_else_was_run() -> None:
    """An empty table would tell nothing."""
    overall = dict.fromkeys(("t5-no-filter", "t5-self-train"), OVERALL["t5"])
    rows = accuracy_table(metrics_from(metrics_of(overall)), 100).rows
    assert [row.cells[2] for row in rows] == ["60.00 ± 1.00"] * 2


def test_table_2_has_columns_of_other_labels_that_were_measured() -> None:
    """Behind the paper's; metrics of an earlier version lack them, and the share without one is said."""
    earlier = metrics_of({"t5": OVERALL["t5"]})
    counts = earlier["instances"] | {"NML": 70, "other": 10}
    row = earlier["summary"][0]
    means = {"mean": row["mean"] | {"NML": 0.25, "other": 0.5}, "sd": row["sd"]}
    now = earlier | {"instances": counts, "summary": [row | means]}
    old, new = (accuracy_table(metrics_from(document), 100) for document in (earlier, now))
    assert new.columns == (*old.columns[:-1], "NML (70)", "other (10)", "seeds")
    assert new.rows[0].cells == (*old.rows[0].cells[:-1], "25.00", "50.00", "3")
    for table, share in ((old, "6.9 %"), (new, "0.9 %")):
        assert f"{share} of them have a label without a column" in str(table.note)


def test_table_3_nests_the_variations_under_their_generator() -> None:
    """Rows stand in the paper's order, variations one level deeper, and unknown systems not at all."""
    table = ablation_table(metrics_from(metrics_of(OVERALL)), 100)
    assert table is not None
    assert table.columns == ("annotated", "Setting", "Overall", "seeds")
    assert [(*row.cells[1:3], row.level) for row in table.rows] == [
        ("baseline", "52.00 ± 2.00", 0),
        ("BERT", "54.00 ± 2.65", 0),
        ("T5", "60.00 ± 1.00", 0),
        ("− filtering", "57.00 ± 1.00", 1),
        ("− sync + self-train", "53.00 ± 1.00", 1),
    ]
    assert ablation_table(metrics_from(metrics_of({"baseline": [0.5], "t5": [0.6]})), 100) is None


def test_table_3_without_a_generator_of_its_own_names_the_variation_in_full() -> None:
    """Where the full method was not run nothing is nested, lest it seem a variation of the row above."""
    overall = {name: OVERALL[name] for name in ("baseline", "t5-no-filter")}
    table = ablation_table(metrics_from(metrics_of(overall)), 100)
    assert table is not None
    assert [(row.cells[1], row.level) for row in table.rows] == [
        ("baseline", 0), ("T5, − filtering", 0),
    ]  # fmt: skip


def test_table_3_compares_with_the_baseline_and_with_the_generator() -> None:
    """Both gains stand beside the variation, each bold only where its own interval leaves 0 out."""
    table = ablation_table(metrics_from(metrics_of(OVERALL) | {"comparisons": COMPARISONS}), 100)
    assert table is not None
    rows = {row.cells[1]: row for row in table.rows}
    assert table.columns[3:] == (
        "Δ to the full method",
        "95 % interval",
        "Gain",
        "95 % interval",
        "seeds",
    )
    assert rows["− filtering"].cells[3:] == (
        "−3.00", "−5.00 … −1.00", "+5.00", "+3.00 … +7.00", "3",
    )  # fmt: skip
    assert rows["− filtering"].best == {3, 5}
    assert rows["− sync + self-train"].cells[3:7] == ("–", "–", "+1.00", "−2.00 … +4.00")
    assert rows["− sync + self-train"].best == set()
    assert rows["T5"].best == {2, 5}


def test_an_interval_over_two_seeds_is_not_called_more_than_noise() -> None:
    """Two seeds are too few to bootstrap over, whatever the interval."""
    document = metrics_of({"baseline": [0.5, 0.5], "t5": [0.6, 0.6]})
    for seeds, bold, said in ((2, {2}, FEW_SEEDS), (3, {2, 3}, CLEAR)):
        found = metrics_from(document | {"comparisons": [gain_of("t5", 0.1, 0.05, seeds=seeds)]})
        assert accuracy_table(found, 100).rows[1].best & {2, 3} == bold
        best = findings(found).best
        assert best
        assert best.gain
        assert certainty(best.gain) == said


def test_criteria_table_shows_all_four() -> None:
    """Each criterion has its column, with deviation, for every system."""
    table = criteria_table(metrics_from(metrics_of(OVERALL)), 100)
    first = table.rows[0].cells
    assert first[2:6] == ("52.00 ± 2.00", "51.00 ± 2.00", "50.00 ± 2.00", "49.00 ± 2.00")
    assert len(table.rows) == len(OVERALL)
    assert "1,157 instances" in str(table.note)


def test_ties_are_all_best_unless_nothing_is() -> None:
    """Equal figures are marked alike; where none is better than another nothing is marked."""
    tied = accuracy_table(
        metrics_from(metrics_of({"baseline": [0.5], "bert": [0.6], "t5": [0.6]})), 100
    )
    assert [row.best for row in tied.rows] == [set(), {2, 3, 4, 5, 7}, {2, 3, 4, 5, 7}]
    for overall in ({"baseline": [0.5]}, {"baseline": [0.5], "t5": [0.5]}):
        table = accuracy_table(metrics_from(metrics_of(overall)), 100)
        assert not any(row.best for row in table.rows)


def test_the_main_size_is_the_one_with_most_systems_then_the_middle_one() -> None:
    """Tables and sentences are about one |L|; the others stand in the table by size."""
    few, all_ = {"baseline": [0.3], "t5": [0.4]}, OVERALL
    assert sizes_of(metrics_of(few, 50), metrics_of(all_, 250)).main == 250
    assert sizes_of(*(metrics_of(few, size) for size in (250, 50, 100))).main == 100
    assert sizes_of(metrics_of(few, 50), metrics_of(few, 250)).main == 50
    longer = {name: [*values, 0.5] for name, values in few.items()}
    assert sizes_of(metrics_of(few, 50), metrics_of(few, 100), metrics_of(longer, 250)).main == 250
    both = sizes_of(metrics_of(few, 50), metrics_of(all_, 250))
    assert findings(both).size == "250 labelled sentences"
    assert len(accuracy_table(both, 250).rows) == 4


def test_every_size_is_a_block_of_what_was_run_there() -> None:
    """A row for each system at each |L|, no row where it was not run, bold only within its block."""
    small = metrics_of({"baseline": [0.3], "t5": [0.4]}, 50) | {
        "comparisons": [gain_of("t5", 0.1, 0.2, 50)]
    }
    table = sizes_table(sizes_of(small, metrics_of({"bert": [0.5, 0.6]}, 250)))
    assert table is not None
    assert table.columns == (
        "|L|", "annotated", "Model", "Overall", "Gain", "95 % interval", "seeds",
    )  # fmt: skip
    assert [(row.cells, row.begins) for row in table.rows] == [
        (("50", "trees of 50", "baseline", "30.00", "–", "–", "1"), True),
        (("50", "trees of 50", "T5", "40.00", "+10.00", "−10.00 … +30.00", "1"), False),
        (("250", "trees of 250", "BERT", "55.00 ± 7.07", "–", "–", "2"), True),
    ]
    assert [row.best for row in table.rows] == [set(), {3}, set()]
    assert sizes_table(metrics_from(metrics_of(OVERALL))) is None


def full_grid() -> Metrics:
    """Figure 4 with cells missing: two systems at 50, 2,000 and all 2,113 sentences, one at 50 only."""
    documents = [
        metrics_of({"baseline": [0.3 + n / 10] * 3, "t5": [0.4 + n / 10] * 3}, size)
        | {"comparisons": [gain_of("t5", 0.1, 0.05, size)]}
        for n, size in enumerate((50, 2000, 2113))
    ]
    for entry in documents[2]["summary"]:
        entry["draw"] = "full"
    documents[0]["summary"] += metrics_of({"bert": [0.5]}, 50)["summary"]
    documents[0]["runs"] += metrics_of({"bert": [0.5]}, 50)["runs"]
    return sizes_of(*documents)


def test_the_full_draw_is_named_so_in_tables_and_sentences() -> None:
    """Its number of sentences stands beside the word, and other sizes are numbers alone."""
    metrics = full_grid()
    table = sizes_table(metrics)
    assert table is not None
    assert [row.cells[0] for row in table.rows if row.begins] == ["50", "2,000", "full (2,113)"]
    assert accuracy_table(metrics, 2113).title.endswith(", all 2,113 labelled sentences")
    assert accuracy_table(metrics, 50).title.endswith(", 50 labelled sentences")
    compared = comparisons_table(metrics)
    assert compared is not None
    assert [row.cells[0] for row in compared.rows] == ["50", "2,000", "full (2,113)"]


def test_figure_4_draws_curves_only_of_systems_run_at_two_sizes() -> None:
    """Names stand at the curves' ends; the axis names the full draw, a line lower where 2,000 is near."""
    (accuracy,), (gain,) = accuracy_over_sizes(full_grid()), gain_over_sizes(full_grid())
    assert "T5: 40.0 % at 50, 50.0 % at 2,000, 60.0 % at full (2,113)" in accuracy.alt
    assert "BERT" not in accuracy.alt
    names = re.findall(r">([^<>\s][^<>]*)</text>", accuracy.svg)
    assert {"baseline", "T5", "50", "2,000", "full", "(2,113)"} <= set(names)
    assert "BERT" not in names
    near, full = (
        float(re.findall(rf' ([\d.]+)\)">{name}</text>', accuracy.svg)[0])
        for name in ("2,000", "full")
    )
    assert full > near + 5
    assert "T5: +10.0 at 50, +10.0 at 2,000, +10.0 at full (2,113)" in gain.alt
    assert accuracy_over_sizes(metrics_from(metrics_of(OVERALL))) == []


def test_variations_are_compared_with_their_generator_in_words() -> None:
    """The comparison names what was left out and what it is compared with."""
    metrics = metrics_from(metrics_of(OVERALL) | {"comparisons": COMPARISONS})
    table = comparisons_table(metrics)
    assert table is not None
    assert table.rows[-1].cells[1:3] == ("T5, − filtering", "T5")
    assert table.rows[-1].cells[5] == "−3.00"
    (panel,) = ablation_dots(metrics.ablations(100))
    assert panel.alt == "Δ to the full method: T5, − filtering -3.0 (-5.0 to -1.0)"


def test_pictures_of_the_point_tell_every_system() -> None:
    """The text for those who cannot see them has each accuracy, and each gain with its bounds."""
    metrics = metrics_from(metrics_of(OVERALL) | {"comparisons": COMPARISONS})
    (accuracy,), (gain,) = (
        accuracy_dots(metrics.block(100)), gain_dots(metrics.gains(metrics.block(100)))
    )  # fmt: skip
    assert all(f"{short_name(system_of(name))} " in accuracy.alt for name in OVERALL)
    assert "T5 60.0 %" in accuracy.alt
    assert "T5 +8.0 (+5.0 to +11.0)" in gain.alt
    assert ">+8.0</text>" in gain.svg
    assert gain_dots({}) == []
    assert gain_over_sizes(metrics_from(metrics_of(OVERALL))) == []


def test_systems_have_the_papers_names_and_order(tmp_path: Path) -> None:
    """Known names become the paper's rows; unknown names stay and stand last."""
    names = [
        "zeta",
        "t5-self-train",
        "t5",
        "bert-no-filter",
        "bert",
        "baseline",
        "t5-other-way",
        "baseline-b",
    ]
    assert [system_name(s) for s in sorted(map(system_of, names), key=system_key)] == [
        "baseline (no generation)", "baseline-b", "+ generation by BERT", "+ generation by BERT, − filtering",
        "+ generation by T5", "+ generation by T5, − sync + self-train",
        "+ generation by T5, ∗ other way", "zeta",
    ]  # fmt: skip
    made = {"bert-no-sync": {"lm": "bert", "sync": False},
            "t5-sync-mean": {"lm": "t5", "sync": True, "synchronize": "mean"},
            "t5-l": {"lm": "t5", "sync": True, "trees": "l-trees"},
            "asked": {"lm": "causal", "sync": True, "decoding": "sample"},
            "asked-once": {"lm": "causal", "sync": False, "decoding": "sample"},
            "found": {"fills": "harvested", "parser": "corpus", "trees": "l-trees"},
            "mine": {"lm": None}, "bert-x": {}}  # fmt: skip
    for name, settings in made.items():
        model = "served:gpt" if name.startswith("asked") else "local"
        manifest = {"settings": settings, "model": model}
        write_json(tmp_path / f"candidates/{name}/seed-0/manifest.json", manifest)
    assert [read_generation(tmp_path, name).name for name in made] == [
        "BERT, not synchronized", "T5, synchronized, mean", "T5, synchronized, spans from the trees l-trees",
        "causal LM, proposed, sample", "causal LM, proposed in one order, sample",
        "harvested, parser of the trees l-trees", "mine", "bert-x",
    ]  # fmt: skip


def test_text_that_must_not_be_handed_on_is_in_no_report_but_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report is read by others: neither it nor the sheet of examples has such text, and it says so."""
    folder = build(tmp_path / "tiny")
    for path in folder.glob("candidates/*/seed-*/candidates-*"):
        table = pq.read_table(path)
        at = table.column_names.index("license")
        licences = pa.array(["MIT", "LDC-User-Agreement", "unknown"] * len(table))[: len(table)]
        table = table.set_column(at, table.schema.field(at), licences)
        pq.write_table(table, path)
    run(ReportSettings(corpus=folder, examples=8))
    written = folder / "report"
    text = "".join(
        (written / name).read_text() for name in ("report.md", "report.html", "judgements.csv")
    )
    shown = {int(number) for number in re.findall(r"\blamp(\d+)\b", text)}
    assert shown
    assert {number % 30 % 3 for number in shown} == {0}  # rows of MIT
    assert "--own-use" in text
    assert "--own-use" in capsys.readouterr().out
    run(ReportSettings(corpus=folder, examples=8, own_use=True))
    text = (written / "report.md").read_text()
    shown = {int(number) for number in re.findall(r"\blamp(\d+)\b", text)}
    assert {number % 30 % 3 for number in shown} == {0, 1, 2}
    assert "--own-use" not in text


def test_examples_are_as_many_as_asked_and_judged_so(corpus: Path) -> None:
    """The draw gives distinct candidates with the verdict of their list, anew by another seed."""
    folder = corpus / "runs/t5/100/seed-0"
    source = (0, folder / "scored.parquet", corpus / "candidates/t5-sync/seed-0")
    accepted, rejected = draw_examples(source, 6, 0)
    assert len(accepted) == len(rejected) == 6
    assert all(e.accepted and e.probability >= 0.7 for e in accepted)
    assert all(not e.accepted and e.probability < 0.7 for e in rejected)
    assert len({e.candidate_id for e in accepted + rejected}) == 12
    assert (accepted, rejected) == draw_examples(source, 6, 0)
    assert (accepted, rejected) != draw_examples(source, 6, 1)
    assert len(draw_examples(source, 1000, 0)[0]) <= 60


def test_each_generation_shows_candidates_as_they_were_made(corpus: Path, page: str) -> None:
    """As many as asked of its first seed, a function of seed and ids, in the order of generations."""
    lists = generation_lists(corpus, COORDINATION, count=5, seed=3)
    assert [group.title for group in lists] == [
        "BERT, synchronized, seed 0", "T5, synchronized, seed 0", "T5, not synchronized, seed 0",
    ]  # fmt: skip
    names = [f"t5-no-sync-{n}" for n in range(60)]
    wanted = sorted(names, key=lambda name: place_of(3, name))[:5]
    assert [e.candidate_id for e in lists[2].drawn] == wanted
    assert {e.verdict for e in lists[2].drawn} == {None}
    judged = lists[1].drawn
    assert all(e.verdict for e in judged)  # the oracle judged a sample of these
    assert all(e.probability is None and e.text.count("[") == 2 for e in judged)
    assert [group.folded for group in lists] == [False, True, True]
    assert not generation_lists(corpus, COORDINATION, count=0, seed=3)
    assert page.count("<h3>Drawn <small>5</small></h3>") == 3
    assert "### T5, synchronized, seed 0: drawn" in (corpus / "report/report.md").read_text()


def test_attested_folders_are_called_by_who_chose_among_how_many(tmp_path: Path) -> None:
    """The best of M by a model; of one there is no choice; they follow what models wrote."""
    for name, more in {
        "best": {"pool": 16, "match": "label"}, "one": {"pool": 1}, "head": {"pool": 4, "match": "head"},
    }.items():  # fmt: skip
        made = {"lm": "bert", "sync": True, "fills": "attested", **more}
        write_json(tmp_path / f"candidates/{name}/seed-0/manifest.json", {"settings": made})
    made = {"lm": "t5", "sync": False, "fills": "free"}
    write_json(tmp_path / "candidates/free/seed-0/manifest.json", {"settings": made})
    names = ("best", "one", "head", "free", "unknown")
    found = sorted((read_generation(tmp_path, name) for name in names), key=lambda g: g.key)
    assert [g.name for g in found] == [
        "T5, not synchronized", "attested, unranked", "attested, best of 16 by BERT, synchronized",
        "attested, best of 4 by BERT, synchronized, same head", "unknown",
    ]  # fmt: skip
    (fact,) = differences(tmp_path, [])
    assert fact.sentence == "differences.attested"
    assert fact.about["names"] == [g.name for g in found if g.name.startswith("attested")]
    assert "attested, best of 16 by BERT, synchronized" in str(fact)


def test_examples_are_drawn_from_what_the_oracle_judged(corpus: Path) -> None:
    """Where a folder has verdicts only candidates with one are drawn, and each bears its own."""
    folder = corpus / "runs/t5/100/seed-0"
    source = (0, folder / "scored.parquet", corpus / "candidates/t5-sync/seed-0")
    verdicts = read_verdicts(corpus)
    drawn = [e for half in draw_examples(source, 1000, 0, verdicts) for e in half]
    numbers = {int(e.candidate_id.rpartition("-")[2]) for e in drawn}
    assert len(numbers) > 20
    assert all(number % 3 for number in numbers)
    words = ("right", "odd", "other", "ungrammatical")
    assert all(e.verdict == words[int(e.candidate_id.rpartition("-")[2]) % 4] for e in drawn)
    unjudged = {key: verdict for key, verdict in verdicts.items() if key[0] != source[2]}
    plain = [e for half in draw_examples(source, 1000, 0, unjudged) for e in half]
    assert {e.verdict for e in plain} == {None}
    assert len(plain) > len(drawn)


def test_verdicts_stand_beside_the_examples_in_words(page: str, corpus: Path) -> None:
    """A sign and a word, not a colour alone; the better generator's list stands open."""
    section = page[page.index("<h2>What was accepted, and what rejected") :]
    section = section[: section.index("</section>")]
    better, _, others = section.partition("<details>")
    assert "Generation by T5" in better
    assert "Generation by BERT" in others
    assert "Generation by BERT" not in better
    items = re.findall("<li>.*?</li>", better)
    assert len(items) == 10
    spoken = [re.sub("<[^>]+>", "", item) for item in items]
    assert all(re.search("✓ right$|✓ right but odd$|✗ other conjuncts$|✗ ungrammatical$", text)
               for text in spoken)  # fmt: skip
    bert = others.partition("</details>")[0]  # its folder was not judged
    assert len(re.findall("<li>.*?</li>", bert)) == 10
    assert "✓" not in bert
    assert "✗" not in bert
    text = (corpus / "report/report.md").read_text()
    assert re.search(
        r"\n- 0\.\d+ `\w+` (right|right but odd|other conjuncts|ungrammatical) `", text
    )


def test_audit_stands_in_tables(page: str) -> None:
    """Shares by generator, length and label, in the order of generators; a dash for what is unknown."""
    rows = {row[0]: row[1:] for row in cells(page, "Are the annotations right?")}
    section = page[page.index("<h2>Are the annotations right?") :]
    section = section[: section.index("</section>")]
    assert ">72.0</td>" in section
    assert rows["T5, synchronized"] == ["77.0 (50)", "11.0 (9)"]  # the later table
    assert rows["Candidates"] == ["1 word", "9+ words"]
    assert [name for name in rows if name != "Candidates"] == [
        "BERT, synchronized", "T5, synchronized", "T5, not synchronized",
    ]  # fmt: skip
    by_label = section[section.index("<h3>Right annotations (%) by label") :]
    by_label = by_label[: by_label.index("</table>")]
    assert re.findall(r'<th scope="col">(\w+)</th>', by_label) == ["NP", "VP"]
    assert re.findall("[0-9.]+ <small>[^<]+</small>", by_label) == [
        f"{share} <small>(50)</small>"
        for right in ("63.0", "72.0", "41.0")
        for share in ("99.0", right)
    ]
    rows = {row[0]: row[1:] for row in cells(page, "Does the filter keep the right ones?")}
    assert rows["100"] == ["T5", "50", "81.0", "40.5", "50", "52.0", "26.0", "yes"]
    assert rows["T5"] == ["NP", "50", "90.0", "85.0", "–"]
    assert rows[""] == ["S", "3", "25.0", "85.0", "–"]  # the model's name stands once


def test_a_corpus_without_a_grammar_has_no_audit(tmp_path: Path) -> None:
    """Of a treebank it says so; a file of another shape is refused."""
    write_json(tmp_path / "audit/audit.json", {"oracle": False})
    found, why = read_audit(tmp_path)
    assert found is None
    assert why
    assert why.sentence == "missing.judge"
    for damaged in ({"filter": []}, {"filter": [], "generation": [{"candidates": "t5-sync"}]}):
        write_json(tmp_path / "audit/audit.json", {"oracle": True, **damaged})
        with pytest.raises(InputError, match=r"audit\.json: not as conjoin writes it"):
            read_audit(tmp_path)
    assert read_verdicts(tmp_path) == {}


def test_times_are_those_of_this_corpus(corpus: Path, tmp_path: Path) -> None:
    """Cells by stage in the order of the pipeline, and their sum; another corpus's are left out."""
    table = times_table(corpus)
    assert table is not None
    assert [row.cells for row in table.rows] == [
        ("ingest", "1", "1", "1"), ("train", "2", "31", "28"), ("all", "3", "32", "29"),
    ]  # fmt: skip
    assert times_table(tmp_path / "none") is None
    old = {"stage": "train", "command": "conjoin train data/old", "seconds": 2}
    write_json(tmp_path / "times.json", {"train@1": old})  # without CPU seconds, as once
    found = times_table(tmp_path / "old")
    assert found is not None
    assert found.rows[-1].cells == ("all", "1", "2", "–")
    write_json(tmp_path / "times.json", {"train@1": {"stage": "train"}})
    with pytest.raises(InputError, match=r"times\.json: not as conjoin writes it"):
        times_table(tmp_path / "tiny")


def test_what_differs_from_the_paper_is_read_from_the_cards(corpus: Path) -> None:
    """Models, settings and corpus as they are; what is as in the paper is not called different."""
    runs = read_runs(corpus)
    found = {fact.sentence: fact.about for fact in differences(corpus, runs)}
    assert list(found) == [
        f"differences.{name}" for name in ("treebank", "trained", "finite", "training")
    ]
    # BERT-large-cased is the paper's; T5 is not.
    trained = found["differences.trained"]
    assert (trained["model"], trained["base"], trained["parameters"]) == ("T5", None, 1_234_567)
    assert found["differences.training"] == {
        "unlike": [("updates on L alone", ["100"], "1,000"), ("updates", ["600"], "10,000")],
        "same": [("K", ["8"]), ("δ", ["0.7"])],
    }
    assert found["differences.finite"]["candidates"] == 60
    assert found["differences.treebank"] == {"sentences": 14326}
    text = " ".join(map(str, differences(corpus, runs)))
    for part in (
        "1,234,567 parameters", "T5-large", "updates on L alone 100 (paper: 1,000)", "K = 8, δ = 0.7.",
        "14,326 training sentences",
    ):  # fmt: skip
        assert part in text
    own = [
        replace(
            r,
            system=system_of("t5-quantile"),
            card=r.card | {"settings": r.card["settings"] | {"delta": 0.5}},
        )
        for r in runs
        if r.system == "t5"
    ]
    last = differences(corpus, [*runs, *own])[-1]
    assert last.sentence == "differences.own"
    assert last.about == {
        "system": "T5, ∗ quantile",
        "generator": "T5",
        "changed": [("δ", ["0.5"])],
    }
    assert "δ 0.5" in str(last)
    card = json.loads((corpus / "ingest.json").read_text())
    other = corpus.parent / "world"
    write_json(other / "ingest.json", card | {"reader": "world"})
    (grammar,) = differences(other, [])
    assert grammar.sentence == "differences.grammar"
    assert "14,326 training sentences" in str(grammar)
    assert differences(corpus.parent / "nothing", []) == []


def test_other_models_and_encoders_than_the_paper_s_are_named(tmp_path: Path) -> None:
    """A ready model, one that goes on from another, one adapted on twins; the predictor's encoder."""
    for name, file, card in (
        ("bert", "ready.json", {"name": "someone/bert-small"}),
        (
            "t5",
            "pretrain.json",
            {"base": "someone/t5", "texts": {"seen": 1234, "kept": 1234, "refused": {}}},
        ),
        ("t5-twins", "pretrain.json", {"base": "models/t5", "objective": "twins"}),
    ):
        write_json(tmp_path / f"models/{name}/{file}", card)
    card = {"settings": {"encoder": "models/bert"}}
    run_ = Run(tmp_path, system_of("baseline"), 100, "100", 0, card, (), None)
    found = differences(tmp_path, [run_])
    assert [fact.sentence.partition(".")[2] for fact in found] == [
        "ready", "trained", "adapted", "encoder",
    ]  # fmt: skip
    names = (["BERT", "someone/bert-small", "BERT-large-cased"], ["T5", "someone/t5", "1,234", "T5-large"],
             ["T5 (adapted on twins)", "models/t5"], ["BERT-base-cased"])  # fmt: skip
    for fact, parts in zip(found, names, strict=True):
        assert all(part in str(fact) for part in parts)
    papers = replace(run_, card={"settings": {"encoder": "google-bert/bert-base-cased"}})
    assert len(differences(tmp_path, [papers])) == 3


@pytest.mark.parametrize(
    ("accepted", "word"),
    [
        (shares(0.81), "yes"),
        (shares(0.60), "open"),
        (shares(0.20), "no"),
        (shares(1.0, 19), "open"),
    ],
)
def test_cleaning_is_said_only_beyond_two_standard_errors(
    corpus: Path, accepted: dict[str, Any], word: str
) -> None:
    """A difference that so small a sample may show by chance is called open."""
    audit, _ = read_audit(corpus, map(system_of, OVERALL))
    assert audit is not None
    entry = {**audit.filter[0], "accepted": accepted}
    table = filter_table(replace(audit, filter=(entry,)), metrics_from(metrics_of(OVERALL)))
    assert table is not None
    assert [row.cells[-1] for row in table.rows] == [word]


def test_a_judged_candidate_that_is_gone_is_an_error(corpus: Path) -> None:
    """Judgements of other candidates than those in the folder are refused with a remedy."""
    scored = corpus / "runs/t5/100/seed-0/scored.parquet"
    with pytest.raises(InputError, match="train"):
        draw_examples((0, scored, corpus / "candidates/bert-sync/seed-0"), 3, 0)


def test_reference_is_marked_inside_its_brackets() -> None:
    """The three pieces are natural text with Table 4's brackets, cut at the reference span."""
    words = ["She", "sold", "the", "lamp", "and", "the", "dog", "."]
    pieces = marked(words, [Span(2, 4), Span(5, 7)], Span(2, 4))
    assert pieces == ("She sold [", "the lamp", "] and [the dog].")
    words = ["``", "Is", "n't", "it", "(", "he", ")", "and", "she", "?", "''"]
    pieces = marked(words, [Span(4, 7), Span(8, 9)], Span(4, 7))
    assert pieces == ("\"Isn't it [", "(he)", '] and [she]?"')


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


def test_chosen_candidates_tell_from_what_and_how_and_unfinished_ones_are_left_out(
    tmp_path: Path,
) -> None:
    """Rows of all seeds together, the mean distance to L; a folder that is being made stops no report."""
    corpus = build(tmp_path / "tiny")
    for seed, after in enumerate((0.1, 0.2)):
        selection = {
            "command": f"conjoin select t5-sync/seed-{seed} --like L", "left_out": {"not drawn": 20},
            "inputs": [{"place": f"t5-sync/seed-{seed}", "rows": {"train": 60}, "kept": {"train": 40}}],
            "sample": {"distance": {"before": 0.4, "after": after}},
        }  # fmt: skip
        tally = {"seen": 100, "kept": 60, "refused": {}}
        place = corpus / f"candidates/chosen/seed-{seed}"
        shutil.copytree(corpus / "candidates/t5-sync/seed-0", place)
        manifest = read_json(place / "manifest.json")
        write_json(place / "manifest.json", manifest | {"tally": tally, "selection": selection})
    (corpus / "candidates/harvest/seed-0/.units").mkdir(parents=True)
    run(ReportSettings(corpus=corpus, examples=2))
    ((name, fact),) = selections(corpus)
    assert name == "chosen"
    assert fact.about["sources"] == {"t5-sync": {"rows": 120, "kept": 80}}
    assert fact.about["left_out"] == {"not drawn": 40}
    assert fact.about["distance"] == pytest.approx([0.4, 0.15])
    assert (fact.about["command"], fact.about["more"]) == (
        "conjoin select t5-sync/seed-0 --like L",
        1,
    )
    text = (corpus / "report/report.md").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("- **chosen**: "))
    for part in (
        "80 of 120 from t5-sync",
        "not drawn 40",
        "0.400",
        "0.150",
        "t5-sync/seed-0 --like L",
    ):
        assert part in line
    assert "No candidates of candidates/harvest/seed-0" in text


def test_pictures_show_the_systems_they_are_about(corpus: Path) -> None:
    """Curves for all; acceptance only where candidates are inspected."""
    runs = read_runs(corpus)
    assert [panel.title for panel in learning_curves(runs)] == [
        short_name(system) for system in sorted(map(system_of, OVERALL), key=system_key)
    ]
    (panel,) = acceptance(runs)
    assert all(
        f"{system_name(system_of(name))} ends at" in panel.alt
        for name in ("bert", "t5", "t5-self-train")
    )
    assert "filtering" not in panel.alt
    baselines = [r for r in runs if r.mode == "baseline"]
    assert acceptance(baselines) == []


def test_runs_that_kept_less_have_fewer_pictures(corpus: Path) -> None:
    """Runs of versions that did not record lengths or distinct candidates lack the pictures of these."""
    runs = [run for run in read_runs(corpus) if run.system in {"baseline", "t5"} and run.seed < 2]
    assert [panel.title for panel in reuse(runs)] == [
        "Share of the corpus examined",
        "Examined before",
    ]
    assert "no generation" not in reuse(runs)[0].alt  # the baseline reads none
    new = {"distinct", "acceptance_by_length"}
    old = [replace(r, history=tuple({k: v for k, v in h.items() if k not in new}
                                    for h in r.history)) for r in runs]  # fmt: skip
    assert reuse(old) == []
    assert len(acceptance(old)) == 1
    parts = list(training(old, 100, "100 labelled sentences", corpus))
    assert [part.name for part in parts if isinstance(part, Section)] == [
        "acceptance", "learning-curves",
    ]  # fmt: skip
    missing = [part for part in parts if isinstance(part, Fact)]
    assert [fact.sentence for fact in missing] == ["missing.acceptance_by_length"]
    assert "100 labelled sentences" in str(missing[0])


def test_names_at_line_ends_do_not_overlap() -> None:
    """Places are moved apart as little as it takes, and what is far apart stays."""
    assert spread([0.1, 0.5, 0.9], [0.1] * 3) == [0.1, 0.5, 0.9]
    assert spread([0.5, 0.5, 0.9], [0.1] * 3) == pytest.approx([0.45, 0.55, 0.9])
    assert spread([0.4, 0.42, 0.5], [0.1] * 3) == pytest.approx([0.34, 0.44, 0.54])
    assert spread([0.5, 0.5], [0.1, 0.3]) == pytest.approx([0.4, 0.6])
    assert spread([0.98, 0.99], [0.1, 0.1]) == pytest.approx([0.85, 0.95])
    assert spread([], []) == []


def test_histories_are_flat_tables(corpus: Path) -> None:
    """A row for each validation of each run, and for each label and length in it, as fractions."""
    tables = {
        path.name: list(csv.DictReader(path.open())) for path in (corpus / "report").glob("*.csv")
    }
    runs = {(r.system, r.seed): r for r in read_runs(corpus)}
    rows = tables["history.csv"]
    assert len(rows) == sum(len(run.history) for run in runs.values())
    last = [row for row in rows if (row["system"], row["seed"]) == ("t5", "1")][-1]
    record = runs["t5", 1].history[-1]
    assert (last["labelled"], last["draw"], last["step"]) == ("100", "100", "540")
    assert float(last["validation_accuracy"]) == record["validation_accuracy"]
    assert float(last["corpus_examined"]) == record["distinct"] / 60
    assert float(last["examined_before"]) == 1 - record["distinct"] / record["seen"]
    first = rows[0]
    assert (first["system"], first["acceptance"], first["corpus_examined"]) == ("baseline", "", "")
    for name, field in (("label", "acceptance"), ("length", "acceptance_by_length")):
        found = tables[f"acceptance-by-{name}.csv"]
        assert sum(int(row["seen"]) for row in found) == sum(
            pair[1] for run in runs.values() for h in run.history for pair in h[field].values()
        )
        assert all(
            float(row["acceptance"]) == int(row["accepted"]) / int(row["seen"]) for row in found
        )


def test_pictures_are_files_that_stand_alone(corpus: Path) -> None:
    """Well-formed SVG with colours of their own, which names nothing outside itself."""
    pictures = {path.stem: path.read_text() for path in (corpus / "report/pictures").iterdir()}
    assert set(pictures) == {
        "opening",
        "accuracy",
        "ablation",
        "acceptance",
        "candidates-read",
        "learning-curves",
    }
    for text in pictures.values():
        root = ElementTree.fromstring(text)
        assert float(root.get("height") or 0) > 200
        assert "var(" not in text
        assert set(re.findall(r'"(http[^"]+)"', text)) <= {
            "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
        }  # fmt: skip
    assert "Accepted of those examined" in pictures["acceptance"]


def test_dvc_plots_what_the_report_writes(corpus: Path) -> None:
    """Every output and plot of the stage is there, with its columns and a template that is ours."""
    root = Path(__file__).parents[2]
    stage = yaml.safe_load((root / "dvc.yaml").read_text())["stages"]["report"]["do"]
    for out in (*stage["outs"], *stage["plots"]):
        path, props = next(iter(out.items())) if isinstance(out, dict) else (out, {})
        made = corpus / path.removeprefix("data/${item.corpus}/")
        assert made.exists()
        if props:
            columns = made.read_text().splitlines()[0].split(",")
            assert {props["x"], props["y"]} <= set(columns)
            template = json.loads((root / f".dvc/plots/{props['template']}.json").read_text())
            fields = set(re.findall(r'"field": "(\w+)"', json.dumps(template)))
            assert fields <= {*columns, "rev"}


def test_runs_of_candidates_from_elsewhere_are_reported_without_their_text(tmp_path: Path) -> None:
    """A hub name, a release folder or a folder that is gone: one line says so, and the rest is there."""
    folder = build(tmp_path / "tiny", {"baseline": [0.5], "t5": [0.6, 0.6], "bert": [0.6]})
    for seed, name in ((0, "someone/released"), (1, "../tiny/candidates/t5-sync/seed-9")):
        card = folder / f"runs/t5/100/seed-{seed}/run.json"
        document = json.loads(card.read_text())
        document["settings"]["candidates"] = name
        write_json(card, document)
    run(ReportSettings(corpus=folder, examples=3))
    text = (folder / "report/report.md").read_text()
    assert (
        "../tiny/candidates/t5-sync/seed-9 (of 1 run of t5); someone/released (of 1 run of t5)"
        in text
    )
    assert "No examples of generation by T5" in text
    assert "### Generation by BERT, 100 labelled sentences, seed 0: accepted" in text


def test_same_input_gives_same_bytes(corpus: Path, tmp_path: Path) -> None:
    """A second run, and a run on a copy made from anew, write the same files."""
    names = ("report.md", "report.html")
    before = [(corpus / "report" / name).read_bytes() for name in names]
    run(ReportSettings(corpus=corpus, examples=5))
    assert before == [(corpus / "report" / name).read_bytes() for name in names]
    other = build(tmp_path / "tiny")
    run(ReportSettings(corpus=other, examples=5))
    assert before == [(other / "report" / name).read_bytes() for name in names]


def test_markdown_keeps_markup_as_text(corpus: Path) -> None:
    """Corpus text stands in code spans whose fence it cannot close, and tables line up."""
    text = (corpus / "report/report.md").read_text()
    for line in text.splitlines():
        if NASTY in line:
            assert re.fullmatch(
                r"- ([01]\.\d+ )?`\w+` [a-z ]*``+ .*<script>.* ``+ `(t5|bert)-(no-)?sync-\d+`", line
            ), line
    assert NASTY in text
    assert "**60.00 ± 1.00**" in text
    assert code_span("a") == "`a`"
    assert code_span("a ``b` c") == "``` a ``b` c ```"
    table = markdown(records_table("t", [{"a|b": "<i>", "n": 1234}, {"a|b": "*", "n": None}]))
    assert table.splitlines() == [
        "| a\\|b      |     n |",
        "| --------- | ----: |",
        "| &lt;i&gt; | 1,234 |",
        "| \\*        |     – |",
    ]


def test_missing_metrics_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    """Without evaluation there is nothing to report: what, where, and what to do."""
    with pytest.raises(InputError, match=r"metrics\.json.*conjoin evaluate") as error:
        run(ReportSettings(corpus=tmp_path))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "report").exists()


def test_damaged_input_is_named_with_its_place(tmp_path: Path) -> None:
    """Metrics of another shape and a broken line of history are refused."""
    write_json(tmp_path / "evaluation/metrics.json", {"split": "test"})
    with pytest.raises(InputError, match=r"metrics\.json: not as conjoin writes it"):
        run(ReportSettings(corpus=tmp_path))
    known = metrics_of({"baseline": [0.5]})
    alone = metrics_of({"other": [0.5]})["summary"]
    gain = {"system": "baseline", "against": "other", "labelled": 100, "seeds": [0], "gain": 0.1,
            "low": 0.0, "high": 0.2}  # fmt: skip
    for changed in ({"summary": alone}, {"comparisons": [gain]}):
        write_json(tmp_path / "evaluation/metrics.json", known | changed)
        with pytest.raises(InputError, match=r"metrics\.json: not as .* a system without a run"):
            run(ReportSettings(corpus=tmp_path))
    folder = build(tmp_path / "broken", {"baseline": [0.5]})
    with (folder / "runs/baseline/100/seed-0/history.jsonl").open("a") as file:
        file.write("{oops\n")
    with pytest.raises(InputError, match=r"history\.jsonl:31: "):
        run(ReportSettings(corpus=folder))


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corpus with baseline runs only still has a report, which says what it lacks."""
    build(tmp_path / "full", {"baseline": [0.5, 0.6]})
    bare = tmp_path / "bare"
    write_json(bare / "evaluation/metrics.json", metrics_of({"baseline": [0.5]}))
    for folder, names in (
        (
            bare,
            [
                "gains",
                "ablation",
                "sizes",
                "runs",
                "audit",
                "answers",
                "models",
                "times",
                "card",
                "card",
            ],
        ),
        (
            tmp_path / "full",
            ["ablation", "sizes", "acceptance", "examples", "answers", "of_models", "of_models"],
        ),
    ):
        settings = ReportSettings(corpus=folder)
        run(settings)
        missing = chapters_of(read_material(settings))[1]
        assert [fact.sentence.removeprefix("missing.") for fact in missing] == names
        page = (folder / "report/report.html").read_text()
        section = page[
            page.index('id="missing"') : page.index("</section>", page.index('id="missing"'))
        ]
        assert section.count("<li>") == len(names)
        assert all(str(fact) in html.unescape(section) for fact in missing)
    assert [fact.about for fact in missing[2:3]] == [
        {"size": "100 labelled sentences", "inspecting": False}
    ]
    assert "only runs without a filter" in str(missing[2])
    out = capsys.readouterr().out
    assert "55.00 %" in out
    assert "has not been tried with 100 labelled sentences" in " ".join(out.split())
    assert "report.html" in out


def test_percentages_have_two_decimals() -> None:
    """As the paper prints them; undefined is a dash."""
    assert percent(0.68684, 0.01512) == "68.68 ± 1.51"
    assert percent(None, 0.1) == "–"
