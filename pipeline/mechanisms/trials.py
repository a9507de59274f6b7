"""Short probes of training and generation, with the real code at the real shape."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from pipeline.ground.coordination import Candidate, Sentence
from pipeline.ground.errors import InputError
from pipeline.ground.parquet import write_rows
from pipeline.ground.schema import CANDIDATES, candidate_row, read_sentences
from pipeline.mechanisms import forecast
from pipeline.mechanisms.candidates import make_candidates
from pipeline.mechanisms.checkpoints import locate
from pipeline.mechanisms.descent import Descent, Schedule
from pipeline.mechanisms.draw import draw, drawable
from pipeline.mechanisms.encoding import instances
from pipeline.mechanisms.infill import fill, load_infiller, task_of
from pipeline.mechanisms.plan import make_plan
from pipeline.mechanisms.predictor import best_device
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.stream import LabelledStream
from pipeline.mechanisms.team import Team
from pipeline.mechanisms.traindata import fresh_predictor
from pipeline.mechanisms.training import learnable, validation_accuracy
from pipeline.settings.generate import Generate
from pipeline.settings.train import Train

__all__ = ["TrainingSpeed", "probe_generation", "probe_training"]

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

    def seconds(self, settings: Train, validation: int) -> float:
        """A run's seconds, start-up and early stopping aside.

        Candidates are as long as labelled sentences here. Which are believed is not known before:
        of K_max = 2 K the paper's filter may accept none or K, so its updates are counted as halfway
        between the smallest and the largest batch, and as many as K_max are scored.

        Args:
            settings: of the run.
            validation: sentences validated on.
        """
        warm, judges = min(settings.warm_steps, settings.steps), settings.judges
        rounds, update = -(-settings.k_max // max(settings.k, 1)), (self.full + self.least) / 2
        if settings.mode == "baseline":
            rounds, update = 0, self.full
        elif settings.mode == "no-filter":
            rounds, update = 1, self.full
        elif settings.accept == "quantile":
            update = self.full
        jury = judges + 1 if judges > 1 else 1  # M itself, and so many judges
        return (
            warm * self.full * jury
            + (settings.steps - warm) * (update + rounds * self.round * jury)
            + settings.steps // settings.eval_every * validation * self.validation
        )


def probe_training(settings: Train) -> TrainingSpeed:
    """Time updates, scoring and validation for a few seconds.

    Raises:
        InputError: the corpus is not ingested, or has too few labelled sentences.
        ModelError: the encoder is not there.
    """
    path = settings.corpus / "sentences.parquet"
    sentences = {s.sentence_id: s for s in read_sentences(path, _is_labelled)}
    ids = drawable(sentences.values())
    chosen = draw(ids, min(_SAMPLE, max(5, len(ids) * 5 // 6)), settings.seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        predictor = fresh_predictor(settings, settings.seed, best_device())
        learned, _, _ = learnable([sentences[i] for i in chosen.labelled], predictor)
        _, measured, _ = learnable([sentences[i] for i in chosen.validation], predictor)
        team = Team(0, 1, predictor.device, settings.mixed_precision)
        stream = LabelledStream(learned, settings.seed)
        descent = Descent(predictor, Schedule.of(settings), 0, team)

        def update(size: int) -> Callable[[int], object]:
            return lambda n: descent.update(stream.sample(n * size, size), 0)

        def score(n: int) -> None:
            words, ks, extents = instances(stream.sample(n * settings.k, settings.k))
            with team.autocast():
                predictor.probability(words, ks, extents)

        few = settings.n_batch - settings.k
        full = _seconds(update(settings.n_batch))
        least = _seconds(update(few)) if 0 < few < settings.n_batch else full
        a_round = _seconds(score) if settings.k else 0.0

        def validate(_: int) -> None:
            with team.autocast():
                validation_accuracy(predictor, measured)

        validation = _seconds(validate)
        weights = sum(p.numel() * p.element_size() for p in predictor.parameters())
        return TrainingSpeed(full, least, a_round, validation / len(measured), weights)
    finally:
        torch.set_num_threads(threads)


def probe_generation(settings: Generate) -> tuple[forecast.Probe, int]:
    """Time the first pairs of a run; returns the probe and how many pairs there are at most.

    Raises:
        InputError: there are no trees, or none has a reference span.
        ModelError: the language model is not there.
        SettingsError: a decoding that cannot give as many fills.
    """
    plan, task = make_plan(settings), task_of(settings)
    where = locate(settings.model or f"models/{settings.lm}", settings.corpus, settings.seed)
    dtype, device = getattr(torch, settings.dtype), best_device()
    infiller = load_infiller(settings.family, where, task, dtype=dtype, device=device)
    pairs = sum(map(plan.pairs_at_most, range(plan.units)))
    units = (plan.references(unit)[0] for unit in range(plan.units))
    sample = next((references for references in units if references), None)
    if sample is None:
        raise InputError("no tree has a reference span", path=settings.corpus)
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "candidates.parquet"

        def work(references: Sequence[Reference]) -> int:
            fills = fill(infiller, references, settings.batch_tokens)
            rows = [
                candidate_row(row)
                for reference, found in zip(references, fills, strict=True)
                for row in make_candidates(reference, found, settings.coordinator)
                if isinstance(row, Candidate)
            ]
            write_rows(path, CANDIDATES, rows)
            return path.stat().st_size

        return forecast.probe(work, sample, enough=_ENOUGH), pairs


def _is_labelled(sentence: Sentence) -> bool:
    return sentence.split == "train" and any(c.is_evaluable for c in sentence.coordinations)


def _seconds(work: Callable[[int], object]) -> float:
    """Mean seconds of a call, after two that warm the caches."""
    for n in range(2):
        work(n)
    done, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < _ENOUGH / 2 or done < 3:
        work(done + 2)
        done += 1
    return passed / done
