"""Experiments: which cells each one has, and the files as they were when a run is over or killed."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo
from project_copy import project_in

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.corpus.licences import terms
from pipeline.experiments.cells import Cell, settings_of
from pipeline.experiments.expansion import CELLS, as_text, cells_of
from pipeline.experiments.experiment import read_experiment
from pipeline.experiments.grid import files_over, grid
from pipeline.experiments.plan.command import run as plan
from pipeline.experiments.plan.settings import PlanSettings
from pipeline.experiments.repro.settings import ReproSettings
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out
from pipeline.harvest.settings import HarvestSettings
from pipeline.ingest.settings import IngestSettings
from pipeline.pretrain.settings import PretrainSettings
from pipeline.release.settings import ReleaseSettings
from pipeline.select.settings import SelectSettings
from pipeline.train.settings import TrainSettings

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("table2", "table3", "figure4")
ALL = sorted(path.stem for path in (ROOT / "experiments").glob("*.yaml"))
PATH = Path("params.yaml")
PARAMS: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own dvc.yaml, params.yaml and experiments, without data."""
    return project_in(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Cell]]]:
    """The cells of the experiments on the embedded world."""
    with pytest.MonkeyPatch.context() as patch:
        project_in(tmp_path_factory.mktemp("project"), patch)
        found = {}
        for name in ("default", "demo", "quick", *TABLES):
            with grid(ReproSettings(experiment=name)) as (_, members, _):
                found[name] = members
        yield found


def members_of(name: str, *pairs: str, corpus: str = "") -> list[Cell]:
    with grid(
        ReproSettings(experiment=name, set=list(pairs), corpus=[corpus] if corpus else [])
    ) as (
        _,
        found,
        _,
    ):
        return found


def named(cells: list[Cell], stage: str) -> dict[str, Cell]:
    """The cells of a stage, by what follows the corpus in their names."""
    return {c.name.partition("@")[2].partition("-")[2]: c for c in cells if c.stage == stage}


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function of an experiment's name: its cells as cells.yaml has them, by stage."""
    monkeypatch.chdir(ROOT)

    def of(name: str, **lists: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = cells_of(
            read_experiment(name, PARAMS, lists, PATH), PATH
        )["cells"]
        return found

    return of


def test_the_cells_of_plain_dvc_are_those_of_the_default_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever changes experiments/default.yaml has them made anew: conjoin plan --write."""
    monkeypatch.chdir(ROOT)
    made = as_text(cells_of(read_experiment("default", PARAMS, {}, PATH), PATH))
    assert CELLS.read_text(encoding="utf-8") == made
    assert yaml.safe_load(made)["corpora"] == ["world"]


def test_cells_are_named_by_what_they_are(cells: dict[str, list[Cell]]) -> None:
    """Corpus, name, size and seed; commands pass names alone, and DVC sees the options behind them."""
    of = {cell.name: cell for cell in cells["default"]}
    cell = of["train@world-attested-bert-100-0"]
    assert cell.command == (
        "conjoin train data/world --system attested-bert --labelled 100 --seed 0 --resume "
        "--params params.yaml"
    )
    assert {"systems.attested-bert", "train.default", "train.world"} == {*cell.params}
    assert "generate@world-attested-bert-0" in cell.needs
    assert of["train@world-baseline-100-0"].needs == {"ingest@world", "pretrain@world-bert-0"}
    assert {"generations.unranked"} < {*of["generate@world-unranked-2"].params}
    rival = next(c for c in cells["demo"] if c.name == "train@world-baseline-gold-100-0")
    assert "preparse@world" in rival.needs


def test_the_tables_have_the_papers_rows_and_only_the_cells_they_need(
    cells: dict[str, list[Cell]],
) -> None:
    """Rows, sizes, five seeds; no candidates that no run reads; evaluation and report."""
    assert [len(named(cells[name], "train")) for name in TABLES] == [7 * 2 * 5, 11 * 5, 7 * 5 * 5]
    assert [len(named(cells[name], "generate")) for name in TABLES] == [5 * 5, 7 * 5, 5 * 5]
    assert sum("-full-" in name for name in named(cells["figure4"], "train")) == 7 * 5
    assert {*named(cells["table3"], "train")} >= {
        f"{lm}-{way}-100-4" for lm in ("bert", "t5") for way in ("no-filter", "self-train")
    }
    for name in TABLES:
        made = {c.name for c in cells[name] if c.stage == "generate"}
        assert made == {
            n for c in cells[name] if c.stage == "train" for n in c.needs if "generate" in n
        }
        assert len(named(cells[name], "pretrain")) == 2
        assert {"evaluate@world", "audit@world", "report@world"} <= {c.name for c in cells[name]}


def test_the_demo_has_its_rows_at_100_labels_and_the_winner_at_250(
    cells: dict[str, list[Cell]],
) -> None:
    """Its quick form has both kinds of fills, and both make the folder of the hint."""
    rows = ("baseline", "t5", "bert", "t5-no-filter", "attested-bert", "unranked")
    wanted = {f"{name}-100-{seed}" for name in rows for seed in "012"}
    rivals = ("baseline-gold", "attested-gold")
    both = ("baseline", "attested-bert", *rivals)
    wanted |= {f"{name}-100-{seed}" for name in rivals for seed in "012"}
    wanted |= {f"{name}-250-{seed}" for name in both for seed in "012"}
    assert {*named(cells["demo"], "train")} == wanted
    assert {*named(cells["quick"], "train")} == {
        f"{name}-100-0" for name in ("baseline", "t5", "t5-no-filter", "attested-bert")
    }
    makefile = (ROOT / "Makefile").read_text()
    assert "conjoin repro $(if $(QUICK),quick,demo)" in makefile
    assert "data/world/candidates/attested-bert/seed-0" in makefile
    for name in ("demo", "quick"):
        assert {"attested-bert-0"} <= {*named(cells[name], "generate")}
        assert {"attested-bert"} <= {*named(cells[name], "release")}


def test_the_seed_varies_sampling_generation_and_fine_tuning(cells: dict[str, list[Cell]]) -> None:
    """A run of seed 3 reads the draw and the candidates of seed 3, as Table 2 has it."""
    run = named(cells["table2"], "train")["t5-100-3"]
    assert {n for n in run.needs if "generate" in n} == {"generate@world-t5-sync-3"}
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["train"]["do"]
    assert "data/${item.corpus}/draws/seed-${item.seed}/${item.labelled}.json" in stage["deps"]
    assert "--seed ${item.seed}" in stage["cmd"]


def test_one_name_is_one_command_in_every_experiment(cells: dict[str, list[Cell]]) -> None:
    """Else one experiment's run would take the place of another's; but ingest draws what each needs."""
    commands: dict[str, str] = {}
    for cell in (c for members in cells.values() for c in members if c.stage != "ingest"):
        assert commands.setdefault(cell.name, cell.command) == cell.command
        # DVC's lock file folds two spaces at a line's end, and the cell is never up to date again.
        assert "  " not in cell.command
    assert len(commands) > 100


@pytest.mark.parametrize("name", ALL)
def test_every_name_of_an_experiment_has_options_that_its_stage_takes(
    expanded: Any, name: str
) -> None:
    """And what a cell waits for is there: each folder of candidates that is read is made."""
    of = expanded(name)
    made = {
        f"candidates/{c['name']}/seed-{c['seed']}"
        for stage in ("generate", "harvest", "synthesize", "ask", "select")
        for c in of[stage].values()
    }
    read = {c["candidates"] for stage in ("train", "release") for c in of[stage].values()}
    read |= {c[key] for c in of["select"].values() for key in ("first", "beside")}
    assert {each for each in read if each.startswith("candidates/")} == made
    assert of["train"]
    assert of["ingest"]


def test_every_entry_of_a_table_is_used(expanded: Any) -> None:
    """What no experiment names is left over."""
    every = [expanded(name, seeds=[0]) for name in ALL]
    for table, stage, key in (
        ("systems", "train", "system"), ("generations", "generate", "name"),
        ("harvests", "harvest", "name"), ("syntheses", "synthesize", "name"),
        ("pairs", "pair", "name"), ("questions", "ask", "name"), ("selections", "select", "name"),
    ):  # fmt: skip
        used = {cell[key] for of in every for cell in of[stage].values()}
        assert {*PARAMS[table]} <= used


def test_genia_has_every_source_on_two_cores_and_more_on_a_gpu(expanded: Any) -> None:
    """Runs as docs/experiments.md counts them."""
    small, large = expanded("genia-cpu"), expanded("genia")
    assert (len(small["train"]), len(large["train"])) == (95, 310)
    assert small["train"].keys() < large["train"].keys()
    assert {c["lm"] for c in small["pretrain"].values()} == {"bert", "t5", "bert-twins"}
    assert {c["lm"] for c in large["pretrain"].values()} == {
        "bert", "t5", "bert-twins", "t5-twins", "t5-more",
    }  # fmt: skip


def test_genia_chooses_candidates_by_predictors_of_the_same_seed(project: Path) -> None:
    """What is agreed, stratified and mixed comes after the runs and candidates that it names."""
    members = members_of("genia-cpu", "seeds=[3]")
    of = named(members, "select")
    for name, need in (
        ("agreed", "train@genia-attested-bert-250-3"),
        ("agreed", "harvest@genia-harvest-3"),
        ("agreed-labelled", "train@genia-harvest-labelled-250-3"),
        ("agreed-like", "select@genia-agreed-3"),
        ("mixed", "generate@genia-attested-bert-3"),
        ("both", "harvest@genia-harvest-labelled-3"),
    ):
        assert need in of[f"{name}-3"].needs
    agreed = settings_of(of["agreed-3"].command, SelectSettings)
    assert [str(each) for each in agreed.places] == ["data/genia/candidates/harvest/seed-3"]
    assert [str(each) for each in agreed.agree] == [
        "data/genia/runs/attested-bert/250/seed-3/predictor"
    ]
    found = [settings_of(c.command, HarvestSettings) for c in members if c.stage == "harvest"]
    assert {(each.parser, each.parser_lm, each.seed) for each in found} == {
        ("corpus", None, 3), ("labelled", "bert", 3),
    }  # fmt: skip


def test_an_adapted_model_comes_after_what_it_is_made_of(project: Path) -> None:
    """t5-twins needs T5 and the parsed coordinations, T5 needs the text only, and so on to the runs."""
    of = {c.name: c for c in members_of("genia", "seeds=[0]", "labelled=[250]")}
    ingest, preparse = "ingest@genia", "preparse@genia"
    assert of["pretrain@genia-t5-0"].needs == {ingest}
    twins = of["pretrain@genia-t5-twins-0"]
    assert twins.needs == {ingest, preparse, "pretrain@genia-t5-0"}
    settings = settings_of(twins.command, PretrainSettings)
    assert (settings.objective, settings.base, settings.seed) == ("twins", "models/t5", 0)
    filled = of["generate@genia-t5-twins-sync-0"]
    assert filled.needs == {ingest, preparse, twins.name}
    assert filled.name in of["train@genia-t5-twins-250-0"].needs
    gold = of["generate@genia-t5-sync-gold-0"]
    wanted = settings_of(gold.command, GenerateSettings)
    assert (wanted.lm, wanted.sync, wanted.trees) == ("t5", True, "treebank")
    assert default_out(wanted.model_copy(update={"out": None})) == wanted.out
    assert gold.name in of["train@genia-t5-gold-250-0"].needs


@pytest.mark.long
def test_the_control_of_the_twins_differs_from_them_in_what_it_learns_from(project: Path) -> None:
    """t5-more: as many updates of the same T5, by T5's own objective, on the corpus's own sentences."""
    of = named(members_of("genia", "seeds=[0]"), "pretrain")
    t5, twins, more = (
        settings_of(of[f"{name}-0"].command, PretrainSettings).model_dump()
        for name in ("t5", "t5-twins", "t5-more")
    )
    assert of["t5-more-0"].needs == {"ingest@genia", "pretrain@genia-t5-0"}
    apart = {"lm", "objective", "texts", "repeat", "density", "span_lengths", "longest_span"}
    assert {key for key in twins if twins[key] != more[key]} == apart
    assert [more[key] for key in ("objective", "texts", "repeat")] == ["corruption", [], 1]
    for key in ("objective", "density", "span_lengths", "longest_span"):
        assert more[key] == t5[key]


def test_gum_releases_with_text_what_may_be_shared(project: Path) -> None:
    """The rows of Table 2, and of the attested candidates those of free licences, chosen and released."""
    members = members_of("gum-cpu")
    assert len(named(members, "train")) == 7 * 5
    (chosen,) = named(members, "select").values()
    settings = settings_of(chosen.command, SelectSettings)
    assert [str(each) for each in settings.places] == ["data/gum/candidates/attested-bert/seed-0"]
    assert len(settings.license) == 5
    assert all(terms(each).redistributable and "-NC" not in each for each in settings.license)
    released = named(members, "release")
    assert released["open"].needs == {"ingest@gum", chosen.name}
    text = {name: settings_of(c.command, ReleaseSettings).stand_off for name, c in released.items()}
    assert text == {"open": False, "attested-bert": True, "t5-sync": True, "bert-sync": True}


def test_augmentations_have_their_rows_alone_beside_candidates_and_frozen(project: Path) -> None:
    """Each differs from its like in what makes variants; substitutes wait for the trees of U."""
    members = members_of("augment", "seeds=[0]")
    trained = {n: settings_of(c.command, TrainSettings) for n, c in named(members, "train").items()}
    augmented = {t.system: t for t in trained.values() if t.augment != "none"}
    assert {t.system for t in trained.values()} == {
        "baseline",
        "attested-bert",
        "frozen",
        *augmented,
    }
    chosen = {name: t.alpha for name, t in augmented.items() if name.startswith("chosen-")}
    assert chosen == {
        "chosen-fill-single-sample": 0.9, "chosen-substitute": 0.7,
        "chosen-attested-fill-single-sample": 0.9, "chosen-attested-substitute": 1,
    }  # fmt: skip
    usual = {name: each for name, each in augmented.items() if name not in chosen}
    assert len(usual) == 9 + 9 + 4
    assert {t.alpha for t in usual.values()} == {0.5}

    def kinds(head: str) -> list[tuple[str, str, str]]:
        found = [t for name, t in usual.items() if name.startswith(head)]
        return sorted((t.augment, t.mask_tags, t.fill_mode) for t in found)

    alone = [t for n, t in usual.items() if not n.startswith(("attested-", "frozen-"))]
    assert sorted((t.augment, t.mask_tags, t.fill_mode) for t in alone) == kinds("attested-")
    assert len({*kinds("attested-")}) == 9
    assert {(t.mode, t.encoder_rate) for t in alone} == {("baseline", 1.0)}
    assert {*kinds("frozen-")} < {*kinds("attested-")}
    assert {t.encoder_rate for name, t in augmented.items() if name.startswith("frozen-")} == {0.0}
    assert {*named(members, "generate")} == {"attested-bert-0"}
    assert "generate@world-attested-bert-0" in named(members, "train")["substitute-100-0"].needs
    (released,) = named(members, "release").values()
    assert "generate@world-attested-bert-0" in released.needs


def test_augmentations_of_genia_have_equal_updates_and_a_baseline_with_as_many(
    project: Path,
) -> None:
    """Alone, beside the harvest, and with the α that dev chose."""
    with grid(ReproSettings(experiment="augment-genia", set=["seeds=[0]"])) as (_, members, _):
        trained = [settings_of(c.command, TrainSettings) for c in named(members, "train").values()]
    assert {t.steps for t in trained} == {1000}
    assert {t.system for t in trained if t.augment == "none"} == {"baseline-short", "both-short"}
    assert len([t for t in trained if t.augment != "none"]) == 9 + 5 + 1
    assert {t.mode for t in trained if t.system.startswith("both-")} == {"no-filter"}


def test_the_quick_demo_has_settings_of_its_own(project: Path) -> None:
    """What an experiment says of a section goes over params.yaml, key by key, while it runs."""
    before = PATH.read_bytes()
    with grid(ReproSettings(experiment="quick")) as (_, members, document):
        assert PATH.read_bytes() != before
        settings = settings_of(named(members, "pretrain")["t5-0"].command, PretrainSettings)
        assert (settings.steps, settings.batch_size) == (500, 64)
        ingested = next(c for c in members if c.stage == "ingest")
        drawn = settings_of(ingested.command, IngestSettings)
        assert (drawn.labelled, drawn.seeds, drawn.raw) == (["100"], [0], 20000)
    assert document["preparse"]["world"]["parser"] == "treebank"
    assert PATH.read_bytes() == before


def test_sizes_are_the_corpus_own(expanded: Any) -> None:
    """The world has other sizes than the treebanks; one grid may hold both."""
    both = expanded("figure4", corpora=["world", "genia"], seeds=[0])["train"]
    sizes = {(c["corpus"], c["labelled"]) for c in both.values()}
    assert sizes == {
        *(("world", size) for size in (50, 100, 250, 500, "full")),
        *(("genia", size) for size in (250, 500, 1000, 2000, "full")),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("labeled: [5]", r"x\.yaml: labeled: an experiment has corpora, .*did you mean 'labelled'\?"),
        ("seeds: 3", r"x\.yaml: seeds = 3: must be a list"),
        ("seeds: [-1]", "seeds: -1 must be a whole number"),
        ("labelled: [all]", "labelled: 'all' must be a number above 0 or full"),
        ("labelled: {genia: [5]}", "labelled: neither default nor world"),
        ("labelled: {default: [5], wrold: [3]}", r"labelled: 'wrold' is no corpus .*did you mean 'world'\?"),
        ("train: {wrold: {steps: 3}}", r"x\.yaml: train: 'wrold' is no corpus .*did you mean 'world'\?"),
        ("generate: 3", "section .generate. must be a mapping"),
        ("corpora: [word]", r"section ingest has no entry 'word'; .*did you mean 'world'\?"),
        ("corpora: ['x; ls']", "corpora: 'x; ls' must be a plain name"),
        ("systems: [basline]", r"params\.yaml: systems: no 'basline' .*did you mean 'baseline'\?"),
        ("systems: [t5, t5]", "t5 is named twice"),
        ("systems: [[t5]]", "must be a plain name"),
        ("systems: [{t5: 3}]", "must be a name, or a name with its options"),
        ("systems: [{new: {candidates: t5-snc}}]", r"candidates: no 't5-snc' .*did you mean 't5-sync'\?"),
        ("systems: [{new: {candidates: t5-sync, stps: 3}}]", r"train\.stps = 3: no such setting"),
        ("systems: [{new: {candidates: t5-sync, encoder: runs/t5/250/seed-0/predictor}}]",
         "systems.new: a cell can wait for candidates or for the run"),
        ("systems: [{new: {mode: baseline, encoder: runs/t5/250/seed-0}}]", "must be a predictor of"),
        ("candidates: [nowhere]", "candidates: no 'nowhere'"),
        ("generations: {a: {lm: t5, arity: like-L}}\ncandidates: [a]", "like-L needs to know L"),
        ("selections: {a: {of: b}, b: {of: a}}\ncandidates: [a]", "a needs b needs a: it would wait"),
        ("selections: {a: {}}\ncandidates: [a]", "selections.a.of = None: must name candidates"),
        ("selections: {t5-sync: {of: unranked}}\ncandidates: [t5-sync]", "t5-sync: in generations and in"),
        ("selections: {a: {of: unranked, agree: [x]}}\ncandidates: [a]", "must be a predictor of"),
        ("pretrain: {default: {t5: {base: models/t5}}}", "the language model t5 needs the language model t5"),
        ("- 1", "must be a mapping"),
        ("[]", "must be a mapping"),
    ],
)  # fmt: skip
def test_what_is_no_experiment_is_refused(project: Path, text: str, said: str) -> None:
    """One line that names the file and the key, and what there is instead."""
    Path("x.yaml").write_text(text)
    with pytest.raises(SettingsError, match=said), files_over(ReproSettings(experiment="x.yaml")):
        pass
    assert CELLS.read_text() == (ROOT / CELLS).read_text()


def test_a_run_waits_for_the_one_whose_encoder_it_begins_with(project: Path) -> None:
    """Of the same draw; it is made, too, where no table names it."""
    Path("x.yaml").write_text(
        "corpora: [world]\nlabelled: [100]\nseeds: [2]\nsystems:\n  - after:\n      mode: baseline\n"
        "      encoder: runs/t5/{labelled}/seed-{seed}/predictor\n"
    )
    of = named(members_of("x.yaml"), "train")
    assert "train@world-t5-100-2" in of["after-100-2"].needs
    assert "t5-100-2" in of


def test_draws_that_candidates_are_like_are_made(project: Path) -> None:
    """Though no predictor learns from them."""
    Path("x.yaml").write_text(
        "corpora: [world]\nlabelled: [100]\nseeds: [0]\ncandidates: [a, b]\n"
        "generations: {a: {lm: bert, fills: attested, arity: like-L, labelled: 77}}\n"
        "selections: {b: {of: a, like: 'data/world/draws/seed-{seed}/66.json', size: 50%}}\n"
    )
    (ingested,) = (c for c in members_of("x.yaml") if c.stage == "ingest")
    drawn = settings_of(ingested.command, IngestSettings)
    assert (drawn.labelled, drawn.seeds) == (["100", "77", "66"], [0])


def test_an_unknown_experiment_is_reported(project: Path) -> None:
    """With those that there are, and the one most like it."""
    with (
        pytest.raises(
            SettingsError, match=r"no experiment 'table4'; there are: .*did you mean 'table[23]'\?"
        ),
        files_over(ReproSettings(experiment="table4")),
    ):
        pass
    Path("experiments/link.yaml").symlink_to("nowhere")
    with (
        pytest.raises(SettingsError, match="no experiment 'link'") as raised,
        files_over(ReproSettings(experiment="link")),
    ):
        pass
    assert "did you mean 'link'" not in str(raised.value)
    Path("experiments/default.yaml").write_text("# nothing\n")
    with (
        pytest.raises(SettingsError, match=r"default\.yaml: corpora = None: must be a list"),
        files_over(ReproSettings(experiment="demo")),
    ):
        pass
    Path("experiments/default.yaml").write_text("corpora: [world]\ntrain: {}\n")
    with (
        pytest.raises(
            SettingsError, match=r"train: what the default experiment changes .* stand there"
        ),
        files_over(ReproSettings()),
    ):
        pass


@pytest.mark.long
def test_plain_dvc_gets_the_cells_that_are_written(project: Path) -> None:
    """Conjoin leaves the default's cells, puts those of others back, and `plan --write` lets them stay."""
    usual = CELLS.read_text()
    CELLS.write_text("")
    with grid(ReproSettings()) as (_, members, _):
        assert len(members) == 80 + 4
    assert CELLS.read_text() == usual
    with grid(ReproSettings(experiment="quick")):
        assert CELLS.read_text() != usual
    assert CELLS.read_text() == usual
    plan(PlanSettings(experiment="quick", write=True, probe=False))
    assert len([s for s in Repo().index.stages if s.addressing.startswith("train@")]) == 4
    assert yaml.safe_load(PATH.read_text())["ingest"]["world"]["raw"] == 20000


def test_files_survive_a_killed_run(project: Path) -> None:
    """What a killed run left is put back by the next; what someone edited since stays."""
    kept = Path(".dvc/tmp/params-over.json")
    kept.parent.mkdir(exist_ok=True)
    mine = PATH.read_text()
    for now, then in (("a: 2\n", mine), (f"{mine}# edited\n", f"{mine}# edited\n")):
        PATH.write_text(now)
        write_json(kept, {"params.yaml": {"before": mine, "after": "a: 2\n"}})
        with files_over(ReproSettings()):
            assert PATH.read_text() == then
        assert not kept.exists()
    assert Path(".dvc/tmp/before-params.yaml").read_text() == mine
    with files_over(ReproSettings(set=["train.world.steps=5"])):
        PATH.write_text("a: 6\n")
    assert PATH.read_text() == "a: 6\n"


def test_one_grid_at_a_time(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused, not mixed with the first; without a project there is nothing to do."""
    clock = iter([0.0, 1e9])  # its patience is over at the second look
    monkeypatch.setattr("pipeline.core.files.time.monotonic", lambda: next(clock, 2e9))
    with files_over(ReproSettings()), pytest.raises(InputError, match="another conjoin process"):
        files_over(ReproSettings()).__enter__()
    shutil.rmtree(".dvc")
    with pytest.raises(InputError, match=r"no usable DVC pipeline: no folder \.dvc here"):
        files_over(ReproSettings()).__enter__()


def test_docs_count_the_runs(expanded: Any) -> None:
    """The table of docs/experiments.md has each experiment's runs."""
    page = (ROOT / "docs/experiments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) >= 8
    for name, runs in rows:
        assert len(expanded(name)["train"]) == int(runs), name


def test_arguments_wait_for_predicates_and_japanese_text(project: Path) -> None:
    """Runs and evaluation depend on both files of ingest; the encoder on raw text beside the archive."""
    cells = members_of("arguments")
    trained = named(cells, "train")
    assert len(trained) == 4 * 6 + 1 + 2
    settings = settings_of(trained["mask-no-verbs-2000-1"].command, TrainSettings)
    assert (settings.mode, settings.augment, settings.mask_tags) == ("baseline", "mask", "all-VERB")
    assert (settings.encoder_rate, settings.rnn_layers, settings.rnn_units) == (0, 4, 128)
    (ingested,) = [cell for cell in cells if cell.stage == "ingest"]
    drawn = settings_of(ingested.command, IngestSettings)
    assert (drawn.folds, drawn.fold, sorted(drawn.labelled)) == (5, 0, ["2000", "500"])
    encoder = settings_of(named(cells, "pretrain")["bert-0"].command, PretrainSettings)
    assert (encoder.segment, encoder.hidden, encoder.layers) == ("line", 192, 4)
    assert encoder.texts == [Path("data/raw/wac/text")]
    made = yaml.safe_load(as_text(cells_of(read_experiment("arguments", PARAMS, {}, PATH), PATH)))[
        "cells"
    ]
    assert {cell["candidates"] for cell in made["train"].values()} == {"arguments.parquet"}
    assert {cell["file"] for cell in made["train"].values()} == {"sentences.parquet"}
    assert made["evaluate"]["wac"]["parser"] == "arguments.parquet"
    # Nobody makes candidates, whose folder the report would wait for in vain.
    assert made["report"]["wac"]["candidates"] == "runs"
