"""The annotation audit: how many candidates have the boundaries that a judge would give them.

What share of a source's annotations is right, and does δ (Algorithm 1, line 8) keep the right ones? Of
generated sentences no treebank knows, for they have no gold annotation; a grammar does (``judges``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from pipeline.audit.judges import Judge
from pipeline.core.cards.audit import FilteredLabel, FilterFigures, GenerationFigures, JudgedForm
from pipeline.core.structures import as_conjuncts
from pipeline.core.types import Candidate, Span
from pipeline.world.oracle import Judgement, OracleVerdict

_LENGTHS: tuple[tuple[str, int], ...] = (("1", 1), ("2", 2), ("3-4", 4), ("5-8", 8))
"""Classes of fill length in words, with the greatest length of each; longer ones are "9+"."""


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate as one run judged it.

    ``run`` names the run; ``extent`` is the outer boundary judged, if it is not generation's own.
    """

    run: str
    candidate_id: str
    accepted: bool
    extent: Span | None


@dataclass(frozen=True, slots=True)
class Audited:
    """A candidate with a judge's verdict.

    ``repeats``: the fill shares a content word with the reference; None where nothing was filled in.
    ``accepted`` is the filter's decision, None outside training.
    """

    candidate: Candidate
    verdict: OracleVerdict
    repeats: bool | None
    accepted: bool | None


class Auditor:
    """Has candidates judged, the same candidate with the same conjuncts only once."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._known: dict[tuple[str, tuple[Span, ...]], OracleVerdict] = {}

    def audit(
        self, candidate: Candidate, extent: Span | None = None, accepted: bool | None = None
    ) -> Audited:
        """The verdict on a candidate's conjuncts, or on those that an outer boundary stands for."""
        words, k = candidate.words, candidate.coordinator
        conjuncts = candidate.conjuncts if extent is None else as_conjuncts(words, k, extent)
        key = candidate.candidate_id, conjuncts
        if key not in self._known:
            self._known[key] = self._judge.verdict(candidate, conjuncts)
        return Audited(candidate, self._known[key], self._judge.repeats(candidate), accepted)


def draw_scored(scored: Sequence[ScoredCandidate], count: int, key: str) -> list[ScoredCandidate]:
    """``count`` distinct candidates of those that runs judged, each as in one judgement drawn.

    A candidate that was drawn in training again and again counts once; ``key`` seeds the draw.
    """
    judgements: dict[str, list[ScoredCandidate]] = {}
    for one in scored:
        judgements.setdefault(one.candidate_id, []).append(one)
    random = Random(key)
    drawn = random.sample(sorted(judgements), min(count, len(judgements)))
    return [random.choice(judgements[candidate_id]) for candidate_id in drawn]


def generation_figures(audited: Sequence[Audited]) -> GenerationFigures:
    """What generation's annotations are worth, overall, by label and by length of the fill.

    Shares are of all judged, and null where none was; ``sensible`` is the share of right ones that
    also respect noun classes.
    """
    kinds = [one.verdict.kind for one in audited]
    repeats = [one.repeats for one in audited if one.repeats is not None]
    return {
        **_right(audited),
        "other": _share(kinds.count(Judgement.OTHER), len(audited)),
        "ungrammatical": _share(kinds.count(Judgement.UNGRAMMATICAL), len(audited)),
        "repeats": _share(sum(repeats), len(repeats)),
        "distinct": _share(len({one.candidate.fill for one in audited}), len(audited)),
        "by_label": _by(_label, _right, audited),
        "by_fill_length": _by(_length, _right, audited),
    }


def filter_figures(audited: Sequence[Audited]) -> FilterFigures:
    """What δ does: how many accepted and how many rejected annotations are right (line 9)."""
    accepted, rejected = _sides(audited)
    return {
        "accepted": _right(accepted),
        "rejected": _right(rejected),
        "by_label": _by(_label, _decisions, audited),
    }


def _sides(audited: Sequence[Audited]) -> tuple[list[Audited], list[Audited]]:
    """What the filter accepted, and what it rejected."""
    return [one for one in audited if one.accepted], [one for one in audited if not one.accepted]


def _decisions(audited: Sequence[Audited]) -> FilteredLabel:
    accepted, rejected = _sides(audited)
    return {
        "judged": len(audited),
        "acceptance": _share(len(accepted), len(audited)),
        "accepted_right": _right(accepted)["right"],
        "rejected_right": _right(rejected)["right"],
    }


def _right(audited: Sequence[Audited]) -> JudgedForm:
    right = [one for one in audited if one.verdict.kind is Judgement.RIGHT]
    return {
        "judged": len(audited),
        "right": _share(len(right), len(audited)),
        "sensible": _share(sum(one.verdict.sensible for one in right), len(audited)),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _label(audited: Audited) -> str:
    return audited.candidate.label


def _length(audited: Audited) -> str:
    words = len(audited.candidate.conjuncts[-1])
    return next((name for name, longest in _LENGTHS if words <= longest), "9+")


_F = TypeVar("_F")


def _by(
    key: Callable[[Audited], str],
    figures: Callable[[Sequence[Audited]], _F],
    audited: Sequence[Audited],
) -> dict[str, _F]:
    """The figures of each group of equal keys."""
    groups: dict[str, list[Audited]] = {}
    for one in audited:
        groups.setdefault(key(one), []).append(one)
    return {name: figures(members) for name, members in groups.items()}
