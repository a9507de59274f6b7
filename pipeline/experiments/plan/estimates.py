"""Estimates of what the cells of a grid take and leave behind, each with where it comes from.

Where nothing was measured before, ``probe_training``, ``probe_generation`` and ``probe_synthesis`` time the
real code at the real shape for a few seconds.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import SENTENCES_FILE, ingest_card, require_ingested
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError
from pipeline.core.parquet import MANIFEST
from pipeline.core.runs import NO_AUGMENTATION
from pipeline.core.schema import read_sentences
from pipeline.core.settings import Settings
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.executor.launch import threads_of_torch
from pipeline.experiments.cells import Cell, settings_of
from pipeline.experiments.durations import Duration, Durations
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.sources import source_of
from pipeline.harvest.settings import HarvestSettings
from pipeline.ingest.draws import draw, drawable
from pipeline.sources.dry_run import Probe, probe_source
from pipeline.tasks.known import task_of
from pipeline.tasks.protocol import Task
from pipeline.tasks.questions.ask.settings import AskSettings
from pipeline.tasks.relations.synthesize.confused import confused
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.tasks.relations.synthesize.stage import source_of as pairs_of
from pipeline.train.data import fresh_model
from pipeline.train.distributed import ProcessGroup
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.settings import TrainSettings
from pipeline.train.stream import LabelledStream
from pipeline.train.validation import validate

_ENOUGH = 2.0  # seconds of each measurement
_SAMPLE = 250  # labelled sentences to measure with


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """What parts of training take.

    Attributes:
        full: seconds of an update on N_batch examples.
        least: seconds of an update on the N_batch - K of L alone.
        round: seconds of scoring K candidates.
        validation: seconds of predicting one validation sentence.
        weights: bytes of a predictor.
    """

    full: float
    least: float
    round: float
    validation: float
    weights: int

    def seconds(self, settings: TrainSettings, validation: int) -> float:
        """A run's seconds, start-up and early stopping aside.

        Candidates and variants are taken to be as long as labelled sentences; the making of variants is not
        counted. How many candidates are accepted is not known before: of K_max = 2 K the paper's filter may
        accept none or K, so its updates are counted as halfway between the smallest and the largest batch,
        and as many as K_max are scored.

        Args:
            settings: of the run.
            validation: sentences validated on.
        """
        warm = min(settings.warm_steps, settings.steps)
        rounds, update = -(-settings.k_max // max(settings.k, 1)), (self.full + self.least) / 2
        if settings.mode in ("baseline", "no-filter"):
            rounds, update = 0, self.full
        elif settings.accept == "quantile":
            update = self.full
        warm_update, variants = self.full, settings.augment != NO_AUGMENTATION
        if variants:  # of each labelled example of a batch
            warm_update *= 2
            update += self.full if settings.mode == "baseline" else self.least
        return (
            warm * warm_update
            + (settings.steps - warm) * (update + rounds * self.round)
            + settings.steps // settings.eval_every * validation * self.validation
        )


def _sample(settings: TrainSettings, task: Task[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Some labelled and validation sources: of coordination without the draw, which need not be there yet.

    Raises:
        InputError: the corpus is not ingested, or has too few labelled sentences.
    """
    if task.name != COORDINATION:
        labelled, watched = task.draw(settings.corpus, settings.seed, settings.labelled)
        return labelled[:_SAMPLE], watched[: _SAMPLE // 5]
    require_ingested(settings.corpus)
    path = settings.corpus / SENTENCES_FILE
    sentences = {s.sentence_id: s for s in read_sentences(path, lambda s: bool(drawable([s])))}
    size = min(_SAMPLE, max(5, len(sentences) * 5 // 6))
    chosen = draw(sentences, size, settings.seed)
    return [sentences[i] for i in chosen.labelled], [sentences[i] for i in chosen.validation]


def probe_training(settings: TrainSettings) -> TrainingSpeed:
    """Time updates, scoring and validation for a few seconds.

    Raises:
        InputError: the corpus is not ingested, or has too few labelled sentences.
        ModelError: the encoder is not there.
    """
    task = task_of(settings.corpus)
    labelled, watched = _sample(settings, task)
    with threads_of_torch(settings.threads):
        predictor = fresh_model(settings, task, settings.seed, best_device())
        learned = task.examples(labelled, predictor).learned
        measured = task.examples(watched, predictor).measured
        group = ProcessGroup(0, 1, predictor.device, settings.mixed_precision)
        stream = LabelledStream(learned, settings.seed)
        optimizer = Optimizer(predictor, Schedule.of(settings), 0, group)

        def update(size: int) -> Callable[[int], object]:
            return lambda n: optimizer.update(stream.sample(n * size, size), 0)

        def score(n: int) -> None:
            examples = stream.sample(n * settings.k, settings.k)
            with group.autocast():
                predictor.opinions(examples)

        few = settings.n_batch - settings.k
        full = _seconds(update(settings.n_batch))
        least = _seconds(update(few)) if 0 < few < settings.n_batch else full
        a_round = _seconds(score) if settings.k else 0.0

        def look(_: int) -> None:
            with group.autocast():
                validate(predictor, measured)

        validation = _seconds(look)
        weights = sum(p.numel() * p.element_size() for p in predictor.parameters())
        return TrainingSpeed(full, least, a_round, validation / len(measured), weights)


def probe_generation(settings: GenerateSettings) -> tuple[Probe, int]:
    """Time the first pairs of a run; returns the probe and how many pairs there are at most.

    Raises:
        InputError: there are no trees, or none has a reference span; or a language model behind an address
            would be asked.
        ModelError: the language model is not there.
        SettingsError: a decoding that cannot give as many fills.
    """
    source = source_of(settings)
    if settings.served is not None:
        raise _behind_an_address(settings.model, settings.corpus)
    tried = probe_source(source, range(len(source.sizes)), best_device(), _ENOUGH)
    if tried is None:
        raise InputError("no tree has a reference span", path=settings.corpus)
    return tried, sum(source.sizes)


def probe_synthesis(settings: SynthesizeSettings) -> tuple[Probe, int]:
    """Time the first sources of a run; returns the probe and how many sources there are.

    Raises:
        ConjoinError: the run whose errors are looked for is not there, or confuses nothing; of the writer.
        InputError: a language model behind an address would be asked; or L has no pair to write for.
    """
    if settings.writer == "served":
        raise _behind_an_address(settings.model, settings.corpus)
    source = pairs_of(settings, confused(settings))
    tried = probe_source(source, range(len(source.sizes)), best_device(), _ENOUGH)
    if tried is None:
        raise InputError("L has no pair of a confused relation", path=settings.corpus)
    return tried, sum(source.sizes)


def _behind_an_address(model: str | None, corpus: Path) -> InputError:
    return InputError(f"{model} is behind an address, which no plan asks", path=corpus)


def _seconds(work: Callable[[int], object]) -> float:
    """Mean seconds of a call, after two that warm the caches."""
    for n in range(2):
        work(n)
    done, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < _ENOUGH / 2 or done < 3:
        work(done + 2)
        done += 1
    return passed / done


PROBE = "probe"
_GATHER = {"evaluate", "audit", "report"}
_MIN_WORDS = "of_10_words_or_more"
_STATES = 4  # times the weights in a checkpoint: they, the best ones, two of AdamW's
_S = TypeVar("_S", bound=Settings)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, None if it cannot be known yet, and where it is from (or why it is not known)."""

    value: float | None
    source: str


class Estimates:
    """Estimates for cells.

    Commands are read when this is made, so while params.yaml is as the cells will read it.

    Args:
        cells: of the grid.
        durations: what was measured before.
        probing: whether to probe where nothing was.

    Attributes:
        obstacles: why probes could not be made, each reason once.

    Raises:
        SettingsError: a command or params.yaml holds what is no setting.
    """

    def __init__(self, cells: Sequence[Cell], durations: Durations, *, probing: bool) -> None:
        self._durations, self._probing = durations, probing
        read = cache(Settings.read_params)  # of thousands of cells all name one params file
        self.training = _settings(cells, TrainSettings, read)
        self.generation = _settings(cells, GenerateSettings, read)
        self.synthesis = _settings(cells, SynthesizeSettings, read)
        self._harvests = _settings(cells, HarvestSettings, read)
        self._questions = _settings(cells, AskSettings, read)
        self._evaluation = _settings(cells, EvaluateSettings, read)
        self._tried: dict[str, Any] = {}
        self.obstacles: dict[str, None] = {}

    def time(self, cell: Cell) -> Duration | None:
        """Seconds of a cell: measured, else probed; None if it cannot be known yet."""
        runs = self._runs(cell)
        if known := self._durations.known(cell, runs):
            return known
        seconds: float | None = None
        if settings := self.training.get(cell):
            if speed := self._speed(settings):
                seconds = speed.seconds(settings, _validation(settings)) / settings.processes
        elif of := self.generation.get(cell):
            if tried := self._generated(of):
                seconds = tried[1] * tried[0].seconds / tried[0].items / of.processes
        elif written := self.synthesis.get(cell):
            if tried := self._written(written):
                seconds = tried[1] * tried[0].seconds / tried[0].items / written.processes
        elif (about := self._evaluation.get(cell)) and self.training:
            like = next((s for s in self.training.values() if s.corpus == about.corpus), None)
            split = ingest_card(about.corpus).get("splits", {}).get(about.split, {})
            count = split.get("with_coordination", split.get("of_these_senses"))
            if like and count is not None and (speed := self._speed(like)):
                seconds = (runs or 0) * count * speed.validation
        return None if seconds is None else Duration(seconds, PROBE)

    def _runs(self, cell: Cell) -> int | None:
        """How many runs a cell that reads them all would find."""
        if cell.stage not in _GATHER:
            return None
        corpus = Path((cell.command.split() + [""] * 3)[2])
        there = {p.parent for p in corpus.glob("runs/*/*/seed-*/run.json")}
        return len(there | {_out(s) for s in self.training.values() if s.corpus == corpus})

    def candidates(self, folder: Path) -> Figure:
        """Candidates in a folder, or the pairs they would come from."""
        if (folder / MANIFEST).is_file():
            shards = read_json(folder / MANIFEST, CandidatesManifest, needs=["shards"])["shards"]
            rows = [s["rows"] for s in shards if s["file"].startswith("candidates-")]
            return Figure(sum(rows), "generated")
        settings = next((s for s in self.generation.values() if s.out == folder), None)
        if settings is None:
            return self._not_generated(folder)
        try:
            return Figure(sum(source_of(settings).sizes), "pairs, by the trees")
        except ConjoinError:
            seeds = (ingest_card(settings.corpus).get("unlabelled_seeds") or {}).get(_MIN_WORDS)
        if seeds is None:
            return Figure(None, "the corpus is not ingested")
        pairs = min(seeds, settings.limit or seeds) * settings.references
        return Figure(pairs, "pairs, by the sentences of U" if pairs else "sentences of U")

    def run_size(self, settings: TrainSettings) -> Figure:
        """Bytes of a run's folder."""
        done = [p.parent for p in settings.corpus.glob("runs/*/*/seed-*/run.json")]
        if done:
            return Figure(sum(map(_bytes, done)) / len(done), "runs there")
        if speed := self._speed(settings):
            return Figure(speed.weights, "probe (weights)")
        return Figure(None, "no encoder to look at yet")

    def checkpoints_size(self, settings: TrainSettings) -> Figure:
        """Bytes of a run's checkpoints while it goes on, with the one that is being written."""
        if not settings.checkpoint_every or settings.checkpoint_every >= settings.steps:
            return Figure(0.0, "it ends before the first")
        kept = min(settings.keep + 1, (settings.steps - 1) // settings.checkpoint_every)
        run = self.run_size(settings)
        return Figure(run.value and _STATES * kept * run.value, f"{run.source} × {_STATES * kept}")

    def _not_generated(self, folder: Path) -> Figure:
        """Candidates that another stage than ``generate`` makes; of new argument pairs at most so many."""
        if any(harvest.out == folder for harvest in self._harvests.values()):
            return Figure(None, "harvested from text that is not parsed yet")
        if any(asked.out == folder for asked in self._questions.values()):
            return Figure(None, "asked of event pairs that are not there yet")
        settings = next((s for s in self.synthesis.values() if s.out == folder), None)
        if settings is None:
            return Figure(None, "no stage of this grid makes them")
        tried = self._written(settings)
        if tried is None:
            return Figure(None, "what the run confuses is not known yet")
        if settings.writer == "attested":
            return Figure(tried[1], "explicit pairs of what the run confuses")
        return Figure(None, f"lists for {tried[1]:,} pairs of L")

    def shards_size(self, settings: GenerateSettings | SynthesizeSettings) -> Figure:
        """Bytes of a folder of candidates and rejects."""
        out = settings.out
        done = list(out.parent.glob(f"seed-*/{MANIFEST}")) if out else []
        if done:
            return Figure(sum(_bytes(p.parent) for p in done) / len(done), "shards there")
        if isinstance(settings, SynthesizeSettings):
            tried, lacking = self._written(settings), "no run to look for errors in yet"
        else:
            tried, lacking = self._generated(settings), "no trees or no language model yet"
        if tried:
            return Figure(tried[0].size / tried[0].items * tried[1], "probe (candidates)")
        return Figure(None, lacking)

    def _speed(self, settings: TrainSettings) -> TrainingSpeed | None:
        names = {"corpus", "encoder", "n_batch", "k", "mlp_hidden", "mixed_precision", "threads"}
        return self._try(
            f"train {settings.model_dump(include=names)}", lambda: probe_training(settings)
        )

    def _generated(self, settings: GenerateSettings) -> tuple[Probe, int] | None:
        key = f"generate {settings.model_dump(exclude={'seed', 'out'})}"
        return self._try(key, lambda: probe_generation(settings))

    def _written(self, settings: SynthesizeSettings) -> tuple[Probe, int] | None:
        key = f"synthesize {settings.model_dump(exclude={'seed', 'out'})}"
        return self._try(key, lambda: probe_synthesis(settings))

    def _try(self, key: str, measure: Callable[[], _T]) -> _T | None:
        """A probe's result, made once; None where something that it needs is not there yet."""
        if not self._probing:
            return None
        if key not in self._tried:
            try:
                self._tried[key] = measure()
            except (ConjoinError, OSError) as error:
                self._tried[key] = None
                self.obstacles[str(error)] = None
        found: _T | None = self._tried[key]
        return found


def _settings(
    cells: Iterable[Cell], kind: type[_S], read: Callable[[Path], dict[str, Any]]
) -> dict[Cell, _S]:
    own = (cell for cell in cells if cell.stage == kind.stage)
    return {cell: settings_of(cell.command, kind, read) for cell in own}


def _out(settings: TrainSettings) -> Path:
    name = f"runs/{settings.system or settings.mode}/{settings.labelled}/seed-{settings.seed}"
    return settings.out or settings.corpus / name


def _validation(settings: TrainSettings) -> int:
    """Validation sentences of a run's draw, as ``ingest`` made or would make it."""
    counts = ingest_card(settings.corpus)
    drawn = counts.get("draws", {}).get(f"seed-{settings.seed}/{settings.labelled}")
    if drawn:
        return int(drawn["validation"])
    if str(settings.labelled).isdecimal():
        return int(settings.labelled) // 5
    train = counts.get("splits", {}).get("train", {})
    return int(train.get("with_coordination", train.get("of_these_senses", 0))) // 6


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
