"""``conjoin release RUN``: the predictor of a finished run as a model repository."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.core.annotation import as_json, described
from pipeline.core.cards.predictors import PredictorManifest
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import corpus_name
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.markdown import percent
from pipeline.core.parquet import MANIFEST
from pipeline.core.settings import shown_place
from pipeline.corpus.licences import canonical
from pipeline.release.package import write_checksums
from pipeline.release.predictors.card import write_predictor_documents
from pipeline.release.predictors.figures import figures_of
from pipeline.release.predictors.finished import FinishedRun, read_run
from pipeline.release.predictors.learned import learned_from, licence_of_weights
from pipeline.release.predictors.package import CARD, RUN_CARD, earlier_predictor
from pipeline.release.settings import ReleaseSettings

_OF_CANDIDATES = {"stand_off": False, "trees": False, "shards": None, "seed": 0}
"""Options that rows alone have, and their values where nobody gave them."""


def release_predictor(settings: ReleaseSettings, folder: Path) -> None:
    """Write the release of a run's predictor into ``settings.out``, whole or not at all.

    Args:
        settings: of the command.
        folder: of the run.

    Raises:
        InputError: the run is not finished, or damaged; a licence is not known or permits nothing, and none
            was declared; ``out`` is something else than a release of a predictor.
        ModelError: the predictor is damaged, or of another format.
        SettingsError: an option of candidates was given.
    """
    for name, usual in _OF_CANDIDATES.items():
        if getattr(settings, name) != usual:
            raise SettingsError(
                f"--{name.replace('_', '-')} is for candidates, and {settings.candidates} is a run, whose "
                "predictor is released: leave it out"
            )
    claim = Claim(settings.out, "release", [folder], earlier_predictor)
    claim.check()
    run = read_run(folder, settings.corpus)
    manifest = _manifest(settings, run)
    with appearing(claim) as out:
        for name in (*run.saved["files"], CARD):
            shutil.copyfile(run.predictor / name, out / name)
        write_json(out / RUN_CARD, _without_paths(run.card))
        write_json(out / MANIFEST, manifest)
        write_predictor_documents(out, manifest, run)
        write_checksums(out)
    _print(settings, manifest)


def _manifest(settings: ReleaseSettings, run: FinishedRun) -> PredictorManifest:
    sources, base = learned_from(run)
    licence, is_declared = licence_of_weights(sources, settings.license, run.folder)
    if settings.license is not None and not is_declared:
        say(
            f"--license {settings.license} changes nothing: what it learned from has licences that permit it"
        )
    name = None if run.corpus is None else corpus_name(run.corpus)
    system = str(run.card["system"])
    manifest: PredictorManifest = {
        "conjoin": __version__,
        "kind": "predictor",
        "format": 1,
        "name": settings.name or "-".join(filter(None, ("conjoin", name, system, run.draw))),
        "version": settings.version,
        "authors": list(settings.author),
        "url": settings.url,
        "license": licence,
        "declared": canonical(settings.license or "") if is_declared else None,
        "learned_from": sources,
        "task": run.task.name,
        "predictor": run.saved["format"],
        "files": dict(run.saved["files"]),
        "base_model": base,
        "corpus": name,
        "system": system,
        "command": settings.shown_command(frozenset({*_OF_CANDIDATES, "trees_of"})),
        "annotation": as_json(run.annotation),
        "annotated": described(run.annotation, name or ""),
    }
    if CARD in manifest["files"] or not _are_names(manifest["files"]):
        raise InputError(f"{CARD} lists files that no predictor has", path=run.predictor)
    found = figures_of(run)
    if isinstance(found, str):
        manifest["not_evaluated"] = found
    else:
        manifest["figures"] = found
    return manifest


_TAKEN = {"README.md", "LICENSE", RUN_CARD, MANIFEST, "SHA256SUMS"}


def _are_names(files: Mapping[str, str]) -> bool:
    return not _TAKEN & files.keys()


def _without_paths(value: Any) -> Any:
    """A card as it is published: of absolute paths the last two parts."""
    if isinstance(value, str):
        return shown_place(Path(value)) if Path(value).is_absolute() else value
    if isinstance(value, Mapping):
        return {key: _without_paths(each) for key, each in value.items()}
    return list(map(_without_paths, value)) if isinstance(value, list | tuple) else value


def _print(settings: ReleaseSettings, manifest: PredictorManifest) -> None:
    table(
        f"{manifest['name']} {manifest['version']} in {settings.out}: learned from",
        ("what", "name", "items", "licence"),
        [(s["part"], s["name"], s.get("rows") or "–", s["license"]) for s in manifest["learned_from"]],
    )  # fmt: skip
    by = f", {manifest['declared']} of it declared with --license" if manifest["declared"] else ""
    say(f"licence    {manifest['license']}{by}")
    say(f"annotated  {manifest['annotated']}")
    if "figures" not in manifest:
        say(
            f"figures    not evaluated: {manifest['not_evaluated']}; `conjoin evaluate` its corpus first"
        )
        return
    found = manifest["figures"]
    say(
        f"figures    {found['figure']} {percent(found['overall'])} %, 95 % interval {percent(found['low'])} "
        f"to {percent(found['high'])} over {found['resampled']} of {found['split']}"
    )
