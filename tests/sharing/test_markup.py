"""Text of a corpus is shown as it stands, though the library that draws tables knows signs for colours."""

import shutil
from pathlib import Path

import pytest
from damaged import REJECTS, SHARD, make_release, rewrite

from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings


def test_no_label_reason_or_folder_is_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What closes or opens a style is printed by every table, and ends none of the commands."""
    monkeypatch.chdir(tmp_path)
    place = Path("[red]")
    make_release(place, Path("toy"))
    rewrite(place, SHARD, lambda rows: [row | {"label": "[/x]"} for row in rows])
    rewrite(place, REJECTS, lambda rows: [row | {"reason": "[bold]"} for row in rows])
    shutil.copytree(place, "[/y]")
    capsys.readouterr()

    def printed() -> str:
        return capsys.readouterr().out

    stats.run(StatsSettings(place=place))
    out = printed()
    assert "[/x]" in out
    assert "[bold]" in out
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=place))
    assert "'[/x]'" in printed()
    for folder in (place, Path("[/y]")):  # who writes rows on takes no such label
        rewrite(folder, SHARD, lambda rows: [row | {"label": "NP"} for row in rows])
    merge.run(MergeSettings(places=[place, Path("[/y]")], out=Path("merged")))
    out = printed()
    assert " [red] " in out
    assert " [/y] " in out
    release.run(ReleaseSettings(candidates=place, out=Path("again")))
    assert "[bold]" in printed()
