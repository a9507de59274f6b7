"""What a report opens with: whether generation helps at every |L|, in a line each, and one picture.

Where nothing was generated, and there are variants of L, it is about these.

A line is about the best system with candidates at its |L| and level of annotation: of those whose gain is
more than noise, else of all. The gain is over the best system without candidates of the same level. Both are
chosen by looking at them, so each is a little flattered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.annotation import rests_on_other_trees
from pipeline.core.comparison import Comparison
from pipeline.core.runs import System
from pipeline.report.accuracy_figures import accuracy_dots, chosen_gains_over_sizes, gain_dots
from pipeline.report.charts import Panel
from pipeline.report.prose import Fact
from pipeline.report.results import (
    ENOUGH,
    Metrics,
    Result,
    generates,
    is_papers_method,
    more_than_noise,
)

HELPS, UNCLEAR, WORSE, FEW, NO_INTERVAL, ALONE, WITHOUT = KINDS = (
    "helps", "unclear", "worse", "few", "no-interval", "alone", "without",
)  # fmt: skip
"""What a line says of generation: it gains more than noise, shows no gain, or loses; the seeds are too few;
the gain has no interval; nothing with generation was scored; nothing without candidates has its annotation.
"""

_DRAWN = 5  # systems of the picture, so that its lines can be distinguished


@dataclass(frozen=True, slots=True)
class Headline:
    """What generation does at one |L| and level of annotation: the ``kind`` of the answer, and the figures.

    Attributes:
        labelled: |L|.
        phrase: it as it is called within a sentence.
        kind: one of ``KINDS``.
        against: what the gain is over; None where nothing has the same annotation.
        best: the best system's result; None where nothing with generation was scored.
        gain: None without an interval.
        among: the number of systems with generation, or with variants of L.
        without: the number of systems without candidates among which ``against`` is best.
        several: whether there are lines for more levels of the |L|.
        full: whether the |L| is all there is.
        trees_unlearned: whether candidates rest on more trees than L's, and nothing without candidates
            learned the coordinations of these.
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
    full: bool = False
    trees_unlearned: bool = False

    @property
    def seeds(self) -> int:
        """Over how many the figures are."""
        scored = self.best.by_seed if self.best else ()
        return len(self.gain.seeds if self.gain else scored)


def verdicts(metrics: Metrics) -> list[Headline]:
    """The answers at every |L| in order, one for each level of annotation of systems with generation."""
    found = []
    for size in metrics.sizes:
        known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
        generated = [r for r in known if generates(r.system)]
        levels = list(dict.fromkeys(result.level for result in generated))
        if not levels:
            plain = next((r for r in known if r.system == metrics.baseline), None)
            full = size in metrics.full
            found.append(
                Headline(size, metrics.phrase(size), ALONE, plain, None, None, 0, full=full)
            )
        for level in levels:
            own = [result for result in generated if result.level == level]
            found.append(_verdict(metrics, own, several=len(levels) > 1))
    return found


def _verdict(metrics: Metrics, others: Sequence[Result], *, several: bool) -> Headline:
    """The answer of the systems with generation of one |L| and level; at least one."""
    size = others[0].labelled
    gains = metrics.gains(others)
    clear = [r for r in others if (g := gains.get(r.system)) and _kind(g) == HELPS]
    # Of equals the first, as in the tables.
    best = max(clear or others, key=lambda r: r.mean["overall"] or 0.0)
    gain, against = gains.get(best.system), metrics.rival(best)
    kind = WITHOUT if against is None else _kind(gain) if gain else NO_INTERVAL
    without = len(metrics.rivals(best)) if best.system.has_candidates else 1
    unlearned = rests_on_other_trees(best.level) and not any(
        each.system.gold_of for each in metrics.without_candidates(best)
    )
    return Headline(
        size, metrics.phrase(size), kind, against, best, gain, len(others), without, several,
        size in metrics.full, unlearned,
    )  # fmt: skip


def _kind(gain: Comparison) -> str:
    if more_than_noise(gain):
        return HELPS if gain.gain > 0 else WORSE
    return FEW if len(gain.seeds) < ENOUGH else UNCLEAR


def is_of_variants(found: Sequence[Headline]) -> bool:
    """Whether what is judged are variants of L, and nothing that learned from candidates."""
    bests = [verdict.best.system for verdict in found if verdict.best]
    return bool(bests) and not any(system.has_candidates for system in bests)


def headline(found: Sequence[Headline], unit: str = "sentence") -> Fact:
    """All answers in one sentence.

    As: At equal annotation, generation helps with 50 labelled sentences and shows no gain with 250.

    Args:
        found: the answers.
        unit: what L has.
    """
    groups = [(kind, [v for v in found if v.kind == kind]) for kind in KINDS]
    return Fact(
        "opening.headline",
        groups=[(kind, verdicts) for kind, verdicts in groups if verdicts],
        compared=any(verdict.against and verdict.best for verdict in found),
        unit=unit,
        of_variants=is_of_variants(found),
    )


def cautions(found: Sequence[Headline]) -> list[Fact]:
    """What makes a gain less than it seems: that nothing it is over knows what the trees of others know."""
    doubtful = [each for each in found if each.kind == HELPS and each.trees_unlearned]
    return [Fact("opening.trees_unlearned", verdicts=doubtful)] if doubtful else []


def unhelpful(metrics: Metrics, found: Sequence[Headline]) -> list[Fact]:
    """Which systems do not help, besides the one that a line is about; or that all help."""
    facts, judged = [], 0
    for verdict in found:
        if verdict.best is None:
            continue
        best, level = verdict.best.system, verdict.best.level
        systems: dict[str, list[System]] = {}
        own = [r for r in metrics.block(verdict.labelled) if r.level == level]
        for system, gain in metrics.gains(own).items():
            if system != best and generates(system):
                systems.setdefault(_kind(gain), []).append(system)
                judged += 1
        facts += [
            Fact("opening.unhelpful", kind=kind, verdict=verdict, systems=systems[kind])
            for kind in (UNCLEAR, WORSE)
            if kind in systems
        ]
    if not facts and judged and all(verdict.kind == HELPS for verdict in found):
        return [Fact("opening.all_help")]
    return facts


def opening_panels(metrics: Metrics, found: Sequence[Headline]) -> list[Panel]:
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
    return gain_dots(metrics.gains(block), "opening") or accuracy_dots(
        block, "opening", metrics.words.name
    )
