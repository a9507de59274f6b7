"""Presets: which cells each one has, and params.yaml as it was when a run is over or killed."""

import itertools
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.utils.hydra import apply_overrides

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.families import is_model_name
from pipeline.core.files import write_json
from pipeline.corpus.licences import terms
from pipeline.experiments.cells import Cell, settings_of
from pipeline.experiments.grid import as_exp_run, grid, params_over, preset_values
from pipeline.experiments.repro.settings import Repro
from pipeline.generate.settings import Generate
from pipeline.generate.stage import default_out
from pipeline.harvest.settings import Harvest
from pipeline.pretrain.settings import Pretrain
from pipeline.release.settings import Release
from pipeline.select.settings import Select
from pipeline.train.settings import Train

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ("table2", "table3", "figure4")
GENIA = ("genia", "genia-cpu")
PATH = Path("params.yaml")
SOURCES = ("generations", "harvests", "selections")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own dvc.yaml and params.yaml, without data."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def cells(project: Path) -> Iterator[dict[str, list[Cell]]]:
    """The cells of each preset on the embedded world, and of none (the demo's)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        found = {}
        for name in ("", *PRESETS):
            with grid(Repro(preset=name)) as (_, members, _):
                found[name] = members
        yield found


def count(cells: list[Cell], pattern: str) -> int:
    return sum(bool(re.search(pattern, cell.command)) for cell in cells)


def test_presets_have_the_papers_rows_and_only_the_cells_they_need(
    cells: dict[str, list[Cell]],
) -> None:
    """Rows, sizes, five seeds; no generation whose candidates no run reads; evaluation and report."""
    table2, table3, figure4 = (cells[name] for name in PRESETS)
    assert count(table2, "conjoin train") == 7 * 2 * 5
    assert count(table2, "--no-sync") == 0
    assert count(table3, "conjoin train") == 11 * 5
    assert count(table3, r"--system (bert|t5)-(no-filter|self-train) ") == 4 * 5
    assert count(figure4, "conjoin train") == 7 * 5 * 5
    assert count(figure4, "--labelled full ") == 7 * 5
    for members in (table2, table3, figure4):
        assert count(members, "conjoin generate .*--fills attested") == 3 * 5
        assert count(members, r"conjoin generate .*--pool 1 .*/unranked/") == 5
        assert count(members, "conjoin pretrain") == 2
    for members in (table2, table3, figure4):
        made = {c.name for c in members if c.stage == "generate"}
        read = {n for c in members if c.stage == "train" for n in c.needs if "generate" in n}
        assert read == made
        assert {"evaluate@world", "audit@world", "report@world"} <= {c.name for c in members}


def skipped(name: str) -> str:
    """The value of SKIP or QUICK_SKIP in the Makefile."""
    (value,) = re.findall(rf"^{name} := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return str(value)


def test_the_demo_has_its_rows_at_100_labels_and_the_winner_at_250(
    cells: dict[str, list[Cell]],
) -> None:
    """What `make demo` leaves out; its quick form has both kinds of fills, and the hint's folder."""
    demo, quick = (
        [c for c in cells[""] if not re.search(skipped(name), c.command)]
        for name in ("SKIP", "QUICK_SKIP")
    )
    rows = yaml.safe_load((ROOT / "params.yaml").read_text())["systems"]
    trained = [
        m.groups()
        for c in demo
        if (m := re.search(r"--system (\S+) .*--labelled (\d+) --seed (\d) ", c.command))
    ]
    wanted = {(each["name"], "100", seed) for each in rows for seed in "012"}
    wanted |= {(name, "250", seed) for name in ("baseline", "attested-bert") for seed in "012"}
    assert set(trained) == wanted
    assert len(trained) == len(wanted)
    for members in (demo, quick):
        made = {n for c in members if c.stage == "train" for n in c.needs if "generate" in n}
        assert made == {c.name for c in members if c.stage == "generate"}
        assert count(members, "conjoin release .*/attested-bert/seed-0 ") == 1
    assert count(quick, "conjoin train") == 4
    assert count(quick, "conjoin generate") == 2
    hint = re.search(r"browse data/world/(candidates/\S+)/seed-0", (ROOT / "Makefile").read_text())
    assert hint is not None
    assert hint[1] in {each["candidates"] for each in rows}


def test_the_seed_varies_sampling_generation_and_fine_tuning(cells: dict[str, list[Cell]]) -> None:
    """A run of seed 3 reads the draw and the candidates of seed 3, as Table 2 has it."""
    (run,) = [c for c in cells["table2"] if re.search(r"--system t5 .*100 --seed 3 ", c.command)]
    needed = [c for c in cells["table2"] if c.name in run.needs and c.stage == "generate"]
    assert [bool(re.search("--lm t5 --sync --seed 3 ", c.command)) for c in needed] == [True]
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["train"]
    draw = "data/${item.corpus}/draws/seed-${item.seed}/${item.labelled}.json"
    assert draw in stage["deps"]
    assert "--seed ${item.seed}" in stage["cmd"]


def test_one_name_is_one_command_in_every_preset(cells: dict[str, list[Cell]]) -> None:
    """Else one preset's run would take the place of another's in dvc.lock, and be made again."""
    commands: dict[str, str] = {}
    for cell in (c for members in cells.values() for c in members):
        assert commands.setdefault(cell.name, cell.command) == cell.command


def test_no_command_has_two_spaces(cells: dict[str, list[Cell]]) -> None:
    """DVC's lock file folds them to one at a line's end, and the cell is never up to date again."""
    commands = {cell.command for of_preset in cells.values() for cell in of_preset}
    assert len(commands) > 100
    assert not [command for command in commands if "  " in command]


@pytest.mark.parametrize(
    "names", [("", *PRESETS, "gum-cpu", "augment"), GENIA], ids=["any corpus", "GENIA"]
)
def test_lists_begin_alike(names: Sequence[str]) -> None:
    """DVC names cells by the corpus and the position of a system, a generation, a model in its list."""
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    grids = [preset_values(document, name, [], PATH) if name else document for name in names]
    for key in ("lms", *SOURCES, "releases", "systems"):
        lists = sorted((each[key] for each in grids if key in each), key=len)
        for shorter, longer in itertools.pairwise(lists):
            assert longer[: len(shorter)] == shorter, key
        called = [each["name"] for each in lists[-1]]
        assert len(set(called)) == len(called)


@pytest.mark.parametrize("name", GENIA)
def test_genia_makes_only_what_its_systems_read(name: str) -> None:
    """Candidates of every kind are read, every model generates; what a model begins from is made."""
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    values = preset_values(document, name, [], PATH)
    folders = [each for kind in SOURCES for each in values[kind]]
    made = {f"candidates/{each['name']}" for each in folders}
    chosen_from = {f"candidates/{each['candidates']}" for each in values["selections"]}
    read = {each["candidates"] for each in values["systems"]} - {"nothing/candidates"}
    assert read | chosen_from == made
    assert len(made) == len(folders)
    models = {each["name"]: each for each in values["lms"]}
    assert {each["lm"] for each in values["generations"]} | {"bert"} == set(models)
    for each in values["generations"]:
        assert is_model_name(each["lm"])
    for base in (each["base"] for each in models.values()):
        assert base == "nothing/base" or base.removeprefix("models/") in models
    assert values["corpora"] == ["genia"]
    assert values["labelled"] == ([250, 500] if name == "genia" else [250])
    assert len(values["seeds"]) == 5


def test_genia_chooses_candidates_by_predictors_of_the_same_seed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is agreed, stratified and mixed comes after the runs and candidates that it names."""
    monkeypatch.chdir(project)
    with grid(Repro(preset="genia-cpu", set=["seeds=[3]"])) as (_, members, _):
        of = {c.name: c for c in members}
        chosen = {settings_of(c.command, Select).out: c for c in members if c.stage == "select"}
    by_name = {out.parent.name: cell for out, cell in chosen.items() if out is not None}
    before = {
        name: {c for need in cell.needs for c in [of[need]]} for name, cell in by_name.items()
    }

    def made_by(name: str, words: str) -> bool:
        return any(words in c.command for c in before[name])

    assert made_by("agreed", "--system attested-bert ")
    assert made_by("agreed-labelled", "--system harvest-labelled ")
    assert made_by("agreed-like", "candidates/agreed/seed-3 ")
    assert made_by("mixed", "candidates/attested-bert/seed-3 ")
    assert made_by("both", "candidates/harvest-labelled/seed-3 ")
    long = {c.name for c in members if c.stage == "train" and "--steps 4000 " in c.command}
    assert len(long) == 4


def test_an_adapted_model_comes_after_what_it_is_made_of(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """t5-twins needs T5 and the parsed coordinations, T5 needs the text only, and so on to the runs."""
    monkeypatch.chdir(project)
    with grid(Repro(preset="genia", set=["seeds=[0]", "labelled=[250]"])) as (_, members, _):
        pass

    def one(pattern: str) -> Cell:
        (found,) = [cell for cell in members if re.search(pattern, cell.command)]
        return found

    ingest, preparse = "ingest@genia", "preparse@genia"
    t5, twins = one("pretrain .*--lm t5 "), one("pretrain .*--lm t5-twins ")
    assert t5.needs == {ingest}
    assert twins.needs == {ingest, preparse, t5.name}
    assert "--objective twins --base models/t5 --seed 0" in twins.command
    filled = one("generate .*--lm t5-twins ")
    assert filled.needs == {ingest, preparse, twins.name}
    gold = one("generate .*--trees treebank ")
    assert "--lm t5 --sync --trees treebank --seed 0" in gold.command
    assert filled.name in one("train .*--system t5-twins ").needs
    assert gold.name in one("train .*--system t5-gold ").needs
    wanted = settings_of(
        gold.command.replace("params.yaml", str(project / "params.yaml")), Generate
    )
    unset = wanted.model_copy(update={"out": None})
    assert default_out(unset) == wanted.out
    values = preset_values(yaml.safe_load((ROOT / "params.yaml").read_text()), "genia", [], PATH)
    assert count(members, "conjoin generate") == len(values["generations"])
    assert count(members, "conjoin train") == len(values["systems"])


def test_the_control_of_the_twins_differs_from_them_in_what_it_learns_from(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """t5-more: as many updates of the same T5, by T5's own objective, on the corpus's own sentences."""
    monkeypatch.chdir(project)
    with grid(Repro(preset="genia", set=["seeds=[0]"])) as (_, members, _):
        pass
    names = ("t5", "t5-twins", "t5-more")
    made = {
        name: cell
        for cell in members
        for name in names
        if f"pretrain data/genia --lm {name} " in cell.command
    }
    settings = {name: settings_of(cell.command, Pretrain) for name, cell in made.items()}
    t5, twins, more = (settings[name].model_dump() for name in names)
    assert made["t5-more"].needs == {"ingest@genia", made["t5"].name}
    apart = {"lm", "objective", "texts", "repeat", "density", "span_lengths", "longest_span"}
    assert {key for key in twins if twins[key] != more[key]} == apart
    assert [more[key] for key in ("objective", "texts", "repeat")] == ["corruption", [], 1]
    for key in ("objective", "density", "span_lengths", "longest_span"):
        assert more[key] == t5[key]


def test_gum_releases_with_text_what_may_be_shared(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of Table 2, and of the attested candidates those of free licences, chosen and released."""
    monkeypatch.chdir(project)
    with grid(Repro(preset="gum-cpu")) as (_, members, _):
        pass
    assert count(members, "conjoin train data/gum .*--labelled 250 ") == 7 * 5
    (chosen,) = [c for c in members if re.search("conjoin select .*/open/seed-0 ", c.command)]
    command, place, flag, licences, *rest = shlex.split(chosen.command)[1:]
    assert (command, flag) == ("select", "--license")
    assert place == "data/gum/candidates/attested-bert/seed-0"
    assert all(terms(each).redistributable and "-NC" not in each for each in licences.split(","))
    given = dict(zip(*[iter(rest)] * 2, strict=True))
    given = {name.removeprefix("--"): value for name, value in given.items()}
    Select.build({"places": [place], "out": given["out"]}, project / given["params"])
    released = [c for c in members if c.stage == "release"]
    assert count(released, "--no-stand-off") == 1
    (open_,) = [c for c in released if "/releases/open " in c.command]
    assert open_.needs == {"ingest@gum", chosen.name}
    with_sources = {c.name: settings_of(c.command, Release).stand_off for c in released}
    assert with_sources.pop(open_.name) is False
    assert set(with_sources.values()) == {True}


def test_augmentations_have_their_rows_alone_beside_candidates_and_frozen(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each differs from its like in what makes twins; substitutes wait for the trees of U."""
    monkeypatch.chdir(project)
    with grid(Repro(preset="augment", set=["seeds=[0]"])) as (_, members, _):
        trained = [(c, settings_of(c.command, Train)) for c in members if c.stage == "train"]
    twins = {t.system: (c, t) for c, t in trained if t.augment != "none"}
    chosen = {name: t.alpha for name, (_, t) in twins.items() if name.startswith("chosen-")}
    assert chosen == {
        "chosen-fill-single-sample": 0.9, "chosen-substitute": 0.7,
        "chosen-attested-fill-single-sample": 0.9, "chosen-attested-substitute": 1,
    }  # fmt: skip
    usual = {name: each for name, each in twins.items() if name not in chosen}
    assert len(usual) == 9 + 9 + 4
    assert {t.alpha for _, t in usual.values()} == {0.5}

    def kinds(head: str) -> list[tuple[str, str, str]]:
        found = [t for name, (_, t) in usual.items() if name.startswith(head)]
        return sorted((t.augment, t.mask_tags, t.fill_mode) for t in found)

    alone = {n: t for n, (_, t) in usual.items() if not n.startswith(("attested-", "frozen-"))}
    assert sorted((t.augment, t.mask_tags, t.fill_mode) for t in alone.values()) == kinds(
        "attested-"
    )
    assert len({*kinds("attested-")}) == 9
    assert {t.mode for t in alone.values()} == {"baseline"}
    assert {t.encoder_rate for t in alone.values()} == {1.0}
    assert {*kinds("frozen-")} < {*kinds("attested-")}
    frozen = {t.encoder_rate for name, (_, t) in twins.items() if name.startswith("frozen-")}
    assert frozen == {0.0}
    preparse = {c.name for c in members if c.stage == "preparse"}
    (generate,) = [
        c for c in members if "/candidates/attested-bert/" in c.command and c.stage == "generate"
    ]
    assert preparse <= generate.needs
    assert generate.name in twins["substitute"][0].needs
    skip = re.search(r"--preset augment --skip='(.*)'", (ROOT / "docs/augmentation.md").read_text())
    assert skip is not None
    left = {t.system for c, t in trained if not re.search(skip[1], c.command)}
    assert left == {"baseline", "attested-bert", "frozen", *twins}
    made = {c.name for c in members if c.stage == "generate" and not re.search(skip[1], c.command)}
    assert made == {generate.name}
    released = [c for c in members if c.stage == "release"]
    assert [generate.name in c.needs for c in released] == [True]


def test_augmentations_of_genia_have_equal_updates_and_a_baseline_with_as_many(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the docs makes these alone, from what genia-cpu made."""
    monkeypatch.chdir(project)
    text = (ROOT / "docs/augmentation.md").read_text()
    skip = re.search(r"--preset augment --corpus genia --skip='(.*)'", text)
    assert skip is not None
    with grid(Repro(preset="augment", corpus=["genia"], set=["seeds=[0]"])) as (_, members, _):
        left = [c for c in members if not re.search(skip[1], c.command)]
        trained = [settings_of(c.command, Train) for c in left if c.stage == "train"]
    assert {c.stage for c in left} == {"train", "evaluate"}
    assert {t.steps for t in trained} == {1000}
    names = {t.system for t in trained if t.augment == "none"}
    assert names == {"baseline-short", "both-short"}
    # Alone, beside the harvest, and with the α that dev chose.
    assert len([t for t in trained if t.augment != "none"]) == 9 + 5 + 1
    assert {t.mode for t in trained if t.system.startswith("both-")} == {"no-filter"}


def test_harvests_are_cells_that_need_the_corpus_and_its_parser(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each seed, with the settings of params.yaml; none unless they are listed."""
    monkeypatch.chdir(project)
    listed = (
        "harvests=[{name: natural, base: nothing/base, options: --parser labelled --labelled 100}]"
    )
    with grid(Repro(set=[listed])) as (_, members, _):
        found = [c for c in members if c.stage == "harvest"]
        read = [settings_of(c.command, Harvest) for c in found]
    assert [each.seed for each in sorted(read, key=lambda each: each.seed)] == [0, 1, 2]
    assert {(each.parser, each.labelled) for each in read} == {("labelled", "100")}
    outs = {str(each.out) for each in read}
    assert outs == {f"data/world/candidates/natural/seed-{seed}" for seed in range(3)}
    assert {c.needs for c in found} == {frozenset({"ingest@world", "preparse@world"})}
    with grid(Repro(set=["seeds=[0]"])) as (_, members, _):
        assert not [c for c in members if c.stage == "harvest"]


def test_selections_name_what_belongs_to_their_seed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked of the predictor of its own seed, whose run is made before it."""
    monkeypatch.chdir(project)
    run = "data/world/runs/attested-bert/100"
    listed = (
        "selections=[{name: agreed, candidates: t5-sync, beside: runs/attested-bert/100, options: "
        f"'data/world/candidates/unranked/seed-{{seed}} --agree {run}/seed-{{seed}}/predictor'}}]"
    )
    with grid(Repro(set=[listed])) as (_, members, _):
        found = [c for c in members if c.stage == "select"]
        read = {each.seed: (each, c) for c in found for each in [settings_of(c.command, Select)]}
        train = [(c.name, settings_of(c.command, Train)) for c in members if c.stage == "train"]
        runs = {name for name, t in train if (t.system, t.labelled) == ("attested-bert", "100")}
    assert sorted(read) == [0, 1, 2]
    assert len(runs) == 3
    for seed, (given, cell) in read.items():
        places = [f"data/world/candidates/{name}/seed-{seed}" for name in ("t5-sync", "unranked")]
        assert [str(each) for each in given.places] == places
        assert [str(each) for each in given.agree] == [f"{run}/seed-{seed}/predictor"]
        assert runs <= cell.needs


@pytest.mark.parametrize("name", [*PRESETS, *GENIA, "gum-cpu", "augment"])
def test_exp_run_sets_the_same(name: str, tmp_path: Path) -> None:
    """The printed command's -S values, read by DVC's Hydra, give params.yaml the preset's values."""
    shutil.copy(ROOT / "params.yaml", tmp_path)
    path = tmp_path / "params.yaml"
    values = preset_values(yaml.safe_load(path.read_text()), name, ["genia"], path)
    words = shlex.split(as_exp_run(values))
    assert words[:3] == ["dvc", "exp", "run"]
    assert set(words[3::2]) == {"-S"}
    apply_overrides(str(path), words[4::2])
    changed = yaml.safe_load(path.read_text())
    assert {key: changed[key] for key in values} == values
    assert changed["corpora"] == ["genia"]


def test_sizes_are_the_corpus_own() -> None:
    """The world has other sizes than the treebanks, and one matrix holds those of one kind."""
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    world = preset_values(document, "figure4", [], PATH)
    assert (world["corpora"], world["labelled"]) == (["world"], [50, 100, 250, 500, "full"])
    both = preset_values(document, "figure4", ["genia", "ptb-ext"], PATH)
    assert both["labelled"] == [250, 500, 1000, 2000, "full"]
    with pytest.raises(SettingsError, match="labelled differs between world and genia"):
        preset_values(document, "figure4", ["world", "genia"], PATH)


@pytest.mark.parametrize(
    ("document", "corpora", "message"),
    [
        ({"presets": {"a": {}}}, [], "preset 'b': no such preset; there are: a"),
        ({}, [], "there are: none"),
        ({"presets": {"b": {"train": {"steps": 1}}}}, [], "presets.b.train: a preset sets only"),
        ({"presets": {"b": {}}, "ingest": {"x": {}}}, ["y"], "no entry 'y'; there are: x"),
        ({"presets": {"b": {"labelled": {"x": [1]}}}}, ["y"], "neither default nor"),
        (
            {"presets": {"b": {}}, "ingest": {"craft": {}}, "pretrain": {"crafts": {}}},
            ["craft"],
            r"section pretrain has no entry 'craft'; .*did you mean 'crafts'\?",
        ),
    ],
)
def test_what_is_no_preset_is_refused(
    document: dict[str, Any], corpora: list[str], message: str
) -> None:
    """One line that names the key, and what there is instead."""
    with pytest.raises(SettingsError, match=message):
        preset_values(document, "b", corpora, PATH)


def test_params_survive_a_killed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed run left is put back by the next; what someone edited since stays."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no usable DVC pipeline: no folder \.dvc here"):
        params_over(lambda _: {}, [], "set").__enter__()
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    kept, params = tmp_path / ".dvc/tmp/params-over.json", tmp_path / "params.yaml"
    for now, then in (("a: 2\n", "a: 1  # mine\n"), ("a: 3\n", "a: 3\n")):
        params.write_text(now)
        write_json(kept, {"before": "a: 1  # mine\n", "after": "a: 2\n"})
        with params_over(lambda _: {}, ["b=4"], "set") as document:
            assert yaml.safe_load(params.read_text()) == document
            assert document["b"] == 4
        assert params.read_text() == then
    with params_over(lambda _: {"a": 5}, [], "set"):
        params.write_text("a: 6\n")
    assert params.read_text() == "a: 6\n"
    assert (tmp_path / ".dvc/tmp/params-before.yaml").read_text() == "a: 3\n"
    clock = iter([0.0, 1e9])  # its patience is over at the second look
    monkeypatch.setattr("pipeline.core.files.time.monotonic", lambda: next(clock, 2e9))
    with params_over(lambda _: {"a": 5}, [], "set"):
        other = params_over(lambda _: {}, [], "set")
        with pytest.raises(InputError, match="another conjoin process"):
            other.__enter__()
