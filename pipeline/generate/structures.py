"""Which coordinate structure a reference gets: its coordinator and its number of conjuncts.

What a reference gets is a pure function of (seed, sentence id, span) and of what is drawn from.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pipeline.core.candidates import LIKE_L
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.structures import COMMA, MOST_CONJUNCTS, PRECONJUNCTION_OF
from pipeline.core.types import Coordination, Reference, Sentence, Structure
from pipeline.generate.settings import GenerateSettings
from pipeline.infill.decoding import key_of

_Words = tuple[str, str]
"""Coordinator and preconjunction, which may be empty."""


def observed(sentences: Iterable[Sentence]) -> list[Structure]:
    """The evaluable structures of some sentences, in their order, as generation could make them."""
    return [structure_in(sentence, each) for sentence in sentences for each in sentence.evaluable]


def structure_in(sentence: Sentence, coordination: Coordination) -> Structure:
    """An annotated structure as generation could make it.

    Its coordinator is in lower case, conjuncts beyond the fourth are not counted, and a comma before the
    coordinator counts only where there are three conjuncts or more.
    """
    before, at = coordination.start - 1, coordination.coordinator
    word, count = coordination.word.lower(), len(coordination.conjuncts)
    pre = PRECONJUNCTION_OF.get(word)
    paired = pre is not None and before >= 0 and sentence.words[before].lower() == pre
    comma = count > 2 and sentence.words[at - 1] == COMMA
    return Structure(word, pre if paired else None, min(count, MOST_CONJUNCTS), comma)


@dataclass(frozen=True, slots=True)
class StructureSampler:
    """Draws structures for references.

    Attributes:
        seed: of the draws.
        words: coordinators with their preconjunctions, each as likely as any other; they may repeat.
        sizes: numbers of conjuncts, of which one is drawn, by these words; of other words ``two``.
        commas: whether one stands before the coordinator, of structures of three conjuncts or more.
    """

    seed: int
    words: tuple[_Words, ...]
    sizes: Mapping[_Words, Sequence[int]]
    commas: tuple[bool, ...]

    def put_on(self, reference: Reference) -> Reference:
        """The reference with its structure.

        At the beginning of a sentence there is no preconjunction, which would have to take over the
        capital: a pair such as *neither … nor* is only drawn there if there is nothing else.
        """
        rng = random_of(self.seed, key_of(reference))
        every: Sequence[_Words] = self.words
        if not reference.span.start:
            every = [words for words in every if not words[1]] or every
        words = rng.choice(every)
        sizes = self.sizes.get(words)
        size = rng.choice(sizes) if sizes else 2
        comma = size > 2 and bool(self.commas) and rng.choice(self.commas)
        pre = (words[1] or None) if reference.span.start else None
        return replace(reference, structure=Structure(words[0], pre, size, comma))

    def facts(self) -> list[Any]:
        """All that rows depend on, for a fingerprint."""
        sizes = sorted([*words, *found] for words, found in self.sizes.items())
        return [list(self.words), sizes, list(self.commas)]


def random_of(seed: int, key: str) -> random.Random:
    """Random numbers that are a pure function of a seed and a key."""
    digest = sha256(f"{seed}\0{key}\0structure".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def require_consistent(settings: GenerateSettings) -> None:
    """Check what settings say of structures, before anything is read.

    Raises:
        SettingsError: they do not go together.
    """
    like_l = _is_like_l(settings)
    if settings.targets is not None:
        if like_l or settings.coordinators or settings.coordinator != _usual_coordinator():
            raise SettingsError(
                "targets say which coordinators and how many conjuncts",
                remedy="leave --coordinator, --coordinators and --arity out, or --targets",
            )
        if settings.spans != "constituents":
            raise SettingsError(
                f"targets are for constituents, was: spans {settings.spans}",
                remedy="choose --spans constituents, or leave --targets out",
            )
    if like_l and settings.labelled is None:
        raise SettingsError(
            "like-L needs to know L", remedy="add --labelled, the size of a draw of this seed"
        )
    if settings.labelled is not None and not like_l and settings.named is None:
        other = "add --coordinators like-L or --arity like-L, or "
        raise SettingsError(
            "a draw of L is for coordinators or arity like-L, and for trees with a name",
            remedy=other * (settings.targets is None) + "leave --labelled out",
        )
    if settings.coordinators and settings.coordinator != _usual_coordinator():
        raise SettingsError(
            f"coordinator = {settings.coordinator} and coordinators = {settings.coordinators}",
            remedy="give one of the two",
        )


def structures_of(settings: GenerateSettings) -> StructureSampler | None:
    """What a run draws its structures from; None where all are the usual "X and Y".

    Raises:
        SettingsError: as ``require_consistent``.
        InputError: as ``read_draw``; or L has no coordination.
    """
    require_consistent(settings)
    found: list[Structure] = []
    if _is_like_l(settings) and settings.labelled is not None:
        found = observed(read_draw(settings.corpus, settings.seed, settings.labelled)[0])
        if not found:
            raise InputError(
                f"the draw {settings.labelled} of seed {settings.seed} has no coordination",
                path=settings.corpus, remedy="choose another --labelled, or no like-L",
            )  # fmt: skip
    elif not settings.coordinators:
        return None
    own = sorted((each.coordinator, each.preconjunction or "") for each in found)
    words = own
    if settings.coordinators != LIKE_L:
        words = [(word, "") for word in (settings.coordinators or settings.coordinator).split(",")]
    sizes = {}
    if settings.arity == LIKE_L:
        every = sorted(each.conjuncts for each in found)
        for pair in set(words):
            like = [s.conjuncts for s in found if (s.coordinator, s.preconjunction or "") == pair]
            sizes[pair] = sorted(like) or every
    commas = sorted(each.comma for each in found if each.conjuncts > 2)
    return StructureSampler(settings.seed, tuple(words), sizes, tuple(commas))


def _is_like_l(settings: GenerateSettings) -> bool:
    return LIKE_L in (settings.coordinators, settings.arity)


def _usual_coordinator() -> str:
    usual: str = GenerateSettings.model_fields["coordinator"].default
    return usual
