"""A causal LM that runs here, from the stage's settings to its folder."""

from pathlib import Path

import pytest
from chat_model import chat_model

from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError
from pipeline.core.schema import read_candidates
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.infill.base import TOO_LONG
from pipeline.report.results import generator_name, model_system


def settings(corpus: Path, model: Path, **given: object) -> GenerateSettings:
    usual = {"corpus": corpus, "lm": "causal", "model": str(model), "limit": 6, "unit": 3}
    return GenerateSettings.model_validate(usual | given)


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*-of-*.parquet")}


def folder_in(place: Path) -> Path:
    (place / "model").mkdir()
    return place / "model"


@pytest.mark.parametrize("fills", ["free", "attested"])
def test_every_reference_leaves_a_row(fills: str, corpus: Path, tiny_causal: Path) -> None:
    """Written or chosen, with the scores of both twins; a second run has nothing to do."""
    own = settings(corpus, tiny_causal, fills=fills)
    run(own)
    out = default_out(own)
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"]["seen"] == 6
    assert generator_name(model_system("causal", {})) == "causal LM"
    rows = [row for path in out.glob("*-of-*.parquet") for row in read_candidates(path)]
    assert len(rows) == 6
    scored = [row for row in rows if row.score is not None]
    assert scored
    assert all(None not in (row.score_append, row.score_prepend) for row in scored)
    before = times(out)
    run(own)
    assert times(out) == before


def test_a_dry_run_writes_nothing(
    corpus: Path, tiny_causal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fills a few, and says what the run would take."""
    own = settings(corpus, tiny_causal, dry_run=True)
    run(own)
    assert "pairs" in capsys.readouterr().out
    assert not default_out(own).exists()


def test_rows_of_other_prompts_are_made_again(
    corpus: Path, tiny_causal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where their templates, or the form of a prompt, are others."""
    talking = chat_model(tiny_causal, folder_in(tmp_path), length=1024)
    out = tmp_path / "out"
    run(settings(corpus, talking, out=out))
    first = times(out)
    run(settings(corpus, talking, out=out, prompt="plain"))
    second = times(out)
    assert all(second[name] != first[name] for name in first)
    monkeypatch.setattr("pipeline.infill.families.causal.prompts_digest", lambda: "other")
    run(settings(corpus, talking, out=out, prompt="plain"))
    third = times(out)
    assert all(third[name] != second[name] for name in first)


def test_the_form_of_a_prompt_reaches_the_model(corpus: Path, tiny_causal: Path) -> None:
    """A base model has none for chats."""
    with pytest.raises(ModelError, match="has no chat template"):
        run(settings(corpus, tiny_causal, prompt="chat"))


def test_a_context_too_short_for_the_prompt_is_an_error(
    corpus: Path, tiny_causal: Path, tmp_path: Path
) -> None:
    """Every row is a reject then, which is said as what it is."""
    short = chat_model(tiny_causal, folder_in(tmp_path), length=64)
    out = tmp_path / "out"
    with pytest.raises(ModelError, match=r"all of what was tried.*the prompt counts"):
        run(settings(corpus, short, out=out))
    assert read_json(out / "manifest.json")["tally"]["refused"] == {TOO_LONG: 6}
