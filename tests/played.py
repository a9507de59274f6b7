"""Event pairs about a glass that breaks, of which card sets can be dealt, for the tests of the game."""

from pathlib import Path

from event_pairs import Pair, write_pairs

from pipeline.tasks.questions.events import Event, EventArgument, stem
from pipeline.tasks.questions.play.settings import PlaySettings


def event(predicate: str, *, negated: bool = False, **arguments: str) -> Event:
    """As ``event("drop", subject="boy", object="glass")``."""
    roles = (EventArgument(role, head) for role, head in arguments.items())
    return Event(predicate, negated, False, tuple(roles))


def _pair(former: str, latter: str, license_: str) -> Pair:
    """Of clauses such as ``boy dropped glass`` and ``glass not broke``."""
    return Pair(former, latter, license=license_, events=(_event(former), _event(latter)))


def _event(clause: str) -> Event:
    words = [word for word in clause.split() if word != "not"]
    subject, verb, *rest = words
    return event(stem(verb), negated="not" in clause.split(), subject=subject,
                 **({"object": rest[0]} if rest else {}))  # fmt: skip


CLAUSES = (
    ("boy drops glass", "glass breaks"), ("ball hits glass", "glass breaks"),
    ("cook heated glass", "glass breaks"), ("girl pushed glass", "glass breaks"),
    ("dog kicks glass", "glass breaks"), ("boy drops glass", "water spills"),
    ("boy drops glass", "girl laughs"), ("boy not holds glass", "glass breaks"),
    ("cup drops", "cup breaks"), ("dog sleeps", "dog not barks"),
)  # fmt: skip


def pairs_folder(folder: Path, license_: str = "CC0-1.0") -> Path:
    """A folder as ``pair`` leaves it."""
    return write_pairs(folder, [_pair(*clauses, license_) for clauses in CLAUSES])


def settings(folder: Path, **given: object) -> PlaySettings:
    return PlaySettings.build({"pairs": folder, **given}, None)
