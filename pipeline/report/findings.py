"""The findings of a report: what generation gains at best at its |L|, and how far that can be trusted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.comparison import Comparison
from pipeline.core.runs import Run, System
from pipeline.report.figure_words import FigureWords
from pipeline.report.results import (
    Metrics,
    Result,
    full_method,
    generates,
    is_papers_method,
    more_than_noise,
)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a system with generation does beside the best without candidates of the same annotation.

    Attributes:
        result: the system's.
        among: the number of systems that it is the best of: of the paper's method, whose generators are
            compared with each other, or of all with generation.
        rival: what its gain is over; None where nothing has the same annotation.
        rivals: the number of systems without candidates that this is the best of.
        gain: with its interval; None where that was not computed.
        by_seed: the difference to the rival with each seed that both have, in points.
    """

    result: Result
    among: int
    rival: Result | None
    rivals: int
    gain: Comparison | None
    by_seed: tuple[float, ...]

    @property
    def is_papers(self) -> bool:
        """Whether it is the paper's method."""
        return is_papers_method(self.result.system)

    @property
    def difference(self) -> float | None:
        """Between the means of both, in points."""
        return None if self.rival is None else 100 * (_overall(self.result) - _overall(self.rival))

    @property
    def helps(self) -> bool:
        """Whether it gains more than noise."""
        return self.gain is not None and more_than_noise(self.gain) and self.gain.gain > 0


@dataclass(frozen=True, slots=True)
class Findings:
    """What is to be said of the main |L|.

    Attributes:
        size: that |L|, as it is called within a sentence.
        split: what was tested on.
        words: what its figures are called.
        scored: the number of systems that were.
        baseline: its result; None without one.
        best: the system with generation that finds most; None where there is none.
        levels: the number of levels of annotation.
        over_control: what the best gains over the system that it varies, or over its control.
        papers: the paper's method with the better generator, where another system is best.
        delta: the δ of that method, where its runs have one.
        others: where the paper's method is best and its gain is known, all others of its annotation.
    """

    size: str
    split: str
    words: FigureWords
    scored: int
    baseline: Result | None
    best: Standing | None = None
    levels: int = 1
    over_control: Comparison | None = None
    papers: Standing | None = None
    delta: float | None = None
    others: tuple[Standing, ...] | None = None


def findings(metrics: Metrics, runs: Iterable[Run] = ()) -> Findings:
    """The findings of an evaluation.

    Args:
        metrics: of the evaluation.
        runs: of which the paper's method has its δ.
    """
    size = metrics.main
    known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
    baseline = next((r for r in known if r.system == metrics.baseline), None)
    about = metrics.phrase(size), metrics.split, metrics.words, len(known), baseline
    generated = [r for r in known if generates(r.system)]
    if not generated:
        return Findings(*about)
    top = max(generated, key=_overall)  # of equals the paper's, which stand first
    same = [r for r in generated if r.level == top.level]
    best, levels = _standing(metrics, top, same), len({r.level for r in known})
    if best.rival is None:
        return Findings(*about, best, levels)
    if best.is_papers:
        rest = tuple(_standing(metrics, r, same) for r in same if r.system != top.system)
        return Findings(*about, best, levels, others=rest if best.gain else None)
    full = full_method(top.system, [r.system for r in metrics.block(size)])
    papers = [r for r in generated if is_papers_method(r.system)]
    better = max(papers, key=_overall, default=None)
    return Findings(
        *about,
        best,
        levels,
        over_control=metrics.gain(size, top.system, full) if full else None,
        papers=_standing(metrics, better, papers) if better else None,
        delta=_delta(better, runs) if better else None,
    )


def _standing(metrics: Metrics, result: Result, others: Sequence[Result]) -> Standing:
    """A system's, the best of ``others`` of its kind."""
    if is_papers_method(result.system):
        others = [each for each in others if is_papers_method(each.system)]
    rival = metrics.rival(result)
    by_seed = [
        100 * (one - other)
        for seed in sorted(result.by_seed.keys() & (rival.by_seed.keys() if rival else set()))
        if rival and (one := result.by_seed[seed]) is not None
        and (other := rival.by_seed[seed]) is not None
    ]  # fmt: skip
    rivals = len(metrics.rivals(result)) if result.system.has_candidates else 1
    gain = metrics.gain(metrics.main, result.system)
    return Standing(result, len(others), rival, rivals, gain, tuple(by_seed))


def _delta(result: Result, runs: Iterable[Run]) -> float | None:
    """The δ that all runs of a system have; None without runs, or where they differ."""
    found = {
        run.card.get("settings", {}).get("delta") if run.mode == "filter" else None
        for run in runs
        if (run.system, run.labelled) == (result.system, result.labelled)
    }
    return found.pop() if len(found) == 1 else None


def better_generator(metrics: Metrics) -> System | None:
    """The system of the main |L| that is the paper's method with the better generator, if any."""
    papers = [r for r in metrics.block(metrics.main) if is_papers_method(r.system)]
    return max(papers, key=_overall).system if papers else None


def _overall(result: Result) -> float:
    return result.mean["overall"] or 0.0
