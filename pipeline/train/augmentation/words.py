"""Which words of a labelled sentence change in an epoch (Eqs. 14-16).

Word i changes if r_i = 1, r_i ~ Bernoulli(α), its part of speech is in S, and it is not protected. r_i is a
pure function of (seed, epoch, sentence, i): with another S or α the words that change are a part of the
same draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.types import Sentence
from pipeline.tasks.augmentation import Labelled, happens
from pipeline.text.coarse_tags import classes_of, coarse, is_known


@dataclass(frozen=True, slots=True)
class WordDraw:
    """Draws the words to change.

    Attributes:
        seed: of the draws.
        alpha: α.
        names: of the sentences of L.
        changeable: of each sentence the words that may change.
    """

    seed: int
    alpha: float
    names: Sequence[str]
    changeable: Sequence[Sequence[int]]

    @classmethod
    def of(
        cls, labelled: Sequence[Labelled[Any]], seed: int, alpha: float, mask_tags: str
    ) -> "WordDraw":
        """The draw of a run.

        Raises:
            InputError: ``mask_tags`` needs parts of speech, and a sentence has none, most are tags
                of neither Penn nor JUMAN, or they leave no word to change.
        """
        classes = classes_of(mask_tags)
        sentences = [each.sentence for each in labelled]
        changeable = [_changeable(each, classes, mask_tags) for each in labelled]
        if classes is not None:
            _require_classes(sentences, changeable, mask_tags)
        return cls(seed, alpha, [each.name for each in labelled], changeable)

    def facts(self) -> list[list[int]]:
        """What the draws depend on beyond the settings."""
        return [list(places) for places in self.changeable]

    def places(self, epoch: int) -> list[list[int]]:
        """The words of each sentence that change in an epoch, in order."""
        return [
            [i for i in places if happens(self.alpha, self.seed, epoch, name, i)]
            for name, places in zip(self.names, self.changeable, strict=True)
        ]


def _require_classes(
    sentences: Sequence[Sentence], changeable: Sequence[Sequence[int]], wanted: str
) -> None:
    """Check that the tags of L say which words are meant.

    Raises:
        InputError: most are tags of neither Penn nor JUMAN, whose class nobody knows; or no word of L may
            change.
    """
    tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    foreign = [tag for tag in tags if not is_known(tag)]
    if 2 * len(foreign) > len(tags):
        raise InputError(
            f"--mask-tags {wanted} goes by tags of Penn or JUMAN, and most of L's are none "
            f"({foreign[0]})",
            remedy="say --mask-tags all, or ingest a treebank with such tags (docs/augmentation.md)",
        )
    if not any(changeable):
        raise InputError(
            f"no word of the labelled sentences may change by --mask-tags {wanted}: all variants were copies",
            remedy="name other classes (docs/augmentation.md), or say --augment copy",
        )


def _changeable(labelled: Labelled[Any], classes: frozenset[str] | None, wanted: str) -> list[int]:
    sentence = labelled.sentence
    places = [i for i in range(len(sentence.words)) if i not in labelled.protected]
    if classes is None:
        return places
    tags = sentence.tags
    if tags is None:
        raise InputError(
            f"no parts of speech, which --mask-tags {wanted} needs",
            sentence_id=sentence.sentence_id,
            remedy="say --mask-tags all, or ingest the corpus from a treebank that has them",
        )
    return [i for i in places if coarse(tags[i]) in classes]
