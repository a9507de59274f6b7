"""Experiments: one small file each, which names corpora, sizes, seeds and systems.

``experiments/NAME.yaml`` has only what differs from ``experiments/default.yaml``, which plain ``dvc repro``
runs. What a name means stands in params.yaml: ``systems``, ``generations``, ``harvests``, ``syntheses``,
``pairs``, ``questions`` and ``selections`` are tables of options by name, and an experiment may add its own
to ``systems``. Its other keys are sections of params.yaml, of which it changes some values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.documents import read_yaml
from pipeline.core.errors import SettingsError
from pipeline.core.names import PLAIN_NAME, is_plain_name, nearest
from pipeline.core.settings import shown

FOLDER = Path("experiments")
DEFAULT = "default"

LISTS = (
    "corpora", "labelled", "seeds", "lm_seeds", "systems", "candidates", "releases",
)  # fmt: skip
"""What an experiment lists; its other keys are sections of params.yaml."""

SOURCES = ("generations", "harvests", "syntheses", "questions", "selections")
"""The tables of params.yaml whose entries make folders of candidates; a name is in one of them."""

_BY_CORPUS = ("labelled", "seeds")
"""Lists of which a corpus may have its own: ``{default: [250, 500], world: [100, 250]}``."""

_OF_A_SYSTEM = ("labelled", "seeds")
"""Lists that a system of an experiment may have for itself."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be run.

    Attributes:
        corpora: in this order.
        labelled: corpus → sizes of L.
        seeds: corpus → seeds of the draw of L, of generation and of fine-tuning.
        lm_seeds: seeds of the language models.
        systems: by name, with the sizes and seeds of their own.
        candidates: more folders of candidates than the systems and releases need.
        releases: folders of candidates that become dataset repositories.
        params: params.yaml as the experiment has it.
    """

    corpora: Sequence[str]
    labelled: Mapping[str, Sequence[int | str]]
    seeds: Mapping[str, Sequence[int]]
    lm_seeds: Sequence[int]
    systems: Mapping[str, Mapping[str, Sequence[Any]]]
    candidates: Sequence[str]
    releases: Sequence[str]
    params: Mapping[str, Any] = field(repr=False)


def place_of(name: str) -> Path:
    """The file of an experiment, by its name or its path.

    Raises:
        SettingsError: there is no such file; the name most like it is named.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        known = sorted(each.stem for each in FOLDER.glob("*.yaml") if each.is_file())
        raise SettingsError(
            f"no experiment {shown(name)}; there are: {', '.join(known) or 'none'}",
            remedy=nearest(name, known) or None,
        )
    return path


def read_experiment(
    name: str, params: Mapping[str, Any], lists: Mapping[str, Any], path: Path
) -> Experiment:
    """An experiment, with what it changes in params.yaml.

    Args:
        name: its name or its file.
        params: params.yaml.
        lists: to take instead of its own.
        path: of params.yaml, for errors.

    Raises:
        SettingsError: no such experiment, or what it says is no list, no name or nothing of params.yaml.
    """
    file = place_of(name)
    given = _read(file)
    usual = given if file == FOLDER / f"{DEFAULT}.yaml" else _read(place_of(DEFAULT))
    if unknown := next((key for key in given if key not in LISTS and key not in params), None):
        raise SettingsError(
            f"{unknown}: an experiment has {', '.join(LISTS)} and sections of {path}",
            path=file, remedy=nearest(unknown, [*LISTS, *params]) or None,
        )  # fmt: skip
    if usual is given and (extra := next((key for key in given if key not in LISTS), None)):
        raise SettingsError(
            f"{extra}: what the default experiment changes in {path} should stand there", path=file
        )
    chosen = {**{key: usual.get(key) for key in LISTS}, **given, **lists}
    # Where each list stands, for what is wrong with it.
    of = {key: file if key in given or key in lists else place_of(DEFAULT) for key in LISTS}
    corpora = _names("corpora", chosen["corpora"], of["corpora"])
    document = {**params, **{k: _over(params[k], v) for k, v in given.items() if k not in LISTS}}
    _require_known_corpora(
        {**given, **{key: chosen[key] for key in _BY_CORPUS}}, document, of, file
    )
    systems, defined = _systems(chosen["systems"], of["systems"])
    if usual is given and defined:
        raise SettingsError(
            f"systems.{next(iter(defined))}: options of the default experiment should stand in {path}",
            path=file,
        )
    table = table_of(document, "systems", path)
    document["systems"] = {
        **table,
        **{key: {**(table.get(key) or {}), **options} for key, options in defined.items()},
    }
    return Experiment(
        corpora=corpora,
        **{
            key: {c: _of_corpus(key, chosen[key], c, of[key]) for c in corpora}
            for key in _BY_CORPUS
        },
        lm_seeds=_numbers(
            "lm_seeds", [0] if chosen["lm_seeds"] is None else chosen["lm_seeds"], of["lm_seeds"]
        ),
        systems=systems,
        candidates=_names("candidates", chosen["candidates"], of["candidates"]),
        releases=_names("releases", chosen["releases"], of["releases"]),
        params=document,
    )


def _require_known_corpora(
    said: Mapping[str, Any], document: Mapping[str, Any], of: Mapping[str, Path], file: Path
) -> None:
    """Check that what is said of a corpus by its name is of one that there is, else nobody would read it.

    Args:
        said: by list or section.
        document: params.yaml.
        of: where lists stand.
        file: where the rest does.

    Raises:
        SettingsError: it is not; the name most like it is named.
    """
    ingested = document.get("ingest")
    known = [DEFAULT, *(map(str, ingested) if isinstance(ingested, Mapping) else ())]
    for key, value in said.items():
        section = document.get(key)
        # Sections without a default are tables of options by name.
        by_corpus = key in _BY_CORPUS or (isinstance(section, Mapping) and DEFAULT in section)
        if not (by_corpus and isinstance(value, Mapping)):
            continue
        if strange := next((each for each in map(str, value) if each not in known), None):
            raise SettingsError(
                f"{key}: {shown(strange)} is no corpus of section ingest; there are: {', '.join(known[1:])}",
                path=of.get(key, file), remedy=nearest(strange, known) or None,
            )  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    found = read_yaml(path)
    if found is None:  # nothing but comments
        found = {}
    if not isinstance(found, dict):
        raise SettingsError("must be a mapping: corpora, labelled, seeds, systems", path=path)
    return {str(key): value for key, value in found.items()}


def _over(below: Any, above: Any) -> Any:
    """Mappings are merged key by key; anything else is replaced."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: _over(below.get(key), value) for key, value in above.items()}}


def table_of(params: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    """A table of options by name of params.yaml; empty where it is not there.

    Raises:
        SettingsError: it is no mapping.
    """
    found = params.get(key) or {}
    if not isinstance(found, Mapping):
        raise SettingsError(f"{key} must be a mapping of options by name", path=path)
    return found


def _systems(
    found: Any, path: Path
) -> tuple[dict[str, dict[str, Sequence[Any]]], dict[str, dict[str, Any]]]:
    """The systems with sizes and seeds of their own, and the options that the experiment gives them."""
    own: dict[str, dict[str, Sequence[Any]]] = {}
    defined: dict[str, dict[str, Any]] = {}
    for each in _list("systems", found, path):
        name, options = next(iter(each.items())) if isinstance(each, dict) and each else (each, {})
        _require_name("systems", name, path)
        if not isinstance(options, dict) or (isinstance(each, dict) and len(each) > 1):
            raise SettingsError(
                f"systems: {shown(each)} must be a name, or a name with its options: "
                "{NAME: {candidates: t5-sync, mode: filter}}",
                path=path,
            )
        if name in own:
            raise SettingsError(f"systems: {name} is named twice", path=path)
        own[name] = {
            key: _sizes(f"{name}.{key}", options[key], path)
            for key in _OF_A_SYSTEM
            if key in options
        }
        if rest := {key: value for key, value in options.items() if key not in _OF_A_SYSTEM}:
            defined[name] = rest
    return own, defined


def _of_corpus(key: str, value: Any, corpus: str, path: Path) -> list[Any]:
    if isinstance(value, Mapping):
        if corpus not in value and DEFAULT not in value:
            raise SettingsError(f"{key}: neither {DEFAULT} nor {corpus}", path=path)
        value = value.get(corpus, value.get(DEFAULT))
    return _sizes(key, value, path)


def _sizes(key: str, value: Any, path: Path) -> list[Any]:
    if not key.endswith("labelled"):
        return _numbers(key, value, path)
    found = _list(key, value, path)
    for each in found:
        if each != "full" and (not isinstance(each, int) or isinstance(each, bool) or each < 1):
            raise SettingsError(f"{key}: {shown(each)} must be a number above 0 or full", path=path)
    return found


def _numbers(key: str, value: Any, path: Path) -> list[int]:
    found = _list(key, value, path)
    for each in found:
        if not isinstance(each, int) or isinstance(each, bool) or each < 0:
            raise SettingsError(
                f"{key}: {shown(each)} must be a whole number, 0 or above", path=path
            )
    return found


def _names(key: str, value: Any, path: Path) -> list[str]:
    found = _list(key, [] if value is None and key != "corpora" else value, path)
    for each in found:
        _require_name(key, each, path)
    return found


def _list(key: str, value: Any, path: Path) -> list[Any]:
    if not isinstance(value, list):
        raise SettingsError(f"{key} = {shown(value)}: must be a list", path=path)
    return value


def _require_name(key: str, name: object, path: Path) -> None:
    # It becomes a part of shell commands and paths: DVC puts it there as it is.
    if not (isinstance(name, str) and is_plain_name(name)):
        raise SettingsError(f"{key}: {shown(name)} must be {PLAIN_NAME}", path=path)
