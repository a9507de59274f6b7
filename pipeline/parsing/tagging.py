"""Part-of-speech tags for words that have none: an averaged perceptron, learned from the parser's own trees.

Stanza's parser writes whatever tags it is given. One that reads none would leave ``XX`` in its trees, and no
filled sentence has gold ones; so a small tagger lies beside every parser that is trained here. It is nltk's,
kept as JSON: it knows no more than the sentences that the parser learned from.
"""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from nltk.tag.perceptron import PerceptronTagger
from typing_extensions import TypedDict

from pipeline.core.documents import read_json
from pipeline.core.files import write_json

TAGGER = "tagger.json"
"""File beside a parser trained here: the tagger, in the form of ``_Weights``."""

_PASSES = 5


class _Weights(TypedDict):
    """What the file holds: weights by feature and tag, words that always have one tag, and all tags."""

    weights: dict[str, dict[str, float]]
    words: dict[str, str]
    tags: list[str]


class Tagger:
    """Tags the words of a sentence.

    Args:
        path: file that ``train_tagger`` wrote.

    Raises:
        InputError: there is no such file, or it is another's.
    """

    def __init__(self, path: Path) -> None:
        read: _Weights = read_json(path, _Weights, remedy="run `conjoin preparse` again")
        self._tagger = PerceptronTagger(load=False)
        self._tagger.model.weights, self._tagger.tagdict = read["weights"], read["words"]
        self._tagger.classes = self._tagger.model.classes = set(read["tags"])

    def tag(self, words: Sequence[str]) -> tuple[str, ...]:
        """A Penn tag per word, each seen in training."""
        return tuple(tag for _, tag in self._tagger.tag(words))


def train_tagger(
    path: Path, sentences: Iterable[tuple[Sequence[str], Sequence[str] | None]], seed: int
) -> bool:
    """Learn from words with their tags and write the tagger; equal arguments give equal bytes.

    Args:
        path: where it goes.
        sentences: words and, where they have any, tags.
        seed: of the order of learning.

    Returns:
        Whether there was something to learn from; if not, nothing is written.
    """
    tagged = [list(zip(words, tags, strict=True)) for words, tags in sentences if tags]
    if not tagged:
        return False
    tagger = PerceptronTagger(load=False)
    before = random.getstate()  # nltk shuffles with the numbers that everybody draws from
    random.seed(f"tagger/{seed}")
    try:
        tagger.train(tagged, nr_iter=_PASSES)
    finally:
        random.setstate(before)
    kept = {name: found for name, found in tagger.model.weights.items() if found}
    write_json(path, _Weights(weights=kept, words=tagger.tagdict, tags=sorted(tagger.classes)))
    return True
