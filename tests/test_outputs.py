"""An output never destroys what it did not make: one rule of every command that writes where a person says.

``CASES`` has each option that names a place to write. A new one that is missing here makes a test fail.
"""

import ast
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import caused
import confused
import harvested
import pytest
import tiny
from damaged import make_release
from event_pairs import Pair, write_corpus, write_pairs
from played import pairs_folder
from treebank import conllu

from pipeline.cli import COMMANDS
from pipeline.core import claims
from pipeline.core.claims import Claim
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, folder_lock, write_json
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.parquet import MANIFEST, RECORDS
from pipeline.core.settings import Settings
from pipeline.report import stage as report
from pipeline.report.sections import Section, picture
from pipeline.sources import making
from pipeline.train import stage as train
from pipeline.trying.annotate import command as annotate

WRITING = {"out", "export", "sheets"}
"""Options that name a place to write."""

READING = {
    "agree.apart", "agree.like", "agree.one", "agree.other", "annotate.corpus", "annotate.parser",
    "annotate.predictor", "ask.corpus", "ask.pairs", "ask.votes",
    "audit.corpus", "audit.source", "browse.place",
    "browse.predictor", "diagnose.run", "evaluate.corpus", "export.corpus", "export.place", "fill.corpus",
    "gap.source", "generate.corpus", "generate.given", "generate.replay", "generate.targets",
    "harvest.corpus", "ingest.licenses", "ingest.of", "ingest.source", "ingest.split_lists",
    "ingest.unlabelled",
    "merge.places", "orphans.gold", "orphans.system", "pair.corpus", "predict.parser",
    "predict.predictor", "predict.text", "preparse.also", "preparse.corpus", "pretrain.corpus",
    "pretrain.texts", "push.release",
    "rehydrate.release", "rehydrate.source", "release.candidates", "release.corpus", "report.corpus",
    "report.judgements",
    "play.difficulty", "play.pairs", "play.score", "play.votes",
    "select.agree", "select.corpus", "select.like", "select.places", "select.predictor", "stats.place",
    "stats.reference", "synthesize.corpus", "synthesize.definitions", "synthesize.replay", "synthesize.run",
    "synthesize.source", "train.corpus", "validate.corpus", "validate.place",
    "vote.checks", "vote.pairs", "vote.read",
}  # fmt: skip
"""Options that name what is read, or a corpus in which a stage writes under names of its own."""

GAPPED = (
    "I I PRON 2 nsubj", "won win VERB 0 root", "gold gold NOUN 2 obj", "and and CCONJ 6 cc",
    "he he PRON 6 nsubj", "won win VERB 2 conj", "silver silver NOUN 6 obj",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A command that writes to a place.

    Attributes:
        options: all but the place.
        inputs: what may not be the place, contain it or lie inside it; names below the folder of ``made``.
        file: whether it writes a file.
        own: what the earlier output must list; a file added by this name is somebody's.
        replaces: whether an earlier output is made anew.
        shared: whether other files may lie beside what it writes, and stay.
        again: options for the second time.
    """

    options: dict[str, Any]
    inputs: tuple[str, ...]
    file: bool = False
    own: str = "mine.txt"
    replaces: bool = True
    shared: bool = False
    again: dict[str, Any] = field(default_factory=dict)


CASES: dict[str, Case] = {
    "ingest.out": Case(
        {"reader": "text", "source": "raw/text.txt", "name": "mine"}, ("raw/text.txt",),
        own="draws/seed-0/full.json", shared=True,
    ),
    "generate.out": Case(
        {"corpus": "corpus", "lm": "bert", "unit": 20, "limit": 4}, ("corpus/trees", "corpus/models"),
        own="candidates-00000-of-00009.parquet",
    ),
    "harvest.out": Case(
        {"corpus": "world", "labelled": "10", "unit": 12}, ("world/sentences.parquet", "world/parser"),
        own="rejects-00007-of-00009.parquet",
    ),
    "synthesize.out": Case(
        {"corpus": "pairs", "run": "runs/baseline/24/seed-0"},
        ("pairs/relations.parquet", "pairs/draws", "pairs/runs/baseline/24/seed-0"),
        own="rejects-00007-of-00009.parquet",
    ),
    "pair.out": Case(
        {"corpus": "because", "unit": 3}, ("because/sentences.parquet",), own="pairs-00007-of-00009.parquet",
    ),
    "ask.out": Case(
        {"pairs": "asking/pairs/x", "choice_band": "-", "context_band": "-", "unit": 10},
        ("asking/pairs/x", "asking/text.txt"), own="candidates-00007-of-00009.parquet",
    ),
    "vote.out": Case({"pairs": "asking/pairs/x", "oracle": True, "size": 5}, ("asking/pairs/x",), file=True),
    "vote.sheets": Case({"pairs": "asking/pairs/x", "checks": "asking/checks.csv", "size": 5},
                        ("asking/pairs/x", "asking/checks.csv"), replaces=False),
    "play.out": Case({"pairs": "playing/x", "deal": 2}, ("playing/x",), file=True),
    "predict.out": Case({"predictor": "tiny/runs/baseline/40/seed-0/predictor", "text": "raw/text.txt",
                         "output": "brat"}, ("raw/text.txt",), replaces=False),
    "annotate.out": Case({"corpus": "tiny", "size": 3, "port": 0, "open": False},
                         ("tiny/sentences.parquet",), file=True),
    "select.out": Case({"places": ["toy/candidates/t5-sync/seed-0"], "label": ["NP"]},
                       ("toy/candidates/t5-sync/seed-0",), replaces=False),
    "train.out": Case(
        {**tiny.settings(Path("tiny"), steps=2, warm_steps=0, mode="baseline").model_dump(
            exclude_unset=True), "candidates": None, "resume": False},
        ("tiny/draws", "tiny/models/bert"), own="predictor/mine.txt",
    ),
    "release.out": Case({"candidates": "toy/candidates/t5-sync/seed-0"},
                        ("toy/candidates/t5-sync/seed-0",), own="data/train-mine.parquet"),
    "rehydrate.out": Case({"release": "bare", "source": "toy"}, ("bare", "toy/sentences.parquet"),
                          own="data/train-mine.parquet"),
    "merge.out": Case({"places": ["toy/candidates/t5-sync/seed-0"] * 2},
                      ("toy/candidates/t5-sync/seed-0",), replaces=False),
    "models.out": Case({"name": "minilm", "from_": "package"}, (), replaces=False),
    "diagnose.out": Case({"run": "tiny/runs/baseline/40/seed-0", "folds": 2},
                         ("tiny/runs/baseline/40/seed-0", "tiny/draws"), own="fold-1-of-2/mine.txt"),
    "gap.out": Case({"source": "bank/gold.conllu"}, ("bank/gold.conllu",), replaces=False),
    "agree.out": Case({"one": "bank/gold.conllu", "other": "bank/other.conllu"},
                      ("bank/gold.conllu", "bank/other.conllu"), replaces=False),
    "orphans.out": Case({"gold": "bank/gold.conllu", "system": "bank/other.conllu"},
                        ("bank/gold.conllu", "bank/other.conllu"), file=True),
    "browse.export": Case({"place": "toy/candidates/t5-sync/seed-0"},
                          ("toy/candidates/t5-sync/seed-0",), file=True),
    "export.out": Case({"place": "toy/candidates/t5-sync/seed-0", "format": "jsonl"},
                       ("toy/candidates/t5-sync/seed-0",), file=True, again={"overwrite": True}),
    "export.out as a folder": Case({"place": "toy/candidates/t5-sync/seed-0", "format": "brat"},
                                   ("toy/candidates/t5-sync/seed-0",),
                                   own="candidates-00099.ann", again={"overwrite": True}),
}  # fmt: skip


def settings_of(name: str) -> type[Settings]:
    return COMMANDS[name.partition(".")[0]][0]


def paths_of(settings: type[Settings]) -> Iterator[str]:
    """The options that have a path, or some."""
    for name, known in settings.model_fields.items():
        kinds = [known.annotation]
        while kinds:
            kind = kinds.pop()
            kinds += get_args(kind)
            if kind is Path:
                yield name


def test_every_option_that_names_a_place_to_write_is_tried_here() -> None:
    """Of all commands each path is known to be read, or has its case."""
    every = {f"{name}.{path}" for name, (kind, *_) in COMMANDS.items() for path in paths_of(kind)}
    writing = {each for each in every if each.partition(".")[2] in WRITING}
    assert {each.partition(" ")[0] for each in CASES} == writing
    assert every - writing == READING


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, write_trees: Any) -> Path:
    """What the commands read, and nothing else."""
    folder = tmp_path_factory.mktemp("made")
    make_release(folder / "bare", folder / "toy", stand_off=True)
    tiny.build(folder / "tiny")
    train.run(
        tiny.settings(folder / "tiny", mode="baseline", candidates=None, steps=2, warm_steps=0)
    )
    write_trees(folder / "corpus", map(tiny.bracketed, map(tiny.sentence, range(8))))
    (folder / "corpus/models").mkdir()
    (folder / "corpus/models/bert").symlink_to(tiny_bert)
    harvested.with_ready_parser(harvested.corpus_of(folder / "world"))
    confused.build(folder / "pairs", tiny_bert)
    caused.corpus_of(folder / "because")
    effects = [
        Pair(f"he dropped the {n}", f"the {n} broke")
        for n in ("jar", "lamp", "boat", "clock", "plate")
    ]
    write_corpus(
        folder / "asking", [f"{each.latter} because {each.former}" for each in effects] * 5
    )
    write_pairs(folder / "asking/pairs/x", effects)
    pairs_folder(folder / "playing/x")
    checks = "former,latter,answer\nit rained,the street got wet,yes\nit rained,the moon fell,no\n"
    (folder / "asking/checks.csv").write_text(checks)
    (folder / "raw").mkdir()
    (folder / "raw/text.txt").write_text("The nurse called .\nThe doctor came .\n")
    (folder / "bank").mkdir()
    for name in ("gold", "other"):
        (folder / f"bank/{name}.conllu").write_text(conllu("s", *GAPPED))
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the command of a case with a place to write to, in a copy of what is made."""
    shutil.copytree(made, tmp_path / "made", symlinks=True)
    monkeypatch.chdir(tmp_path / "made")
    harvested.knowing(monkeypatch)
    monkeypatch.setattr(annotate, "serve", lambda *_: None)  # it would until Ctrl-C

    def command(name: str, out: Path, **more: Any) -> None:
        case, option = CASES[name], name.partition(" ")[0].partition(".")[2]
        built = settings_of(name).build({**case.options, **more, option: out}, None)
        import_module(COMMANDS[name.partition(".")[0]][1]).run(built)

    return command


def contents(place: Path) -> dict[str, bytes]:
    """Every file's bytes, but for locks."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in {".lock", ".workers"}
    }


THEIRS = (
    "mine.txt", "manifest.json", "README.md", "run.json", "history.jsonl", "finished.json",
    "predictor/mine.txt", "checkpoints/mine.txt", "sentences.parquet", "text.txt", "ingest.json",
    "draws/seed-0/full.json", "candidates-00000-of-00001.parquet", "rejects-00000-of-00001.parquet",
    "targets.json", "fold-1-of-2/run.json", "data/train-00000-of-00001.parquet", "annotation.conf",
    "gapped.conllu", "checkpoint.json", "config.json",
)  # fmt: skip
"""Names that commands give to files, in a folder of somebody who has some of the same names."""


@pytest.mark.parametrize("name", CASES)
def test_what_somebody_else_made_is_refused(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """A folder with files that are called like the command's, and a file: a line, and nothing changes."""
    folder = tmp_path / "theirs"
    for each in THEIRS:
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_text("{}" if each.endswith("json") else "mine")
    before = contents(tmp_path)
    for out in (folder, folder / "mine.txt"):
        with pytest.raises(InputError) as caught:
            run(name, out)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(str(out))
        assert contents(tmp_path) == before


@pytest.mark.parametrize("name", CASES)
def test_no_output_is_an_input_contains_or_lies_inside_one(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """By whatever name."""
    before = contents(tmp_path)
    for source in CASES[name].inputs:
        for out in (Path(source), Path(source, "deep/out"), Path(source).parent, Path()):
            with pytest.raises(
                InputError, match="may not replace, contain or lie inside its input"
            ):
                run(name, out)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", [name for name in CASES if name != "models.out"])
def test_an_earlier_output_is_made_anew_but_for_what_it_does_not_list(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """Its record says what is its own; a file beside is named, or stays where it is."""
    case, out = CASES[name], tmp_path / "out"
    run(name, out)
    if not case.replaces:
        first = contents(out)
        (out / "mine.txt").write_text("mine")
        with pytest.raises(InputError, match="there is something here already"):
            run(name, out, **({"label": ["VP"]} if name == "select.out" else {}))
        assert contents(out) == {**first, "mine.txt": b"mine"}
        return
    run(name, out, **case.again)
    if case.file:
        return
    (out / case.own).parent.mkdir(parents=True, exist_ok=True)
    (out / case.own).write_text("mine")
    before = contents(out)
    if name == "diagnose.out":  # its folds are runs, and what lies beside those files stays
        run(name, out)
    else:
        with pytest.raises(InputError, match="not its own, first"):
            run(name, out, **case.again)
        assert contents(out) == before
    assert (out / case.own).read_text() == "mine"


@pytest.mark.parametrize("name", ["release.out", "rehydrate.out"])
def test_a_document_that_somebody_edited_stays(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """A release's sums say what it wrote: README.md, LICENSE and the like are asked by their content."""
    out = tmp_path / "out"
    for edited in ("README.md", "croissant.json"):
        run(name, out)
        with (out / edited).open("a") as file:
            file.write("mine\n")
        before = contents(out)
        with pytest.raises(InputError, match=f"1 files that are not its own, first {edited}"):
            run(name, out)
        assert contents(out) == before
        shutil.rmtree(out)


@pytest.mark.parametrize(
    "name", ["gap.out", "agree.out", "orphans.out", "merge.out", "select.out", "release.out",
             "rehydrate.out", "browse.export", "export.out", "export.out as a folder"],
)  # fmt: skip
def test_what_appears_while_it_runs_stays(
    name: str, run: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the last moment before the rename, of each command that makes its output appear whole."""
    out, real = tmp_path / "out", claims._put

    def put(new: Path, place: Path, aside: Path, claim: Claim | None) -> None:
        if claim and place == out:
            place.write_text("mine") if claim.file else (place / "deep").mkdir(parents=True)
        real(new, place, aside, claim)

    monkeypatch.setattr(claims, "_put", put)
    with pytest.raises(InputError):
        run(name, out)
    assert out.read_text() == "mine" if CASES[name].file else (out / "deep").is_dir()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_corpus_keeps_what_ingest_did_not_write(run: Callable[..., None], tmp_path: Path) -> None:
    """Beside an earlier corpus' files lie others', and draws that no record has."""
    out = tmp_path / "out"
    run("ingest.out", out)
    theirs = {"models/notes.txt", "draws/seed-7/9.json", "draws/mine.txt", ".text.txt.mine.tmp"}
    for each in theirs:
        (out / each).parent.mkdir(parents=True, exist_ok=True)
        (out / each).write_text("mine")
    half = out / ".text.txt.0123456789ab.tmp"  # as a killed process leaves it
    half.write_text("licensed text")
    run("ingest.out", out)
    assert all((out / each).read_text() == "mine" for each in theirs)
    assert not half.exists()


def test_an_unfinished_corpus_is_ingestions_own(
    run: Callable[..., None], tmp_path: Path, forks: Any
) -> None:
    """Killed before the record was written: the mark in the lock says which files are whose."""
    out = tmp_path / "out"
    run("ingest.out", out)
    (out / "ingest.json").unlink()
    before = contents(out)
    run("ingest.out", out)
    assert contents(out).items() >= before.items()
    (out / "ingest.json").unlink()
    (out / ".lock").write_text("")
    with pytest.raises(InputError, match="no earlier output of `conjoin ingest`"):
        run("ingest.out", out)


@pytest.mark.parametrize("name", ["ingest.out", "train.out", "diagnose.out"])
def test_an_unfinished_output_of_another_command_is_that_ones(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """Its mark says whose it is; that files of the same names stand there makes it nobody else's."""
    out, names = tmp_path / "out", ["text.txt", "history.jsonl", "mine.txt"]
    out.mkdir()
    with folder_lock(out):
        Claim(out, "pretrain").take(names)
    for each in names:
        (out / each).write_text("theirs")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    command = name.partition(".")[0]
    with pytest.raises(InputError, match=f"no earlier output of `conjoin {command}`"):
        run(name, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_mark_of_a_run_alone_makes_no_other_file_its_own(
    run: Callable[..., None], tmp_path: Path
) -> None:
    """Nothing of a stopped run stands in predictor/ without the card that lists it."""
    out = tmp_path / "out"
    out.mkdir()
    with folder_lock(out):
        Claim(out, "train").take()
    (out / "predictor").mkdir()
    (out / "predictor/mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not its own, first predictor/mine\.txt"):
        run("train.out", out)
    (out / "predictor/mine.txt").unlink()
    run("train.out", out)


@pytest.mark.parametrize("name", ["generate.out", "harvest.out", "synthesize.out"])
def test_candidates_are_made_elsewhere_for_own_use_alone(
    name: str, run: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a licence keeps the text in its corpus, nothing is written outside without the flag."""

    def refuse(out: Path, *_: object) -> None:
        raise InputError("kept at home", path=out)

    monkeypatch.setattr(making, "require_home_of_text", refuse)
    with pytest.raises(InputError, match="kept at home"):
        run(name, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    run(name, tmp_path / "out", own_use=True)
    assert (tmp_path / "out/manifest.json").is_file()


@pytest.mark.parametrize("name", ["generate.out", "harvest.out", "synthesize.out"])
def test_a_run_killed_before_its_first_record_goes_on(
    name: str, run: Callable[..., None], tmp_path: Path
) -> None:
    """Its mark tells whose the folder is, when nothing says yet what the run is of."""
    out = tmp_path / "out"
    with folder_lock(out):
        Claim(out, name.partition(".")[0]).take()
    (out / RECORDS).mkdir()
    (out / RECORDS / ".about-0.json.0123456789ab.tmp").write_text("{")
    run(name, out)
    assert (out / MANIFEST).is_file()
    assert not list((out / RECORDS).glob(".*.tmp"))


def test_training_keeps_what_is_not_its_own(run: Callable[..., None], tmp_path: Path) -> None:
    """Files beside those of a run stay, among its checkpoints, too; another's record is none of a run."""
    out = tmp_path / "out"
    run("train.out", out, checkpoint_every=1, steps=2)
    (out / "checkpoints").mkdir()
    for each in ("mine.txt", "checkpoints/mine.txt"):
        (out / each).write_text("mine")
    run("train.out", out, checkpoint_every=1)
    assert (out / "mine.txt").read_text() == (out / "checkpoints/mine.txt").read_text() == "mine"
    model = tmp_path / "model"  # pretrain calls its record by the same name
    shutil.copytree(Path("corpus/models/bert"), model)
    facts = {path.name: FileFacts.of(path) for path in model.iterdir()}
    Output(model, model / "finished.json", Fingerprint()).finish(facts, {})
    with pytest.raises(InputError, match="no earlier output of `conjoin train`"):
        run("train.out", model)


def test_an_earlier_versions_ingestion_is_known(run: Callable[..., None], tmp_path: Path) -> None:
    """It kept no record of files, and no mark."""
    out = tmp_path / "out"
    run("ingest.out", out)
    (out / ".lock").unlink()
    write_json(out / "ingest.json", {"reader": "text", "splits": {}})
    run("ingest.out", out)


REMOVING = {
    "core/claims.py": "what was made there, and what a claim allows",
    "core/files.py": "half-written files, by a name with their writer's number, under a lock",
    "core/cache.py": "the cache",
    "core/fingerprint.py": "a record, before its files change",
    "evaluate/kept.py": "predictions that a record lists",
    "executor/checkpoints.py": "the three files of a checkpoint",
    "executor/growing.py": "the manifest of the plan before, under the lock",
    "executor/units.py": "shards that a record, the manifest or themselves say are a run's",
    "evaluate/stage.py": "metrics.json, the record of an evaluation",
    "experiments/grid.py": "its own copies of params.yaml",
    "ingest/stage.py": "draws that an earlier record lists",
    "parsing/making.py": "the tagger of a parser, under a claim",
    "pretrain/stage.py": "its hidden folder of work",
    "pretrain/raw_text.py": "the texts of its own work folder, by their names",
    "pretrain/token_store.py": "the store of its own work folder, by its names",
    "release/package.py": "the sums of a release in the making",
    "report/stage.py": "pictures that begin as it writes them",
    "train/candidate_store.py": "copies in the cache",
    "train/run_folder.py": "run.json, under a claim",
}
"""Modules that remove or replace files: what, and why it is their own."""


def test_files_are_removed_in_few_places() -> None:
    """Whoever removes or renames files elsewhere, too, has to say here what makes them its own."""
    root = Path(claims.__file__).resolve().parents[1]
    of_paths = {"rmtree", "unlink", "rmdir"}  # no other objects here have such
    of_modules = {"remove", "removedirs", "rename", "renames", "replace", "move"}
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner, name = node.func.value, node.func.attr
            system = isinstance(owner, ast.Name) and owner.id in {"os", "shutil"}
            if name in of_paths or (system and name in of_modules):
                found.add(path.relative_to(root).as_posix())
    assert found == set(REMOVING)


def test_a_report_removes_its_own_pictures_alone(tmp_path: Path) -> None:
    """One of an earlier report goes; one that somebody drew stays."""
    old = Section("Old", panels=[], name="old")
    (tmp_path / "old.svg").write_text(picture(old))
    (tmp_path / "mine.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    report._write_pictures(tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == ["mine.svg"]
