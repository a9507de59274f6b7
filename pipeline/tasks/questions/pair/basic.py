"""Which event pairs are basic: those with two core events (thesis, §2.3.2 and Table 2.3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from pipeline.core.console import table
from pipeline.core.questions import CORE_PAIRS, CORE_PAIRS_FILE
from pipeline.core.tally import Tally
from pipeline.executor.units import UnitFolder
from pipeline.tasks.questions.frames import case_frames
from pipeline.tasks.questions.pair.joined import WITHOUT
from pipeline.tasks.questions.pair.settings import PairSettings
from pipeline.tasks.questions.pairs import CorePair, EventPair, read_event_pairs

NO_FORMER = "no core event in the former event"
NO_LATTER = "no core event in the latter event"
FREQUENT = "a too frequent core event"
TWICE = "the core events of an earlier pair"

_FEW = 10
"""Times that a core event may be seen in a text however small."""


def core_pairs(pairs: Sequence[EventPair], settings: PairSettings) -> tuple[list[CorePair], Tally]:
    """The basic pairs without trivial ones and repeated ones, in order, and why the others are none.

    Args:
        pairs: all of them.
        settings: α, γ, δ, and how frequent a core event may be.
    """
    events = (event for pair in pairs for event in (pair.former_event, pair.latter_event))
    frames = case_frames(events, settings.predicates, settings.slots, settings.fillers)
    tally, basic = Tally(), list[CorePair]()
    for pair in pairs:
        former = frames.core_of(pair.former_event)
        latter, recovered = frames.core_of_latter(pair.former_event, pair.latter_event)
        if former is None or latter is None:
            tally.refuse(NO_FORMER if former is None else NO_LATTER)
        else:
            basic.append(CorePair(pair.pair_id, former, latter, recovered))
    seen = Counter(core for each in basic for core in (each.former_core, each.latter_core))
    most = max(_FEW, seen.total() * settings.most / 100)
    kept: dict[tuple[str, str], CorePair] = {}
    for each in basic:
        cores = (each.former_core, each.latter_core)
        if max(seen[core] for core in cores) > most:
            tally.refuse(FREQUENT)
        elif cores in kept:
            tally.refuse(TWICE)
        else:
            kept[cores] = each
    tally.keep(len(kept))
    return list(kept.values()), tally


def write_core_pairs(folder: UnitFolder, settings: PairSettings) -> None:
    """Write ``core_pairs.parquet`` of the pairs of a folder that is finished, and print each step's count.

    Raises:
        InputError: the folder cannot be written to.
    """
    pairs = read_event_pairs(folder.folder)
    kept, tally = core_pairs(pairs, settings)
    folder.write_whole(CORE_PAIRS_FILE, CORE_PAIRS, map(asdict, kept))
    read = folder.tally().seen
    without = tally.refused[NO_FORMER] + tally.refused[NO_LATTER]
    rows = [
        ("training sentences", read + folder.notes()[WITHOUT]),
        ("with a connective", read),
        ("reliable: two clauses", len(pairs)),
        ("basic: two core events", len(pairs) - without),
        ("neither trivial nor repeated", tally.kept),
    ]
    table("event pairs by step", ("step", "count"), rows)
    table("reliable pairs left out", ("reason", "count"), tally.rows()[1:])
