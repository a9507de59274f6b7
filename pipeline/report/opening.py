"""What a report opens with: whether generation helps at every |L|, in a line each, and one picture.

A line is about the best system at its |L|: of those whose gain is more than noise, else of all. The
best of several is chosen by looking at them, so its gain is a little flattered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.markdown import percent, points
from pipeline.core.metrics import Comparison
from pipeline.core.runs import System
from pipeline.report.accuracy_figures import accuracy_dots, chosen_gains_over_sizes, gain_dots
from pipeline.report.charts import Panel
from pipeline.report.results import (
    ENOUGH,
    Metrics,
    Result,
    is_papers_method,
    label_name,
    more_than_noise,
    short_name,
)

HELPS, UNCLEAR, WORSE, FEW, UNTOLD, ALONE, WITHOUT = (
    "helps", "unclear", "worse", "few", "untold", "alone", "without",
)  # fmt: skip
WORDS = {
    HELPS: "helps",
    UNCLEAR: "no gain shown",
    WORSE: "worse than none",
    FEW: "too few seeds to say",
    UNTOLD: "no interval",
    ALONE: "nothing to compare",
    WITHOUT: "no baseline",
}
"""What a line says of generation → that in words."""

_CLAUSES = {
    HELPS: "helps with {}",
    UNCLEAR: "shows no gain with {}",
    WORSE: "does worse than none with {}",
    FEW: "cannot be judged yet, for want of seeds, with {}",
    UNTOLD: "has no interval with {}",
    ALONE: "has not been tried with {}",
    WITHOUT: "has no baseline to beat with {}",
}
_NOUN = " labelled sentences"

_NAMED = 4  # systems that do not help, named one by one
_DRAWN = 5  # systems of the picture, so that its lines can be told apart


@dataclass(frozen=True, slots=True)
class Verdict:
    """What generation does at one |L|: of which ``kind`` the answer is, and the figures of it.

    ``best`` is the best system's result, None where nothing but the baseline was scored; ``baseline`` is
    None without one, ``gain`` without an interval. ``among`` counts the systems with generation.
    """

    labelled: int
    phrase: str
    kind: str
    baseline: Result | None
    best: Result | None
    gain: Comparison | None
    among: int

    @property
    def word(self) -> str:
        """The answer."""
        return WORDS[self.kind]

    @property
    def accuracies(self) -> str:
        """From what to what, ``32.87 → 49.20 %``, of as many as there are."""
        both = [r for r in (self.baseline, self.best) if r]
        return " → ".join(percent(r.mean["overall"]) for r in both) + " %" if both else ""

    @property
    def difference(self) -> str:
        """The gain in points."""
        return f"{points(self.gain.gain)} points" if self.gain else ""

    @property
    def interval(self) -> str:
        """Its bounds."""
        return f"{points(self.gain.low)} to {points(self.gain.high)}" if self.gain else ""

    @property
    def who(self) -> str:
        """Whose figures these are, of how many systems and over how many seeds."""
        if not self.best:
            return ""
        seeds = len(self.gain.seeds if self.gain else self.best.by_seed)
        of = f"best of {self.among}" if self.among > 1 else "the only one run"
        return f"{short_name(self.best.system)}; {of}, {seeds} seed{'' if seeds == 1 else 's'}"


def verdicts(metrics: Metrics) -> list[Verdict]:
    """The answer at every |L|, in order."""
    return [_verdict(metrics, size) for size in metrics.sizes]


def _verdict(metrics: Metrics, size: int) -> Verdict:
    known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
    baseline = next((r for r in known if r.system == metrics.baseline), None)
    others = [r for r in known if not r.system.is_baseline]
    gains = metrics.gains(others)
    clear = [r for r in others if (g := gains.get(r.system)) and _kind(g) == HELPS]
    # Of equals the first, as in the tables.
    best = max(clear or others, key=lambda r: r.mean["overall"] or 0.0, default=None)
    gain = gains.get(best.system) if best else None
    if best is None:
        kind = ALONE
    elif baseline is None:
        kind = WITHOUT
    else:
        kind = _kind(gain) if gain else UNTOLD
    return Verdict(size, metrics.phrase(size), kind, baseline, best, gain, len(others))


def _kind(gain: Comparison) -> str:
    if more_than_noise(gain):
        return HELPS if gain.gain > 0 else WORSE
    return FEW if len(gain.seeds) < ENOUGH else UNCLEAR


def headline(found: Sequence[Verdict]) -> str:
    """All answers in one sentence: Generation helps with 50 labelled sentences and shows no gain with 250."""
    clauses, noun = [], _NOUN
    for kind, clause in _CLAUSES.items():
        if sizes := [v.phrase.removesuffix(_NOUN) for v in found if v.kind == kind]:
            clauses.append(clause.format(_listed(sizes) + noun))
            noun = ""  # said once
    return f"Generation {_listed(clauses)}."


def _listed(words: Sequence[str]) -> str:
    """``50, 100 and 250``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def unhelpful(metrics: Metrics, found: Sequence[Verdict]) -> list[str]:
    """Which systems do not help at each |L|, besides the one that its line is about; or that all help."""
    told, judged = [], 0
    for verdict in found:
        best = verdict.best.system if verdict.best else None
        sorts: dict[str, list[System]] = {}
        for system, gain in metrics.gains(metrics.block(verdict.labelled)).items():
            if system != best and not system.is_baseline:
                sorts.setdefault(_kind(gain), []).append(system)
                judged += 1
        size = f"With {metrics.label(verdict.labelled)}"
        if UNCLEAR in sorts:
            told.append(f"{size} no gain is shown for {_named(sorts[UNCLEAR])}.")
        if WORSE in sorts:
            told.append(f"{size} worse than the baseline: {_named(sorts[WORSE])}.")
    if not told and judged and all(verdict.kind == HELPS for verdict in found):
        return ["Every other system with enough seeds helps, too."]
    return told


def _named(systems: Sequence[System]) -> str:
    names = [label_name(system) for system in systems]
    rest = len(names) - _NAMED
    return "; ".join(names[:_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def opening_panels(metrics: Metrics, found: Sequence[Verdict]) -> list[Panel]:
    """The one picture: gains over |L| with their intervals, of the best systems and the paper's method.

    With one |L| they are rows, without gains accuracies.
    """
    bests = {verdict.best.system: None for verdict in found if verdict.best}
    papers = {r.system: None for r in metrics.results if is_papers_method(r.system)}
    chosen = list(bests | papers)[:_DRAWN]
    if len(metrics.sizes) > 1:
        return chosen_gains_over_sizes(metrics, chosen)
    block = [r for r in metrics.results if r.system in chosen or r.system == metrics.baseline]
    return gain_dots(metrics.gains(block), "opening") or accuracy_dots(block, "opening")
