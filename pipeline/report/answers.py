"""What two systems said of drawn instances, beside what is right."""

import heapq
from pathlib import Path

from pipeline.core.answered import ANSWERS_FILE, AnsweredInstance, read_answered
from pipeline.corpus.licences import terms
from pipeline.report.examples import place_of
from pipeline.report.opening import Headline, verdicts
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics, Result, short_name
from pipeline.report.sections import Section, ShownAnswer


def answers_section(
    corpus: Path, metrics: Metrics, *, count: int, seed: int, own_use: bool
) -> tuple[Section | None, list[Fact]]:
    """``count`` instances with the answers of two systems at the report's main |L|: ``_compared`` says which.

    Those that come first by ``place_of`` are drawn, whatever was said of them. The runs are of the first seed
    that both systems have.

    Args:
        corpus: the folder.
        metrics: of its evaluation.
        count: how many.
        seed: of the draw.
        own_use: text is shown that must not be handed on, too.

    Returns:
        The section, and what there could not be.

    Raises:
        InputError: the file of answers is damaged.
    """
    path = corpus / "evaluation" / ANSWERS_FILE
    if not count:
        return None, []
    if not path.is_file():
        return None, [Fact("missing.answers")]
    systems = _compared(metrics)
    if not (common := set.intersection(*(set(each.by_seed) for each in systems))):
        systems = systems[-1:]
        common = set(systems[0].by_seed)
    first = min(common)
    drawn = heapq.nsmallest(count, read_answered(path), key=lambda each: place_of(seed, each.name))
    shown = [each for each in drawn if own_use or terms(each.license).redistributable]
    withheld = len(drawn) - len(shown)
    what = metrics.words.instances
    missing = [Fact("missing.withheld", count=withheld, what=what)] if withheld else []
    if not shown:
        return None, missing
    words = Fact(
        "examples.of_answers",
        seed=seed,
        run=first,
        size=metrics.phrase(metrics.main),
        split=metrics.split,
        instances=what,
        right=metrics.words.right,
        across=len({each.level for each in systems}) > 1,
    )
    named = {str(each.system): short_name(each.system) for each in systems}
    listed = [_shown(each, named, metrics.main, first) for each in shown]
    return Section("What was answered", [words], answers=listed), missing


def _compared(metrics: Metrics) -> list[Result]:
    """What the first gain at the main |L| is over, and the best system; one of them where there is no other.

    Where nothing has the annotation of any best system, the baseline stands beside the best of them.
    """
    openings = [each for each in verdicts(metrics) if each.labelled == metrics.main]
    gained = (each for each in openings if each.against)
    opening = next(gained, None) or max(openings, key=_reached)
    block = metrics.block(metrics.main)
    baseline = next((each for each in block if each.system == metrics.baseline), None)
    found = [opening.against or baseline, opening.best]
    return [each for each in found if each is not None] or block[:1]


def _reached(opening: Headline) -> float:
    return (opening.best and opening.best.mean["overall"]) or 0.0


def _shown(
    instance: AnsweredInstance, systems: dict[str, str], labelled: int, seed: int
) -> ShownAnswer:
    """An instance with the answers of one draw, in the order of the systems."""
    given = {
        each.system: (each.text, each.is_right)
        for each in instance.answers
        if (each.labelled, each.seed) == (labelled, seed)
    }
    return ShownAnswer(
        instance.name,
        instance.text,
        instance.right,
        [(name, *given[system]) for system, name in systems.items() if system in given],
    )
