"""Drawing rows by chance that is the same everywhere: as many of each stratum as asked, or any.

Where chance decides, the order is that of a hash of (seed, name): equal seeds give equal draws on
any machine, in whatever files and order the rows come.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from pipeline.select.strata import apportion

Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


def chance(seed: int, name: str) -> int:
    """What orders a row by chance, of 64 bits; on any machine the same."""
    digest = blake2b(f"{seed}\0".encode() + name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def first_of_each(order: Numbers, of: Numbers, most: Sequence[int]) -> npt.NDArray[np.bool_]:
    """The first so many rows of each stratum, in some order of all.

    Args:
        order: the rows, shape (rows,).
        of: the stratum of each, shape (rows,).
        most: of each stratum.
    """
    # Stable, so that the rows of a stratum stay in their order.
    by_stratum = order[np.argsort(of[order], kind="stable")]
    strata = of[by_stratum]
    rank = np.arange(len(of)) - np.searchsorted(strata, np.arange(len(most)))[strata]
    taken = np.zeros(len(of), np.bool_)
    taken[by_stratum[rank < np.array(most, np.int64)[strata]]] = True
    return taken


def by_strata(
    keys: Keys, of: Numbers, weights: Sequence[int], wanted: int
) -> npt.NDArray[np.bool_]:
    """As many rows of each stratum as its weight asks for, in the order of the keys."""
    sizes = np.bincount(of, minlength=len(weights)).tolist()
    return first_of_each(np.argsort(keys, kind="stable"), of, apportion(wanted, weights, sizes))


def any_rows(keys: Keys, wanted: int, words: Numbers | None = None) -> npt.NDArray[np.bool_]:
    """The first rows in the order of the keys: so many, or until they have so many words."""
    taken = np.zeros(len(keys), np.bool_)
    order = np.argsort(keys, kind="stable")
    if words is None:
        order = order[:wanted]
    else:
        before = np.cumsum(words[order]) - words[order]
        order = order[before < wanted]
    taken[order] = True
    return taken
