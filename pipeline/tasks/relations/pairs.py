"""What the task reads of a corpus of relations: its senses, and the pairs that have one of them."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Literal

from pipeline.core.annotation import OTHERS, Part
from pipeline.core.corpus_folder import INGEST_RECORD, ingest_card
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.pairs import EXPLICIT, IMPLICIT, Pair, read_pairs, write_pairs

__all__ = [
    "EXPLICIT", "IMPLICIT", "Pair", "known_pairs", "part_of_pairs", "read_pairs", "senses_of", "write_pairs",
]  # fmt: skip


def senses_of(corpus: Path) -> tuple[str, ...]:
    """The senses that models of a corpus tell apart, the most frequent first.

    Raises:
        InputError: ``ingest`` did not say them.
    """
    senses = ingest_card(corpus).get("senses")
    if not senses:
        raise InputError(
            "names no senses", path=corpus / INGEST_RECORD,
            remedy="run `conjoin ingest pdtb` again",
        )  # fmt: skip
    return tuple(senses)


def known_pairs(
    corpus: Path,
    splits: AbstractSet[str] | None = None,
    kinds: AbstractSet[str] | None = frozenset({IMPLICIT}),
) -> list[Pair]:
    """The pairs with a sense that models tell apart, each with no other senses; see ``read_pairs``."""
    known = frozenset(senses_of(corpus))
    found = (pair.among(known) for pair in read_pairs(corpus, splits, kinds))
    return [pair for pair in found if pair.senses]


def part_of_pairs(
    corpus: str,
    part: Literal["labelled", "validation", "others"],
    pairs: Sequence[Pair],
    *,
    draw: str | None = None,
    use: Literal["learned", "chosen"] = "learned",
) -> Part:
    """The part of some pairs in a record of annotation: their senses were read.

    Args:
        corpus: its name.
        part: what they are.
        pairs: all of one split.
        draw: of L or its validation set.
        use: what for.
    """
    return Part(
        corpus=corpus, part=part, draw=draw,
        ids=digest_of(sorted(pair.pair_id for pair in pairs))[:8] if part == OTHERS else None,
        split=pairs[0].split if pairs else "train", use=use,
        sentences=len(pairs), pairs=len(pairs),
    )  # fmt: skip
