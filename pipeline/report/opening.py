"""What a report opens with: whether generation helps at every |L|, in a line each, and one picture.

A line is about the best system with candidates at its |L| and level of annotation: of those whose gain is
more than noise, else of all. The gain is over the best system without candidates of the same level. Both are
chosen by looking at them, so each is a little flattered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.comparison import Comparison
from pipeline.core.markdown import percent, points
from pipeline.core.runs import System
from pipeline.report.accuracy_figures import accuracy_dots, chosen_gains_over_sizes, gain_dots
from pipeline.report.charts import Panel
from pipeline.report.results import (
    ENOUGH,
    Metrics,
    Result,
    generates,
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
    WITHOUT: "nothing at equal annotation to compare with",
}
"""What a line says of generation → that in words."""

_CLAUSES = {
    HELPS: "helps with {}",
    UNCLEAR: "shows no gain with {}",
    WORSE: "does worse than none with {}",
    FEW: "cannot be judged yet, for want of seeds, with {}",
    UNTOLD: "has no interval with {}",
    ALONE: "has not been tried with {}",
    WITHOUT: "has nothing at equal annotation to be compared with, with {}",
}
_NOUN = " labelled sentences"

_NAMED = 4  # systems that do not help, named one by one
_DRAWN = 5  # systems of the picture, so that its lines can be told apart


@dataclass(frozen=True, slots=True)
class Verdict:
    """What generation does at one |L| and level of annotation: the ``kind`` of the answer, and the figures.

    ``best`` is the best system's result, None where nothing with generation was scored; ``against`` what its
    gain is over, None where nothing has the same annotation; ``gain`` is None without an interval. ``among``
    counts the systems with generation, ``without`` those among which ``against`` is best. ``several``:
    there are lines for more levels of the |L|.
    """

    labelled: int
    phrase: str
    kind: str
    against: Result | None
    best: Result | None
    gain: Comparison | None
    among: int
    without: int = 1
    several: bool = False

    @property
    def word(self) -> str:
        """The answer."""
        return WORDS[self.kind]

    @property
    def accuracies(self) -> str:
        """From what to what, ``32.87 → 49.20 %``, of as many as there are."""
        both = [r for r in (self.against, self.best) if r]
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

    @property
    def over(self) -> str:
        """What the gain is over, and the annotation of both."""
        if not self.best:
            return ""
        if not self.against:
            return f"annotated: {self.best.annotated}"
        among = f", the best of {self.without} without candidates" if self.without > 1 else ""
        return (
            f"over {short_name(self.against.system)}{among}; both annotated: {self.best.annotated}"
        )

    @property
    def size(self) -> str:
        """|L| within the headline, with the annotation where that has several lines."""
        size = self.phrase.removesuffix(_NOUN)
        return f"{size} ({self.best.annotated})" if self.several and self.best else size


def verdicts(metrics: Metrics) -> list[Verdict]:
    """The answers at every |L| in order, one for each level of annotation of systems with generation."""
    found = []
    for size in metrics.sizes:
        known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
        generated = [r for r in known if generates(r.system)]
        levels = list(dict.fromkeys(result.level for result in generated))
        if not levels:
            plain = next((r for r in known if r.system == metrics.baseline), None)
            found.append(Verdict(size, metrics.phrase(size), ALONE, plain, None, None, 0))
        for level in levels:
            own = [result for result in generated if result.level == level]
            found.append(_verdict(metrics, own, several=len(levels) > 1))
    return found


def _verdict(metrics: Metrics, others: Sequence[Result], *, several: bool) -> Verdict:
    """The answer of the systems with generation of one |L| and level; at least one."""
    size = others[0].labelled
    gains = metrics.gains(others)
    clear = [r for r in others if (g := gains.get(r.system)) and _kind(g) == HELPS]
    # Of equals the first, as in the tables.
    best = max(clear or others, key=lambda r: r.mean["overall"] or 0.0)
    gain, against = gains.get(best.system), metrics.rival(best)
    kind = WITHOUT if against is None else _kind(gain) if gain else UNTOLD
    without = len(metrics.rivals(best)) if best.system.has_candidates else 1
    phrase = metrics.phrase(size)
    return Verdict(size, phrase, kind, against, best, gain, len(others), without, several)


def _kind(gain: Comparison) -> str:
    if more_than_noise(gain):
        return HELPS if gain.gain > 0 else WORSE
    return FEW if len(gain.seeds) < ENOUGH else UNCLEAR


def headline(found: Sequence[Verdict]) -> str:
    """All answers in one sentence.

    As: At equal annotation, generation helps with 50 labelled sentences and shows no gain with 250.
    """
    clauses, noun = [], _NOUN
    for kind, clause in _CLAUSES.items():
        if sizes := [v.size for v in found if v.kind == kind]:
            clauses.append(clause.format(_listed(sizes) + noun))
            noun = ""  # said once
    compared = any(verdict.against and verdict.best for verdict in found)
    begin = "At equal annotation, generation" if compared else "Generation"
    return f"{begin} {_listed(clauses)}."


def _listed(words: Sequence[str]) -> str:
    """``50, 100 and 250``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def unhelpful(metrics: Metrics, found: Sequence[Verdict]) -> list[str]:
    """Which systems do not help, besides the one that a line is about; or that all help."""
    told, judged = [], 0
    for verdict in found:
        if verdict.best is None:
            continue
        best, level = verdict.best.system, verdict.best.level
        sorts: dict[str, list[System]] = {}
        own = [r for r in metrics.block(verdict.labelled) if r.level == level]
        for system, gain in metrics.gains(own).items():
            if system != best and generates(system):
                sorts.setdefault(_kind(gain), []).append(system)
                judged += 1
        size = f"With {metrics.label(verdict.labelled)}"
        if verdict.several:
            size += f" ({verdict.best.annotated})"
        against = verdict.against.system if verdict.against else None
        than = "the baseline" if against and against.is_baseline else "the best without candidates"
        if UNCLEAR in sorts:
            told.append(f"{size} no gain is shown for {_named(sorts[UNCLEAR])}.")
        if WORSE in sorts:
            told.append(f"{size} worse than {than}: {_named(sorts[WORSE])}.")
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
    rivals = {verdict.against.system for verdict in found if verdict.against}
    block = [r for r in metrics.results if r.system in {*chosen, *rivals}]
    return gain_dots(metrics.gains(block), "opening") or accuracy_dots(block, "opening")
