"""The cells of an experiment, as dvc.yaml reads them.

A system is a name; which candidates it learns from stands among its options. DVC cannot look a word up in a
mapping, so what a cell depends on is written beside its name in ``cells.yaml``:

    cells:
      train:
        world-t5-100-0: {corpus: world, system: t5, labelled: 100, seed: 0, candidates: …}

Nothing is there that no system, release or list of candidates needs: candidates follow from systems, language
models from candidates.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.corpora import (
    ARGUMENTS,
    COORDINATION,
    CORPORA,
    QUESTIONS,
    RELATIONS,
    CorpusDescription,
)
from pipeline.core.corpus_folder import (
    ARGUMENTS_FILE,
    INGEST_RECORD,
    QUESTIONS_FILE,
    RELATIONS_FILE,
    SENTENCES_FILE,
)
from pipeline.core.errors import SettingsError
from pipeline.core.names import PLAIN_NAME, is_plain_name, nearest, of_a_draw
from pipeline.core.settings import require_entry, shown
from pipeline.experiments.experiment import SOURCES, Experiment, table_of
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.structures import require_consistent
from pipeline.harvest.settings import HarvestSettings
from pipeline.ingest.settings import IngestSettings
from pipeline.pretrain.settings import PretrainSettings
from pipeline.select.settings import SelectSettings
from pipeline.select.strata import size_of_draw
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.train.settings import TrainSettings

CELLS = Path("cells.yaml")

_OF_EACH_TASK = {
    COORDINATION: (
        "ingest", "pretrain", "preparse", "generate", "harvest", "train", "evaluate", "audit", "report",
        "release",
    ),
    RELATIONS: ("ingest", "pretrain", "synthesize", "train", "evaluate", "report"),
    ARGUMENTS: ("ingest", "pretrain", "train", "evaluate", "report"),
    QUESTIONS: ("ingest", "pretrain", "pair", "train", "evaluate", "report"),
}  # fmt: skip
"""The sections of params.yaml with an entry for each corpus of a task."""

_EXPANDED = (
    "ingest", "pretrain", "preparse", "generate", "harvest", "synthesize", "pair", "ask", "select", "train",
    "evaluate", "audit", "report", "release",
)  # fmt: skip
"""The stages, in the order of dvc.yaml."""

_MAKING = ("generate", "harvest", "synthesize", "ask", "select")
"""Those that make candidates."""

_HEAD = """\
# The cells that `dvc repro` runs, made of experiments/default.yaml and params.yaml; not to be edited.
# `conjoin repro` makes them anew; for DVC alone: conjoin plan --write
"""


_PARSER = "parser"
"""Folder of the corpus's parser."""


def cells_of(experiment: Experiment, path: Path) -> dict[str, Any]:
    """What stands in ``cells.yaml``.

    Args:
        experiment: whose cells are wanted.
        path: of params.yaml, for errors.

    Raises:
        SettingsError: a corpus lacks its sections, a name is in no table or means two things, options are
            none of their stage, or two cells would have one name.
    """
    params = experiment.params
    for corpus in experiment.corpora:
        if isinstance(section := params.get("ingest"), Mapping):
            require_entry(section, "ingest", corpus, path)
        for stage in _OF_EACH_TASK[_description(experiment, corpus, path).task]:
            if isinstance(section := params.get(stage), Mapping):
                require_entry(section, stage, corpus, path)
    cells: dict[str, dict[str, Any]] = {stage: {} for stage in _EXPANDED}
    for corpus in experiment.corpora:
        of_corpus = _OfCorpus(experiment, corpus, path)
        of_corpus.expand()
        for stage, members in of_corpus.cells.items():
            if twice := cells[stage].keys() & members.keys():
                raise SettingsError(f"two cells would be called {stage}@{min(twice)}", path=path)
            cells[stage] |= members
    return {"corpora": list(experiment.corpora), "cells": cells}


def as_text(cells: Mapping[str, Any]) -> str:
    """``cells.yaml``, a cell a line."""
    lines = [f"corpora: {_flow(cells['corpora'])}", "cells:"]
    for stage, members in cells["cells"].items():
        lines.append(f"  {stage}:" if members else f"  {stage}: {{}}")
        lines += [f"    {name}: {_flow(cell)}" for name, cell in members.items()]
    return _HEAD + "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
    )
    return text.strip()


def _description(experiment: Experiment, corpus: str, path: Path) -> CorpusDescription:
    """What the reader of a corpus reads."""
    given: dict[str, Any] = {"source": Path("data/raw", corpus), "out": Path("data", corpus)}
    entry = table_of(experiment.params, "ingest", path).get(corpus)
    if not (isinstance(entry, Mapping) and entry.get("reader")):
        given["reader"] = corpus
    settings = IngestSettings.from_document(given, experiment.params, path)
    return CORPORA[settings.reader]


class _OfCorpus:
    """The cells of one corpus."""

    def __init__(self, experiment: Experiment, corpus: str, path: Path) -> None:
        self._experiment, self._corpus, self._path = experiment, corpus, path
        self._tables = {
            key: _table(experiment.params, key, path)
            for key in ("systems", "releases", "pairs", *SOURCES)
        }
        self._sizes = dict.fromkeys(map(str, experiment.labelled[corpus]))
        self._seeds = dict.fromkeys(experiment.seeds[corpus])
        self._read = _description(experiment, corpus, path)
        # What a stage does not need DVC is told twice of, for it wants a path.
        known = {RELATIONS: RELATIONS_FILE, QUESTIONS: QUESTIONS_FILE}
        self._file = known.get(self._read.task, SENTENCES_FILE)
        self._answers = ARGUMENTS_FILE if self._read.task == ARGUMENTS else self._file
        self.cells: dict[str, dict[str, Any]] = {stage: {} for stage in _EXPANDED}
        self._above: list[str] = []

    def expand(self) -> None:
        """Fill ``cells``."""
        experiment, seeds = self._experiment, self._experiment.seeds[self._corpus]
        for name, own in experiment.systems.items():
            for size in own.get("labelled", experiment.labelled[self._corpus]):
                for seed in own.get("seeds", seeds):
                    self._train(name, str(size), seed)
        for name in experiment.candidates:
            for seed in seeds:
                self._candidates(name, seed)
        for name in experiment.releases:
            if not seeds:
                raise SettingsError(
                    "seeds: a release is of the first seed, and there is none", path=self._path
                )
            released = self._candidates(name, seeds[0])
            options = self._tables["releases"]
            self._add(
                "release", [name],
                name=name, candidates=released, named=f" --named {name}" if name in options else "",
            )  # fmt: skip
        self._language_model("bert")  # the predictor's encoder
        draws = [f"--labelled {size}" for size in self._sizes]
        draws += [f"--seeds {seed}" for seed in self._seeds]
        raw = self._read.raw or self._corpus
        # A corpus that learns from no candidates has no folder of them.
        made = any(self.cells[stage] for stage in _MAKING)
        shown = {"candidates": "candidates" if made else "runs"}
        self._add("ingest", [], raw=raw, draws=" ".join(draws), file=self._file)
        if self._read.task == COORDINATION:
            self._add("preparse", [])
            self._add("audit", [])
            self._add("evaluate", [], file=self._file, parser=_PARSER)
            self._add("report", [], audit="audit", preparse="preparse.json", **shown)
        else:
            self._add("evaluate", [], file=self._file, parser=self._answers)
            self._add("report", [], audit="evaluation", preparse=INGEST_RECORD, **shown)

    def _add(self, stage: str, names: Iterable[Any], **values: Any) -> None:
        name = "-".join(map(str, [self._corpus, *names]))
        self.cells[stage].setdefault(name, {"corpus": self._corpus, **values})

    @contextmanager
    def _within(self, what: str) -> Iterator[None]:
        """What is needed on the way down; nothing may need itself."""
        if what in self._above:
            raise SettingsError(
                f"{' needs '.join([*self._above, what])}: it would wait for itself",
                path=self._path,
            )
        self._above.append(what)
        yield
        self._above.pop()

    def _train(self, system: str, size: str, seed: int) -> None:
        if system not in self._tables["systems"]:
            raise self._unknown("systems", system, self._tables["systems"])
        given = {"corpus": Path("data", self._corpus), "system": system, "seed": seed}
        settings = self._settings(TrainSettings, given)
        self._sizes[size] = self._seeds[seed] = None
        entry = self._tables["systems"][system] or {}
        folder = entry.get("candidates")
        # What a parser learned from is known where it lies; `preparse` makes no other one.
        place = _PARSER if settings.gold_of == _PARSER else self._answers
        first = of_a_draw(settings.encoder, seed, size)
        begun = first.startswith("runs/")
        if begun and folder is not None:
            raise SettingsError(
                f"systems.{system}: a cell can wait for candidates or for the run whose encoder it begins "
                "with, not for both",
                path=self._path,
            )
        with self._within(f"the system {system}"):
            if begun:
                place = self._run_of(Path("data", self._corpus, first), seed)
            elif folder is not None:
                place = self._candidates(folder, seed)
        self._add(
            "train", [settings.system, size, seed],
            system=system, labelled=_number(size), seed=seed, candidates=place, file=self._file,
        )  # fmt: skip

    def _candidates(self, name: str, seed: int) -> str:
        """Have a folder of candidates made; where it lies in the corpus."""
        of = [key for key in SOURCES if name in self._tables[key]]
        if not of:
            raise self._unknown(
                "candidates", name, [n for key in SOURCES for n in self._tables[key]]
            )
        if len(of) > 1:
            raise SettingsError(f"candidates {name}: in {' and in '.join(of)}", path=self._path)
        self._seeds[seed] = None
        make = {
            "generations": self._generate,
            "harvests": self._harvest,
            "syntheses": self._synthesize,
            "questions": self._ask,
            "selections": self._select,
        }[of[0]]
        with self._within(f"{name}"):
            make(name, seed)
        return f"candidates/{name}/seed-{seed}"

    def _generate(self, name: str, seed: int) -> None:
        given = {"corpus": Path("data", self._corpus), "seed": seed}
        settings = self._settings(GenerateSettings, given, name)
        require_consistent(settings)
        if settings.labelled is not None:
            self._sizes[settings.labelled] = None
        self._language_model(settings.lm)
        self._add("generate", [name, seed], name=name, lm=settings.lm, seed=seed)

    def _harvest(self, name: str, seed: int) -> None:
        given = {"corpus": Path("data", self._corpus), "seed": seed}
        settings = self._settings(HarvestSettings, given, name)
        self._sizes[settings.labelled] = None
        base = self._file
        if settings.parser_lm == "bert":
            self._language_model("bert")
            base = "models/bert"
        self._add("harvest", [name, seed], name=name, seed=seed, base=base)

    def _synthesize(self, name: str, seed: int) -> None:
        given = {"corpus": Path("data", self._corpus), "seed": seed}
        settings = self._settings(SynthesizeSettings, given, name)
        if settings.writer == "replay":
            raise SettingsError(
                f"syntheses.{name}: a cell replays nothing, for DVC keeps what was made",
                path=self._path, remedy="name the writer that it was, or make the folder by hand",
            )  # fmt: skip
        place = Path("data", self._corpus, str(settings.run).replace("{seed}", str(seed)))
        run = self._run_of(place / "predictor", seed)
        self._add("synthesize", [name, seed], name=name, seed=seed, run=run)

    def _ask(self, name: str, seed: int) -> None:
        """Questions of the event pairs that ``of`` names, which are the same for every seed."""
        pairs = (self._tables["questions"][name] or {}).get("of")
        if pairs not in self._tables["pairs"]:
            raise SettingsError(
                f"questions.{name}.of = {shown(pairs)}: must be one of pairs", path=self._path
            )
        self._add("pair", [pairs], name=pairs, file=self._file)
        self._add("ask", [name, seed], name=name, seed=seed, pairs=pairs, file=self._file)

    def _select(self, name: str, seed: int) -> None:
        """A selection may need one more path than the first folder that it chooses from."""
        entry = self._tables["selections"][name] or {}
        of = entry.get("of")
        named = [each for each in (of if isinstance(of, list) else [of]) if isinstance(each, str)]
        if not named or len(named) < (len(of) if isinstance(of, list) else 1):
            raise SettingsError(
                f"selections.{name}.of = {shown(of)}: must name candidates", path=self._path
            )
        folders = [self._candidates(each, seed) for each in named]
        given = {"places": folders, "out": name, "seed": seed}
        settings = self._settings(SelectSettings, given, name)
        if settings.like and (size := size_of_draw(settings.like, Path("data", self._corpus))):
            self._sizes[size] = None
        asked = [*settings.agree, *([settings.predictor] if settings.predictor else [])]
        beside = folders[1:] + [self._run_of(predictor, seed) for predictor in asked]
        if len(beside) > 1:
            raise SettingsError(
                f"selections.{name}: a cell can wait for two folders, not for {len(beside) + 1}",
                path=self._path, remedy="choose twice, the second time from what was chosen first",
            )  # fmt: skip
        places = " ".join(f"data/{self._corpus}/{folder}" for folder in folders)
        self._add(
            "select", [name, seed],
            name=name, seed=seed, places=places, first=folders[0],
            beside=beside[0] if beside else self._file,
        )  # fmt: skip

    def _run_of(self, predictor: Path, seed: int) -> str:
        """Have the run of a predictor made; where it lies in the corpus."""
        parts = predictor.parts
        known = (
            len(parts) == 7
            and parts[:3] == ("data", self._corpus, "runs")
            and parts[-1] == "predictor"
        )
        if not (known and parts[5] == f"seed-{seed}" and all(map(is_plain_name, parts))):
            raise SettingsError(
                f"{shown(str(predictor))}: must be a predictor of this corpus and seed: "
                f"data/{self._corpus}/runs/SYSTEM/LABELLED/seed-{{seed}}/predictor",
                path=self._path,
            )
        self._train(parts[3], parts[4], seed)
        return str(Path(*parts[2:-1]))

    def _language_model(self, name: str) -> None:
        for seed in self._experiment.lm_seeds:
            given = {"corpus": Path("data", self._corpus), "lm": name, "seed": seed}
            settings = self._settings(PretrainSettings, given)
            base, trees = self._file, self._file
            own = settings.base is not None and settings.base.startswith("models/")
            if settings.base is not None and own:
                base = settings.base
                with self._within(f"the language model {name}"):
                    self._language_model(settings.base.removeprefix("models/"))
            if settings.objective == "twins":
                trees = "coordinated"
            self._add(
                "pretrain", [name, seed],
                lm=name, seed=seed, base=base, trees=trees, raw=self._read.raw or self._corpus,
                file=self._file,
            )  # fmt: skip

    def _settings(self, kind: type[Any], given: Mapping[str, Any], named: str | None = None) -> Any:
        return kind.from_document(given, self._experiment.params, self._path, named)

    def _unknown(self, what: str, name: object, known: Iterable[object]) -> SettingsError:
        names = list(map(str, known))
        return SettingsError(
            f"{what}: no {shown(name)} in this file; there are: {', '.join(names) or 'none'}",
            path=self._path, remedy=nearest(str(name), names) or None,
        )  # fmt: skip


def _table(params: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    """A table of options by name, with names that may stand in commands and paths."""
    found = table_of(params, key, path)
    for name, entry in found.items():
        if not (isinstance(name, str) and is_plain_name(name)):
            raise SettingsError(f"{key}: {shown(name)} must be {PLAIN_NAME}", path=path)
        if not (entry is None or isinstance(entry, Mapping)):
            raise SettingsError(f"{key}.{name} must be a mapping of options", path=path)
    return found


def _number(size: str) -> int | str:
    return int(size) if size.isdecimal() else size
