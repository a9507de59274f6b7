"""The tutorials, followed word for word in an empty folder: each command of each ``sh`` block, in order."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.decisions import DecisionMade, DrawnToAnnotate, words_digest
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.experiments.grid import grid
from pipeline.experiments.repro.settings import ReproSettings
from pipeline.ingest.settings import IngestSettings
from pipeline.preparse.settings import PreparseSettings
from pipeline.pretrain.settings import PretrainSettings
from pipeline.train.settings import TrainSettings
from pipeline.trying.annotate.choosing import in_random_order, to_annotate
from pipeline.trying.annotate.saved import saved

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/tutorials"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps(page: str) -> Iterator[str]:
    """What to type, one command after the other; a here-document is one with its command."""
    for block in BLOCK.findall((PAGES / page).read_text(encoding="utf-8")):
        lines = iter(block.splitlines())
        for line in lines:
            step = [line]
            if line.endswith("<<'END'"):
                for more in lines:
                    step.append(more)
                    if more == "END":
                        break
            yield "\n".join(step)


def exit_code() -> object:
    """Runs the command that stands in ``sys.argv``."""
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


def follow(
    page: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: Mapping[str, Callable[[], None]] | None = None,
) -> None:
    """Do all that the page says; what is a command of conjoin in this process, which imports torch once.

    ``before`` has what a person does, by how the step after it begins.
    """
    (place / "conjoin").symlink_to(ROOT)  # what cloning makes
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for step in steps(page):
        for begins, do in (before or {}).items():
            if step.startswith(begins):
                do()
        if not step.startswith("conjoin "):
            subprocess.run(["/bin/bash", "-euc", step], check=True, cwd=place)  # noqa: S603 - our own page
            continue
        monkeypatch.setattr(sys, "argv", shlex.split(step))
        assert exit_code() == 0, f"{page}: {step}"


AFRIKAANS = ROOT.parent / "shared/data/ud-afrikaans"


@pytest.mark.long
@pytest.mark.skipif(not AFRIKAANS.is_dir(), reason=f"no {AFRIKAANS}")
def test_other_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git would fetch lies there; the trees of candidates pass the validator."""
    (tmp_path / "data/raw").mkdir(parents=True)
    (tmp_path / "data/raw/ud-afrikaans").symlink_to(AFRIKAANS)
    follow("other-language.md", tmp_path, monkeypatch)
    trees = (tmp_path / "attested.conllu").read_text(encoding="utf-8")
    assert trees.count("\tconj\t") > 100
    assert "\ten\ten\tCCONJ\t" in trees


@pytest.mark.long
def test_own_treebank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A treebank and raw text end with a report of both systems and with predictions."""
    follow("own-treebank.md", tmp_path, monkeypatch)
    report = (tmp_path / "data/mine/report/report.md").read_text(encoding="utf-8")
    assert "generation by attested" in report
    assert re.search(r"\] (and|or|but) \[", capsys.readouterr().out)


@pytest.mark.long
def test_own_relations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Argument pairs end with new ones of what a model confuses, and with a report."""
    follow("own-relations.md", tmp_path, monkeypatch)
    assert list(tmp_path.glob("data/mine/candidates/*/seed-0/candidates-*.parquet"))
    assert "explicit" in (tmp_path / "data/mine/report/report.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_own_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text without a treebank ends with a release, by the parser and the model of another corpus."""
    follow("own-text.md", tmp_path, monkeypatch)
    assert list(tmp_path.glob("notes-corpus/data/train-*.parquet"))


def annotate_a_hundred() -> None:
    """What a person says of sentences whose grammar is known, in the file that the page writes."""
    known = {s.words: s for s in read_sentences(Path("data/world/sentences.parquet"))}
    there = read_sentences(Path("data/mine/sentences.parquet"))
    own = {s.sentence_id: s for s in to_annotate(there, "train", Tally())}
    drawn = in_random_order(own, 0)[:100]
    with saved(Path("data/mine/annotated.jsonl")) as file:
        file.add(DrawnToAnnotate(tuple(drawn), "mine", "random", 0))
        for each in drawn:
            words = own[each].words
            for found in known[words].coordinations:
                digest = words_digest(words)
                file.add(DecisionMade(each, digest, found.coordinator, found.conjuncts, 2.0))


@pytest.mark.long
def test_own_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Raw text and a hundred annotated sentences end with predictions."""
    before = {"conjoin ingest corrected": annotate_a_hundred}
    follow("own-labels.md", tmp_path, monkeypatch, before)
    assert '"coordinations": [{"coordinator"' in capsys.readouterr().out


@pytest.mark.long
def test_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Candidates are chosen, united, released, loaded and exported."""
    follow("share.md", tmp_path, monkeypatch)
    assert "# sent_id" in (tmp_path / "world.conllu").read_text(encoding="utf-8")
    assert "OWNER/NAME" in capsys.readouterr().out


def test_the_settings_for_a_treebank_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines to add to params.yaml give every stage its settings, and the experiment its cells."""
    params = (ROOT / "params.yaml").read_text(encoding="utf-8")
    page = (PAGES / "own-treebank.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `(mine: .*)` \|$", page, re.MULTILINE)
    for names, line in rows:
        for name in re.findall(r"\w+", names):
            params, added = re.subn(
                rf"(?m)^({name}:\n(?: .*\n)*?(?=^  ptb:))", rf"\1  {line}\n", params
            )
            assert added == 1, name
    (tmp_path / "params.yaml").write_text(params, encoding="utf-8")
    (tmp_path / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    monkeypatch.chdir(tmp_path)
    with grid(ReproSettings(experiment="table2", corpus=["mine"])) as (_, cells, _):
        assert sum("conjoin train data/mine" in cell.command for cell in cells) == 7 * 2 * 5
    IngestSettings.build({"out": "data/mine", "source": "data/raw/mine"}, tmp_path / "params.yaml")
    assert PreparseSettings.build({"corpus": "data/mine"}, tmp_path / "params.yaml").tags == "none"
    for kind, more in ((PretrainSettings, {}), (TrainSettings, {"mode": "baseline"})):
        ours, gum = (
            kind.build({"corpus": f"data/{name}"} | more, tmp_path / "params.yaml")
            for name in ("mine", "gum")
        )
        apart = {name for name in kind.model_fields if getattr(ours, name) != getattr(gum, name)}
        assert apart <= {"corpus", "texts"}
