"""The report on language models: what each is and read, its training, and its CSV."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from test_report import build, metrics_from, metrics_of, system_of

from pipeline.core.errors import InputError
from pipeline.core.files import write_json, write_text
from pipeline.core.runs import System, read_runs
from pipeline.report.charts import key_of
from pipeline.report.language_models import model_curves, model_tables, read_models, unkept
from pipeline.report.paper_tables import ablation_table, accuracy_table
from pipeline.report.results import (
    full_method,
    label_name,
    read_generation,
    short_name,
    system_key,
    system_name,
    system_phrase,
)
from pipeline.report.settings import ReportSettings
from pipeline.report.stage import run
from pipeline.report.training_curves import acceptance_table


def write_model(corpus: Path, name: str, top: float, **card: Any) -> Path:
    """A model as ``pretrain`` left it when it still had a fill probe, with three looks."""
    folder = corpus / f"models/{name}/seed-0"
    looks = [
        {"step": 100 * n, "epoch": n / 2, "tokens": 4_000_000 * n, "loss": 5.0 - n, "learning_rate": 1e-3,
         "validation_loss": 4.5 - n, "perplexity": 90.0 / (n + 1), "probe": None if n == 0 else
         {"n": 40, "filled": 0.9, "category": top, "length": top, "sense": top, "recovered": top * n / 2,
          "exact": 0.01}}
        for n in range(3)
    ]  # fmt: skip
    write_text(folder / "history.jsonl", "".join(json.dumps(look) + "\n" for look in looks))
    write_json(folder / "timing.json", {"seconds": 61.4, "tokens_per_second": 130293.2, "device": "cpu",
                                        "processes": 1, "dtype": "float32"})  # fmt: skip
    write_json(folder / "pretrain.json", {
        "lm": name, "base": None, "vocabulary": 800, "parameters": 12345, "steps": 200,
        "tokens": 8_000_000, "loss": 3.0, "validation_loss": 2.5, "perplexity": 30.0,
        "objective": "corruption", "probe": looks[-1]["probe"],
        "texts": {"seen": 1005, "kept": 1000, "refused": {"no words": 3, "equal": 2}},
        "text_digest": "abcdef0123",
        "overlap": {"policy": "drop", "found": {"equal": 2}}, **card,
    })  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT and a T5 with histories, one adapted from it, a ready one and one of before."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    write_json(folder / "evaluation/metrics.json", metrics_of({"baseline": [0.5]}))
    write_model(folder, "t5", 0.4)
    write_model(folder, "t5-twins", 0.6, objective="twins", base="models/t5",
                overlap={"policy": "drop", "found": None})  # fmt: skip
    write_json(folder / "models/bert/seed-0/pretrain.json", {
        "lm": "bert", "base": None, "parameters": 77, "steps": 5, "tokens": 6, "vocabulary": 8,
        "texts": {"seen": 9, "kept": 9, "refused": {}}, "validation_loss": 1.0})  # fmt: skip
    write_json(
        folder / "models/bert-hub/seed-0/ready.json", {"name": "google-bert/bert-large-cased"}
    )
    write_json(folder / "models/t5/seed-0/config.json", {})
    run(ReportSettings(corpus=folder))
    return folder


def test_a_system_is_named_ordered_and_compared_by_its_fields(tmp_path: Path) -> None:
    """A caption is the generator's, a variation the training's; folders go by their manifests."""
    order = ["baseline", "bert", "bert-twins", "t5", "t5-no-filter", "t5-quantile", "t5-twins",
             "t5-twins-no-filter", "t5-more", "t5-gold", "zeta"]  # fmt: skip
    systems = [system_of(name) for name in order]
    more = system_of("t5-more")
    assert (short_name(more), full_method(more, systems)) == ("T5 (trained on)", "t5")
    names = ("t5", "t5-twins", "t5-gold", "t5-twins-no-filter", "baseline", "x-y")
    assert [full_method(system_of(s), systems) for s in names] == [
        None, "t5", "t5", "t5-twins", None, None,
    ]  # fmt: skip
    assert short_name(system_of("t5-gold")) == "T5 (spans from gold trees)"
    assert label_name(system_of("t5-gold")) == "T5 (gold trees)"
    assert label_name(system_of("t5-twins-no-filter")) == "T5 (twins) − filtering"
    assert label_name(more) == "T5 (trained on)"
    assert system_phrase(system_of("bert-twins-no-filter")) == (
        "generation by BERT (adapted on twins) without filtering"
    )
    assert sorted(map(system_of, sorted(order)), key=system_key) == order
    gold, best = {"trees": "treebank"}, {"decoding": "n-best"}
    folders: dict[str, dict[str, Any]] = {
        "bert-sync": {"lm": "bert", "sync": True},
        "t5-sync": {"lm": "t5", "sync": True},
        "t5-sync-gold": {"lm": "t5", "sync": True, **gold},
        "t5-sync-gold-n-best": {"lm": "t5", "sync": True, **gold, **best},
        "t5-no-sync": {"lm": "t5", "sync": False},
        "t5-twins-sync": {"lm": "t5-twins", "sync": True},
        "t5-twins-no-sync-mean": {"lm": "t5-twins", "sync": False, "synchronize": "mean"},
    }
    write_model(tmp_path, "t5-twins", 0.6, objective="twins", base="models/t5")
    for name, settings in folders.items():
        write_json(tmp_path / f"candidates/{name}/seed-0/manifest.json", {"settings": settings})
    made = sorted((read_generation(tmp_path, name) for name in folders), key=lambda g: g.key)
    assert [generation.folder for generation in made] == list(folders)
    assert [generation.name for generation in made[2:]] == [
        "T5, synchronized, spans from gold trees", "T5, synchronized, spans from gold trees, n best",
        "T5, not synchronized", "T5 (adapted on twins), synchronized",
        "T5 (adapted on twins), not synchronized, mean",
    ]  # fmt: skip


def test_variants_of_l_are_called_otherwise_than_the_baseline() -> None:
    """A table has `copy`, `mask` and the baseline side by side."""
    variants = {"generator": "none", "caption": "variants"}  # as params.yaml has them
    systems = [
        System("baseline", "baseline", generator="none"),
        System("copy", "baseline", **variants),
        System("mask", "baseline", variation="masks", **variants),
        System("mask-no-verbs", "baseline", variation="masks but verbs", **variants),
    ]
    for called in (short_name, system_phrase, system_name):
        assert len({called(system) for system in systems}) == len(systems), called
    assert system_phrase(systems[1]) == "the baseline (variants)"


def test_a_variation_has_its_generators_colour_and_every_generator_its_own() -> None:
    """Dashes tell a variation; the colours of the paper's generators stay theirs."""
    names = ("baseline", "bert", "t5", "t5-twins", "t5-twins-no-filter", "t5-gold", "bert-twins",
             "t5-more", "t5-quantile")  # fmt: skip
    systems = [system_of(name) for name in names]
    keys = {system: key_of(system, systems) for system in systems}
    assert keys["t5-twins"].colour == keys["t5-twins-no-filter"].colour
    assert keys["t5-twins"].dash != keys["t5-twins-no-filter"].dash
    assert len({key.colour for key in keys.values()}) == len(systems) - 1
    assert keys["t5"].colour == "--c-t5"


def test_other_generators_stand_in_both_tables_and_are_compared_with_the_plain_one() -> None:
    """Table 2 has a row for each generator; in Table 3 Δ of T5 on twins is over T5."""
    document = metrics_of(
        dict.fromkeys(("baseline", "t5", "t5-twins", "t5-twins-no-filter"), (0.5, 0.5, 0.5))
    )
    gain = {"system": "t5-twins", "against": "t5", "labelled": 100, "seeds": [0, 1, 2], "gain": 0.04,
            "low": 0.01, "high": 0.07}  # fmt: skip
    metrics = metrics_from(document | {"comparisons": [gain]})
    assert [row.cells[1] for row in accuracy_table(metrics, 100).rows] == [
        "baseline", "T5", "T5 (adapted on twins)",
    ]  # fmt: skip
    table = ablation_table(metrics, 100)
    assert table
    assert [(row.cells[1], row.level) for row in table.rows] == [
        ("baseline", 0), ("T5", 0), ("T5 (adapted on twins)", 0), ("− filtering", 1),
    ]  # fmt: skip
    assert table.rows[2].cells[3:5] == ("+4.00", "+1.00 … +7.00")
    assert table.rows[1].cells[3] == "–"


def test_tables_tell_what_each_model_is_and_dashes_what_is_not_known(corpus: Path) -> None:
    """Every figure of the cards stands in its row; a ready model is named; an old one has dashes."""
    models = read_models(corpus)
    tables, missing = model_tables(models), list(unkept(models))
    rows = {table.title: {row.cells[0]: row.cells[1:] for row in table.rows} for table in tables}
    assert list(rows["What they are"]) == ["BERT", "BERT (hub)", "T5", "T5 (adapted on twins)"]
    assert rows["What they are"]["BERT (hub)"][1:3] == (
        "– (ready, used as it is)", "google-bert/bert-large-cased",
    )  # fmt: skip
    assert rows["What they are"]["T5 (adapted on twins)"] == (
        "t5-twins", "twins of natural coordinations", "models/t5", "12,345", "800",
    )  # fmt: skip
    assert rows["What they read"]["T5"] == ("sentences", "1,000", "5", "2", "left out", "abcdef01")
    assert rows["What they read"]["T5 (adapted on twins)"][:-1] == ("twins", "1,000", "5", "–", "–")
    assert rows["What they read"]["BERT"] == ("sentences", "9", "0", "–", "–", "–")
    assert rows["What their training took"]["T5"] == (
        "200", "8,000,000", "61", "130,293", "cpu", "1", "float32", "30.0",
    )  # fmt: skip
    assert rows["What their training took"]["BERT"][-4:] == ("–",) * 4
    note = tables[1].note
    assert note
    assert note.about == {
        "twins": True,
        "counts": [
            (["T5"], {"equal": 2, "no words": 3}, {"equal": 2}),
            (["T5 (adapted on twins)"], {"equal": 2, "no words": 3}, {}),
        ],
    }
    assert "T5: refused: equal 2, no words 3; of dev or test: equal 2." in str(note)
    assert [fact.about for fact in missing] == [
        {"what": "learning curves", "models": ["BERT"]}, {"what": "training time", "models": ["BERT"]},
    ]  # fmt: skip


def test_looks_are_a_flat_table(corpus: Path) -> None:
    """A row for each look."""
    rows = list(csv.DictReader((corpus / "report/language-models.csv").open()))
    assert [(row["model"], row["step"]) for row in rows] == [
        (name, str(step)) for name in ("t5", "t5-twins") for step in (0, 100, 200)
    ]
    assert rows[2]["perplexity"] == "30.0"
    assert model_curves([]).count("\n") == 1


def test_a_broken_history_is_named_with_its_line(tmp_path: Path) -> None:
    """One line: the file, the number of the line, and what to do."""
    folder = write_model(tmp_path, "t5", 0.1)
    with (folder / "history.jsonl").open("a") as file:
        file.write('{"step": 3}\n')
    with pytest.raises(InputError, match=r"history\.jsonl:4: not a look.*conjoin pretrain"):
        read_models(tmp_path)


def test_acceptance_has_a_row_for_each_system_that_inspects(tmp_path: Path) -> None:
    """Counts are sums of the cards; candidates elsewhere leave dashes for their fills."""
    folder = build(tmp_path / "tiny", {"baseline": [0.5], "t5": [0.6, 0.6], "t5-twins": [0.6]})
    card = folder / "runs/t5-twins/100/seed-0/run.json"
    document = json.loads(card.read_text())
    document["settings"]["candidates"] = "someone/released"
    write_json(card, document)
    runs = read_runs(folder)
    table = acceptance_table(runs, folder)
    assert table
    rows = {row.cells[0]: row.cells[1:] for row in table.rows}
    assert list(rows) == ["T5", "T5 (adapted on twins)"]
    seen = sum(run.card["seen"] for run in runs if run.system == "t5")
    assert rows["T5"] == ("2", "120", str(seen), "10", "14", f"{1400 / seen:.1f}", "11.7", "2.00")
    assert rows["T5 (adapted on twins)"][-2:] == ("–", "–")
    assert acceptance_table([r for r in runs if r.mode == "baseline"], folder) is None
    assert table.note
    assert table.note.about["learned_from_l_alone"] == []


def test_runs_whose_predictor_no_candidate_has_reached_are_named(tmp_path: Path) -> None:
    """Its best update is none after the warm steps; one update later it has met candidates."""
    folder = build(tmp_path / "tiny", {"baseline": [0.5], "t5": [0.6, 0.6], "t5-no-filter": [0.6]})
    for name, best in (("baseline/100/seed-0", 20), ("t5/100/seed-0", 20), ("t5/100/seed-1", 21),
                       ("t5-no-filter/100/seed-0", 10)):  # fmt: skip
        card = folder / "runs" / name / "run.json"
        document = json.loads(card.read_text())
        document["settings"]["warm_steps"], document["best_step"] = 20, best
        write_json(card, document)
    table = acceptance_table(read_runs(folder), folder)
    assert table
    assert table.note
    assert table.note.about["learned_from_l_alone"] == [("t5", 1, 2), ("t5-no-filter", 1, 1)]
    assert "T5 (1 of 2 runs), T5, − filtering (1 of 1 runs)" in str(table.note)
