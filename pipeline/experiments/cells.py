"""The cells of dvc.yaml, and what DVC says of them: which are up to date, and what it then records.

``settings_of`` reads a cell's command back as settings; ``check_texts`` looks whether the raw text that
a grid's language models read is there, before hours are spent.
"""

import logging
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_origin

from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.stage.cache import RunCacheNotFoundError

from pipeline.core.console import say
from pipeline.core.documents import read_yaml
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.settings import Settings
from pipeline.experiments.expansion import CELLS
from pipeline.pretrain.settings import PretrainSettings
from pipeline.text.segmentation import text_files


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its DVC name, its command, the names of the cells it needs, and its ``params``."""

    name: str
    command: str
    needs: frozenset[str]
    params: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """The stage it belongs to."""
        return self.name.partition("@")[0]


_READ_BY_DVC = (Path("dvc.yaml"), Path("dvc.lock"), Path("params.yaml"), CELLS)
_MANY = 500  # cells, of which DVC reads some sixty a second


class Cells:
    """The pipeline of the working directory; does around a command what ``dvc repro`` does.

    Raises:
        InputError: there is no DVC pipeline here, or it is malformed.
    """

    def __init__(self) -> None:
        # It would report every change of dvc.lock.
        logging.getLogger("dvc").setLevel(logging.WARNING)
        try:
            for file in _READ_BY_DVC:
                if file.exists():
                    read_yaml(file)  # of bounded size and depth, as nobody else sees to
            _say_if_many()
            self._repo = Repo()
            graph = self._repo.index.graph
        except (DvcException, SettingsError) as error:
            raise InputError(
                f"no usable DVC pipeline: {error}", remedy="run in the project's root"
            ) from error
        lock = Path("dvc.lock")
        recorded = (read_yaml(lock) or {}).get("stages", {}) if lock.exists() else {}
        self._recorded = {name: str(entry.get("cmd", "")) for name, entry in recorded.items()}
        # What is only tracked, by `dvc add`, has no command.
        self._stages: dict[str, Any] = {
            stage.addressing: stage for stage in graph if stage.cmd is not None
        }
        for name, stage in self._stages.items():
            if not isinstance(stage.cmd, str):
                raise InputError(
                    f"stage {name}: several commands", path="dvc.yaml", remedy="join them with &&"
                )
        self.all = [
            Cell(
                name,
                stage.cmd,
                frozenset(
                    s.addressing for s in graph.successors(stage) if s.addressing in self._stages
                ),
                tuple(sorted(p for d in stage.deps for p in getattr(d, "params", ()))),
            )
            for name, stage in self._stages.items()
        ]

    def stale(self, cells: Sequence[Cell]) -> set[Cell]:
        """Those that would run: out of date and not in the run cache, or after one that would.

        The latter may turn out to be up to date, if what they need comes out as it was before. That
        is certain, and so counted, where ``ingest`` runs only because there are more sizes or seeds, or
        fewer: its other outputs stay.

        Raises:
            InputError: another DVC holds its lock.
        """
        found: set[Cell] = set()
        spreading: set[str] = set()
        waiting = {cell.name: cell for cell in cells}
        while waiting:
            for cell in [c for c in waiting.values() if not c.needs & waiting.keys()]:
                del waiting[cell.name]
                follows = bool(cell.needs & spreading)
                only_draws = not follows and self._only_draws_changed(cell)
                if follows or self._must_run(cell):
                    found.add(cell)
                    spreading |= set() if only_draws else {cell.name}
        return found

    def _only_draws_changed(self, cell: Cell) -> bool:
        """Whether nothing has changed but the sizes and seeds that the command names."""
        stage = self._stages[cell.name]
        if not stage.cmd_changed or _without_draws(cell.command) != _without_draws(
            self._recorded.get(cell.name, "")
        ):
            return False
        with self._locked(cell):
            return not any(each.status() for each in [*stage.deps, *stage.outs])

    def _must_run(self, cell: Cell) -> bool:
        stage = self._stages[cell.name]
        with self._locked(cell):
            if not stage.changed():
                return False
            if not all(dep.exists for dep in stage.deps):
                # What it needs would come from the run cache, as it was when this cell ran last.
                return not all(out.exists for out in stage.outs)
            if stage.changed_stage() or not stage.deps_cached():
                # Ask the run cache by the inputs there are now, not by those of the last run; this
                # is in memory only.
                stage.save_deps()
                for out in stage.outs:
                    out.hash_info = type(out.hash_info)()
            try:
                self._repo.stage_cache.restore(stage, dry=True)
            except RunCacheNotFoundError:
                return True
            return False

    def begin(self, cell: Cell) -> bool:
        """Whether the cell must run; then its outputs are removed (those that persist are not).

        A cell that ran before with the same inputs gets its outputs from DVC's run cache.

        Raises:
            InputError: an input is missing, or another DVC holds its lock.
        """
        stage = self._stages[cell.name]
        with self._locked(cell):
            if not stage.changed():
                return False
            for need in stage.deps:
                if not need.exists:  # said while the cell's outputs of before are still there
                    raise InputError(
                        f"an input of {cell.name} is missing", path=str(need),
                        remedy="run the cell that makes it",
                    )  # fmt: skip
            stage.remove_outs(ignore_remove=False, force=False)
            try:
                self._repo.stage_cache.restore(stage)
            except RunCacheNotFoundError:
                return True
            self._record(stage)
            return False

    def finish(self, cell: Cell) -> None:
        """Record what the cell made, in dvc.lock and DVC's cache.

        Raises:
            InputError: the command did not write what dvc.yaml says.
        """
        with self._locked(cell):
            self._record(self._stages[cell.name])

    @contextmanager
    def _locked(self, cell: Cell) -> Iterator[None]:
        try:
            with self._repo.lock:
                yield
        except DvcException as error:
            raise InputError(f"{cell.name}: {error}", path="dvc.yaml") from error

    @staticmethod
    def _record(stage: Any) -> None:
        stage.save()
        stage.commit()
        stage.dump(update_pipeline=False)


def _say_if_many() -> None:
    cells = CELLS.read_text(encoding="utf-8").count("\n") if CELLS.exists() else 0  # a line each
    if cells > _MANY:
        say(f"some {cells:,} cells: DVC needs a while to read them")


def _without_draws(command: str) -> str:
    return re.sub(r" --(labelled|seeds) \S+", "", command)


_S = TypeVar("_S", bound=Settings)


def settings_of(
    command: str, kind: type[_S], read: Callable[[Path], dict[str, Any]] = Settings.read_params
) -> _S:
    """The settings that ``command`` would run with.

    Args:
        command: of a cell.
        kind: the settings of its stage.
        read: reads the params file that it names; of many commands one that remembers it.

    Raises:
        SettingsError: the command or its params file holds what is no setting of ``kind``.
    """
    given: dict[str, Any] = {}

    def several(name: str) -> bool:
        field = kind.model_fields.get(name)
        return field is not None and get_origin(field.annotation) is list

    try:
        words = shlex.split(command)[2:]  # after "conjoin STAGE"
        arguments = list(kind.arguments)
        while words:
            word = words.pop(0)
            if not word.startswith("--"):
                if several(arguments[0]):
                    given.setdefault(arguments[0], []).append(word)
                else:
                    given[arguments.pop(0)] = word
                continue
            option, given_so, value = word[2:].partition("=")  # as in --steps=100
            words[:0] = [value] if given_so else []
            name = option.replace("-", "_")
            negative = name.removeprefix("no_")
            if (field := kind.model_fields.get(negative)) and field.annotation is bool:
                given[negative] = name == negative
            elif several(name):
                given.setdefault(name, []).append(words.pop(0))
            else:
                given[name] = words.pop(0)
    except (
        ValueError,
        IndexError,
    ) as error:  # half a quote, a word too many, an option without value
        raise SettingsError(
            f"not a command of conjoin's: {command[:200]}", path="dvc.yaml"
        ) from error
    params, named = given.pop("params", None), given.pop("named", None)
    if params is None:
        return kind.build(given, None, named)
    return kind.from_document(given, read(Path(params)), Path(params), named)


def check_texts(cells: Iterable[Cell]) -> None:
    """Check that ``texts`` of every language model that is trained on raw text here exist.

    Raises:
        InputError: a file or folder is not there; the line says what to put in it.
        SettingsError: a command or params.yaml holds what is no setting.
    """
    for cell in cells:
        if cell.stage != "pretrain" or not cell.command.startswith("conjoin "):
            continue
        settings = settings_of(cell.command, PretrainSettings)
        if settings.ready is not None or settings.objective == "twins":
            continue  # neither reads raw text, though the corpus's `texts` are its settings too
        if (place := next((p for p in settings.texts if not _holds_text(p)), None)) is not None:
            setting = f"pretrain.{settings.corpus.name}.texts"
            raise InputError(
                f"no raw text for the language models ({setting})",
                path=place,
                remedy="put .txt, .txt.gz or .txt.xz files of sentences or running text there, or do "
                f"without: --set '{setting}=[]'",
            )


def _holds_text(place: Path) -> bool:
    """Whether ``pretrain`` would find a file there."""
    try:
        return bool(text_files(place))
    except InputError:
        return False
