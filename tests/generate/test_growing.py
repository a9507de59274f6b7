"""More sentences in the same folder: only what is new is made, and all is as if made at once."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.documents import read_json
from pipeline.core.types import Sentence
from pipeline.generate.infilling import SpanSource
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run

SENTENCE = Sentence(
    "", "d", "train", ("the", "old", "man", "saw", "a", "dog"), None,
    "(S1 (S (NP (DT the) (JJ old) (NN man)) (VP (VBD saw) (NP (DT a) (NN dog)))))", (), "CC0-1.0",
)  # fmt: skip
BARE = Sentence(
    "", "d", "train", ("Yes", "."), None, "(S1 (INTJ (UH Yes) (. .)))", (), "CC0-1.0"
)  # fmt: skip


def settings(corpus: Path, **more: object) -> GenerateSettings:
    given = {"corpus": corpus, "lm": "t5", "unit": 8, "batch_tokens": 300, "references": 2, **more}
    return GenerateSettings.model_validate(given)


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if n not in {".lock", ".workers"}}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many references of each unit that is made."""
    found: list[int] = []
    prepare = SpanSource.prepare

    def counted(self: SpanSource, device: Any) -> Callable[..., Any]:
        make = prepare(self, device)

        def counting(references: Any, on_batch: Any) -> Any:
            found.append(len(references))
            return make(references, on_batch)

        return counting

    monkeypatch.setattr(SpanSource, "prepare", counted)
    return found


@pytest.mark.parametrize(
    "more", [{}, {"lm": "bert", "decoding": "sample", "n": 2}, {"fills": "attested", "lm": "bert"}]
)
def test_ten_sentences_and_then_thirty(
    corpus: Path, tmp_path: Path, made: list[int], more: dict[str, Any]
) -> None:
    """Units are of four sentences, so of ten the third is made again; attested fills have one pool."""
    out, once = tmp_path / "out", tmp_path / "once"
    run(settings(corpus, limit=10, out=out, **more))
    assert made == [8, 8, 4]
    made.clear()
    run(settings(corpus, limit=30, out=out, **more))
    assert made == [8] * 5 + [4]
    run(settings(corpus, limit=30, out=once, **more))
    assert contents(out) == contents(once)


def test_sentences_without_a_reference_span_are_counted_as_if_made_at_once(
    corpus: Path, tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """The last unit has the same references, and more sentences that offer none."""
    there = [replace(s, sentence_id=f"c/{n}") for n, s in enumerate([SENTENCE] * 3 + [BARE] * 5)]
    write_trees(corpus, there)
    out, once = tmp_path / "out", tmp_path / "once"
    run(settings(corpus, limit=3, out=out))
    run(settings(corpus, limit=8, out=out))
    run(settings(corpus, limit=8, out=once))
    assert contents(out) == contents(once)
    assert read_json(out / "manifest.json")["notes"]["sentences without a reference span"] == 5


def test_a_dry_run_forecasts_only_what_is_new(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the run would take over of the earlier one is not made again."""
    out = tmp_path / "out"
    run(settings(corpus, limit=16, out=out))
    capsys.readouterr()
    run(settings(corpus, limit=30, out=out, dry_run=True))
    assert "4 to make of 8" in capsys.readouterr().out
    run(settings(corpus, limit=16, out=out, dry_run=True, unit=8))
    assert "all 4 units are finished and current" in capsys.readouterr().out


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers(
    corpus: Path, tmp_path: Path, forks: Any, start: Any, workers: int
) -> None:
    """Ten sentences by one, thirty by several."""
    out, once = tmp_path / "out", tmp_path / "once"
    run(settings(corpus, limit=30, out=once))
    run(settings(corpus, limit=10, out=out))
    work = partial(run, settings(corpus, limit=30, out=out))
    codes = [forks.end(child) for child in start(*[work] * workers)]
    assert codes == [0] * workers, (tmp_path / "log-0").read_text()
    assert contents(out) == contents(once)


def test_more_references_are_other_units(
    corpus: Path, tmp_path: Path, made: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A unit has fewer sentences then; a line says so, and all is made."""
    out = tmp_path / "out"
    run(settings(corpus, out=out, references=1))
    made.clear()
    run(settings(corpus, out=out, references=2))
    assert sum(made) == 60
    said = " ".join(capsys.readouterr().out.split())
    assert "no shard of the earlier run stays: references 1 → 2" in said
