"""Sentences of the miniature world, each a pure function of (seed, index)."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from pipeline.core.types import Sentence
from pipeline.world.grammar import Composer, ExhaustedError
from pipeline.world.lexicon import Lexicon, load_lexicon
from pipeline.world.nodes import ReadOff

_TEST, _DEV = (3, 13, 17), 9
"""Which of 18 sentences in a row are held out: 14 train, 1 dev, 3 test (7,000, 500, 1,500 of 9,000)."""

_COORDINATED = 0.5  # share of sentences with coordination
_SECOND = 0.3  # share of those with one coordination more
_LONGEST = 28  # words; longer drafts are thrown away and drawn again


def _split(index: int) -> str:
    place = index % 18
    return "test" if place in _TEST else "dev" if place == _DEV else "train"


def _draft(lexicon: Lexicon, rng: Random) -> ReadOff | None:
    coordinated = rng.random() < _COORDINATED
    # A coordination adds five words on average: sparser sentences leave room for it.
    composer = Composer(lexicon, rng, density=0.45 if coordinated else 1.0)
    try:
        root = composer.sentence()
        if coordinated:
            composer.coordinate(root)
            if rng.random() < _SECOND:
                composer.coordinate(root)
    except ExhaustedError:
        return None
    draft = ReadOff(root)
    return draft if len(draft.words) <= _LONGEST else None


def generate_sentences(source: Path, count: int, seed: int, first: int = 0) -> Iterator[Sentence]:
    """Yield sentences ``first`` up to ``first + count`` with tags, tree and coordinations.

    Sentence ``i`` depends on the lexicon, ``seed`` and ``i`` alone, so a larger corpus begins with
    the smaller one, on any Python version.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many sentences.
        seed: seed of the grammar.
        first: index of the first sentence.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(first, first + count):
        rng = Random(f"world/{seed}/{index}")
        draft = _draft(lexicon, rng)
        while draft is None:
            draft = _draft(lexicon, rng)
        yield Sentence(
            sentence_id=f"world/{index:06d}",
            doc_id="world",
            split=_split(index),
            words=tuple(draft.words),
            tags=tuple(draft.tags),
            tree=draft.tree,
            coordinations=tuple(draft.coordinations),
            license=lexicon.license,
        )
