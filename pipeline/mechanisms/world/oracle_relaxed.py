"""The lexicon without its selectional preferences: every class stands wherever one may stand."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from pipeline.mechanisms.world.lexicon import Lexicon, Modifier

__all__ = ["relaxed"]

_T = TypeVar("_T")


def _distinct(lists: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


def relaxed(lexicon: Lexicon) -> Lexicon:
    """The same words, frames, prepositions and agreement, with all selection by class lifted.

    Nouns keep their class, for "who" and "which" depend on it.
    """
    every = tuple(lexicon.nouns)

    def wide(modifier: Modifier | None) -> Modifier | None:
        return None if modifier is None else Modifier(modifier.words, every)

    def merged(table: Mapping[str, tuple[Modifier, ...]]) -> dict[str, tuple[Modifier, ...]]:
        words = _distinct(modifier.words for own in table.values() for modifier in own)
        return dict.fromkeys(every, (Modifier(words, every),))

    complements = tuple(
        replace(entry, modifier=Modifier(entry.modifier.words, every))
        for entry in _distinct(lexicon.complements.values())
    )
    verbs = {
        (kind, frame): tuple(
            replace(
                verb,
                subjects=every,
                objects=every if verb.objects else (),
                instrument=wide(verb.instrument),
                complement=wide(verb.complement),
            )
            for verb in own
        )
        for (kind, frame), own in lexicon.verbs.items()
    }
    return replace(
        lexicon,
        adjectives=dict.fromkeys(every, _distinct(lexicon.adjectives.values())),
        complements=dict.fromkeys(every, complements),
        noun_modifiers=merged(lexicon.noun_modifiers),
        verb_modifiers=merged(lexicon.verb_modifiers),
        subordinators={"any": _distinct(lexicon.subordinators.values())},
        verbs=verbs,
    )
