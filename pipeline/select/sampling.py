"""How many of the rows that all else lets pass are taken, and which: the best, some like L, or any.

Where chance decides, the order is that of a hash of (seed, candidate id); see ``drawing``. In
memory is about a hundred bytes a row.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pipeline.core.buckets import deciles
from pipeline.core.cards.candidates import DistanceForm, SampleForm
from pipeline.corpus.layout import Shards
from pipeline.select.choice import Advance, Choice, rows_still_in
from pipeline.select.drawing import Numbers, any_rows, by_strata, chance, first_of_each
from pipeline.select.settings import NO_SCORE, SelectSettings, share_of
from pipeline.select.strata import (
    FEATURES,
    Features,
    Strata,
    Stratum,
    distance,
    features,
)

FOREIGN = "stratum that the draw of L does not have"
BEYOND = "beyond the share of its stratum"
NOT_DRAWN = "not drawn"


@dataclass
class _Rows:
    """The rows to choose from, in their order.

    Attributes:
        places: among all candidates, shape (rows,).
        keys: what orders them by chance, shape (rows,).
        words: of their sentences, shape (rows,).
        scores: NaN where there is none, shape (rows,).
        kinds: the index of each one's features in ``about``, shape (rows,).
        about: the features of coordinations, each once.
    """

    places: Numbers
    keys: npt.NDArray[np.uint64]
    words: Numbers
    scores: npt.NDArray[np.float64]
    kinds: Numbers
    about: Sequence[Features]

    def among(self, mask: npt.NDArray[np.bool_]) -> "_Rows":
        """Some of the rows."""
        return _Rows(
            self.places[mask], self.keys[mask], self.words[mask], self.scores[mask],
            self.kinds[mask], self.about,
        )  # fmt: skip

    def strata(self, strata: Strata) -> tuple[list[Stratum], Numbers]:
        """The strata that there are, in order, and the number of each row's, shape (rows,)."""
        of_kind = [strata.of(each) for each in self.about]
        names = sorted(set(of_kind))
        number = {name: place for place, name in enumerate(names)}
        of = np.array([number[name] for name in of_kind], np.int64)
        return names, of[self.kinds] if len(of) else self.kinds


def thin_out(
    corpora: Sequence[Shards],
    settings: SelectSettings,
    labelled: Sequence[Features],
    choice: Choice,
    advance: Advance,
) -> None:
    """Leave out the rows of those still in that are not among the best, or not drawn.

    Args:
        corpora: sound ones.
        settings: what is asked: ``top``, ``like``, ``sample``, or several of them.
        labelled: the coordinations of the draw that ``like`` names.
        choice: what is decided so far; verdicts and ``sample`` are added to it.
        advance: called with the number of rows looked at since the last time.

    Raises:
        InputError: the spans of a row do not fit its words.
    """
    rows = _gathered(corpora, settings, choice, advance)
    lengths = [int(each["length"]) for each in labelled]
    if settings.top is not None:
        rows = _best(rows, settings, lengths, choice)
    if settings.like is None and settings.sample is None:
        return
    strata = Strata([name for name in FEATURES if name in settings.strata], deciles(lengths))
    names, of = rows.strata(strata)
    share = Counter(map(strata.of, labelled))
    before = Counter({name: int(n) for name, n in zip(names, _sizes(of, names), strict=True)})
    wanted = _wanted(rows, settings)
    if settings.sample is None:
        taken = by_strata(rows.keys, of, [share[name] for name in names], wanted)
        foreign = np.array([not share[name] for name in names], np.bool_)[of]
        choice.verdicts[rows.places[foreign]] = choice.number(FOREIGN)
        choice.verdicts[rows.places[~foreign & ~taken]] = choice.number(BEYOND)
    else:
        words = rows.words if settings.sample == "random-tokens" else None
        taken = any_rows(rows.keys, wanted, words)
        choice.verdicts[rows.places[~taken]] = choice.number(NOT_DRAWN)
    sizes = _sizes(of[taken], names)
    after = Counter({name: int(n) for name, n in zip(names, sizes, strict=True) if n})
    choice.sample = {
        "wanted": wanted, "rows": int(taken.sum()), "words": int(rows.words[taken].sum()),
        **_likeness(strata, share, before, after),
    }  # fmt: skip


def _likeness(
    strata: Strata, share: Counter[Stratum], before: Counter[Stratum], after: Counter[Stratum]
) -> SampleForm:
    if not share:
        return {}
    far: DistanceForm = {
        "before": round(distance(share, before), 6),
        "after": round(distance(share, after), 6),
    }
    return {
        "by": list(strata.by),
        "edges": list(strata.edges) if "length" in strata.by else [],
        "strata": len(share),
        "distance": far,
    }


def _gathered(
    corpora: Sequence[Shards], settings: SelectSettings, choice: Choice, advance: Advance
) -> _Rows:
    about: dict[tuple[str | int, ...], int] = {}
    places, words, kinds = (array("q") for _ in range(3))
    keys, scores = array("Q"), array("d")
    for batch_places, batch in rows_still_in(corpora, choice, advance, "score"):
        places.extend(batch_places.tolist())
        for row in batch.to_pylist():
            keys.append(chance(settings.seed, row["candidate_id"]))
            words.append(len(row["words"]))
            scores.append(np.nan if row["score"] is None else row["score"])
            found = features(row)
            values = tuple(found[name] for name in FEATURES)
            kinds.append(about.setdefault(values, len(about)))
    return _Rows(
        np.array(places, np.int64), np.array(keys, np.uint64), np.array(words, np.int64),
        np.array(scores, np.float64), np.array(kinds, np.int64),
        [dict(zip(FEATURES, each, strict=True)) for each in about],
    )  # fmt: skip


def _best(rows: _Rows, settings: SelectSettings, lengths: Sequence[int], choice: Choice) -> _Rows:
    """The best share of each label and length; of equal scores, those that come first by chance."""
    scored = np.isfinite(rows.scores)
    choice.verdicts[rows.places[~scored]] = choice.number(NO_SCORE)
    rows = rows.among(scored)
    if not lengths:
        of_kind = np.array([int(each["length"]) for each in rows.about], np.int64)
        lengths = of_kind[rows.kinds].tolist() if len(of_kind) else []
    names, of = rows.strata(Strata(("label", "length"), deciles(lengths)))
    order = np.lexsort((rows.keys, -rows.scores))
    share = share_of(settings.top or "100%")
    most = [-(-int(n) * share.numerator // share.denominator) for n in _sizes(of, names)]
    taken = first_of_each(order, of, most)
    reason = f"score not among the best {settings.top} of its label and length"
    choice.verdicts[rows.places[~taken]] = choice.number(reason)
    return rows.among(taken)


def _wanted(rows: _Rows, settings: SelectSettings) -> int:
    """How many rows, or words, ``size`` asks for; of a share at least one."""
    size = settings.size or "100%"
    if not size.endswith("%"):
        return int(size)
    whole = int(rows.words.sum()) if settings.sample == "random-tokens" else len(rows.places)
    share: Fraction = share_of(size)
    return max(1, whole * share.numerator // share.denominator)


def _sizes(of: Numbers, names: Sequence[Stratum]) -> Numbers:
    return np.bincount(of, minlength=len(names))
