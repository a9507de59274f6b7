"""Events of clauses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an event: its role, and the head word."""

    role: str
    head: str


@dataclass(frozen=True, slots=True)
class Event:
    """What a clause says: predicate, voice, negation, arguments."""

    predicate: str
    negated: bool
    passive: bool
    arguments: tuple[Argument, ...]
