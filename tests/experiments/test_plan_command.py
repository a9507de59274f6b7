"""`conjoin plan`: times by their source, lanes, and what is printed before anything is there."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from confused import build as build_confused
from project_copy import project_in

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.settings import Settings
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.experiments.cells import Cell, settings_of
from pipeline.experiments.durations import ALIKE, MEASURED, Duration, Durations
from pipeline.experiments.parallel import makespan
from pipeline.experiments.plan import estimates
from pipeline.experiments.plan.command import run
from pipeline.experiments.plan.estimates import (
    PROBE,
    Estimates,
    TrainingSpeed,
    probe_generation,
    probe_synthesis,
    probe_training,
)
from pipeline.experiments.plan.settings import PlanSettings
from pipeline.generate.settings import GenerateSettings
from pipeline.models.writers import asking
from pipeline.sources import dry_run
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.train.settings import TrainSettings

ROOT = Path(__file__).resolve().parents[2]
TRAIN = "conjoin train data/{} --system {} --mode {} --labelled 50 --seed {} --params params.yaml"


def cell(name: str, *needs: str, command: str = "") -> Cell:
    """A cell of that name."""
    return Cell(name, command or name, frozenset(needs), ("train.default", "train.x", "seeds"))


def train(corpus: str, mode: str, seed: int, system: str = "s") -> Cell:
    """A cell of training."""
    return cell(f"train@{system}-{mode}-{seed}", command=TRAIN.format(corpus, system, mode, seed))


def test_lanes_take_the_longest_chain_or_the_share_of_all() -> None:
    """Two lanes halve what does not wait; what waits for one cell after the other does not gain."""
    chain = [cell("a"), cell("b", "a"), cell("c", "b")]
    seconds = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "elsewhere": 99.0}
    assert makespan(chain, seconds, 2) == 6.0
    apart = [cell("a"), cell("b"), cell("c", "elsewhere"), cell("d")]
    assert makespan(apart, seconds, 1) == 10.0
    # a and b begin; c follows a at 1, d follows b at 2.
    assert makespan(apart, seconds, 2) == 6.0
    assert makespan([], seconds, 2) == 0.0


def test_times_are_measured_or_alike(tmp_path: Path) -> None:
    """The cell's own time, else the mean of those most like it, while their settings are the same."""
    path, document = tmp_path / "times.json", {"train": {"x": {"steps": 5}}, "seeds": [0]}
    known = Durations(document, path)
    first, second, other = (
        train("x", "filter", 0),
        train("x", "filter", 1),
        train("x", "baseline", 0),
    )
    known.record([(first, 10.0, 9.0), (second, 20.0, 9.0), (other, 1.0, 1.0)], [])
    known = Durations(document, path)
    assert known.known(first) == Duration(10.0, MEASURED)
    assert known.known(train("x", "filter", 2)) == Duration(15.0, ALIKE)
    assert known.known(train("x", "no-filter", 0)) is None
    changed = Durations({"train": {"x": {"steps": 6}}}, path)
    assert changed.known(first) is None
    assert changed.expected([first, second]) == 2 * changed.expected([first]) > 0
    # Of a system without a mode in the command, by its options.
    named = cell("train@a", command="conjoin train data/x --system a --seed 7")
    systems = document | {"systems": {"a": {"mode": "filter"}}}
    assert Durations(systems, path).known(named) == Duration(15.0, ALIKE)
    assert (
        Durations({**systems, "systems": {"a": {"mode": "no-filter"}}}, path).known(named) is None
    )
    # What reads all runs takes longer after more of them.
    write_json(tmp_path / "x/runs/s/50/seed-0/run.json", {})
    report = cell("report", command=f"conjoin report {tmp_path / 'x'} --params params.yaml")
    known.record([(report, 8.0, 1.0)], [])
    assert known.known(report, runs=3) == Duration(24.0, MEASURED)
    assert known.known(report) == Duration(8.0, MEASURED)


def test_times_of_one_writer_are_not_anothers(tmp_path: Path) -> None:
    """A language model writes for hours what explicit pairs give in seconds; its name counts, too."""
    named = {
        "explicit": {"writer": "attested"}, "unfiltered": {"writer": "attested", "filter": "none"},
        "small": {"writer": "local", "model": "small"}, "large": {"writer": "local", "model": "large"},
    }  # fmt: skip

    def synthesis(name: str, seed: int = 0) -> Cell:
        command = f"conjoin synthesize data/x --named {name} --seed {seed} --params params.yaml"
        return Cell(f"synthesize@x-{name}-{seed}", command, frozenset(), ("synthesize.x",))

    known = Durations({"syntheses": named, "synthesize": {"x": {}}}, tmp_path / "times.json")
    known.record([(synthesis("explicit"), 2.0, 1.0), (synthesis("small"), 900.0, 1.0)], [])
    assert known.known(synthesis("explicit")) == Duration(2.0, MEASURED)
    assert known.known(synthesis("unfiltered", 1)) == Duration(2.0, ALIKE)
    assert known.known(synthesis("small", 1)) == Duration(900.0, ALIKE)
    assert known.known(synthesis("large")) is None
    flags = cell(
        "by-hand", command="conjoin synthesize data/x --run r --writer local --model small"
    )
    assert known._kind(flags.command) == known._kind(synthesis("small").command)


def test_times_of_other_grids_are_kept(tmp_path: Path) -> None:
    """Unless this grid has another command under the same name."""
    path = tmp_path / "times.json"
    Durations({}, path).record([(cell("a", command="old"), 1.0, 1.0), (cell("b"), 2.0, 1.0)], [])
    Durations({}, path).record([(cell("c"), 3.0, 1.0)], [cell("a", command="new"), cell("c")])
    again = Durations({}, path)
    assert again.known(cell("b")) == Duration(2.0, MEASURED)
    assert again.known(cell("a", command="old")) is None


def test_commands_are_read_back(tmp_path: Path) -> None:
    """Flags, negated flags, positions and the params file give the settings they would run with."""
    params = tmp_path / "params.yaml"
    params.write_text("generate: {default: {references: 3}, x: {}}\n")
    line = f"conjoin generate data/x --lm bert --no-sync --seed 4 --params {params}"
    settings = settings_of(line, GenerateSettings)
    assert settings == GenerateSettings(
        corpus=Path("data/x"), lm="bert", sync=False, seed=4, references=3
    )
    with pytest.raises(SettingsError, match=r"generate\.colour"):
        settings_of("conjoin generate data/x --colour red", GenerateSettings)


def test_params_are_read_once_for_all_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 3,000 seeds the same file was read 18,000 times."""
    monkeypatch.chdir(tmp_path)
    read: list[Path] = []

    def read_params(path: Path) -> dict[str, Any]:
        read.append(path)
        return {"train": {"x": {}}, "systems": {"s": {}}}

    monkeypatch.setattr(Settings, "read_params", read_params)
    cells = [train("x", "baseline", seed) for seed in range(3)]
    estimates_ = Estimates(cells, Durations({}, tmp_path / "times.json"), probing=False)
    assert [s.seed for s in estimates_.training.values()] == [0, 1, 2]
    assert read == [Path("params.yaml")]


def test_a_runs_time_is_made_of_its_parts() -> None:
    """Baselines score nothing, nor does no filter; with one K_max a step are scored."""
    speed = TrainingSpeed(full=1.0, least=0.5, round=0.1, validation=0.01, weights=4)
    given: dict[str, Any] = {
        "corpus": Path("x"), "candidates": Path("y"), "steps": 100, "warm_steps": 40,
        "eval_every": 10,
    }  # fmt: skip
    assert speed.seconds(TrainSettings(**given, mode="baseline"), 20) == pytest.approx(100 + 2)
    assert speed.seconds(TrainSettings(**given, mode="no-filter"), 20) == pytest.approx(100 + 2)
    assert speed.seconds(TrainSettings(**given), 20) == pytest.approx(40 + 60 * (0.75 + 0.2) + 2)
    quantile = TrainSettings(**given, accept="quantile")
    assert speed.seconds(quantile, 20) == pytest.approx(40 + 60 * (1 + 0.2) + 2)


def test_no_plan_asks_a_server(corpus: Path) -> None:
    """Sentences would leave, and be paid for."""
    settings = GenerateSettings(
        corpus=corpus,
        lm="causal",
        served="http://127.0.0.1:9/v1",
        model="gpt",
        decoding="sample",
        n=2,
    )
    with pytest.raises(InputError, match="gpt is behind an address, which no plan asks"):
        probe_generation(settings)


def test_probes_run_the_real_thing(
    corpus: Path, tiny_causal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a tiny corpus: speeds above 0, the predictor's bytes, all pairs counted, nothing written."""
    monkeypatch.setattr(estimates, "_ENOUGH", 0.0)
    before = sorted(corpus.rglob("*"))
    for lm, model in (("t5", None), ("causal", str(tiny_causal))):
        tried, pairs = probe_generation(
            GenerateSettings(corpus=corpus, lm=lm, model=model, references=2)
        )
        assert pairs == 60
        assert 0 < tried.items <= pairs
        assert tried.seconds > 0
        assert tried.size > 0
    assert sorted(corpus.rglob("*")) == before
    gold = (Coordination(1, "and", "NP", (Span(0, 1), Span(2, 3))),)
    sentences = [
        Sentence(
            f"s{n}", "d", "train", ("lamp", "and", "harbor", f"w{n}"), None, None, gold, "CC0-1.0"
        )
        for n in range(24)
    ]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    settings = TrainSettings(corpus=corpus, mode="baseline", mlp_hidden=8)
    speed = probe_training(settings)
    assert min(speed.full, speed.least, speed.round, speed.validation) > 0
    weights = (corpus / "models/bert/model.safetensors").stat().st_size
    assert 0.5 * weights < speed.weights < 2 * weights


def test_synthesis_is_estimated_by_its_first_sources(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real thing on some of all; nothing is written, and nobody behind an address is asked."""
    monkeypatch.setattr(estimates, "_ENOUGH", 0.0)
    corpus = build_confused(tmp_path / "toy", tiny_bert)
    before = sorted(corpus.rglob("*"))
    given: dict[str, Any] = {"corpus": corpus, "run": "runs/baseline/24/seed-{seed}", "k": 2}
    tried, sources = probe_synthesis(SynthesizeSettings(**given))
    assert 0 < tried.items <= sources <= 90
    assert min(tried.seconds, tried.size) > 0
    usual = f"conjoin synthesize {corpus} --k 2 --seed {{}} --run "
    known = usual + "runs/baseline/24/seed-{{seed}} --out " + str(corpus / "candidates/p/seed-{}")
    commands = (known.format(0, 0), known.format(1, 1), usual.format(0) + "runs/none")
    cells = [cell(f"synthesize@{n}", command=command) for n, command in enumerate(commands)]
    found = Estimates(cells, Durations({}, tmp_path / "times.json"), probing=True)
    first, second, none = map(found.time, cells)
    assert first
    assert first.seconds > 0
    assert (first, first.source) == (second, PROBE)
    assert none is None
    (why,) = found.obstacles
    assert "name a run that `conjoin train` finished" in why
    there = found.candidates(corpus / "candidates/p/seed-0")
    assert (there.value, there.source) == (sources, "explicit pairs of what the run confuses")
    assert (found.shards_size(found.synthesis[cells[0]]).value or 0) > 0

    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("it was asked")

    monkeypatch.setattr(asking, "ServedWriter", asked)
    served = {"writer": "served", "served": "http://127.0.0.1:1", "model": "gpt"}
    with pytest.raises(InputError, match="behind an address, which no plan asks"):
        probe_synthesis(SynthesizeSettings(**given, **served))
    assert sorted(corpus.rglob("*")) == before


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own dvc.yaml and params.yaml, without data."""
    return project_in(tmp_path, monkeypatch)


def rows(text: str) -> dict[str, list[str]]:
    """First cell of each table row → the others."""
    cells = [[part.strip() for part in line.split("│")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 2}


@pytest.mark.long
def test_before_anything_is_there_it_says_what_is_not_known(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No time of anything; once counted, U says how many pairs."""
    params = (project / "params.yaml").read_bytes()
    run(PlanSettings(experiment="figure4", jobs=2))
    shown = capsys.readouterr().out
    table = rows(shown)
    assert table["train"][:3] == ["175", "0", "175"]
    assert table["train"][3:] == ["unknown", "unknown", "unknown"]
    assert table["generate"][:3] == ["25", "0", "25"]
    world = TrainSettings(
        corpus=Path("data/world"), candidates="any", **yaml.safe_load(params)["train"]["world"]
    )
    examined = f"{world.k_max * (world.steps - world.warm_steps):,}"
    assert table["t5 (world)"] == [examined, "unknown", "unknown", "the corpus is not ingested"]
    assert table["runs"][1] == "unknown"
    assert "no probe yet: data/world: no corpus here" in shown
    assert "run it: conjoin repro figure4 --jobs 2" in shown
    assert "cells have no estimate: what they need is not made yet" in shown
    assert (project / "params.yaml").read_bytes() == params
    assert not (project / "data").exists()
    write_json(
        project / "data/genia/ingest.json", {"unlabelled_seeds": {"of_10_words_or_more": 5_000}}
    )
    run(PlanSettings(experiment="table2", corpus=["genia"], jobs=2, probe=False))
    shown = capsys.readouterr().out
    table = rows(shown)
    assert table["train"][3:] == ["unknown", "unknown", "unknown"]
    constants = yaml.safe_load(params)["train"]["genia"]
    train = TrainSettings(corpus=Path("data/genia"), candidates="any", **constants)
    examined = train.k_max * (train.steps - train.warm_steps)
    shares = [f"{examined:,}", "5,000", f"{examined / 5_000:.1f}", "pairs, by the sentences of U"]
    assert table["t5 (genia)"] == shares
    assert "time on" not in shown  # of nothing is it known
    assert "105 cells have no estimate" in shown
    assert "not to be run yet: data/raw/genia/text: no raw text for the language models" in shown
    run(PlanSettings(experiment="relations-world", jobs=2))
    shown = capsys.readouterr().out
    table = rows(shown)
    assert table["synthesize"][3:] == ["unknown", "unknown", "unknown"]
    assert table["oracle-pairs (world-relations)"][-1] == "what the run confuses is not known yet"


def test_sizes_and_durations_are_said_in_words() -> None:
    """As the forecast of generation says them."""
    assert (dry_run.duration(3700), dry_run.size(2.5e6)) == ("1 h 1 min", "2.5 MB")
