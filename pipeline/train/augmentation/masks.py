"""[MASK]-based augmentation (§4.2, Eq. 8): words are hidden, one mask each, however many subwords."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pipeline.core.errors import ModelError
from pipeline.core.files import digest_of
from pipeline.models.words import WordEncoding
from pipeline.tasks.augmentation import Material
from pipeline.train.augmentation.words import WordDraw


class Masks:
    """Variants some of whose words are the encoder's mask token.

    Raises:
        InputError: L has no parts of speech, and S needs them.
        ModelError: the encoder has no mask token.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"alpha", "mask_tags"})
    facts: Mapping[str, Any]

    def __init__(self, material: Material[Any]) -> None:
        self._examples = [each.example for each in material.labelled]
        self._mask = mask_word(material.encoding)
        self._draw = WordDraw.of(
            material.labelled, material.seed, material.alpha, material.mask_tags
        )
        self.facts, self.note = {"words": digest_of(self._draw.facts())}, ""

    def variants(self, epoch: int) -> list[Any]:
        """Each example with its masks; no longer than it, for a mask is one token."""
        return [
            replace(example, words=masked(example.words, places, self._mask), variant=True)
            for example, places in zip(self._examples, self._draw.places(epoch), strict=True)
        ]


def masked(words: tuple[str, ...], places: list[int], mask: str) -> tuple[str, ...]:
    """A sentence with a mask at each of some places."""
    hidden = set(places)
    return tuple(mask if i in hidden else word for i, word in enumerate(words))


def mask_word(encoding: WordEncoding) -> str:
    """The mask token of a tokenizer as a word of a sentence.

    Raises:
        ModelError: there is none, or it is not read back as one token.
    """
    mask = encoding.tokenizer.mask_token
    if mask is not None:
        (found,) = encoding.encode([("a", str(mask), str(mask), "a")])
        own = found.ids[found.last[0] + 1 : found.last[2] + 1]
        if own == (encoding.tokenizer.mask_token_id,) * 2:
            return str(mask)
    raise ModelError(
        f"{encoding.tokenizer.name_or_path!r} has no mask token that stands for one word",
        remedy="name a masked LM such as bert as --encoder, or choose --augment copy or substitute",
    )
